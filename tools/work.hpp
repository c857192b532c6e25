// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weir/plugin/tool.hpp"

namespace weir {

/// Whether an operation of that kind takes a stream's time.
inline bool is_work(OperationKind kind) noexcept {
  switch (kind) {
    case OperationKind::kernel:
    case OperationKind::copy:
    case OperationKind::fill:
    case OperationKind::host_function:
    case OperationKind::callback:
    case OperationKind::memory_operations:
    case OperationKind::prefetch:
    case OperationKind::external:
    case OperationKind::launch_graph: return true;
    default: return false;
  }
}

}  // namespace weir
