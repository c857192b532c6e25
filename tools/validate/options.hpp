// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weir::validate {

struct Options {
  bool throws = false;     ///< no wrong operation is made: its caller gets `invalid_argument`
  bool goes_on = false;    ///< each wrong operation is made, also one that damages memory
  bool unwritten = false;  ///< reads of memory that nothing has written are told
  bool leaks = false;      ///< memory that is never freed is told
  int status = 66;         ///< what the program exits with if there was a mistake; 0: as it would
};

/// Reads WEIR_VALIDATE: "throw,status=NUMBER". Throws `invalid_environment`.
Options read_options();

}  // namespace weir::validate
