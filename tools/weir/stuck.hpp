// SPDX-License-Identifier: Apache-2.0
#pragma once

/// `weir stuck`: shows what another process waits for.
namespace weir::tool {

/// Requests the report of the process, which must have been started with WEIR_STUCK, and prints it. Returns 0, or 1 after an
/// error message.
int ask_what_is_stuck(int process);

}  // namespace weir::tool
