// SPDX-License-Identifier: Apache-2.0
// Arrays, texture objects and surface objects: kinds of memory, coordinates out of range, filtering, layers and cubes.
#include <cmath>
#include <vector>

#include "check.h"

template <class T>
__global__ void read_2d(cudaTextureObject_t texture, const float2* at, T* out) {
  out[threadIdx.x] = tex2D<T>(texture, at[threadIdx.x].x, at[threadIdx.x].y);
}
__global__ void read_3d(cudaTextureObject_t texture, float4* out) {
  out[0] = make_float4(tex3D<float>(texture, 1.5f, 2.5f, 3.5f), tex3D<float>(texture, 2, 3, 4),
                       tex3D<float>(texture, -9, 0.5f, 99), tex3D<float>(texture, 0.5f, 0.5f, 1.25f));
}
__global__ void read_layers(cudaTextureObject_t flat, cudaTextureObject_t rows, cudaTextureObject_t cube, float* out) {
  const int i = threadIdx.x;
  out[i] = tex2DLayered<float>(flat, 1.5f, 0.5f, i - 1);
  tex1DLayered(out + 8 + i, rows, 2.0f, i);
  const float d[6][3] = {{2, 0.1f, 0}, {-2, 0, 0.1f}, {0, 3, 0.1f}, {0.1f, -3, 0}, {0, 0.1f, 4}, {0, 0, -4}};
  if (i < 6) out[16 + i] = texCubemap<float>(cube, d[i][0], d[i][1], d[i][2]);
}
__global__ void fetch(cudaTextureObject_t numbers, cudaTextureObject_t fractions, int2* out, float* parts) {
  const int i = threadIdx.x;
  out[i] = tex1Dfetch<int2>(numbers, i - 1);
  parts[i] = tex1Dfetch<float>(fractions, i);
}
__global__ void turn(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
  const int x = threadIdx.x, y = threadIdx.y;
  const short2 value = surf2Dread<short2>(from, x * sizeof(short2), y);
  surf2Dwrite(make_short2(value.y, value.x), to, y * sizeof(short2), x);
  surf2Dwrite(make_short2(-1, -1), to, -4, y, cudaBoundaryModeZero);
  short2 outside;
  surf2Dread(&outside, from, 400, y, cudaBoundaryModeZero);
  if (outside.x != 0 || surf2Dread<short2>(from, 400, y, cudaBoundaryModeClamp).x != 10 * y + 5) __trap();
}

cudaTextureDesc reading(cudaTextureAddressMode address, cudaTextureFilterMode filter, bool normalized,
                        cudaTextureReadMode mode = cudaReadModeElementType) {
  cudaTextureDesc desc = {};
  desc.addressMode[0] = desc.addressMode[1] = desc.addressMode[2] = address;
  desc.filterMode = filter;
  desc.normalizedCoords = normalized;
  desc.readMode = mode;
  desc.borderColor[0] = 7;
  return desc;
}

template <class T>
int read(cudaTextureObject_t& texture, const cudaResourceDesc& of, const cudaTextureDesc& as, std::vector<float2> at,
         std::vector<T>& out) {
  CHECK_CALL(cudaCreateTextureObject(&texture, &of, &as, nullptr));
  float2* places;
  T* results;
  CHECK_CALL(cudaMalloc(&places, at.size() * sizeof(float2)));
  CHECK_CALL(cudaMalloc(&results, at.size() * sizeof(T)));
  CHECK_CALL(cudaMemcpy(places, at.data(), at.size() * sizeof(float2), cudaMemcpyHostToDevice));
  read_2d<<<1, (unsigned)at.size()>>>(texture, places, results);
  CHECK_KERNEL();
  out.resize(at.size());
  CHECK_CALL(cudaMemcpy(out.data(), results, out.size() * sizeof(T), cudaMemcpyDeviceToHost));
  CHECK_CALL(cudaFree(places));
  CHECK_CALL(cudaFree(results));
  CHECK_CALL(cudaDestroyTextureObject(texture));
  return 0;
}

cudaResourceDesc of_array(cudaArray_t array) {
  cudaResourceDesc desc = {};
  desc.resType = cudaResourceTypeArray;
  desc.res.array.array = array;
  return desc;
}

#define CHECK_READ(...) CHECK(std::vector<float>(__VA_ARGS__) == out)

