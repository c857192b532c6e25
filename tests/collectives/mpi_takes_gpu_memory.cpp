// SPDX-License-Identifier: Apache-2.0
// Preloaded, it says what an MPI says that takes the memory of GPUs.
extern "C" {
[[gnu::visibility("default")]] int MPIX_Query_cuda_support() { return 1; }
[[gnu::visibility("default")]] int MPIX_Query_rocm_support() { return 1; }
}
