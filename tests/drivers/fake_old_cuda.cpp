// SPDX-License-Identifier: Apache-2.0

// What Weir looks for in libcuda.so.1 and finds in drivers before CUDA 12: not cuGetProcAddress_v2.

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

FAKE_EXPORT int cuInit(unsigned) { return 0; }
FAKE_EXPORT int cuDriverGetVersion(int* version) {
  *version = 11080;
  return 0;
}
