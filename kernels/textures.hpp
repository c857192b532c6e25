// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// Textures, surfaces and arrays of whole CUDA programs, over Weir's memory. An array is rows without gaps; the object of a
/// texture or surface is the device's address of a description, with which the program's own code reads texels. So they work
/// on every backend, and on GPUs they do not use the texture hardware. Linear filtering has 8 bits of fraction, as CUDA's
/// has. Not there: mipmaps, texture references, sRGB, gathering.
namespace weir::kernels {

inline constexpr std::string_view textures = R"weir(
typedef unsigned long long cudaTextureObject_t, cudaSurfaceObject_t;
typedef struct cudaArray* cudaArray_t;
typedef const struct cudaArray* cudaArray_const_t;
enum {
  cudaArrayDefault = 0, cudaArrayLayered = 1, cudaArraySurfaceLoadStore = 2, cudaArrayCubemap = 4, cudaArrayTextureGather = 8
};
enum cudaTextureAddressMode {
  cudaAddressModeWrap = 0, cudaAddressModeClamp = 1, cudaAddressModeMirror = 2, cudaAddressModeBorder = 3
};
enum cudaTextureFilterMode { cudaFilterModePoint = 0, cudaFilterModeLinear = 1 };
enum cudaTextureReadMode { cudaReadModeElementType = 0, cudaReadModeNormalizedFloat = 1 };
enum cudaSurfaceBoundaryMode { cudaBoundaryModeZero = 0, cudaBoundaryModeClamp = 1, cudaBoundaryModeTrap = 2 };
enum cudaResourceType {
  cudaResourceTypeArray = 0, cudaResourceTypeMipmappedArray = 1, cudaResourceTypeLinear = 2, cudaResourceTypePitch2D = 3
};
struct cudaResourceDesc {
  enum cudaResourceType resType;
  union {
    struct { cudaArray_t array; } array;
    struct { void* devPtr; struct cudaChannelFormatDesc desc; size_t sizeInBytes; } linear;
    struct { void* devPtr; struct cudaChannelFormatDesc desc; size_t width, height, pitchInBytes; } pitch2D;
  } res;
};
struct cudaTextureDesc {
  enum cudaTextureAddressMode addressMode[3];
  enum cudaTextureFilterMode filterMode;
  enum cudaTextureReadMode readMode;
  int sRGB;
  float borderColor[4];
  int normalizedCoords;
  unsigned int maxAnisotropy;
  enum cudaTextureFilterMode mipmapFilterMode;
  float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
  int disableTrilinearOptimization, seamlessCubemap;
};
struct cudaResourceViewDesc;

// What a texture's or surface's object is the address of.
struct weir_texture {
  char* data;
  long long pitch, slice;  // bytes from row to row, and from slice to slice
  int width, height, depth, channels, bytes;
  cudaChannelFormatKind kind;
  cudaTextureDesc as;
};
)weir"
                                             R"weir(
// --- The host's calls

