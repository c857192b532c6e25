// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A font of 5 by 8 dots.
namespace entropy {

inline constexpr int glyph_columns = 5;
inline constexpr int glyph_rows = 8;  // seven above the baseline, one below

/// Returns 1 if the glyph of an ASCII character has a dot at that column and row; 0 otherwise and outside the glyph. Other
/// bytes look like '?'.
int glyph_dot(char character, int column, int row);

}  // namespace entropy
