// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace weir::test {

/// Compiles each example of the table in docs/kernels-dialect.md for `target`: "cpu", "sm_80", "gfx90a". Prints the rows
/// that are wrong, and returns their number, or 77 if there is no compiler for the target. `file`: the page.
int check_dialect_table(const std::string& target, const std::string& file);

}  // namespace weir::test
