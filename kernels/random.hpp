// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// CUDA's <curand_kernel.h> for whole CUDA programs: random numbers in device code. The generators are XORWOW (G. Marsaglia,
/// "Xorshift RNGs", 2003) and Philox4x32-10 (J. Salmon and others, "Parallel random numbers: as easy as 1, 2, 3", 2011) with
/// CUDA's seeds, so that their integers and uniform numbers are CUDA's. Numbers of other distributions may differ in their
/// last bits, because the logarithms and sines do.
namespace weir::kernels {

inline constexpr std::string_view random_numbers = R"weir(
#include <weir_xorwow_jumps.h>

#define WEIR_RANDOM static __inline__ __device__ __attribute__((unused))

struct curandStateXORWOW {
  unsigned int d, v[5];
  int boxmuller_flag, boxmuller_flag_double;
  float boxmuller_extra;
  double boxmuller_extra_double;
};
struct curandStatePhilox4_32_10 {
  uint4 ctr, output;
  uint2 key;
  unsigned int STATE;
  int boxmuller_flag, boxmuller_flag_double;
  float boxmuller_extra;
  double boxmuller_extra_double;
};
typedef struct curandStateXORWOW curandStateXORWOW_t;
typedef struct curandStateXORWOW curandState_t;
typedef struct curandStateXORWOW curandState;
typedef struct curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;
#define WEIR_NO_RANDOM(name)                                                                                             \
  typedef struct weir_##name name __attribute__((unavailable(                                                            \
      #name " is not part of Weir's <curand_kernel.h>, which has XORWOW and Philox4_32_10: see docs/cuda-programs.md")));
WEIR_NO_RANDOM(curandStateMRG32k3a) WEIR_NO_RANDOM(curandStateMRG32k3a_t) WEIR_NO_RANDOM(curandStateMtgp32)
WEIR_NO_RANDOM(curandStateMtgp32_t) WEIR_NO_RANDOM(curandStateSobol32) WEIR_NO_RANDOM(curandStateSobol32_t)
WEIR_NO_RANDOM(curandStateScrambledSobol32_t) WEIR_NO_RANDOM(curandStateSobol64_t)
#undef WEIR_NO_RANDOM
#define WEIR_NO_DISTRIBUTION(name)                                       \
  template <class... weir_A>                                              \
  __device__ void name(weir_A...) __attribute__((                         \
      unavailable(#name " is not part of Weir's <curand_kernel.h>: see docs/cuda-programs.md")));
WEIR_NO_DISTRIBUTION(curand_poisson4) WEIR_NO_DISTRIBUTION(curand_discrete)
#undef WEIR_NO_DISTRIBUTION

/* --- XORWOW */

WEIR_RANDOM void weir_xorwow_step(unsigned int* v) {
  const unsigned int t = v[0] ^ (v[0] >> 2);
  v[0] = v[1], v[1] = v[2], v[2] = v[3], v[3] = v[4];
  v[4] = (v[4] ^ (v[4] << 4)) ^ (t ^ (t << 1));
}
/* Goes count * 2^0 or, of sequences, count * 2^67 steps forward. */
WEIR_RANDOM void weir_xorwow_jump(curandStateXORWOW* state, unsigned long long count, int of_sequences) {
  for (int bit = 0; count >> bit != 0; ++bit) {
    if ((count >> bit & 1) == 0) continue;
    const unsigned int* const jump = weir_xorwow_jumps[of_sequences][bit];
    unsigned int sum[5] = {0, 0, 0, 0, 0};
    for (int term = 0; term < 160; ++term) {
      if ((jump[term / 32] >> term % 32 & 1) != 0) {
        for (int i = 0; i < 5; ++i) sum[i] ^= state->v[i];
      }
      weir_xorwow_step(state->v);
    }
    for (int i = 0; i < 5; ++i) state->v[i] = sum[i];
    if (bit == 63) break;
  }
}
WEIR_RANDOM void skipahead(unsigned long long n, curandStateXORWOW* state) {
  weir_xorwow_jump(state, n, 0);
  state->d += 362437u * (unsigned int)n;
}
WEIR_RANDOM void skipahead_sequence(unsigned long long n, curandStateXORWOW* state) { weir_xorwow_jump(state, n, 1); }
WEIR_RANDOM void curand_init(unsigned long long seed, unsigned long long subsequence, unsigned long long offset,
                             curandStateXORWOW* state) {
  const unsigned int s0 = 1099087573u * ((unsigned int)seed ^ 0xaad26b49u);
  const unsigned int s1 = 2591861531u * ((unsigned int)(seed >> 32) ^ 0xf7dcefddu);
  state->d = 6615241u + s1 + s0;
  state->v[0] = 123456789u + s0;
  state->v[1] = 362436069u ^ s0;
  state->v[2] = 521288629u + s1;
  state->v[3] = 88675123u ^ s1;
  state->v[4] = 5783321u + s0;
  skipahead_sequence(subsequence, state);
  skipahead(offset, state);
  state->boxmuller_flag = state->boxmuller_flag_double = 0;
  state->boxmuller_extra = 0;
  state->boxmuller_extra_double = 0;
}
WEIR_RANDOM unsigned int curand(curandStateXORWOW* state) {
  weir_xorwow_step(state->v);
  state->d += 362437u;
  return state->v[4] + state->d;
}

/* --- Philox4x32-10 */

WEIR_RANDOM uint4 weir_philox(uint4 counter, uint2 key) {
  for (int round = 0; round < 10; ++round) {
    const unsigned long long a = 0xd2511f53ull * counter.x, b = 0xcd9e8d57ull * counter.z;
    counter = make_uint4((unsigned int)(b >> 32) ^ counter.y ^ key.x, (unsigned int)b,
                         (unsigned int)(a >> 32) ^ counter.w ^ key.y, (unsigned int)a);
    key.x += 0x9e3779b9u;
    key.y += 0xbb67ae85u;
  }
  return counter;
}
/* Adds to the lower and to the upper half of the counter of 128 bits. */
WEIR_RANDOM void weir_philox_count(curandStatePhilox4_32_10* state, unsigned long long low, unsigned long long high) {
  const unsigned long long old = (unsigned long long)state->ctr.y << 32 | state->ctr.x, first = old + low;
  const unsigned long long second = ((unsigned long long)state->ctr.w << 32 | state->ctr.z) + high + (first < old ? 1 : 0);
  state->ctr = make_uint4((unsigned int)first, (unsigned int)(first >> 32), (unsigned int)second,
                          (unsigned int)(second >> 32));
}
WEIR_RANDOM void skipahead(unsigned long long n, curandStatePhilox4_32_10* state) {
  state->STATE += (unsigned int)(n & 3);
  n /= 4;
  if (state->STATE > 3) ++n, state->STATE -= 4;
  weir_philox_count(state, n, 0);
  state->output = weir_philox(state->ctr, state->key);
}
WEIR_RANDOM void skipahead_sequence(unsigned long long n, curandStatePhilox4_32_10* state) {
  weir_philox_count(state, 0, n);
  state->output = weir_philox(state->ctr, state->key);
}
WEIR_RANDOM void curand_init(unsigned long long seed, unsigned long long subsequence, unsigned long long offset,
                             curandStatePhilox4_32_10* state) {
  state->ctr = make_uint4(0, 0, 0, 0);
  state->key = make_uint2((unsigned int)seed, (unsigned int)(seed >> 32));
  state->STATE = 0;
  state->boxmuller_flag = state->boxmuller_flag_double = 0;
  state->boxmuller_extra = 0;
  state->boxmuller_extra_double = 0;
  weir_philox_count(state, 0, subsequence);
  skipahead(offset, state);
}
WEIR_RANDOM unsigned int curand(curandStatePhilox4_32_10* state) {
  const uint4 o = state->output;
  const unsigned int result = state->STATE == 0 ? o.x : state->STATE == 1 ? o.y : state->STATE == 2 ? o.z : o.w;
  if (++state->STATE == 4) {
    weir_philox_count(state, 1, 0);
    state->output = weir_philox(state->ctr, state->key);
    state->STATE = 0;
  }
  return result;
}
WEIR_RANDOM uint4 curand4(curandStatePhilox4_32_10* state) {
  const uint4 a = state->output;
  weir_philox_count(state, 1, 0);
  state->output = weir_philox(state->ctr, state->key);
  const uint4 b = state->output;
  return state->STATE == 0   ? a
         : state->STATE == 1 ? make_uint4(a.y, a.z, a.w, b.x)
         : state->STATE == 2 ? make_uint4(a.z, a.w, b.x, b.y)
                             : make_uint4(a.w, b.x, b.y, b.z);
}

/* --- Distributions */

/* From 2^-33 to 1. */
WEIR_RANDOM float weir_uniform(unsigned int x) { return x * 2.3283064e-10f + 2.3283064e-10f / 2.0f; }
WEIR_RANDOM double weir_uniform_double(unsigned int x, unsigned int y) {
  const unsigned long long z = (unsigned long long)x ^ (unsigned long long)y << 21;
  return (double)z * 1.1102230246251565e-16 + 1.1102230246251565e-16 / 2.0;
}
/* Two normal numbers by the method of G. Box and M. Muller. */
WEIR_RANDOM float2 weir_box_muller(unsigned int x, unsigned int y) {
  const float radius = sqrtf(-2.0f * logf(weir_uniform(x)));
  const float angle = y * (2.3283064e-10f * 6.2831855f) + 2.3283064e-10f * 6.2831855f / 2.0f;
  float2 result;
  __sincosf(angle, &result.x, &result.y);
  result.x *= radius;
  result.y *= radius;
  return result;
}
WEIR_RANDOM double2 weir_box_muller_double(uint4 x) {
  const double radius = sqrt(-2.0 * log(weir_uniform_double(x.x, x.y)));
  double2 result;
  sincospi(2.0 * weir_uniform_double(x.z, x.w), &result.x, &result.y);
  result.x *= radius;
  result.y *= radius;
  return result;
}
/* The next two and four numbers, in this order. */
template <class weir_State>
WEIR_RANDOM uint2 weir_next2(weir_State* state) {
  const unsigned int x = curand(state);
  return make_uint2(x, curand(state));
}
template <class weir_State>
WEIR_RANDOM uint4 weir_next4(weir_State* state) {
  const uint2 first = weir_next2(state), second = weir_next2(state);
  return make_uint4(first.x, first.y, second.x, second.y);
}
/* The number of a pair, which is calculated at every other call. */
template <class weir_State>
WEIR_RANDOM float weir_normal(weir_State* state) {
  state->boxmuller_flag = !state->boxmuller_flag;
  if (!state->boxmuller_flag) return state->boxmuller_extra;
  const uint2 x = weir_next2(state);
  const float2 pair = weir_box_muller(x.x, x.y);
  state->boxmuller_extra = pair.y;
  return pair.x;
}
template <class weir_State>
WEIR_RANDOM double weir_normal_double(weir_State* state) {
  state->boxmuller_flag_double = !state->boxmuller_flag_double;
  if (!state->boxmuller_flag_double) return state->boxmuller_extra_double;
  const double2 pair = weir_box_muller_double(weir_next4(state));
  state->boxmuller_extra_double = pair.y;
  return pair.x;
}
#define WEIR_DISTRIBUTIONS(weir_State)                                                                                  \
  WEIR_RANDOM float curand_uniform(weir_State* state) { return weir_uniform(curand(state)); }                          \
  WEIR_RANDOM float curand_normal(weir_State* state) { return weir_normal(state); }                                    \
  WEIR_RANDOM double curand_normal_double(weir_State* state) { return weir_normal_double(state); }                     \
  WEIR_RANDOM float2 curand_normal2(weir_State* state) {                                                               \
    const uint2 x = weir_next2(state);                                                                                 \
    return weir_box_muller(x.x, x.y);                                                                                  \
  }                                                                                                                    \
  WEIR_RANDOM double2 curand_normal2_double(weir_State* state) { return weir_box_muller_double(weir_next4(state)); }   \
  WEIR_RANDOM float curand_log_normal(weir_State* state, float mean, float stddev) {                                   \
    return expf(mean + stddev * weir_normal(state));                                                                   \
  }                                                                                                                    \
  WEIR_RANDOM double curand_log_normal_double(weir_State* state, double mean, double stddev) {                         \
    return exp(mean + stddev * weir_normal_double(state));                                                             \
  }                                                                                                                    \
  WEIR_RANDOM float2 curand_log_normal2(weir_State* state, float mean, float stddev) {                                 \
    const float2 x = curand_normal2(state);                                                                            \
    return make_float2(expf(mean + stddev * x.x), expf(mean + stddev * x.y));                                          \
  }                                                                                                                    \
  WEIR_RANDOM double2 curand_log_normal2_double(weir_State* state, double mean, double stddev) {                       \
    const double2 x = curand_normal2_double(state);                                                                    \
    return make_double2(exp(mean + stddev * x.x), exp(mean + stddev * x.y));                                           \
  }                                                                                                                    \
  WEIR_RANDOM unsigned int curand_poisson(weir_State* state, double mean) { return weir_poisson(state, mean); }
/* A number of events by D. Knuth's product of uniform numbers, for a large mean in parts. */
template <class weir_State>
WEIR_RANDOM unsigned int weir_poisson(weir_State* state, double mean) {
  unsigned int events = 0;
  if (mean > 2000) return (unsigned int)fmax(0.0, floor(mean + sqrt(mean) * weir_normal_double(state) + 0.5));
  for (; mean > 0; mean -= 500) {
    const double least = exp(mean > 500 ? -500.0 : -mean);
    double product = 1;
    while ((product *= weir_uniform(curand(state))) > least) ++events;
  }
  return events;
}
WEIR_DISTRIBUTIONS(curandStateXORWOW)
WEIR_DISTRIBUTIONS(curandStatePhilox4_32_10)
#undef WEIR_DISTRIBUTIONS

WEIR_RANDOM double curand_uniform_double(curandStateXORWOW* state) {
  const uint2 x = weir_next2(state);
  return weir_uniform_double(x.x, x.y);
}
/* From one number of 32 bits, as in CUDA. */
WEIR_RANDOM double curand_uniform_double(curandStatePhilox4_32_10* state) {
  return curand(state) * 2.3283064365386963e-10 + 2.3283064365386963e-10;
}
WEIR_RANDOM float4 curand_uniform4(curandStatePhilox4_32_10* state) {
  const uint4 x = curand4(state);
  return make_float4(weir_uniform(x.x), weir_uniform(x.y), weir_uniform(x.z), weir_uniform(x.w));
}
WEIR_RANDOM float4 curand_normal4(curandStatePhilox4_32_10* state) {
  const uint4 x = curand4(state);
  const float2 a = weir_box_muller(x.x, x.y), b = weir_box_muller(x.z, x.w);
  return make_float4(a.x, a.y, b.x, b.y);
}
WEIR_RANDOM float4 curand_log_normal4(curandStatePhilox4_32_10* state, float mean, float stddev) {
  const float4 x = curand_normal4(state);
  return make_float4(expf(mean + stddev * x.x), expf(mean + stddev * x.y), expf(mean + stddev * x.z),
                     expf(mean + stddev * x.w));
}
WEIR_RANDOM double2 curand_uniform2_double(curandStatePhilox4_32_10* state) {
  const uint4 x = curand4(state);
  return make_double2(weir_uniform_double(x.x, x.y), weir_uniform_double(x.z, x.w));
}
WEIR_RANDOM double4 curand_uniform4_double(curandStatePhilox4_32_10* state) {
  const double2 a = curand_uniform2_double(state), b = curand_uniform2_double(state);
  return make_double4(a.x, a.y, b.x, b.y);
}
WEIR_RANDOM double4 curand_normal4_double(curandStatePhilox4_32_10* state) {
  const double2 a = curand_normal2_double(state), b = curand_normal2_double(state);
  return make_double4(a.x, a.y, b.x, b.y);
}
#undef WEIR_RANDOM
)weir";

}  // namespace weir::kernels
