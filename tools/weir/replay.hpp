// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace weir::tool {

/// Runs the operations of a recording on the default backend, and compares the data that copies bring to the host with the
/// recorded data. Returns 0 if everything is equal, 1 if not, 2 after an error message if the file cannot be used here.
int replay_recording(const std::string& file);

}  // namespace weir::tool
