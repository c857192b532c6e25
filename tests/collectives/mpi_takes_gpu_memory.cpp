// SPDX-License-Identifier: Apache-2.0
// If preloaded, makes MPI report that it can access the memory of GPUs.
extern "C" {
[[gnu::visibility("default")]] int MPIX_Query_cuda_support() { return 1; }
[[gnu::visibility("default")]] int MPIX_Query_rocm_support() { return 1; }
}
