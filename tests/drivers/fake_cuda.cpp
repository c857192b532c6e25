// SPDX-License-Identifier: Apache-2.0

// A stand-in for libcuda.so.1. It carries out work at once, on the calling thread, in host memory; see script.hpp for what
// it can be told.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "backends/cuda/symbols.hpp"
#include "script.hpp"

using weir::test::Script;
using Word = std::uint64_t;  // what every parameter of these functions fits in

namespace {

CUcontext current = nullptr;
int dummy[64];  // what handles point to
int next_handle = 0;

template <class Handle>
CUresult make(Handle* handle) {
  *handle = reinterpret_cast<Handle>(&dummy[next_handle++ % 64]);
  return CUDA_SUCCESS;
}
void* memory(Word address) { return reinterpret_cast<void*>(address); }
template <class T>
T* out(Word address) {
  return reinterpret_cast<T*>(address);
}

/// A call with its arguments as the caller passed them.
struct Call {
  Word a, b, c, d, e, f, g, h, i, j, k;
};

using Implementation = CUresult (*)(const Call&);

struct Function {
  const char* name;
  Implementation run;  // null: succeeds and does nothing
};

int attribute(CUdevice_attribute which) {
  switch (which) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: return 9;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE: return 1000;
    case CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES:
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: return 0;
    default: return 1024;
  }
}

