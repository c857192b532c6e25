// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace entropy {

inline constexpr int glyph_columns = 5;
inline constexpr int glyph_rows = 8;  // seven above the baseline, one below

/// 1 if the glyph of an ASCII character has a dot there; 0 otherwise and outside the glyph. Other bytes look like '?'.
int glyph_dot(char character, int column, int row);

}  // namespace entropy