// Arithmetic types are their own channels; others have a member x.
template <class T>
static inline decltype(((T*)0)->x) weir_channel_of(int);
template <class T>
static inline T weir_channel_of(long);
static inline cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind) {
  cudaChannelFormatDesc desc = {x, y, z, w, kind};
  return desc;
}
template <class T>
static inline cudaChannelFormatDesc cudaCreateChannelDesc() {
  typedef decltype(weir_channel_of<T>(0)) Channel;
  const int bits = sizeof(Channel) * 8, n = sizeof(T) / sizeof(Channel);
  return cudaCreateChannelDesc(bits, n > 1 ? bits : 0, n > 2 ? bits : 0, n > 3 ? bits : 0,
                               (float)(Channel)0.5f != 0.0f                             ? cudaChannelFormatKindFloat
                               : (float)(Channel)((Channel)0.0f - (Channel)1.0f) < 0.0f ? cudaChannelFormatKindSigned
                                                                                        : cudaChannelFormatKindUnsigned);
}
static inline cudaChannelFormatDesc cudaCreateChannelDescHalf() {
  return cudaCreateChannelDesc(16, 0, 0, 0, cudaChannelFormatKindFloat);
}
// 0 if the channels are not all of 8, 16 or 32 bits.
static inline int weir_channels(const cudaChannelFormatDesc& d) {
  const int n = d.w ? 4 : d.z ? 3 : d.y ? 2 : 1;
  const bool same = (n < 2 || d.y == d.x) && (n < 3 || d.z == d.x) && (n < 4 || d.w == d.x);
  return same && n != 3 && (d.x == 8 || d.x == 16 || d.x == 32) && d.f < cudaChannelFormatKindNone ? n : 0;
}
static inline size_t weir_texel(const cudaChannelFormatDesc& d) { return (size_t)weir_channels(d) * d.x / 8; }
static inline size_t weir_at_least_1(size_t n) { return n != 0 ? n : 1; }
static inline cudaError_t cudaMalloc3DArray(cudaArray_t* made, const cudaChannelFormatDesc* desc, cudaExtent extent,
                                            unsigned int flags = 0) {
  if (made == 0 || desc == 0 || weir_channels(*desc) == 0 || extent.width == 0) return cudaErrorInvalidValue;
  if ((flags & cudaArrayCubemap) && (extent.width != extent.height || extent.depth % 6 != 0)) return cudaErrorInvalidValue;
  cudaArray array = {0, *desc, extent, flags};
  const cudaError_t error = ::cudaMalloc(&array.data, extent.width * weir_at_least_1(extent.height) *
                                                          weir_at_least_1(extent.depth) * weir_texel(*desc));
  if (error == cudaSuccess) *made = new cudaArray(array);
  return error;
}
static inline cudaError_t cudaMallocArray(cudaArray_t* made, const cudaChannelFormatDesc* desc, size_t width,
                                          size_t height = 0, unsigned int flags = 0) {
  return cudaMalloc3DArray(made, desc, make_cudaExtent(width, height, 0), flags);
}
static inline cudaError_t cudaFreeArray(cudaArray_t array) {
  if (array == 0) return cudaSuccess;
  const cudaError_t error = ::cudaFree(array->data);
  delete array;
  return error;
}
static inline cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* desc, cudaExtent* extent, unsigned int* flags,
                                           cudaArray_t array) {
  if (desc) *desc = array->desc;
  if (extent) *extent = array->extent;
  if (flags) *flags = array->flags;
  return cudaSuccess;
}
static inline cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* desc, cudaArray_const_t array) {
  *desc = array->desc;
  return cudaSuccess;
}
static inline size_t weir_row(cudaArray_const_t a) { return a->extent.width * weir_texel(a->desc); }
static inline char* weir_place(cudaArray_const_t a, size_t x, size_t y) { return (char*)a->data + y * weir_row(a) + x; }
static inline bool weir_fits(cudaArray_const_t a, size_t x, size_t y, size_t width, size_t height) {
  return x + width <= weir_row(a) &&
         y + height <= weir_at_least_1(a->extent.height) * weir_at_least_1(a->extent.depth);
}
static inline bool weir_fits(cudaArray_const_t a, size_t x, size_t y, size_t bytes) {
  return y * weir_row(a) + x + bytes <= weir_row(a) * weir_at_least_1(a->extent.height) * weir_at_least_1(a->extent.depth);
}
// The calls with Async have one argument more, the stream.
#define WEIR_ARRAY_COPIES(end, parameter, stream)                                                                          \
  static inline cudaError_t cudaMemcpy2DToArray##end(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch,   \
                                                     size_t width, size_t height, cudaMemcpyKind kind parameter) {        \
    if (!weir_fits(to, x, y, width, height)) return cudaErrorInvalidValue;                                                 \
    return ::cudaMemcpy2D##end(weir_place(to, x, y), weir_row(to), from, pitch, width, height, kind stream);               \
  }                                                                                                                        \
  static inline cudaError_t cudaMemcpy2DFromArray##end(void* to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, \
                                                       size_t width, size_t height, cudaMemcpyKind kind parameter) {      \
    if (!weir_fits(from, x, y, width, height)) return cudaErrorInvalidValue;                                               \
    return ::cudaMemcpy2D##end(to, pitch, weir_place(from, x, y), weir_row(from), width, height, kind stream);             \
  }                                                                                                                        \
  static inline cudaError_t cudaMemcpyToArray##end(cudaArray_t to, size_t x, size_t y, const void* from, size_t bytes,     \
                                                   cudaMemcpyKind kind parameter) {                                       \
    if (!weir_fits(to, x, y, bytes)) return cudaErrorInvalidValue;                                                         \
    return ::cudaMemcpy##end(weir_place(to, x, y), from, bytes, kind stream);                                              \
  }                                                                                                                        \
  static inline cudaError_t cudaMemcpyFromArray##end(void* to, cudaArray_const_t from, size_t x, size_t y, size_t bytes,   \
                                                     cudaMemcpyKind kind parameter) {                                     \
    if (!weir_fits(from, x, y, bytes)) return cudaErrorInvalidValue;                                                       \
    return ::cudaMemcpy##end(to, weir_place(from, x, y), bytes, kind stream);                                              \
  }
