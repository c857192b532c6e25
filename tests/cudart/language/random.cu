// SPDX-License-Identifier: Apache-2.0
// Random numbers in kernels: the integers of CUDA's XORWOW and Philox, also far into the sequences; sane distributions.
#include <curand_kernel.h>

#include <cmath>

#include "check.h"

__global__ void integers(unsigned* out) {
  curandState state;
  curand_init(0, 0, 0, &state);
  for (int i = 0; i < 5; ++i) out[i] = curand(&state);
  out[5] = 0;
  curandStatePhilox4_32_10_t philox;
  curand_init(0ULL, 0, 0, &philox);
  for (int i = 0; i < 5; ++i) out[6 + i] = curand(&philox);
  const uint4 four = curand4(&philox);
  out[11] = four.x, out[12] = four.w;
  // Skipping is the same as drawing.
  curand_init(1234, 5, 1000, &state);
  out[13] = curand(&state);
  curand_init(1234, 5, 0, &state);
  for (int i = 0; i < 1000; ++i) curand(&state);
  out[14] = curand(&state);
  curand_init(1234, 3, 0, &state);
  skipahead_sequence(2, &state);
  skipahead(1000, &state);
  out[15] = curand(&state);
}
template <class State>
__global__ void draw(float* uniform, float* normal, double* normal_double) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  State state;
  curand_init(42, i, 0, &state);
  uniform[i] = curand_uniform(&state);
  normal[i] = curand_normal(&state) + curand_normal2(&state).y * 0 + curand_log_normal(&state, 0, 1) * 0;
  normal_double[i] = curand_normal_double(&state);
}
template <class State>
int check() {
  constexpr int n = 4096;
  static Numbers<float, n> uniform, normal;
  static Numbers<double, n> normal_double;
  draw<State><<<n / 128, 128>>>(uniform.device, normal.device, normal_double.device);
  CHECK_KERNEL();
  uniform.read(), normal.read(), normal_double.read();
  double sums[4] = {};
  for (int i = 0; i < n; ++i) {
    CHECK(uniform.host[i] > 0 && uniform.host[i] <= 1);
    sums[0] += uniform.host[i] / n;
    sums[1] += normal.host[i] / n;
    sums[2] += double(normal.host[i]) * normal.host[i] / n;
    sums[3] += normal_double.host[i] * normal_double.host[i] / n;
  }
  CHECK(std::fabs(sums[0] - 0.5) < 0.03 && std::fabs(sums[1]) < 0.08 && std::fabs(sums[2] - 1) < 0.12);
  CHECK(std::fabs(sums[3] - 1) < 0.12);
  return 0;
}

// Sums of the other distributions' numbers, of each thread.
template <class State>
__global__ void others(float* out, int n) {
  State state;
  curand_init(77, threadIdx.x, 0, &state);
  float sums[3] = {};
  for (int i = 0; i < n; ++i) {
    sums[0] += float(curand_poisson(&state, 3.5));
    sums[1] += float(curand_poisson(&state, 900));
    sums[2] += curand_log_normal2(&state, 0, 0.5f).y + float(curand_log_normal2_double(&state, 0, 0.5).x);
  }
  for (int i = 0; i < 3; ++i) atomicAdd(out + i, sums[i] / float(n * int(blockDim.x)));
}
__global__ void of_four(float* out) {
  curandStatePhilox4_32_10_t state;
  curand_init(77, threadIdx.x, 0, &state);
  const double4 a = curand_uniform4_double(&state), b = curand_normal4_double(&state);
  const float4 c = curand_log_normal4(&state, 0, 0.5f);
  atomicAdd(out, float(a.x + a.w + curand_uniform2_double(&state).y) / float(blockDim.x));
  atomicAdd(out + 1, float(b.x * b.x + b.w * b.w) / float(blockDim.x));
  atomicAdd(out + 2, (c.x + c.w) / float(blockDim.x));
}
template <class State>
int check_others() {
  Numbers<float, 3> out;
  CHECK_CALL(cudaMemset(out.device, 0, sizeof(out.host)));
  others<State><<<1, 64>>>(out.device, 100);
  CHECK_KERNEL();
  out.read();
  CHECK(std::fabs(out.host[0] - 3.5f) < 0.1f && std::fabs(out.host[1] - 900) < 2);
  return std::fabs(out.host[2] - 2 * std::exp(0.125f)) < 0.1f ? 0 : 1;
}

int main() {
  Numbers<unsigned, 16> out;
  integers<<<1, 1>>>(out.device);
  CHECK_KERNEL();
  const unsigned expected[] = {3179217846u, 1883133293u, 2220552389u, 674260989u,  306521119u,  0,        1713891541u,
                               3781805453u, 3159862348u, 2600524760u, 4175744164u, 1555169499u, 83534633u};
  for (int i = 0; i < 13; ++i) CHECK(out.read()[i] == expected[i]);
  CHECK(out.host[13] == out.host[14] && out.host[13] == out.host[15]);
  CHECK(check_others<curandState>() == 0 && check_others<curandStatePhilox4_32_10_t>() == 0);
  Numbers<float, 3> fours;
  CHECK_CALL(cudaMemset(fours.device, 0, sizeof(fours.host)));
  of_four<<<1, 1024>>>(fours.device);
  CHECK_KERNEL();
  CHECK(std::fabs(fours.read()[0] - 1.5f) < 0.1f && std::fabs(fours.host[1] - 2) < 0.3f);
  CHECK(std::fabs(fours.host[2] - 2 * std::exp(0.125f)) < 0.15f);
  if (check<curandState>() != 0) return 1;
  return check<curandStatePhilox4_32_10_t>();
}
