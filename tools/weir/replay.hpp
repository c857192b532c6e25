// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

/// `weir replay`: runs a recording again.
namespace weir::tool {

/// Runs the operations of a recording on the default backend, and compares the data that is copied to the host with the
/// recorded data. Returns 0 if all data is equal, 1 if not, and 2 after an error message if the file cannot be used here.
int replay_recording(const std::string& file);

}  // namespace weir::tool
