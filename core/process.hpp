// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

/// Whether this process was forked from one that had drivers open.
namespace weir::detail {

/// Set by a handler of pthread_atfork in the child of a process that had opened the registry. Drivers and Weir's threads do
/// not survive a fork, so calls in the child would hang or corrupt memory.
extern std::atomic<bool> process_forked;

/// One relaxed load. All calls that could reach a driver check this first.
inline bool forked() noexcept { return process_forked.load(std::memory_order_relaxed); }

}  // namespace weir::detail