constexpr Function functions[] = {
    {"cuGetErrorName", [](const Call& c) { *out<const char*>(c.b) = c.a == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_SCRIPTED"; return CUDA_SUCCESS; }},
    {"cuGetErrorString", [](const Call& c) { *out<const char*>(c.b) = "a scripted failure"; return CUDA_SUCCESS; }},
    {"cuDeviceGetCount", [](const Call& c) { *out<int>(c.a) = Script::instance().number("devices", 1); return CUDA_SUCCESS; }},
    {"cuDeviceGet", [](const Call& c) { *out<int>(c.a) = static_cast<int>(c.b); return CUDA_SUCCESS; }},
    {"cuDeviceGetName", [](const Call& c) { std::strncpy(out<char>(c.a), "Stand-in", c.b); return CUDA_SUCCESS; }},
    {"cuDeviceGetAttribute", [](const Call& c) { *out<int>(c.a) = attribute(static_cast<CUdevice_attribute>(c.b)); return CUDA_SUCCESS; }},
    {"cuDeviceTotalMem", [](const Call& c) { *out<std::size_t>(c.a) = 1 << 30; return CUDA_SUCCESS; }},
    {"cuDeviceCanAccessPeer", [](const Call& c) { *out<int>(c.a) = 0; return CUDA_SUCCESS; }},
    {"cuDevicePrimaryCtxRetain", [](const Call& c) { return make(out<CUcontext>(c.a)); }},
    {"cuCtxGetCurrent", [](const Call& c) { *out<CUcontext>(c.a) = current; return CUDA_SUCCESS; }},
    {"cuCtxPushCurrent", [](const Call& c) { current = reinterpret_cast<CUcontext>(c.a); return CUDA_SUCCESS; }},
    {"cuCtxPopCurrent", [](const Call&) { current = nullptr; return CUDA_SUCCESS; }},
    {"cuCtxGetStreamPriorityRange", [](const Call& c) { *out<int>(c.a) = 0; *out<int>(c.b) = -5; return CUDA_SUCCESS; }},
    {"cuStreamCreateWithPriority", [](const Call& c) { return make(out<CUstream>(c.a)); }},
    {"cuStreamIsCapturing", [](const Call& c) { *out<int>(c.b) = 0; return CUDA_SUCCESS; }},
    {"cuStreamGetCaptureInfo", [](const Call& c) { *out<int>(c.b) = 0; return CUDA_SUCCESS; }},
    {"cuEventCreate", [](const Call& c) { return make(out<CUevent>(c.a)); }},
    {"cuMemAlloc", [](const Call& c) { *out<Word>(c.a) = reinterpret_cast<Word>(std::malloc(c.b)); return CUDA_SUCCESS; }},
    {"cuMemHostAlloc", [](const Call& c) { *out<void*>(c.a) = std::malloc(c.b); return CUDA_SUCCESS; }},
    {"cuMemAllocAsync", [](const Call& c) { *out<Word>(c.a) = reinterpret_cast<Word>(std::malloc(c.b)); return CUDA_SUCCESS; }},
    {"cuMemFree", [](const Call& c) { std::free(memory(c.a)); return CUDA_SUCCESS; }},
    {"cuMemFreeHost", [](const Call& c) { std::free(memory(c.a)); return CUDA_SUCCESS; }},
    {"cuMemFreeAsync", [](const Call& c) { std::free(memory(c.a)); return CUDA_SUCCESS; }},
    {"cuMemcpyAsync", [](const Call& c) { std::memmove(memory(c.a), memory(c.b), c.c); return CUDA_SUCCESS; }},
    {"cuMemsetD8Async", [](const Call& c) { std::memset(memory(c.a), static_cast<int>(c.b), c.c); return CUDA_SUCCESS; }},
    {"cuLaunchHostFunc", [](const Call& c) { reinterpret_cast<void (*)(void*)>(c.b)(memory(c.c)); return CUDA_SUCCESS; }},
    {"cuStreamAddCallback", [](const Call& c) {
       reinterpret_cast<CUstreamCallback>(c.b)(reinterpret_cast<CUstream>(c.a), CUDA_SUCCESS, memory(c.c));
       return CUDA_SUCCESS;
     }},
    {"cuModuleLoadDataEx", [](const Call& c) { return make(out<CUmodule>(c.a)); }},
    {"cuModuleGetFunction", [](const Call& c) { return make(out<CUfunction>(c.a)); }},
    {"cuFuncGetParamInfo", [](const Call&) { return CUDA_ERROR_INVALID_VALUE; }},
    {"cuModuleGetFunctionCount", [](const Call& c) { *out<unsigned>(c.a) = 0; return CUDA_SUCCESS; }},
};

// Every name that the backend may ask for, so that each has a thunk of its own.
constexpr const char* names[] = {
#define WEIR_NAME(field, function, version, need) #function,
    WEIR_CUDA_SYMBOLS(WEIR_NAME)
#undef WEIR_NAME
#define WEIR_NAME(field, function, version, parameters) #function,
    WEIR_CUDA_NEWER_SYMBOLS(WEIR_NAME)
#undef WEIR_NAME
};
[[maybe_unused]] constexpr std::size_t name_count = sizeof(names) / sizeof(*names);

[[maybe_unused]] const Function* implementation_of(const char* name) {
  for (const Function& function : functions) {
    if (std::strcmp(function.name, name) == 0) return &function;
  }
  return nullptr;
}

template <std::size_t Index>
CUresult thunk(Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h, Word i, Word j, Word k) {
  if (Script::instance().number("trace", 0) != 0) std::fprintf(stderr, "call %s \n", names[Index]);
  if (const int failure = Script::instance().failure_of(names[Index])) return static_cast<CUresult>(failure);
  const Function* const function = implementation_of(names[Index]);
  return function != nullptr ? function->run({a, b, c, d, e, f, g, h, i, j, k}) : CUDA_SUCCESS;
}

template <std::size_t... Index>
void* find(const char* name, std::index_sequence<Index...>) {
  void* found = nullptr;
  ((std::strcmp(name, names[Index]) == 0 ? void(found = reinterpret_cast<void*>(&thunk<Index>)) : void()), ...);
  return found;
}

}  // namespace

#define WEIR_EXPORT extern "C" __attribute__((visibility("default")))

WEIR_EXPORT CUresult cuInit(unsigned) { return static_cast<CUresult>(Script::instance().failure_of("cuInit")); }

WEIR_EXPORT CUresult cuDriverGetVersion(int* version) {
  *version = Script::instance().number("version", 13000);
  return CUDA_SUCCESS;
}

#ifndef WEIR_FAKE_WITHOUT_LOOKUP  // drivers before CUDA 12
WEIR_EXPORT CUresult cuGetProcAddress_v2(const char* symbol, void** function, int version, cuuint64_t,
                                         CUdriverProcAddressQueryResult* status) {
  const bool has = !Script::instance().is_missing(symbol) && version <= Script::instance().number("version", 13000);
  *function = has ? find(symbol, std::make_index_sequence<name_count>()) : nullptr;
  *status = *function != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return *function != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
#endif
