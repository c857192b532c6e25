// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// Replaces the program's `operator new`, also for the libraries that it loads. Counts calls, and fails on request.
namespace sweep {

/// `fail_call` makes the `n`-th later call fail, on any thread. 0: no call fails. `go_on`: nothing changes.
inline constexpr std::uint64_t go_on = ~std::uint64_t{0};
void fail_call(std::uint64_t n) noexcept;
/// Whether the call that must fail has happened.
bool has_failed() noexcept;
/// Returns the number of allocated blocks.
std::int64_t live_blocks() noexcept;
/// Prints the stack of the failing call to standard output, as "library+offset" lines for addr2line. Can be used in a signal
/// handler.
void print_failed_call() noexcept;

}  // namespace sweep