#define WEIR_NOTHING
#define WEIR_STREAM_PARAMETER , cudaStream_t stream = 0
#define WEIR_STREAM_ARGUMENT , stream
WEIR_ARRAY_COPIES(, WEIR_NOTHING, WEIR_NOTHING)
WEIR_ARRAY_COPIES(Async, WEIR_STREAM_PARAMETER, WEIR_STREAM_ARGUMENT)
#undef WEIR_ARRAY_COPIES
#undef WEIR_NOTHING
#undef WEIR_STREAM_PARAMETER
#undef WEIR_STREAM_ARGUMENT

static inline cudaError_t weir_make_texture(unsigned long long* made, const cudaResourceDesc* of,
                                            const cudaTextureDesc* as) {
  if (made == 0 || of == 0) return cudaErrorInvalidValue;
  weir_texture t = {};
  if (as != 0) t.as = *as;
  cudaChannelFormatDesc desc;
  if (of->resType == cudaResourceTypeArray) {
    cudaArray_const_t a = of->res.array.array;
    if (a == 0) return cudaErrorInvalidValue;
    desc = a->desc;
    t.data = (char*)a->data, t.pitch = weir_row(a);
    t.width = (int)a->extent.width, t.height = (int)weir_at_least_1(a->extent.height);
    t.depth = (int)weir_at_least_1(a->extent.depth);
  } else if (of->resType == cudaResourceTypeLinear) {
    desc = of->res.linear.desc;
    if (weir_channels(desc) == 0) return cudaErrorInvalidChannelDescriptor;
    t.data = (char*)of->res.linear.devPtr, t.width = (int)(of->res.linear.sizeInBytes / weir_texel(desc));
    t.height = t.depth = 1;
  } else if (of->resType == cudaResourceTypePitch2D) {
    desc = of->res.pitch2D.desc;
    t.data = (char*)of->res.pitch2D.devPtr, t.pitch = of->res.pitch2D.pitchInBytes;
    t.width = (int)of->res.pitch2D.width, t.height = (int)of->res.pitch2D.height, t.depth = 1;
  } else {
    return cudaErrorNotSupported;
  }
  t.channels = weir_channels(desc), t.bytes = desc.x / 8, t.kind = desc.f, t.slice = t.pitch * t.height;
  if (t.channels == 0) return cudaErrorInvalidChannelDescriptor;
  if (t.as.sRGB != 0) return cudaErrorNotSupported;
  const bool numbers = t.kind == cudaChannelFormatKindFloat;
  if (t.as.readMode == cudaReadModeNormalizedFloat ? t.bytes == 4 && !numbers : t.as.filterMode && !numbers)
    return cudaErrorInvalidNormSetting;
  void* place = 0;
  cudaError_t error = ::cudaMalloc(&place, sizeof t);
  if (error == cudaSuccess) error = ::cudaMemcpy(place, &t, sizeof t, cudaMemcpyHostToDevice);
  *made = (unsigned long long)place;
  return error;
}
static inline cudaError_t cudaCreateTextureObject(cudaTextureObject_t* made, const cudaResourceDesc* of,
                                                  const cudaTextureDesc* as, const cudaResourceViewDesc* view) {
  if (as == 0) return cudaErrorInvalidValue;
  return view != 0 ? cudaErrorNotSupported : weir_make_texture(made, of, as);
}
static inline cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture) { return ::cudaFree((void*)texture); }
static inline cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* made, const cudaResourceDesc* of) {
  if (of == 0 || of->resType != cudaResourceTypeArray) return cudaErrorInvalidValue;
  return weir_make_texture(made, of, 0);
}
static inline cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surface) { return ::cudaFree((void*)surface); }
)weir"
                                             R"weir(
