// SPDX-License-Identifier: Apache-2.0
// A file for the project's own compiler.
#include "program.h"

const char* name_of(cudaError_t error) { return cudaGetErrorName(error); }