// An array of 4 x 3 numbers, 10 y + x.
int flat() {
  float numbers[3][4];
  for (int y = 0; y < 3; ++y)
    for (int x = 0; x < 4; ++x) numbers[y][x] = 10.0f * y + x;
  cudaArray_t array;
  const cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
  CHECK_CALL(cudaMallocArray(&array, &desc, 4, 3));
  CHECK_CALL(cudaMemcpy2DToArray(array, 0, 0, numbers, 16, 16, 3, cudaMemcpyHostToDevice));
  cudaTextureObject_t texture;
  std::vector<float> out;
  const auto point = cudaFilterModePoint, linear = cudaFilterModeLinear;
  const std::vector<float2> far = {{-5, 1}, {9, 1}, {2.9f, -3}, {2.1f, 9}, {2.5f, 1.5f}};
  if (read(texture, of_array(array), reading(cudaAddressModeClamp, point, false), far, out)) return 1;
  CHECK_READ({10, 13, 2, 22, 12});
  if (read(texture, of_array(array), reading(cudaAddressModeBorder, point, false), far, out)) return 1;
  CHECK_READ({7, 7, 7, 7, 12});
  // Normalized: 1 is the width.
  const std::vector<float2> around = {{1.125f, 0.5f}, {-0.125f, 0.5f}, {0.875f, 1.5f}, {2.375f, -0.9f}};
  if (read(texture, of_array(array), reading(cudaAddressModeWrap, point, true), around, out)) return 1;
  CHECK_READ({10, 13, 13, 1});
  if (read(texture, of_array(array), reading(cudaAddressModeMirror, point, true), around, out)) return 1;
  CHECK_READ({13, 10, 13, 21});
  if (read(texture, of_array(array), reading(cudaAddressModeClamp, linear, false),
           {{1.5f, 1.5f}, {2, 1.5f}, {2, 1}, {0, 0}, {1.75f, 0.5f}}, out))
    return 1;
  CHECK_READ({11, 11.5f, 6.5f, 0, 1.25f});
  if (read(texture, of_array(array), reading(cudaAddressModeBorder, linear, false), {{0, 0.5f}}, out)) return 1;
  CHECK_READ({3.5f});
  if (read(texture, of_array(array), reading(cudaAddressModeWrap, linear, true), {{0, 0.5f}}, out)) return 1;
  CHECK_READ({11.5f});
  float back[3][4] = {};
  CHECK_CALL(cudaMemcpy2DFromArray(back, 16, array, 4, 1, 12, 2, cudaMemcpyDeviceToHost));
  CHECK(back[0][0] == 11 && back[1][2] == 23 && back[2][0] == 0);
  CHECK(cudaMemcpy2DToArray(array, 4, 0, numbers, 16, 16, 3, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  cudaExtent extent;
  cudaChannelFormatDesc kind;
  CHECK_CALL(cudaArrayGetInfo(&kind, &extent, nullptr, array));
  CHECK(extent.width == 4 && extent.height == 3 && kind.x == 32 && kind.y == 0 && kind.f == cudaChannelFormatKindFloat);
  CHECK_CALL(cudaFreeArray(array));
  return 0;
}

// Bytes in rows with gaps: as they are, and as fractions, which can be filtered.
int bytes() {
  uchar4* memory;
  std::size_t pitch;
  CHECK_CALL(cudaMallocPitch(&memory, &pitch, 2 * sizeof(uchar4), 2));
  const uchar4 texels[2][2] = {{{0, 51, 102, 255}, {255, 0, 0, 0}}, {{1, 2, 3, 4}, {5, 6, 7, 8}}};
  CHECK_CALL(cudaMemcpy2D(memory, pitch, texels, sizeof texels[0], sizeof texels[0], 2, cudaMemcpyHostToDevice));
  cudaResourceDesc of = {};
  of.resType = cudaResourceTypePitch2D;
  of.res.pitch2D.devPtr = memory;
  of.res.pitch2D.desc = cudaCreateChannelDesc<uchar4>();
  of.res.pitch2D.width = of.res.pitch2D.height = 2;
  of.res.pitch2D.pitchInBytes = pitch;
  cudaTextureObject_t texture;
  std::vector<uchar4> raw;
  if (read(texture, of, reading(cudaAddressModeClamp, cudaFilterModePoint, false), {{1, 1}}, raw)) return 1;
  CHECK(raw[0].x == 5 && raw[0].w == 8);
  std::vector<float4> out;
  const auto fractions = reading(cudaAddressModeClamp, cudaFilterModeLinear, false, cudaReadModeNormalizedFloat);
  if (read(texture, of, fractions, {{0.5f, 0.5f}, {1, 0.5f}}, out)) return 1;
  CHECK(out[0].x == 0 && std::fabs(out[0].y - 0.2f) < 1e-6 && out[0].w == 1 && out[1].x == 0.5f && out[1].w == 0.5f);
  const auto filtered = reading(cudaAddressModeClamp, cudaFilterModeLinear, false);
  CHECK(cudaCreateTextureObject(&texture, &of, &filtered, nullptr) == cudaErrorInvalidNormSetting);
  CHECK_CALL(cudaFree(memory));
  return 0;
}

int boxes() {
  float numbers[5][4][3], back[2][2];
  for (int z = 0; z < 5; ++z)
    for (int y = 0; y < 4; ++y)
      for (int x = 0; x < 3; ++x) numbers[z][y][x] = 100.0f * z + 10.0f * y + x;
  cudaArray_t array;
  const cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
  CHECK_CALL(cudaMalloc3DArray(&array, &desc, make_cudaExtent(3, 4, 5)));
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(numbers, 12, 3, 4);
  copy.dstArray = array;
  copy.extent = make_cudaExtent(3, 4, 5);
  copy.kind = cudaMemcpyHostToDevice;
  CHECK_CALL(cudaMemcpy3D(&copy));
  const cudaResourceDesc of = of_array(array);
  const cudaTextureDesc as = reading(cudaAddressModeClamp, cudaFilterModeLinear, false);
  cudaTextureObject_t texture;
  CHECK_CALL(cudaCreateTextureObject(&texture, &of, &as, nullptr));
  float4 *device, out;
  CHECK_CALL(cudaMalloc(&device, sizeof out));
  read_3d<<<1, 1>>>(texture, device);
  CHECK_KERNEL();
  CHECK_CALL(cudaMemcpy(&out, device, sizeof out, cudaMemcpyDeviceToHost));
  CHECK(out.x == 321 && out.y == 376.5f && out.z == 400 && out.w == 75);
  cudaMemcpy3DParms part = {};
  part.srcArray = array;
  part.srcPos = make_cudaPos(1, 2, 3);
  part.dstPtr = make_cudaPitchedPtr(back, 8, 2, 2);
  part.extent = make_cudaExtent(2, 2, 1);
  part.kind = cudaMemcpyDeviceToHost;
  CHECK_CALL(cudaMemcpy3D(&part));
  CHECK(back[0][0] == 321 && back[1][1] == 332);
  part.srcPos.x = 2;
  CHECK(cudaMemcpy3D(&part) == cudaErrorInvalidValue);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  CHECK_CALL(cudaDestroyTextureObject(texture));
  CHECK_CALL(cudaFreeArray(array));
  CHECK_CALL(cudaFree(device));
  return 0;
}

int layers() {
  float numbers[6 * 2 * 2];
  for (int i = 0; i < 24; ++i) numbers[i] = float(i);
  const cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
  cudaArray_t arrays[3];
  const cudaExtent extents[3] = {{2, 2, 6}, {4, 0, 6}, {2, 2, 6}};
  const unsigned int flags[3] = {cudaArrayLayered, cudaArrayLayered, cudaArrayCubemap};
  cudaTextureObject_t textures[3];
  for (int i = 0; i < 3; ++i) {
    CHECK_CALL(cudaMalloc3DArray(&arrays[i], &desc, extents[i], flags[i]));
    CHECK_CALL(cudaMemcpyToArray(arrays[i], 0, 0, numbers, sizeof numbers, cudaMemcpyHostToDevice));
    const cudaResourceDesc of = of_array(arrays[i]);
    const cudaTextureDesc as = reading(cudaAddressModeClamp, i == 1 ? cudaFilterModeLinear : cudaFilterModePoint, i == 2);
    CHECK_CALL(cudaCreateTextureObject(&textures[i], &of, &as, nullptr));
  }
  Numbers<float, 24> n;
  read_layers<<<1, 8>>>(textures[0], textures[1], textures[2], n.device);
  CHECK_KERNEL();
  n.read();
  for (int i = 0; i < 8; ++i) {
    const int flat = i < 1 ? 0 : i > 6 ? 5 : i - 1, row = i > 5 ? 5 : i;
    CHECK(n.host[i] == 4 * flat + 1 && n.host[8 + i] == 4 * row + 1.5f);
  }
  // The texel of each face in the direction: (s, t) after CUDA's table of faces.
  const float faces[6] = {0 + 1, 4 + 3, 8 + 3, 12 + 3, 16 + 1, 20 + 3};
  for (int i = 0; i < 6; ++i) CHECK(n.host[16 + i] == faces[i]);
  for (int i = 0; i < 3; ++i) {
    CHECK_CALL(cudaDestroyTextureObject(textures[i]));
    CHECK_CALL(cudaFreeArray(arrays[i]));
  }
  return 0;
}

int linear_memory() {
  Numbers<int, 8> n;
  Numbers<float, 8> parts;
  const short shorts[8] = {0, 32767, -32767, -32768, 16384, 1, 2, 3};
  short* device;
  int2 *out, pairs[8];
  CHECK_CALL(cudaMalloc(&device, sizeof shorts));
  CHECK_CALL(cudaMalloc(&out, sizeof pairs));
  CHECK_CALL(cudaMemcpy(device, shorts, sizeof shorts, cudaMemcpyHostToDevice));
  cudaResourceDesc of = {};
  of.resType = cudaResourceTypeLinear;
  of.res.linear.devPtr = n.device;
  of.res.linear.desc = cudaCreateChannelDesc<int2>();
  of.res.linear.sizeInBytes = 32;
  cudaTextureDesc as = {};
  cudaTextureObject_t numbers, fractions;
  CHECK_CALL(cudaCreateTextureObject(&numbers, &of, &as, nullptr));
  of.res.linear.devPtr = device;
  of.res.linear.desc = cudaCreateChannelDesc<short>();
  of.res.linear.sizeInBytes = 16;
  as.readMode = cudaReadModeNormalizedFloat;
  CHECK_CALL(cudaCreateTextureObject(&fractions, &of, &as, nullptr));
  fetch<<<1, 6>>>(numbers, fractions, out, parts.device);
  CHECK_KERNEL();
  CHECK_CALL(cudaMemcpy(pairs, out, sizeof pairs, cudaMemcpyDeviceToHost));
  parts.read();
  for (int i = 0; i < 6; ++i) {
    const bool inside = i > 0 && i < 5;
    CHECK(pairs[i].x == (inside ? 2 * (i - 1) : 0) && pairs[i].y == (inside ? 2 * (i - 1) + 1 : 0));
  }
  CHECK(parts.host[0] == 0 && parts.host[1] == 1 && parts.host[2] == -1 && parts.host[3] == -1);
  CHECK(std::fabs(parts.host[4] - 16384.0f / 32767) < 1e-6);
  CHECK_CALL(cudaDestroyTextureObject(numbers));
  CHECK_CALL(cudaDestroyTextureObject(fractions));
  CHECK_CALL(cudaFree(device));
  CHECK_CALL(cudaFree(out));
  return 0;
}

int surfaces() {
  short2 values[6][6];
  for (int y = 0; y < 6; ++y)
    for (int x = 0; x < 6; ++x) values[y][x] = make_short2(short(10 * y + x), short(-x));
  const cudaChannelFormatDesc desc = cudaCreateChannelDesc<short2>();
  cudaArray_t arrays[2];
  cudaSurfaceObject_t objects[2];
  for (int i = 0; i < 2; ++i) {
    CHECK_CALL(cudaMallocArray(&arrays[i], &desc, 6, 6, cudaArraySurfaceLoadStore));
    const cudaResourceDesc of = of_array(arrays[i]);
    CHECK_CALL(cudaCreateSurfaceObject(&objects[i], &of));
  }
  CHECK_CALL(cudaMemcpyToArray(arrays[0], 0, 0, values, sizeof values, cudaMemcpyHostToDevice));
  turn<<<1, dim3(6, 6)>>>(objects[0], objects[1]);
  CHECK_KERNEL();
  short2 turned[6][6];
  CHECK_CALL(cudaMemcpyFromArray(turned, arrays[1], 0, 0, sizeof turned, cudaMemcpyDeviceToHost));
  for (int y = 0; y < 6; ++y)
    for (int x = 0; x < 6; ++x) CHECK(turned[x][y].y == 10 * y + x && turned[x][y].x == -x);
  for (int i = 0; i < 2; ++i) {
    CHECK_CALL(cudaDestroySurfaceObject(objects[i]));
    CHECK_CALL(cudaFreeArray(arrays[i]));
  }
  return 0;
}

int main() { return flat() + bytes() + boxes() + layers() + linear_memory() + surfaces(); }