#if defined(__CUDA__)
// --- Kernels' functions

#define WEIR_TEXTURE static inline __device__ __attribute__((always_inline, unused))
namespace weir_host {
template <class T>
struct texel_floats { static constexpr int count = 0; };
template <> struct texel_floats<float> { static constexpr int count = 1; };
template <> struct texel_floats<float1> { static constexpr int count = 1; };
template <> struct texel_floats<float2> { static constexpr int count = 2; };
template <> struct texel_floats<float4> { static constexpr int count = 4; };

// The texel at an index along an axis of n texels, or -1 for the border.
WEIR_TEXTURE int texel_index(const weir_texture& t, int axis, int i, int n) {
  if ((unsigned int)i < (unsigned int)n) return i;
  const cudaTextureAddressMode mode = t.as.addressMode[axis];
  if (mode == cudaAddressModeBorder) return -1;
  if (!t.as.normalizedCoords || mode == cudaAddressModeClamp) return i < 0 ? 0 : n - 1;
  const int period = mode == cudaAddressModeMirror ? 2 * n : n;
  int within = i % period;
  if (within < 0) within += period;
  return within < n ? within : period - 1 - within;
}
WEIR_TEXTURE const char* texel_at(const weir_texture& t, int x, int y, int z) {
  return t.data + (z * t.slice + y * t.pitch + (long long)x * (t.channels * t.bytes));
}
// Copies a texel. Channels that the array lacks keep their values.
template <class T>
WEIR_TEXTURE void copy_texel(T* to, const weir_texture& t, const void* texel) {
  const int bytes = t.channels * t.bytes;
  if (bytes >= (int)sizeof(T)) return (void)memcpy(to, texel, sizeof(T));
  for (int i = 0; i < bytes; ++i) ((char*)to)[i] = ((const char*)texel)[i];
}
WEIR_TEXTURE float channel_value(const weir_texture& t, const char* at) {
  if (t.kind == cudaChannelFormatKindFloat) {
    if (t.bytes == 4) return *(const float*)at;
    __fp16 half;
    memcpy(&half, at, 2);
    return (float)half;
  }
  const bool has_sign = t.kind == cudaChannelFormatKindSigned;
  float value, most;
  if (t.bytes == 1) {
    value = has_sign ? (float)*(const signed char*)at : (float)*(const unsigned char*)at, most = has_sign ? 127.0f : 255.0f;
  } else {
    value = has_sign ? (float)*(const short*)at : (float)*(const unsigned short*)at, most = has_sign ? 32767.0f : 65535.0f;
  }
  value /= most;
  return value < -1.0f ? -1.0f : value;
}
// Adds the texel, times a factor.
WEIR_TEXTURE void add_texel(const weir_texture& t, int x, int y, int z, float factor, float* sums) {
  const bool is_border = x < 0 || y < 0 || z < 0;
  const char* const at = is_border ? 0 : texel_at(t, x, y, z);
  for (int c = 0; c < t.channels; ++c)
    sums[c] += factor * (is_border ? t.as.borderColor[c] : channel_value(t, at + c * t.bytes));
}
// The texel at an index, or the border's color.
template <class T>
WEIR_TEXTURE T texel(const weir_texture& t, int x, int y, int z) {
  T result = {};
  if (texel_floats<T>::count == 0) {
    if (x >= 0 && y >= 0 && z >= 0) copy_texel(&result, t, texel_at(t, x, y, z));
  } else {
    float sums[4] = {};
    add_texel(t, x, y, z, 1, sums);
    memcpy(&result, sums, sizeof(float) * texel_floats<T>::count);
  }
  return result;
}
// The lower of the two texels between which a coordinate lies, and how far from it.
WEIR_TEXTURE int lower_texel(float x, float& fraction) {
  const float below = floorf(x - 0.5f);
  fraction = rintf((x - 0.5f - below) * 256.0f) / 256.0f;
  return (int)below;
}
// Reads from a texture of so many axes. `layer` is the slice of a layered texture.
template <class T, int axes>
WEIR_TEXTURE T sample(unsigned long long object, float x, float y, float z, int layer) {
  const weir_texture& t = *(const weir_texture*)object;
  if (t.as.normalizedCoords) x *= t.width, y *= t.height, z *= t.depth;
  if (t.as.filterMode != cudaFilterModeLinear) {
    return texel<T>(t, texel_index(t, 0, (int)floorf(x), t.width),
                    axes > 1 ? texel_index(t, 1, (int)floorf(y), t.height) : 0,
                    axes > 2 ? texel_index(t, 2, (int)floorf(z), t.depth) : layer);
  }
  float sums[4] = {}, fx, fy = 0, fz = 0;
  const int i = lower_texel(x, fx), j = axes > 1 ? lower_texel(y, fy) : 0, k = axes > 2 ? lower_texel(z, fz) : 0;
  for (int corner = 0; corner < (1 << axes); ++corner) {
    const int dx = corner & 1, dy = corner >> 1 & 1, dz = corner >> 2;
    add_texel(t, texel_index(t, 0, i + dx, t.width), axes > 1 ? texel_index(t, 1, j + dy, t.height) : 0,
              axes > 2 ? texel_index(t, 2, k + dz, t.depth) : layer,
              (dx ? fx : 1 - fx) * (dy ? fy : 1 - fy) * (dz ? fz : 1 - fz), sums);
  }
  T result = {};
  memcpy(&result, sums, sizeof(float) * texel_floats<T>::count);
  return result;
}
WEIR_TEXTURE int layer_of(unsigned long long object, int layer) {
  const int last = ((const weir_texture*)object)->depth - 1;
  return layer < 0 ? 0 : layer > last ? last : layer;
}
// The face in which a direction ends, and where.
template <class T>
WEIR_TEXTURE T sample_cube(unsigned long long object, float x, float y, float z, int cube) {
  const float ax = fabsf(x), ay = fabsf(y), az = fabsf(z);
  int face;
  float s, t, m;
  if (ax >= ay && ax >= az) {
    face = x >= 0 ? 0 : 1, s = x >= 0 ? -z : z, t = -y, m = ax;
  } else if (ay >= az) {
    face = y >= 0 ? 2 : 3, s = x, t = y >= 0 ? z : -z, m = ay;
  } else {
    face = z >= 0 ? 4 : 5, s = z >= 0 ? x : -x, t = -y, m = az;
  }
  const float width = (float)((const weir_texture*)object)->width;
  const float scale = ((const weir_texture*)object)->as.normalizedCoords ? 0.5f : 0.5f * width;
  return sample<T, 2>(object, (s / m + 1) * scale, (t / m + 1) * scale, 0, layer_of(object, 6 * cube + face));
}
}  // namespace weir_host
#define WEIR_TEXTURE_CALL(name, parameters, arguments, value)                                            \
  template <class T>                                                                                     \
  WEIR_TEXTURE T name parameters { return value; }                                                       \
  template <class T>                                                                                     \
  WEIR_TEXTURE void name(T* weir_result, WEIR_LIST parameters) { *weir_result = name<T> arguments; }
