// SPDX-License-Identifier: Apache-2.0
// A second file, so that device code is linked.
__device__ int unused_elsewhere() { return 1; }
