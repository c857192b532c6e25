// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

/// Process-wide flags that every call checks: whether the process was forked after drivers were opened, and whether a device
/// is poisoned.
namespace weir::detail {

/// True in a child process whose parent had opened the registry; set by a pthread_atfork handler. Drivers and Weir's threads
/// do not survive a fork, so calls in the child would hang or corrupt memory.
extern std::atomic<bool> process_forked;

inline bool forked() noexcept { return process_forked.load(std::memory_order_relaxed); }

/// True, and never reset, in a forked process and after a device was poisoned: calls then need closer checks.
extern std::atomic<bool> process_exceptional;

/// Every call that may reach a driver checks this first. Costs one relaxed load.
inline bool exceptional() noexcept { return process_exceptional.load(std::memory_order_relaxed); }

}  // namespace weir::detail
