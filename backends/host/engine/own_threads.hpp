// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Which threads of the process are this backend's, so that a schedule sees whether the program's own are at work.
namespace weir::host {

/// Before a thread of the backend's starts. Throws std::bad_alloc, as the thread could not.
void expect_own_thread();
/// It did not start.
void forget_own_thread() noexcept;
/// The calling thread, which was expected, is the backend's.
void register_own_thread() noexcept;
/// Whether another thread runs, or would if there were a processor for it.
bool is_program_running() noexcept;

}  // namespace weir::host