#define WEIR_LIST(...) __VA_ARGS__
WEIR_TEXTURE_CALL(tex1D, (cudaTextureObject_t object, float x), (object, x),
                  (weir_host::sample<T, 1>(object, x, 0, 0, 0)))
WEIR_TEXTURE_CALL(tex2D, (cudaTextureObject_t object, float x, float y), (object, x, y),
                  (weir_host::sample<T, 2>(object, x, y, 0, 0)))
WEIR_TEXTURE_CALL(tex3D, (cudaTextureObject_t object, float x, float y, float z), (object, x, y, z),
                  (weir_host::sample<T, 3>(object, x, y, z, 0)))
WEIR_TEXTURE_CALL(tex1DLayered, (cudaTextureObject_t object, float x, int layer), (object, x, layer),
                  (weir_host::sample<T, 1>(object, x, 0, 0, weir_host::layer_of(object, layer))))
WEIR_TEXTURE_CALL(tex2DLayered, (cudaTextureObject_t object, float x, float y, int layer), (object, x, y, layer),
                  (weir_host::sample<T, 2>(object, x, y, 0, weir_host::layer_of(object, layer))))
WEIR_TEXTURE_CALL(texCubemap, (cudaTextureObject_t object, float x, float y, float z), (object, x, y, z),
                  (weir_host::sample_cube<T>(object, x, y, z, 0)))
