// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace bridge {

/// The HIP release that this library presents: 502 for 5.2. It decides what is exported, and how that behaves.
extern const int release;
inline bool before(int other) noexcept { return release < other; }

}  // namespace bridge
