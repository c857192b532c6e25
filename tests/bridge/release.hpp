// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace bridge {

/// The HIP release that this library imitates: 502 means 5.2. It determines which functions are exported and how they
/// behave.
extern const int release;
inline bool before(int other) noexcept { return release < other; }

}  // namespace bridge
