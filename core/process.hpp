// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

/// What has become of the process: whether it is the fork of one that had drivers open.
namespace weir::detail {

/// Set in the child of a process that had opened the registry, by a handler of pthread_atfork, and never cleared: neither
/// the drivers nor Weir's threads come along to a child, so every call there would hang or corrupt.
extern std::atomic<bool> process_forked;

/// One relaxed load: for the entry of every call that could reach a driver.
inline bool forked() noexcept { return process_forked.load(std::memory_order_relaxed); }

}  // namespace weir::detail
