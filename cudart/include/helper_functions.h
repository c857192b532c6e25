/* SPDX-License-Identifier: Apache-2.0 */
/* The helper headers of NVIDIA's samples that do not call CUDA, and comparisons of results. */
#ifndef COMMON_HELPER_FUNCTIONS_H_
#define COMMON_HELPER_FUNCTIONS_H_
#include <assert.h>
#include <helper_string.h>
#include <helper_timer.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

/* Whether the difference of the data, relative to the reference's length, is less than epsilon. */
inline bool sdkCompareL2fe(const float* reference, const float* data, unsigned int count, float epsilon) {
  double error = 0, size = 0;
  for (unsigned int i = 0; i < count; ++i) {
    const double difference = (double)reference[i] - data[i];
    error += difference * difference;
    size += (double)reference[i] * reference[i];
  }
  return size > 1e-7 && sqrt(error) / sqrt(size) < epsilon;
}
template <class weir_T, class weir_S>
inline bool compareData(const weir_T* reference, const weir_T* data, unsigned int count, weir_S epsilon, float threshold) {
  unsigned int wrong = 0;
  for (unsigned int i = 0; i < count; ++i) wrong += fabs((double)reference[i] - (double)data[i]) > (double)epsilon;
  return wrong <= (unsigned int)(count * threshold);
}
inline bool compareDataAsFloatThreshold(const float* reference, const float* data, unsigned int count, float epsilon,
                                        float threshold) {
  return compareData(reference, data, count, epsilon, threshold);
}

#endif