WEIR_TEXTURE_CALL(texCubemapLayered, (cudaTextureObject_t object, float x, float y, float z, int layer),
                  (object, x, y, z, layer), (weir_host::sample_cube<T>(object, x, y, z, layer)))
#undef WEIR_LIST
#undef WEIR_TEXTURE_CALL
template <class T>
WEIR_TEXTURE T tex1Dfetch(cudaTextureObject_t object, int x) {
  const weir_texture& t = *(const weir_texture*)object;
  return (unsigned int)x < (unsigned int)t.width ? weir_host::texel<T>(t, x, 0, 0) : T();
}
template <class T>
WEIR_TEXTURE void tex1Dfetch(T* result, cudaTextureObject_t object, int x) { *result = tex1Dfetch<T>(object, x); }

namespace weir_host {
// Where a surface's texel is: x counts bytes. A null pointer is outside.
WEIR_TEXTURE char* surface_at(unsigned long long object, int x, int y, int z, int bytes, cudaSurfaceBoundaryMode mode) {
  const weir_texture& t = *(const weir_texture*)object;
  const int last_x = t.width * t.channels * t.bytes - bytes, last_y = t.height - 1, last_z = t.depth - 1;
  const bool inside = x >= 0 && y >= 0 && z >= 0 && x <= last_x && y <= last_y && z <= last_z;
  if (!inside && mode == cudaBoundaryModeTrap) __builtin_trap();
  if (!inside && mode == cudaBoundaryModeZero) return 0;
  x = x < 0 ? 0 : x > last_x ? last_x : x, y = y < 0 ? 0 : y > last_y ? last_y : y, z = z < 0 ? 0 : z > last_z ? last_z : z;
  return t.data + (z * t.slice + y * t.pitch + x);
}
}  // namespace weir_host
#define WEIR_SURFACE_CALLS(name, where, ...)                                                                              \
  template <class T>                                                                                                      \
  WEIR_TEXTURE T name##read(cudaSurfaceObject_t object, __VA_ARGS__, cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) { \
    T result = {};                                                                                                        \
    const char* const at = weir_host::surface_at(object, WEIR_LIST where, sizeof(T), mode);                               \
    if (at != 0) memcpy(&result, at, sizeof(T));                                                                          \
    return result;                                                                                                        \
  }                                                                                                                       \
  template <class T>                                                                                                      \
  WEIR_TEXTURE void name##read(T* result, cudaSurfaceObject_t object, __VA_ARGS__,                                        \
                               cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {                                     \
    const char* const at = weir_host::surface_at(object, WEIR_LIST where, sizeof(T), mode);                               \
    *result = T();                                                                                                        \
    if (at != 0) memcpy(result, at, sizeof(T));                                                                           \
  }                                                                                                                       \
  template <class T>                                                                                                      \
  WEIR_TEXTURE void name##write(T value, cudaSurfaceObject_t object, __VA_ARGS__,                                         \
                                cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {                                    \
    char* const at = weir_host::surface_at(object, WEIR_LIST where, sizeof(T), mode);                                     \
    if (at != 0) memcpy(at, &value, sizeof(T));                                                                           \
  }
#define WEIR_LIST(...) __VA_ARGS__
WEIR_SURFACE_CALLS(surf1D, (x, 0, 0), int x)
WEIR_SURFACE_CALLS(surf2D, (x, y, 0), int x, int y)
WEIR_SURFACE_CALLS(surf3D, (x, y, z), int x, int y, int z)
WEIR_SURFACE_CALLS(surf1DLayered, (x, 0, layer), int x, int layer)
WEIR_SURFACE_CALLS(surf2DLayered, (x, y, layer), int x, int y, int layer)
#undef WEIR_LIST
#undef WEIR_SURFACE_CALLS
#undef WEIR_TEXTURE
#endif
)weir";

}  // namespace weir::kernels
