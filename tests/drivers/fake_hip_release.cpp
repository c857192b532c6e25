// SPDX-License-Identifier: Apache-2.0

// The release that the stand-in for libamdhip64 imitates. Compiled once for each release.
namespace fake {

extern const int release = FAKE_RELEASE;
extern const char* const bridge = FAKE_BRIDGE;

}  // namespace fake
