// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "weir/health.hpp"
#include "weir/plugin/operation.hpp"

/// What a stream is at, in words.
namespace weir::detail {

/// Names a host function that the stream runs, if the program has named it.
void name_function(PendingWork& work, const StreamKey& stream);
/// `PendingWork::describe` without the chain.
std::string line_of(const PendingWork& work);

}  // namespace weir::detail
