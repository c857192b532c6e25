// SPDX-License-Identifier: Apache-2.0
#include "fake_hip_state.hpp"

const int fake::release = FAKE_RELEASE;
