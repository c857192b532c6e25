// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// The program's `operator new`, for the libraries that it loads, too: counts, and fails when it is told.
namespace sweep {

/// From now on the `n`-th call fails, of whatever thread; 0: none does; `go_on`: the one that was to fail before.
inline constexpr std::uint64_t go_on = ~std::uint64_t{0};
void fail_call(std::uint64_t n) noexcept;
/// Whether the call that was to fail has come.
bool has_failed() noexcept;
/// How many blocks there are now that were allocated and not yet freed.
std::int64_t live_blocks() noexcept;
/// Writes on standard output where the failing call came from, as "library+offset" lines for addr2line. Safe in a signal
/// handler.
void print_failed_call() noexcept;

}  // namespace sweep
