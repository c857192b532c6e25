// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The options of the tool `validate`.
namespace weir::validate {

struct Options {
  bool throws = false;     ///< reject wrong operations: the caller gets `invalid_argument`
  bool goes_on = false;    ///< run every wrong operation, even if it corrupts memory
  bool unwritten = false;  ///< report reads of memory that nothing has written
  bool leaks = false;      ///< report memory that is never freed
  int status = 66;         ///< the program's exit status after a mistake; 0: unchanged
};

/// Reads WEIR_VALIDATE: "throw,status=NUMBER". Throws `invalid_environment`.
Options read_options();

}  // namespace weir::validate
