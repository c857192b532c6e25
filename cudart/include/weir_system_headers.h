/* SPDX-License-Identifier: Apache-2.0 */
/* The system's headers that CUDA's <cuda_runtime.h> includes. The device header includes them between the declarations of
   the device's functions and the functions for both sides, which call either side's. */
#ifndef WEIR_SYSTEM_HEADERS_H
#define WEIR_SYSTEM_HEADERS_H
#include <assert.h>
#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmath>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <utility>
#endif
