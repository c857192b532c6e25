// SPDX-License-Identifier: Apache-2.0
#pragma once

/// `weir stuck`: what another process waits for.
namespace weir::tool {

/// Asks the process, which must have been started with WEIR_STUCK, and prints what it tells. Returns 0; 1 if it does not
/// tell, having said why.
int ask_what_is_stuck(int process);

}  // namespace weir::tool
