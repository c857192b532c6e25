// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "weir/health.hpp"
#include "weir/plugin/operation.hpp"

/// Descriptions of pending operations, for `Stream::pending` and reports.
namespace weir::detail {

/// If `work` is a host function that runs on `stream` and has a name, sets `work.name`.
void name_function(PendingWork& work, const StreamKey& stream);
/// Returns the text of `PendingWork::describe` without the chain of waits.
std::string line_of(const PendingWork& work);

}  // namespace weir::detail
