// SPDX-License-Identifier: Apache-2.0
// A file for the project's own compiler.
#include "program.h"
#ifdef __FLT16_MAX__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
static_assert(sizeof(__half2) == 4 && sizeof(__nv_bfloat16) == 2, "");
int rounded(float x) { return __half2int_rn(__float2half(x)); }
#endif

const char* name_of(cudaError_t error) { return cudaGetErrorName(error); }
