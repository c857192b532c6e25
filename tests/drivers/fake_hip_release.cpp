// SPDX-License-Identifier: Apache-2.0
#include "fake_hip_state.hpp"

// The release that the stand-in for libamdhip64 imitates. Compiled once for each release.

const int fake::release = FAKE_RELEASE;
