// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/process.hpp"

/// The core's state of the calling thread.
namespace weir::detail {

struct ThreadState {
  bool in_host_function = false;
  bool in_log_sink = false;
  bool streams_gone = false;  ///< this thread has destroyed its per-thread streams; other thread-local destructors read it
  std::uint64_t token = 0;
};

/// In the initial-exec model, because every call reads it and the general model would need a function call.
extern constinit thread_local ThreadState thread_state __attribute__((tls_model("initial-exec")));

std::uint64_t new_thread_token() noexcept;

/// The calling thread's number: never 0, never reused.
inline std::uint64_t this_thread() noexcept {
  if (thread_state.token == 0) thread_state.token = new_thread_token();
  return thread_state.token;
}

/// True if this thread may not call Weir (host function, forked process). May also be true otherwise: `check_calls_allowed`
/// decides.
inline bool calls_forbidden() noexcept { return thread_state.in_host_function || exceptional(); }
/// Throws if Weir may not be called here: in a host function, and in a forked process. Calls on a device use the check in
/// core/runtime/health.hpp.
void check_calls_allowed(const char* operation);
/// The first line of every public function that could reach a driver and has no device.
inline void enter(const char* operation) {
  if (calls_forbidden()) [[unlikely]] check_calls_allowed(operation);
}

}  // namespace weir::detail
