// SPDX-License-Identifier: Apache-2.0
#include "release.hpp"

/// Compiled once for each release that the bridge imitates.
namespace bridge {

extern const int release = BRIDGE_RELEASE;

}  // namespace bridge
