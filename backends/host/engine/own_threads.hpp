// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Which threads of the process are this backend's, so that a schedule can tell whether the program's own are at work.
namespace weir::host {

/// The calling thread is the backend's.
void note_own_thread();
/// Whether another thread runs, or would if there were a processor for it.
bool is_program_running() noexcept;

}  // namespace weir::host
