// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda_runtime_api.h>

void scale(int n, int* x);
const char* name_of(cudaError_t error);
