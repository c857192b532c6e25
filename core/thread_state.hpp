// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/process.hpp"

/// What the core knows of the calling thread.
namespace weir::detail {

struct ThreadState {
  bool in_host_function = false;
  std::uint64_t token = 0;
};

/// In the initial-exec model: every call of the library looks at it, and the general model would make that a function call.
extern constinit thread_local ThreadState thread_state __attribute__((tls_model("initial-exec")));

std::uint64_t new_thread_token() noexcept;

/// Names the calling thread for the life of the process; never 0, never reused.
inline std::uint64_t this_thread() noexcept {
  if (thread_state.token == 0) thread_state.token = new_thread_token();
  return thread_state.token;
}

/// Whether nothing of Weir may be called here and now.
inline bool barred() noexcept { return thread_state.in_host_function || forked(); }
/// Throws the error that `barred` stands for.
[[noreturn]] void throw_barred(const char* operation);
/// The first line of every public function that could reach a driver.
inline void enter(const char* operation) {
  if (barred()) [[unlikely]]
    throw_barred(operation);
}

}  // namespace weir::detail
