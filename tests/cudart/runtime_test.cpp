// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cudart/include/cuda_runtime_api.h"
#include "cudart/include/vector_functions.h"
#include "cudart/include/weir_cuda_templates.h"
#include "weir/weir.hpp"

// Tests the calls of CUDA's runtime on the CPU, from a file for the host alone, as a program sees them: results, numbers of
// errors, and what CUDA's documentation promises about waiting. Programs with kernels are in tests/cudart/language.

namespace {

// Error numbers as doctest prints them.
int number(cudaError_t error) { return static_cast<int>(error); }

#define CHECK_CUDA(call) CHECK(number(call) == 0)
#define CHECK_ERROR(call, error)        \
  CHECK(number(call) == number(error)); \
  CHECK(number(cudaGetLastError()) == number(error))

template <class T>
T* device_memory(std::size_t count) {
  T* pointer = nullptr;
  CHECK_CUDA(cudaMalloc(&pointer, count * sizeof(T)));
  return pointer;
}

template <class T>
T* pinned_memory(std::size_t count) {
  T* pointer = nullptr;
  CHECK_CUDA(cudaMallocHost(&pointer, count * sizeof(T)));
  return pointer;
}

cudaStream_t new_stream(unsigned int flags = cudaStreamNonBlocking) {
  cudaStream_t stream = nullptr;
  CHECK_CUDA(cudaStreamCreateWithFlags(&stream, flags));
  return stream;
}

// Work that waits until it is released.
struct Gate {
  std::atomic<bool> is_open = false;
  static void wait(void* gate) {
    while (!static_cast<Gate*>(gate)->is_open) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  void close(cudaStream_t stream) { CHECK_CUDA(cudaLaunchHostFunc(stream, wait, this)); }
  void open() { is_open = true; }
};

}  // namespace

TEST_CASE("cudart: the library exports every call of the table, each default stream's variant, and nothing else of them") {
  const auto has = [](const std::string& name) { return dlsym(RTLD_DEFAULT, name.c_str()) != nullptr; };
  int calls = 0;
#define WEIR_CUDA_CALL(result, name, parameters, arguments, text) \
  CHECK_MESSAGE(has(#name), #name);                               \
  ++calls;
#define WEIR_CUDA_STREAM_CALL(result, name, parameters, arguments, text) \
  WEIR_CUDA_CALL(result, name, parameters, arguments, text)              \
  CHECK_MESSAGE(has(#name "_ptsz"), #name);
#define WEIR_CUDA_MISSING(name, text) CHECK_MESSAGE(!has(#name), #name);
#include "cudart/include/weir_cuda_calls.def"
  CHECK(calls > 130);
  for (const char* name :
       {"__cudaRegisterFatBinary", "__cudaRegisterFatBinaryEnd", "__cudaUnregisterFatBinary", "__cudaRegisterFunction",
        "__cudaRegisterVar", "__cudaPushCallConfiguration", "__cudaPopCallConfiguration"})
    CHECK_MESSAGE(has(name), name);
}

TEST_CASE("cudart: errors have CUDA's names and texts, and the last one stays until it is read") {
  CHECK(std::string(cudaGetErrorName(cudaSuccess)) == "cudaSuccess");
  CHECK(std::string(cudaGetErrorString(cudaSuccess)) == "no error");
  CHECK(std::string(cudaGetErrorName(cudaErrorInvalidConfiguration)) == "cudaErrorInvalidConfiguration");
  CHECK(std::string(cudaGetErrorString(cudaErrorMemoryAllocation)) == "out of memory");
  CHECK(std::string(cudaGetErrorString(static_cast<cudaError_t>(5555))) == "unrecognized error code");
  CHECK(number(cudaErrorStreamCaptureWrongThread) == 908);
  cudaGetLastError();
  CHECK(number(cudaMalloc(static_cast<void**>(nullptr), 4)) == 1);
  CHECK_CUDA(cudaDeviceSynchronize());  // a success does not clear it
  CHECK(number(cudaPeekAtLastError()) == 1);
  std::thread([] { CHECK_CUDA(cudaPeekAtLastError()); }).join();  // each thread has its own
  CHECK(number(cudaGetLastError()) == 1);
  CHECK_CUDA(cudaGetLastError());
}

TEST_CASE("cudart: devices, properties and attributes") {
  int count = 0;
  CHECK_CUDA(cudaGetDeviceCount(&count));
  REQUIRE(count >= 1);
  CHECK_ERROR(cudaSetDevice(count), cudaErrorInvalidDevice);
  CHECK_ERROR(cudaSetDevice(-1), cudaErrorInvalidDevice);
  CHECK_ERROR(cudaGetDevice(nullptr), cudaErrorInvalidValue);
  CHECK_CUDA(cudaSetDevice(count - 1));
  int device = -1;
  CHECK_CUDA(cudaGetDevice(&device));
  CHECK(device == count - 1);
  std::thread([&] {
    int other = -1;
    CHECK_CUDA(cudaGetDevice(&other));
    CHECK(other == 0);
  }).join();
  CHECK_CUDA(cudaSetDevice(0));
  cudaDeviceProp properties;
  CHECK_CUDA(cudaGetDeviceProperties(&properties, 0));
  CHECK(std::strlen(properties.name) > 0);
  CHECK(properties.major >= 7);
  CHECK(properties.maxThreadsPerBlock == 1024);
  CHECK(properties.warpSize == 32);
  CHECK_ERROR(cudaGetDeviceProperties(&properties, count), cudaErrorInvalidDevice);
  int value = 0;
  CHECK_CUDA(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
  CHECK(value == properties.multiProcessorCount);
  CHECK_CUDA(cudaDeviceGetAttribute(&value, cudaDevAttrMaxGridDimX, 0));
  CHECK(value == 0x7FFFFFFF);
  CHECK_ERROR(cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(200), 0), cudaErrorInvalidValue);
  CHECK_CUDA(cudaRuntimeGetVersion(&value));
  CHECK(value == CUDART_VERSION);
  CHECK_CUDA(cudaDriverGetVersion(&value));
  CHECK(value >= CUDART_VERSION);
  std::array<char, 32> id{};
  CHECK_CUDA(cudaDeviceGetPCIBusId(id.data(), id.size(), 0));
  CHECK(std::strchr(id.data(), ':') != nullptr);
  CHECK_ERROR(cudaDeviceGetPCIBusId(id.data(), 4, 0), cudaErrorInvalidValue);
  int can = 1;
  CHECK_CUDA(cudaDeviceCanAccessPeer(&can, 0, 0));
  CHECK(can == 0);
  CHECK_ERROR(cudaDeviceEnablePeerAccess(0, 0), cudaErrorInvalidDevice);
  CHECK_ERROR(cudaDeviceDisablePeerAccess(0), cudaErrorPeerAccessNotEnabled);
}

TEST_CASE("cudart: hints and limits are stored") {
  std::size_t limit = 0;
  CHECK_CUDA(cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize));
  CHECK(limit == std::size_t{8} << 20U);
  CHECK_CUDA(cudaDeviceSetLimit(cudaLimitMallocHeapSize, std::size_t{64} << 20U));
  CHECK_CUDA(cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize));
  CHECK(limit == std::size_t{64} << 20U);
  CHECK_ERROR(cudaDeviceSetLimit(static_cast<cudaLimit>(7), 1), cudaErrorUnsupportedLimit);
  cudaFuncCache cache{};
  CHECK_CUDA(cudaDeviceSetCacheConfig(cudaFuncCachePreferL1));
  CHECK_CUDA(cudaDeviceGetCacheConfig(&cache));
  CHECK(cache == cudaFuncCachePreferL1);
  cudaSharedMemConfig banks{};
  CHECK_CUDA(cudaDeviceSetSharedMemConfig(cudaSharedMemBankSizeEightByte));
  CHECK_CUDA(cudaDeviceGetSharedMemConfig(&banks));
  CHECK(banks == cudaSharedMemBankSizeEightByte);
  unsigned int flags = 0;
  CHECK_CUDA(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync));
  CHECK_CUDA(cudaGetDeviceFlags(&flags));
  CHECK(flags == (cudaDeviceScheduleBlockingSync | cudaDeviceMapHost));
  CHECK_ERROR(cudaSetDeviceFlags(0x1000), cudaErrorInvalidValue);
  CHECK_CUDA(cudaProfilerStart());
  CHECK_CUDA(cudaProfilerStop());
}

TEST_CASE("cudart: memory of all kinds, and what is known of an address") {
  float* const d = device_memory<float>(1024);
  float* const h = pinned_memory<float>(1024);
  float* m = nullptr;
  CHECK_CUDA(cudaMallocManaged(&m, 4096));
  cudaPointerAttributes attributes;
  CHECK_CUDA(cudaPointerGetAttributes(&attributes, d + 1023));
  CHECK(attributes.type == cudaMemoryTypeDevice);
  CHECK(attributes.device == 0);
  CHECK(attributes.devicePointer == d + 1023);
  CHECK(attributes.hostPointer == nullptr);
  CHECK_CUDA(cudaPointerGetAttributes(&attributes, h));
  CHECK(attributes.type == cudaMemoryTypeHost);
  CHECK(attributes.hostPointer == h);
  CHECK_CUDA(cudaPointerGetAttributes(&attributes, m));
  CHECK(attributes.type == cudaMemoryTypeManaged);
  CHECK_CUDA(cudaPointerGetAttributes(&attributes, &attributes));
  CHECK(attributes.type == cudaMemoryTypeUnregistered);
  CHECK_CUDA(cudaMemPrefetchAsync(m, 4096, 0));
  CHECK_CUDA(cudaMemPrefetchAsync(m, 4096, cudaCpuDeviceId));
  CHECK_CUDA(cudaMemPrefetchAsync(m, 4096, cudaMemLocation{cudaMemLocationTypeDevice, 0}, 0));
  CHECK_CUDA(cudaMemAdvise(m, 4096, cudaMemAdviseSetReadMostly, 0));
  CHECK_ERROR(cudaMemPrefetchAsync(m, 4097, 0), cudaErrorInvalidValue);
  CHECK_ERROR(cudaMemPrefetchAsync(d, 4096, 0), cudaErrorInvalidValue);
  CHECK_ERROR(cudaMemPrefetchAsync(m, 4096, 99), cudaErrorInvalidDevice);
  CHECK_ERROR(cudaMemAdvise(m, 4096, static_cast<cudaMemoryAdvise>(0), 0), cudaErrorInvalidValue);

  CHECK_ERROR(cudaFree(d + 1), cudaErrorInvalidValue);
  CHECK_ERROR(cudaFree(h), cudaErrorInvalidValue);
  CHECK_ERROR(cudaFreeHost(d), cudaErrorInvalidValue);
  CHECK_CUDA(cudaFree(d));
  CHECK_ERROR(cudaFree(d), cudaErrorInvalidValue);
  CHECK_CUDA(cudaFree(m));
  CHECK_CUDA(cudaFreeHost(h));
  CHECK_CUDA(cudaFree(nullptr));
  void* none = h;
  CHECK_CUDA(cudaMalloc(&none, 0));
  CHECK(none == nullptr);
  CHECK_ERROR(cudaMalloc(&none, SIZE_MAX), cudaErrorMemoryAllocation);
  std::size_t available = 0;
  std::size_t total = 0;
  CHECK_CUDA(cudaMemGetInfo(&available, &total));
  CHECK(available <= total);
  CHECK(total > 0);
}

TEST_CASE("cudart: registered and mapped host memory") {
  std::vector<int> memory(4096);
  int* device = nullptr;
  CHECK_ERROR(cudaHostUnregister(memory.data()), cudaErrorHostMemoryNotRegistered);
  CHECK_CUDA(cudaHostRegister(memory.data(), memory.size() * sizeof(int), cudaHostRegisterMapped));
  CHECK_ERROR(cudaHostRegister(memory.data() + 1, 4, 0), cudaErrorHostMemoryAlreadyRegistered);
  CHECK_CUDA(cudaHostGetDevicePointer(&device, memory.data() + 5, 0));
  CHECK(device == memory.data() + 5);
  CHECK_CUDA(cudaHostUnregister(memory.data()));
  CHECK_ERROR(cudaHostGetDevicePointer(&device, memory.data(), 0), cudaErrorInvalidValue);
  CHECK_CUDA(cudaHostAlloc(&device, 64, cudaHostAllocPortable | cudaHostAllocWriteCombined));
  unsigned int flags = 0;
  CHECK_CUDA(cudaHostGetFlags(&flags, device));
  CHECK(flags == (cudaHostAllocPortable | cudaHostAllocWriteCombined | cudaHostAllocMapped));
  CHECK_CUDA(cudaFreeHost(device));
  CHECK_ERROR(cudaHostAlloc(&device, 64, 0x80), cudaErrorInvalidValue);
}

TEST_CASE("cudart: copies and fills, and what they refuse") {
  constexpr std::size_t n = 1000;
  int* const d = device_memory<int>(n);
  int* const e = device_memory<int>(n);
  std::vector<int> in(n);
  std::vector<int> out(n, -1);
  for (std::size_t i = 0; i < n; ++i) in[i] = static_cast<int>(i);
  CHECK_CUDA(cudaMemcpy(d, in.data(), n * 4, cudaMemcpyHostToDevice));
  CHECK_CUDA(cudaMemcpy(e, d, n * 4, cudaMemcpyDeviceToDevice));
  CHECK_CUDA(cudaMemcpy(out.data(), e, n * 4, cudaMemcpyDefault));
  CHECK(in == out);
  CHECK_CUDA(cudaMemset(e, 0x11, n * 4));
  CHECK_CUDA(cudaMemcpyPeer(out.data(), 0, e, 0, n * 4));
  CHECK(out[n - 1] == 0x11111111);
  CHECK_CUDA(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyHostToDevice));
  CHECK_ERROR(cudaMemcpy(d, in.data(), 4, static_cast<cudaMemcpyKind>(5)), cudaErrorInvalidMemcpyDirection);
  CHECK_ERROR(cudaMemcpy(d, nullptr, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  CHECK_ERROR(cudaMemcpy(d, in.data(), n * 4 + 1, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  CHECK_ERROR(cudaMemcpy(d + 1, in.data(), n * 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  CHECK_ERROR(cudaMemcpy(d, in.data(), 4, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);  // the wrong way round
  CHECK_ERROR(cudaMemset(e + 1, 0, n * 4), cudaErrorInvalidValue);
  CHECK_ERROR(cudaMemcpyToSymbol(&out, in.data(), 4), cudaErrorInvalidSymbol);
  CHECK_CUDA(cudaFree(d));
  CHECK_CUDA(cudaFree(e));
}

TEST_CASE("cudart: copies and fills of rows and boxes") {
  constexpr std::size_t width = 10;
  constexpr std::size_t height = 5;
  constexpr std::size_t depth = 3;
  unsigned char* rows = nullptr;
  std::size_t pitch = 0;
  CHECK_CUDA(cudaMallocPitch(&rows, &pitch, width, height));
  CHECK(pitch % 512 == 0);
  std::vector<unsigned char> in(width * height * depth);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<unsigned char>(i);
  std::vector<unsigned char> out(width * height, 0);
  CHECK_CUDA(cudaMemcpy2D(rows, pitch, in.data(), width, width, height, cudaMemcpyHostToDevice));
  CHECK_CUDA(cudaMemset2D(rows + pitch + 2, pitch, 0xFF, 3, 2));
  CHECK_CUDA(cudaMemcpy2D(out.data(), width, rows, pitch, width, height, cudaMemcpyDeviceToHost));
  CHECK(out[width + 1] == width + 1);
  CHECK(out[width + 2] == 0xFF);
  CHECK(out[2 * width + 4] == 0xFF);
  CHECK(out[2 * width + 5] == 2 * width + 5);
  CHECK_ERROR(cudaMemcpy2D(rows, width - 1, in.data(), width, width, height, cudaMemcpyHostToDevice),
              cudaErrorInvalidPitchValue);
  CHECK_ERROR(cudaMemcpy2D(rows, pitch, in.data(), width, width, height + 1, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  CHECK_CUDA(cudaFree(rows));

  cudaPitchedPtr box{};
  const cudaExtent extent = make_cudaExtent(width, height, depth);
  CHECK_CUDA(cudaMalloc3D(&box, extent));
  cudaMemcpy3DParms copy{};
  copy.srcPtr = make_cudaPitchedPtr(in.data(), width, width, height);
  copy.dstPtr = box;
  copy.extent = extent;
  copy.kind = cudaMemcpyHostToDevice;
  CHECK_CUDA(cudaMemcpy3D(&copy));
  // A box of 2 x 2 x 2 from the middle.
  std::array<unsigned char, 8> part{};
  copy = {};
  copy.srcPtr = box;
  copy.srcPos = make_cudaPos(3, 2, 1);
  copy.dstPtr = make_cudaPitchedPtr(part.data(), 2, 2, 2);
  copy.extent = make_cudaExtent(2, 2, 2);
  copy.kind = cudaMemcpyDeviceToHost;
  CHECK_CUDA(cudaMemcpy3D(&copy));
  const auto at = [&](std::size_t x, std::size_t y, std::size_t z) { return in[(z * height + y) * width + x]; };
  CHECK(part[0] == at(3, 2, 1));
  CHECK(part[3] == at(4, 3, 1));
  CHECK(part[4] == at(3, 2, 2));
  CHECK(part[7] == at(4, 3, 2));
  CHECK_CUDA(cudaMemset3D(box, 7, extent));
  CHECK_CUDA(cudaMemcpy3D(&copy));
  CHECK(part[7] == 7);
  CHECK_CUDA(cudaFree(box.ptr));
}

TEST_CASE("cudart: an asynchronous copy of pageable memory leaves the source free and the destination complete") {
  for (const std::size_t n : {std::size_t{100}, std::size_t{100'000}}) {
    int* const d = device_memory<int>(n);
    const cudaStream_t stream = new_stream();
    std::vector<int> source(n, 5);
    CHECK_CUDA(cudaMemcpyAsync(d, source.data(), n * 4, cudaMemcpyHostToDevice, stream));
    std::fill(source.begin(), source.end(), 6);
    std::vector<int> destination(n, 0);
    CHECK_CUDA(cudaMemcpyAsync(destination.data(), d, n * 4, cudaMemcpyDeviceToHost, stream));
    CHECK(destination == std::vector<int>(n, 5));
    CHECK_CUDA(cudaStreamDestroy(stream));
    CHECK_CUDA(cudaFree(d));
  }
}

TEST_CASE("cudart: an asynchronous copy of pinned memory does not wait") {
  int* const d = device_memory<int>(1);
  int* const h = pinned_memory<int>(1);
  const cudaStream_t stream = new_stream();
  Gate gate;
  gate.close(stream);
  *h = 1;
  CHECK_CUDA(cudaMemcpyAsync(d, h, 4, cudaMemcpyHostToDevice, stream));
  CHECK_CUDA(cudaMemsetAsync(d, 0, 1, stream));
  CHECK(number(cudaStreamQuery(stream)) == 600);
  *h = 0x101;
  gate.open();
  CHECK_CUDA(cudaStreamSynchronize(stream));
  CHECK_CUDA(cudaStreamQuery(stream));
  CHECK_CUDA(cudaMemcpy(h, d, 4, cudaMemcpyDeviceToHost));
  CHECK(*h == 0x100);
  CHECK_CUDA(cudaStreamDestroy(stream));
  CHECK_CUDA(cudaFree(d));
  CHECK_CUDA(cudaFreeHost(h));
  cudaGetLastError();
}

TEST_CASE("cudart: streams") {
  cudaStream_t stream = nullptr;
  CHECK_CUDA(cudaStreamCreate(&stream));
  unsigned int flags = 9;
  CHECK_CUDA(cudaStreamGetFlags(stream, &flags));
  CHECK(flags == cudaStreamDefault);
  int device = -1;
  CHECK_CUDA(cudaStreamGetDevice(stream, &device));
  CHECK(device == 0);
  unsigned long long id = 0;
  unsigned long long other_id = 0;
  CHECK_CUDA(cudaStreamGetId(stream, &id));
  CHECK_CUDA(cudaStreamGetId(nullptr, &other_id));
  CHECK(id != other_id);
  CHECK_CUDA(cudaStreamDestroy(stream));
  CHECK_ERROR(cudaStreamDestroy(stream), cudaErrorInvalidResourceHandle);
  CHECK_ERROR(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
  CHECK_ERROR(cudaStreamQuery(reinterpret_cast<cudaStream_t>(&flags)), cudaErrorInvalidResourceHandle);
  CHECK_ERROR(cudaStreamCreateWithFlags(&stream, 2), cudaErrorInvalidValue);
  int least = 0;
  int greatest = 0;
  CHECK_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  CHECK(greatest <= least);
  CHECK_CUDA(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest - 100));
  int priority = 99;
  CHECK_CUDA(cudaStreamGetPriority(stream, &priority));
  CHECK(priority == greatest);
  cudaStreamAttrValue value{};
  value.syncPolicy = cudaSyncPolicyYield;
  CHECK_CUDA(cudaStreamSetAttribute(stream, cudaStreamAttributeSynchronizationPolicy, &value));
  value.syncPolicy = static_cast<cudaSynchronizationPolicy>(9);
  CHECK_ERROR(cudaStreamSetAttribute(stream, cudaStreamAttributeSynchronizationPolicy, &value), cudaErrorInvalidValue);
  CHECK_ERROR(cudaStreamSetAttribute(stream, cudaStreamAttributePriority, &value), cudaErrorNotSupported);
  CHECK_CUDA(cudaStreamDestroy(stream));
  for (const cudaStream_t standard : {cudaStream_t{}, cudaStreamLegacy, cudaStreamPerThread}) {
    CHECK_CUDA(cudaStreamSynchronize(standard));
    CHECK_CUDA(cudaStreamQuery(standard));
  }
  // Handles in large numbers, all different.
  std::vector<cudaEvent_t> events(1000);
  for (cudaEvent_t& event : events) CHECK_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  for (const cudaEvent_t event : events) CHECK_CUDA(cudaEventDestroy(event));
  CHECK_ERROR(cudaEventQuery(events[500]), cudaErrorInvalidResourceHandle);
}

TEST_CASE("cudart: host functions and callbacks run in the stream's order") {
  const cudaStream_t stream = new_stream();
  std::vector<int> order;
  CHECK_CUDA(cudaLaunchHostFunc(
      stream, [](void* data) { static_cast<std::vector<int>*>(data)->push_back(1); }, &order));
  const cudaStreamCallback_t callback = [](cudaStream_t, cudaError_t status, void* data) {
    static_cast<std::vector<int>*>(data)->push_back(status == cudaSuccess ? 2 : -1);
  };
  CHECK_CUDA(cudaStreamAddCallback(stream, callback, &order, 0));
  CHECK_CUDA(cudaStreamSynchronize(stream));
  CHECK(order == std::vector<int>{1, 2});
  int refused = 0;
  CHECK_CUDA(cudaLaunchHostFunc(
      stream, [](void* data) { *static_cast<int*>(data) = number(cudaDeviceSynchronize()); }, &refused));
  CHECK_CUDA(cudaStreamSynchronize(stream));
  CHECK(refused == 800);
  CHECK_ERROR(cudaLaunchHostFunc(stream, nullptr, nullptr), cudaErrorInvalidValue);
  CHECK_CUDA(cudaStreamDestroy(stream));
}

TEST_CASE("cudart: the legacy default stream orders blocking streams, and a per-thread one does not") {
  int* const d = device_memory<int>(1);
  Gate gate;
  const cudaStream_t blocking = new_stream(cudaStreamDefault);
  gate.close(blocking);
  CHECK_CUDA(cudaMemsetAsync(d, 0, 4, cudaStreamPerThread));
  CHECK_CUDA(cudaStreamSynchronize(cudaStreamPerThread));
  CHECK_CUDA(cudaMemsetAsync(d, 0, 4, nullptr));
  CHECK(number(cudaStreamQuery(nullptr)) == 600);
  gate.open();
  CHECK_CUDA(cudaStreamSynchronize(nullptr));
  CHECK_CUDA(cudaStreamQuery(blocking));
  CHECK_CUDA(cudaStreamDestroy(blocking));
  CHECK_CUDA(cudaFree(d));
  cudaGetLastError();
}

extern "C" cudaError_t cudaStreamGetId_ptsz(cudaStream_t stream, unsigned long long* id);

TEST_CASE("cudart: in files for per-thread default streams, the null stream is the thread's") {
  unsigned long long legacy = 0;
  unsigned long long own = 0;
  unsigned long long null = 0;
  CHECK_CUDA(cudaStreamGetId(nullptr, &legacy));
  CHECK_CUDA(cudaStreamGetId(cudaStreamPerThread, &own));
  CHECK_CUDA(cudaStreamGetId_ptsz(nullptr, &null));
  CHECK(null == own);
  CHECK(null != legacy);
  CHECK_CUDA(cudaStreamGetId_ptsz(cudaStreamLegacy, &null));
  CHECK(null == legacy);
}

TEST_CASE("cudart: events") {
  cudaEvent_t start = nullptr;
  cudaEvent_t stop = nullptr;
  CHECK_CUDA(cudaEventCreate(&start));
  CHECK_CUDA(cudaEventCreate(&stop, cudaEventBlockingSync));
  float milliseconds = -1;
  CHECK_CUDA(cudaEventQuery(start));  // never recorded
  CHECK_ERROR(cudaEventElapsedTime(&milliseconds, start, stop), cudaErrorInvalidResourceHandle);
  const cudaStream_t stream = new_stream();
  const cudaStream_t other = new_stream();
  Gate gate;
  CHECK_CUDA(cudaEventRecord(start, stream));
  gate.close(stream);
  CHECK_CUDA(cudaEventRecord(stop, stream));
  CHECK_CUDA(cudaEventSynchronize(start));  // a busy machine may begin the stream's work late
  CHECK(number(cudaEventQuery(stop)) == 600);
  CHECK(number(cudaEventElapsedTime(&milliseconds, start, stop)) == 600);
  CHECK_CUDA(cudaStreamWaitEvent(other, stop, 0));
  CHECK(number(cudaStreamQuery(other)) == 600);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  gate.open();
  CHECK_CUDA(cudaEventSynchronize(stop));
  CHECK_CUDA(cudaStreamSynchronize(other));
  CHECK_CUDA(cudaEventElapsedTime(&milliseconds, start, stop));
  CHECK(milliseconds > 10);
  cudaEvent_t untimed = nullptr;
  CHECK_CUDA(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
  CHECK_CUDA(cudaEventRecord(untimed, stream));
  CHECK_CUDA(cudaEventSynchronize(untimed));
  cudaGetLastError();
  CHECK_ERROR(cudaEventElapsedTime(&milliseconds, start, untimed), cudaErrorInvalidResourceHandle);
  CHECK_ERROR(cudaEventCreateWithFlags(&untimed, 0x10), cudaErrorInvalidValue);
  CHECK_ERROR(cudaEventCreateWithFlags(&untimed, cudaEventInterprocess), cudaErrorInvalidValue);
  CHECK_CUDA(cudaEventDestroy(start));
  CHECK_ERROR(cudaEventDestroy(start), cudaErrorInvalidResourceHandle);
  CHECK_ERROR(cudaEventRecord(start, stream), cudaErrorInvalidResourceHandle);
  CHECK_CUDA(cudaEventDestroy(stop));
  CHECK_CUDA(cudaStreamDestroy(stream));
  CHECK_CUDA(cudaStreamDestroy(other));
}

TEST_CASE("cudart: stream-ordered memory and pools") {
  const cudaStream_t stream = new_stream();
  const cudaStream_t other = new_stream();
  int* x = nullptr;
  int* y = nullptr;
  CHECK_CUDA(cudaMallocAsync(&x, 4000, stream));
  CHECK_CUDA(cudaMemsetAsync(x, 1, 4000, stream));
  CHECK_CUDA(cudaMallocAsync(&y, 4000, stream));
  CHECK_CUDA(cudaMemcpyAsync(y, x, 4000, cudaMemcpyDeviceToDevice, stream));
  CHECK_CUDA(cudaFreeAsync(x, stream));
  int value = 0;
  CHECK_CUDA(cudaMemcpyAsync(&value, y, 4, cudaMemcpyDeviceToHost, stream));
  CHECK_CUDA(cudaStreamSynchronize(stream));
  CHECK(value == 0x01010101);
  CHECK_CUDA(cudaFreeAsync(y, other));  // another stream than the allocation's
  CHECK_ERROR(cudaFreeAsync(y, stream), cudaErrorInvalidValue);
  CHECK_CUDA(cudaMallocAsync(&x, 64, stream));
  CHECK_CUDA(cudaFree(x));
  x = device_memory<int>(16);
  CHECK_CUDA(cudaFreeAsync(x, stream));

  cudaMemPool_t pool = nullptr;
  cudaMemPool_t standard = nullptr;
  CHECK_CUDA(cudaDeviceGetDefaultMemPool(&standard, 0));
  CHECK_CUDA(cudaDeviceGetDefaultMemPool(&pool, 0));
  CHECK(pool == standard);
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, 0};
  CHECK_CUDA(cudaMemPoolCreate(&pool, &properties));
  std::uint64_t threshold = 12345;
  CHECK_CUDA(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  CHECK_ERROR(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &threshold), cudaErrorInvalidValue);
  CHECK_CUDA(cudaMallocFromPoolAsync(&x, 4096, pool, stream));
  std::uint64_t used = 0;
  CHECK_CUDA(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
  CHECK(used >= 4096);
  CHECK_CUDA(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &used));
  CHECK(used == threshold);
  CHECK_ERROR(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &used), cudaErrorNotSupported);
  CHECK_CUDA(cudaFreeAsync(x, stream));
  CHECK_CUDA(cudaStreamSynchronize(stream));
  CHECK_CUDA(cudaMemPoolTrimTo(pool, 0));
  CHECK_CUDA(cudaMemPoolDestroy(pool));
  CHECK_ERROR(cudaMemPoolDestroy(pool), cudaErrorInvalidValue);
  CHECK_ERROR(cudaMemPoolDestroy(standard), cudaErrorInvalidValue);
  CHECK_CUDA(cudaStreamDestroy(stream));
  CHECK_CUDA(cudaStreamDestroy(other));
}

TEST_CASE("cudart: captured graphs") {
  const cudaStream_t stream = new_stream();
  int* const d = device_memory<int>(2);
  int* const h = pinned_memory<int>(2);
  cudaStreamCaptureStatus status{};
  cudaGraph_t graph = nullptr;
  CHECK_ERROR(cudaStreamEndCapture(stream, &graph), cudaErrorIllegalState);
  CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CHECK_CUDA(cudaStreamIsCapturing(stream, &status));
  CHECK(status == cudaStreamCaptureStatusActive);
  unsigned long long id = 0;
  CHECK_CUDA(cudaStreamGetCaptureInfo(stream, &status, &id));
  CHECK(id != 0);
  CHECK_CUDA(cudaMemcpyAsync(d, h, 8, cudaMemcpyHostToDevice, stream));
  CHECK_CUDA(cudaMemsetAsync(d + 1, 0, 4, stream));
  CHECK_CUDA(cudaMemcpyAsync(h, d, 8, cudaMemcpyDeviceToHost, stream));
  CHECK_CUDA(cudaStreamEndCapture(stream, &graph));
  std::size_t count = 0;
  CHECK_CUDA(cudaGraphGetNodes(graph, nullptr, &count));
  REQUIRE(count == 3);
  std::vector<cudaGraphNode_t> nodes(count);
  CHECK_CUDA(cudaGraphGetNodes(graph, nodes.data(), &count));
  cudaGraphNodeType type{};
  CHECK_CUDA(cudaGraphNodeGetType(nodes[1], &type));
  CHECK(type == cudaGraphNodeTypeMemset);
  CHECK_ERROR(cudaGraphNodeGetType(nullptr, &type), cudaErrorInvalidValue);
  std::array<cudaGraphNode_t, 2> roots{};
  count = roots.size();
  CHECK_CUDA(cudaGraphGetRootNodes(graph, roots.data(), &count));
  CHECK(count == 1);
  CHECK(roots[0] == nodes[0]);
  CHECK(roots[1] == nullptr);
  cudaGraphExec_t executable = nullptr;
  CHECK_CUDA(cudaGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  h[0] = 4;
  h[1] = 5;
  CHECK_CUDA(cudaGraphUpload(executable, stream));
  CHECK_CUDA(cudaGraphLaunch(executable, stream));
  CHECK_CUDA(cudaStreamSynchronize(stream));
  CHECK(h[0] == 4);
  CHECK(h[1] == 0);
  // The same work with other parameters.
  CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  CHECK_CUDA(cudaMemcpyAsync(d, h, 8, cudaMemcpyHostToDevice, stream));
  CHECK_CUDA(cudaMemsetAsync(d, 1, 4, stream));
  CHECK_CUDA(cudaMemcpyAsync(h, d, 8, cudaMemcpyDeviceToHost, stream));
  cudaGraph_t second = nullptr;
  CHECK_CUDA(cudaStreamEndCapture(stream, &second));
  cudaGraphExecUpdateResultInfo result{};
  CHECK_CUDA(cudaGraphExecUpdate(executable, second, &result));
  CHECK(result.result == cudaGraphExecUpdateSuccess);
  CHECK_CUDA(cudaGraphLaunch(executable, stream));
  CHECK_CUDA(cudaStreamSynchronize(stream));
  CHECK(h[0] == 0x01010101);
  CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  CHECK_CUDA(cudaMemsetAsync(d, 1, 4, stream));
  cudaGraph_t third = nullptr;
  CHECK_CUDA(cudaStreamEndCapture(stream, &third));
  CHECK_ERROR(cudaGraphExecUpdate(executable, third, &result), cudaErrorGraphExecUpdateFailure);
  CHECK(result.result == cudaGraphExecUpdateErrorTopologyChanged);
  for (const cudaGraph_t each : {graph, second, third}) CHECK_CUDA(cudaGraphDestroy(each));
  CHECK_ERROR(cudaGraphDestroy(graph), cudaErrorInvalidValue);
  CHECK_CUDA(cudaGraphExecDestroy(executable));
  CHECK_ERROR(cudaGraphLaunch(executable, stream), cudaErrorInvalidValue);
  CHECK_ERROR(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal), cudaErrorStreamCaptureUnsupported);
  // A call that a capture does not allow invalidates it.
  CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CHECK_ERROR(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);
  CHECK_CUDA(cudaStreamIsCapturing(stream, &status));
  CHECK(status == cudaStreamCaptureStatusInvalidated);
  CHECK_ERROR(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
  CHECK(graph == nullptr);
  CHECK_CUDA(cudaStreamIsCapturing(stream, &status));
  CHECK(status == cudaStreamCaptureStatusNone);
  CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CHECK_CUDA(cudaStreamEndCapture(stream, &graph));
  CHECK_CUDA(cudaGraphDestroy(graph));
  CHECK_CUDA(cudaStreamDestroy(stream));
  CHECK_CUDA(cudaFree(d));
  CHECK_CUDA(cudaFreeHost(h));
}

TEST_CASE("cudart: graphs of nodes") {
  int* const d = device_memory<int>(4);
  int* const h = pinned_memory<int>(4);
  int calls = 0;
  cudaMemsetParams fill{};
  fill.dst = d;
  fill.value = 7;
  fill.elementSize = 4;
  fill.width = 4;
  fill.height = 1;
  cudaHostNodeParams host{};
  host.fn = [](void* data) { ++*static_cast<int*>(data); };
  host.userData = &calls;
  // Fills, copies and calls, one after another.
  const auto build = [&] {
    cudaGraph_t graph = nullptr;
    cudaGraphNode_t filled = nullptr;
    cudaGraphNode_t copied = nullptr;
    cudaGraphNode_t called = nullptr;
    CHECK_CUDA(cudaGraphCreate(&graph, 0));
    CHECK_CUDA(cudaGraphAddMemsetNode(&filled, graph, nullptr, 0, &fill));
    CHECK_CUDA(cudaGraphAddMemcpyNode1D(&copied, graph, &filled, 1, h, d, 16, cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaGraphAddHostNode(&called, graph, &copied, 1, &host));
    return graph;
  };
  const cudaGraph_t graph = build();
  std::array<cudaGraphNode_t, 6> nodes{};
  std::size_t count = nodes.size();
  CHECK_CUDA(cudaGraphGetNodes(graph, nodes.data(), &count));
  CHECK(count == 3);
  CHECK(nodes[2] != nullptr);
  CHECK(nodes[3] == nullptr);
  cudaGraphNode_t more = nullptr;
  CHECK_ERROR(cudaGraphAddMemcpyNode1D(&more, graph, nullptr, 0, h, d, 17, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  cudaGraphExec_t executable = nullptr;
  CHECK_CUDA(cudaGraphInstantiate(&executable, graph, 0));
  CHECK_CUDA(cudaGraphLaunch(executable, nullptr));
  CHECK_CUDA(cudaDeviceSynchronize());
  CHECK(h[3] == 7);
  CHECK(calls == 1);

  // The executable of a graph with other values.
  fill.value = 8;
  int other_calls = 0;
  host.userData = &other_calls;
  const cudaGraph_t second = build();
  CHECK_ERROR(cudaGraphAddHostNode(&more, second, nodes.data(), 1, &host), cudaErrorInvalidValue);  // of the first graph
  cudaGraphExecUpdateResultInfo result{};
  CHECK_CUDA(cudaGraphExecUpdate(executable, second, &result));
  CHECK_CUDA(cudaGraphLaunch(executable, nullptr));
  CHECK_CUDA(cudaDeviceSynchronize());
  CHECK(h[3] == 8);
  CHECK(calls == 1);
  CHECK(other_calls == 1);

  // A clone, and a child, which is copied when it is added.
  cudaGraph_t clone = nullptr;
  CHECK_CUDA(cudaGraphClone(&clone, graph));
  cudaGraph_t parent = nullptr;
  CHECK_CUDA(cudaGraphCreate(&parent, 0));
  cudaGraphNode_t empty = nullptr;
  CHECK_CUDA(cudaGraphAddEmptyNode(&empty, parent, nullptr, 0));
  CHECK_CUDA(cudaGraphAddChildGraphNode(&more, parent, &empty, 1, clone));
  cudaGraphNodeType types[2] = {};
  CHECK_CUDA(cudaGraphNodeGetType(empty, &types[0]));
  CHECK_CUDA(cudaGraphNodeGetType(more, &types[1]));
  CHECK(types[0] == cudaGraphNodeTypeEmpty);
  CHECK(types[1] == cudaGraphNodeTypeGraph);
  count = 0;
  CHECK_CUDA(cudaGraphGetRootNodes(parent, nullptr, &count));
  CHECK(count == 1);
  CHECK_CUDA(cudaGraphDestroy(clone));
  CHECK_CUDA(cudaGraphExecDestroy(executable));
  CHECK_CUDA(cudaGraphInstantiate(&executable, parent, 0));
  CHECK_CUDA(cudaGraphLaunch(executable, nullptr));
  CHECK_CUDA(cudaDeviceSynchronize());
  CHECK(h[3] == 7);
  CHECK(calls == 2);
  for (const cudaGraph_t each : {graph, second, parent}) CHECK_CUDA(cudaGraphDestroy(each));
  CHECK_ERROR(cudaGraphAddHostNode(&more, parent, nullptr, 0, &host), cudaErrorInvalidValue);
  CHECK_CUDA(cudaGraphExecDestroy(executable));
  CHECK_CUDA(cudaFree(d));
  CHECK_CUDA(cudaFreeHost(h));
}

TEST_CASE("cudart: the CPU has no handles for other processes") {
  int* const d = device_memory<int>(1);
  cudaIpcMemHandle_t handle{};
  CHECK_ERROR(cudaIpcGetMemHandle(&handle, d), cudaErrorNotSupported);
  CHECK_ERROR(cudaIpcGetMemHandle(&handle, &handle), cudaErrorInvalidValue);
  void* pointer = nullptr;
  CHECK_ERROR(cudaIpcOpenMemHandle(&pointer, handle, cudaIpcMemLazyEnablePeerAccess), cudaErrorNotSupported);
  CHECK_ERROR(cudaIpcCloseMemHandle(d), cudaErrorInvalidValue);
  CHECK_CUDA(cudaFree(d));
}

// --- Kernels: what Clang's code does for a program, by hand.

extern "C" {
void** __cudaRegisterFatBinary(void* wrapper);
void __cudaRegisterFunction(void** handle, const char* stub, char*, const char* name, int, uint3*, uint3*, dim3*, dim3*,
                            int*);
void __cudaRegisterVar(void** handle, char* variable, char*, const char* name, int, size_t, int, int);
unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t sharedBytes, void* stream);
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* sharedBytes, void* stream);
}

namespace {

struct Triple {
  char a, b, c;
};
void add(int* /*out*/, const int* /*in*/, int /*n*/, Triple /*t*/) {}  // stubs: only their addresses count
void needs_shared(int* /*out*/) {}
void fail(int* /*out*/) {}
void unknown() {}
int factor;  // the shadow of the device's variable

constexpr const char* source = R"(
#include <assert.h>
struct Triple { char a, b, c; };
__device__ int factor = 3;
extern "C" __global__ void add(int* out, const int* in, int n, Triple t) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] += factor * in[i] + t.c;
}
extern "C" __global__ void fail(int* out) { assert(out == nullptr); }
extern "C" __global__ void needs_shared(int* out) {
  extern __shared__ int memory[];
  memory[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = memory[blockDim.x - 1 - threadIdx.x];
}
)";

// Registers the kernels above once; false without a compiler.
bool has_kernels() {
  static const bool registered = [] {
    weir::Device& device = weir::default_device();
    if (!device.supports(weir::Feature::runtime_compilation)) return false;
    const weir::ModulePtr module = device.compile(source);
    static std::vector<std::byte> bundle;
    bundle.assign(module->bundle().begin(), module->bundle().end());
    static struct {
      int magic, version;
      const void* data;
      void* unused;
    } wrapper{0x466243b1, 1, bundle.data(), nullptr};
    void** const handle = __cudaRegisterFatBinary(&wrapper);
    const auto add_kernel = [&](const void* stub, const char* name) {
      __cudaRegisterFunction(handle, static_cast<const char*>(stub), nullptr, name, -1, nullptr, nullptr, nullptr, nullptr,
                             nullptr);
    };
    add_kernel(reinterpret_cast<const void*>(add), "add");
    add_kernel(reinterpret_cast<const void*>(needs_shared), "needs_shared");
    add_kernel(reinterpret_cast<const void*>(fail), "fail");
    __cudaRegisterVar(handle, reinterpret_cast<char*>(&factor), nullptr, "factor", 0, sizeof factor, 0, 0);
    return true;
  }();
  return registered;
}

}  // namespace

TEST_CASE("cudart: kernels, variables and the errors of launches") {
  if (!has_kernels()) return;
  constexpr int n = 300;
  int* const out = device_memory<int>(n);
  int* const in = device_memory<int>(n);
  std::vector<int> values(n, 2);
  CHECK_CUDA(cudaMemcpy(in, values.data(), n * 4, cudaMemcpyHostToDevice));
  CHECK_CUDA(cudaMemset(out, 0, n * 4));
  const int* const_in = in;
  int count = n;
  int* pointer = out;
  Triple triple{1, 2, 4};
  void* arguments[] = {&pointer, &const_in, &count, &triple};
  CHECK_CUDA(cudaLaunchKernel(add, dim3(3), dim3(100), arguments, 0, nullptr));
  CHECK_CUDA(cudaMemcpy(values.data(), out, n * 4, cudaMemcpyDeviceToHost));
  CHECK(values == std::vector<int>(n, 10));

  int three = 0;
  CHECK_CUDA(cudaMemcpyFromSymbol(&three, factor, sizeof three));
  CHECK(three == 3);
  three = 5;
  CHECK_CUDA(cudaMemcpyToSymbol(factor, &three, sizeof three));
  CHECK_ERROR(cudaMemcpyToSymbol(factor, &three, sizeof three, 1), cudaErrorInvalidValue);
  int* address = nullptr;
  std::size_t size = 0;
  CHECK_CUDA(cudaGetSymbolAddress(&address, factor));
  CHECK_CUDA(cudaGetSymbolSize(&size, factor));
  CHECK(size == sizeof(int));
  cudaPointerAttributes attributes{};
  CHECK_CUDA(cudaPointerGetAttributes(&attributes, address));
  CHECK(attributes.type == cudaMemoryTypeDevice);
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(3);
  config.blockDim = dim3(100);
  CHECK_CUDA(cudaLaunchKernelEx(&config, add, pointer, const_in, count, triple));
  CHECK_CUDA(cudaMemcpy(values.data(), out, n * 4, cudaMemcpyDeviceToHost));
  CHECK(values == std::vector<int>(n, 24));

  CHECK_ERROR(cudaLaunchKernel(unknown, dim3(1), dim3(1), nullptr, 0, nullptr), cudaErrorInvalidDeviceFunction);
  CHECK_ERROR(cudaLaunchKernel(add, dim3(0), dim3(1), arguments, 0, nullptr), cudaErrorInvalidConfiguration);
  CHECK_ERROR(cudaLaunchKernel(add, dim3(1), dim3(1025), arguments, 0, nullptr), cudaErrorInvalidConfiguration);
  CHECK_ERROR(cudaLaunchKernel(add, dim3(1, 70000), dim3(1), arguments, 0, nullptr), cudaErrorInvalidConfiguration);
  CHECK_ERROR(cudaLaunchKernel(add, dim3(1), dim3(1), arguments, 1U << 20U, nullptr), cudaErrorInvalidValue);
  CHECK_ERROR(cudaLaunchKernel(add, dim3(1), dim3(1), arguments, 0, reinterpret_cast<cudaStream_t>(&config)),
              cudaErrorInvalidResourceHandle);
  CHECK_ERROR(cudaLaunchCooperativeKernel(add, dim3(1'000'000), dim3(100), arguments, 0, nullptr),
              cudaErrorCooperativeLaunchTooLarge);

  // The configuration of <<<…>>> nests.
  CHECK(__cudaPushCallConfiguration(dim3(1), dim3(2), 3, nullptr) == 0);
  CHECK(__cudaPushCallConfiguration(dim3(4), dim3(5), 6, cudaStreamPerThread) == 0);
  dim3 grid;
  dim3 block;
  cudaStream_t stream = nullptr;
  CHECK_CUDA(__cudaPopCallConfiguration(&grid, &block, &size, &stream));
  CHECK(grid.x == 4);
  CHECK(stream == cudaStreamPerThread);
  CHECK_CUDA(__cudaPopCallConfiguration(&grid, &block, &size, &stream));
  CHECK(block.x == 2);
  CHECK(size == 3);
  CHECK_ERROR(__cudaPopCallConfiguration(&grid, &block, &size, &stream), cudaErrorMissingConfiguration);
  CHECK_CUDA(cudaFree(out));
  CHECK_CUDA(cudaFree(in));
}

TEST_CASE("cudart: attributes, occupancy and dynamic shared memory") {
  if (!has_kernels()) return;
  cudaFuncAttributes attributes{};
  CHECK_CUDA(cudaFuncGetAttributes(&attributes, add));
  CHECK(attributes.maxThreadsPerBlock == 1024);
  CHECK_ERROR(cudaFuncGetAttributes(&attributes, unknown), cudaErrorInvalidDeviceFunction);
  int blocks = 0;
  CHECK_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 256, 0));
  CHECK(blocks >= 1);
  int grid = 0;
  int block = 0;
  CHECK_CUDA(cudaOccupancyMaxPotentialBlockSize(&grid, &block, add));
  CHECK(grid >= 1);
  CHECK(block % 32 == 0);
  CHECK_CUDA(cudaOccupancyMaxPotentialBlockSizeVariableSMem(
      &grid, &block, add, [](int size) { return size * 4; }, 128));
  CHECK(block <= 128);
  CHECK_CUDA(cudaFuncSetCacheConfig(add, cudaFuncCachePreferShared));
  int* out = device_memory<int>(64);
  void* arguments[] = {&out};
  const std::size_t much = std::size_t{49} << 10U;
  CHECK_ERROR(cudaLaunchKernel(needs_shared, dim3(1), dim3(64), arguments, much, nullptr), cudaErrorInvalidValue);
  CHECK_CUDA(cudaFuncSetAttribute(needs_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(much)));
  CHECK_CUDA(cudaLaunchKernel(needs_shared, dim3(1), dim3(64), arguments, much, nullptr));
  std::array<int, 64> values{};
  CHECK_CUDA(cudaMemcpy(values.data(), out, sizeof values, cudaMemcpyDeviceToHost));
  CHECK(values[0] == 63);
  CHECK_ERROR(cudaFuncSetAttribute(needs_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 30),
              cudaErrorInvalidValue);
  CHECK_CUDA(cudaFree(out));
}

TEST_CASE("cudart: kernels as nodes of graphs") {
  if (!has_kernels()) return;
  int* out = device_memory<int>(4);
  int* in = device_memory<int>(4);
  int one = 1;
  CHECK_CUDA(cudaMemcpyToSymbol(factor, &one, sizeof one));
  CHECK_CUDA(cudaMemset(out, 0, 16));
  CHECK_CUDA(cudaMemset(in, 1, 16));
  int n = 4;
  Triple triple{0, 0, 1};
  void* arguments[] = {&out, &in, &n, &triple};
  cudaKernelNodeParams parameters{};
  parameters.func = reinterpret_cast<void*>(add);
  parameters.gridDim = dim3(1);
  parameters.blockDim = dim3(4);
  parameters.kernelParams = arguments;
  cudaGraph_t graph = nullptr;
  cudaGraphNode_t node = nullptr;
  CHECK_CUDA(cudaGraphCreate(&graph, 0));
  CHECK_CUDA(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &parameters));
  triple.c = 100;  // the arguments were copied
  cudaGraphExec_t executable = nullptr;
  CHECK_CUDA(cudaGraphInstantiate(&executable, graph, 0));
  CHECK_CUDA(cudaGraphLaunch(executable, nullptr));
  std::array<int, 4> values{};
  CHECK_CUDA(cudaMemcpy(values.data(), out, 16, cudaMemcpyDeviceToHost));
  CHECK(values[3] == 0x01010102);
  n = 2;
  CHECK_CUDA(cudaGraphExecKernelNodeSetParams(executable, node, &parameters));
  CHECK_CUDA(cudaGraphLaunch(executable, nullptr));
  CHECK_CUDA(cudaMemcpy(values.data(), out, 16, cudaMemcpyDeviceToHost));
  CHECK(values[1] == 2 * 0x01010101 + 101);
  CHECK(values[3] == 0x01010102);
  parameters.blockDim = dim3(2000);
  CHECK_ERROR(cudaGraphExecKernelNodeSetParams(executable, node, &parameters), cudaErrorInvalidConfiguration);
  CHECK_CUDA(cudaGraphExecDestroy(executable));
  CHECK_CUDA(cudaGraphDestroy(graph));
  CHECK_CUDA(cudaFree(out));
  CHECK_CUDA(cudaFree(in));
}

TEST_CASE("cudart: after a kernel's fault every call fails with its error, until a reset") {
  if (!has_kernels()) return;
  int* out = device_memory<int>(1);
  void* arguments[] = {&out};
  const cudaStream_t stream = new_stream();
  CHECK_CUDA(cudaLaunchKernel(fail, dim3(1), dim3(1), arguments, 0, stream));
  CHECK_CUDA(cudaStreamDestroy(stream));
  CHECK_ERROR(cudaDeviceSynchronize(), cudaErrorAssert);
  CHECK_ERROR(cudaDeviceSynchronize(), cudaErrorAssert);
  int value = 0;
  CHECK_ERROR(cudaMemcpy(&value, out, 4, cudaMemcpyDeviceToHost), cudaErrorAssert);
  CHECK(number(cudaGetLastError()) == number(cudaErrorAssert));
  CHECK_CUDA(cudaDeviceReset());
  CHECK_CUDA(cudaGetLastError());
  CHECK_CUDA(cudaDeviceSynchronize());
}

TEST_CASE("cudart: a reset frees the device's memory and restores its variables") {
  int* const d = device_memory<int>(1);
  if (has_kernels()) {
    int seven = 7;
    CHECK_CUDA(cudaMemcpyToSymbol(factor, &seven, sizeof seven));
  }
  CHECK_CUDA(cudaDeviceReset());
  CHECK_ERROR(cudaFree(d), cudaErrorInvalidValue);
  if (has_kernels()) {
    int value = 0;
    CHECK_CUDA(cudaMemcpyFromSymbol(&value, factor, sizeof value));
    CHECK(value == 3);
  }
}
