// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

/// Process-wide states: forked after drivers were opened, or with a poisoned device.
namespace weir::detail {

/// Set by a handler of pthread_atfork in the child of a process that had opened the registry. Drivers and Weir's threads do
/// not survive a fork, so calls in the child would hang or corrupt memory.
extern std::atomic<bool> process_forked;

inline bool forked() noexcept { return process_forked.load(std::memory_order_relaxed); }

/// Set for good once calls need closer checks: in a forked process, and after a device was poisoned.
extern std::atomic<bool> process_exceptional;

/// One relaxed load. All calls that could reach a driver check this first.
inline bool exceptional() noexcept { return process_exceptional.load(std::memory_order_relaxed); }

}  // namespace weir::detail
