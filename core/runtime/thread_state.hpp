// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/process.hpp"

/// `ThreadState`: the core's state of each thread, and the check whether the calling thread may call Weir.
namespace weir::detail {

struct ThreadState {
  bool in_host_function = false;
  bool in_log_sink = false;
  bool streams_gone = false;  ///< the thread is ending and has destroyed its list of per-thread streams
  std::uint64_t token = 0;
};

/// Uses the initial-exec TLS model: every call reads this variable, and other models would need a function call for each
/// access.
extern constinit thread_local ThreadState thread_state __attribute__((tls_model("initial-exec")));

std::uint64_t new_thread_token() noexcept;

/// A number that identifies the calling thread: never 0, never reused.
inline std::uint64_t this_thread() noexcept {
  if (thread_state.token == 0) thread_state.token = new_thread_token();
  return thread_state.token;
}

/// A fast check: false if the calling thread may call Weir. If it is true, the thread may be in a host function, the process
/// may be forked, or a device may be poisoned; the caller must make the exact checks.
inline bool calls_forbidden() noexcept { return thread_state.in_host_function || exceptional(); }
/// Throws in a host function and in a forked process. Calls on a device use `is_refused` in core/runtime/health.hpp instead,
/// which also checks for a poisoned device.
void check_calls_allowed(const char* operation);
/// The first statement of every public function that may call a driver and has no device.
inline void enter(const char* operation) {
  if (calls_forbidden()) [[unlikely]] check_calls_allowed(operation);
}

}  // namespace weir::detail
