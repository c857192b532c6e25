// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A register of the backend's own threads. A schedule uses it to find whether any thread of the program itself is running.
namespace weir::host {

/// Announces a thread that is about to start. Throws std::bad_alloc, because the new thread itself could not report a
/// failure.
void expect_own_thread();
/// Called if the announced thread did not start.
void forget_own_thread() noexcept;
/// Registers the calling thread, which must have been announced.
void register_own_thread() noexcept;
/// Whether a thread of the program runs, or is ready to run on the next free processor.
bool is_program_running() noexcept;

}  // namespace weir::host
