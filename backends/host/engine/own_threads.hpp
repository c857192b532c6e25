// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Registers this backend's threads, so that a schedule can tell whether the program's own threads are running.
namespace weir::host {

/// Called before one of the backend's threads starts. Throws std::bad_alloc here, because the thread could not.
void expect_own_thread();
/// The expected thread did not start.
void forget_own_thread() noexcept;
/// Registers the calling thread, which was expected.
void register_own_thread() noexcept;
/// Whether a thread of the program runs, or would run if a processor were free.
bool is_program_running() noexcept;

}  // namespace weir::host
