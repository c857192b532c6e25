// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "weir/health.hpp"
#include "weir/plugin/operation.hpp"

/// Describes a stream's current operation.
namespace weir::detail {

/// Adds the name of the running host function, if the program has given one.
void name_function(PendingWork& work, const StreamKey& stream);
/// `PendingWork::describe` without the chain.
std::string line_of(const PendingWork& work);

}  // namespace weir::detail
