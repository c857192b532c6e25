// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace weir::test {

/// Compiles each example of the table in docs/kernels-dialect.md for `target`: "cpu", "sm_80", "gfx90a". Prints what does
/// not hold;
/// returns how many rows that are, and 77 if there is no compiler for it. `file`: the page.
int check_dialect_table(const std::string& target, const std::string& file);

}  // namespace weir::test
