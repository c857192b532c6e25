// SPDX-License-Identifier: Apache-2.0
// Vector types: sizes and alignments, functions that make them, operators of the program's own, also in host code.
#include "check.h"

inline __host__ __device__ float3 operator+(const float3& a, const float3& b) {
  return make_float3(a.x + b.x, a.y + b.y, a.z + b.z);
}
inline __host__ __device__ float4 operator*(float4 a, float b) { return make_float4(a.x * b, a.y * b, a.z * b, a.w * b); }
inline __host__ __device__ float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
#if __cplusplus < 202002L  // then the standard library has one of this name
inline __host__ __device__ float lerp(float a, float b, float t) { return a + t * (b - a); }
#endif
inline __device__ __host__ int clamp(int f, int a, int b) { return max(a, min(f, b)); }
inline __host__ __device__ float2 make_float2(float s) { return make_float2(s, s); }

static_assert(sizeof(float3) == 12 && alignof(float4) == 16 && alignof(double2) == 16 && alignof(uchar4) == 4, "");
static_assert(sizeof(dim3) == 12 && alignof(longlong2) == 16 && sizeof(short3) == 6 && alignof(int2) == 8, "");

__constant__ float4 plane = {1, 2, 3, 4};
__global__ void run(float4* out, const float3* in, uint3 place) {
  const dim3 d = blockDim;
  const uint3 t = threadIdx;
  const float3 sum = in[0] + in[1];
  out[t.x] = plane * 2.0f;
  out[t.x].x += dot(sum, make_float3(1, 1, 1)) + lerp(0, 2, 0.5f) + float(clamp(7, 0, 5)) + make_float2(3.0f).y;
  out[t.x].y += float(d.x + d.y * d.z + place.z + gridDim.x + blockIdx.y);
  reinterpret_cast<int4*>(out)[t.x].z = __float_as_int(0.5f);
}

int main() {
  float3 host[2] = {make_float3(1, 2, 3), {4, 5, 6}};
  float3* in;
  float4* out;
  CHECK_CALL(cudaMalloc((void**)&in, sizeof(host)));
  CHECK_CALL(cudaMalloc((void**)&out, 4 * sizeof(float4)));
  CHECK_CALL(cudaMemcpy(in, host, sizeof(host), cudaMemcpyHostToDevice));
  run<<<dim3(1), 4>>>(out, in, make_uint3(1, 2, 3));
  float4 result[4];
  CHECK_CALL(cudaMemcpy(result, out, sizeof(result), cudaMemcpyDeviceToHost));
  CHECK(result[3].x == 2 + 21 + 1 + 5 + 3 && result[3].y == 4 + 4 + 1 + 3 + 1 && result[0].z == 0.5f && result[1].w == 8);
  CHECK(dot(host[0], host[1]) == 32 && (make_float4(1, 2, 3, 4) * 2).w == 8);
  CHECK_KERNEL();
  cudaFree(in);
  return cudaFree(out);
}
