// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string>

#include "bridge.hpp"
#include "nvrtc.hpp"

/// Writes of values and waits for values, with AMD's mask and AMD's comparisons.
namespace bridge {
namespace {

constexpr unsigned wait_geq = 0, wait_nor = 3;  // between them: equal, and
constexpr unsigned write_increment = 0x1000, write_decrement = 0x1001;

// --- Waiting as AMD's library does: one thread that spins ---------------------------------------------------------------

constexpr const char* spin_source = R"(
template <class T> __device__ void spin(const volatile T* p, T value, T mask, unsigned condition) {
  for (;;) {
    const T m = *p & mask;
    if (condition == 0 && m >= value) break;        // not cyclic
    if (condition == 1 && m == value) break;
    if (condition == 2 && (m & value) != 0) break;
    if (condition == 3 && (T)~(m | (value & mask)) != 0) break;
    __nanosleep(200);
  }
  __threadfence_system();
}
extern "C" __global__ void spin32(const unsigned* p, unsigned value, unsigned mask, unsigned condition) {
  spin(p, value, mask, condition);
}
extern "C" __global__ void spin64(const unsigned long long* p, unsigned long long value, unsigned long long mask,
                                  unsigned condition) {
  spin(p, value, mask, condition);
}
)";

struct SpinKernels {
  std::once_flag loaded;
  CUfunction wait32 = nullptr, wait64 = nullptr;
};

void load(SpinKernels& kernels, int ordinal) {
  const Nvrtc* const compiler = nvrtc();
  if (compiler == nullptr) return;
  const std::string architecture_option =
      "--gpu-architecture=sm_" + std::to_string(attribute_of(ordinal, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)) +
      std::to_string(attribute_of(ordinal, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  const char* const options[] = {architecture_option.c_str()};
  nvrtcProgram program = nullptr;
  if (compiler->CreateProgram(&program, spin_source, "spin.cu", 0, nullptr, nullptr) != NVRTC_SUCCESS) return;
  std::size_t size = 0;
  if (compiler->CompileProgram(program, 1, options) == NVRTC_SUCCESS &&
      compiler->GetCUBINSize(program, &size) == NVRTC_SUCCESS) {
    std::string image(size, '\0');
    CUmodule module = nullptr;
    if (compiler->GetCUBIN(program, image.data()) == NVRTC_SUCCESS &&
        cuda()->ModuleLoadData(&module, image.data()) == CUDA_SUCCESS) {
      cuda()->ModuleGetFunction(&kernels.wait32, module, "spin32");
      cuda()->ModuleGetFunction(&kernels.wait64, module, "spin64");
    }
  }
  compiler->DestroyProgram(&program);
}

SpinKernels& spin_kernels(int ordinal) {
  static std::array<SpinKernels, 64> kernels;
  SpinKernels& found = kernels[static_cast<std::size_t>(ordinal) % kernels.size()];
  std::call_once(found.loaded, [&] { load(found, ordinal); });
  return found;
}

template <class T>
CUresult spin(const Cuda& driver, CUstream stream, int device, void* where, T value, T mask, unsigned condition) {
  const SpinKernels& kernels = spin_kernels(device);
  const CUfunction function = sizeof(T) == 4 ? kernels.wait32 : kernels.wait64;
  if (function == nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  void* arguments[] = {&where, &value, &mask, &condition};
  return driver.LaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr);
}

// --- One operation ----------------------------------------------------------------------------------------------------

// The stream that the operation goes to: up to 7.14 a capture does not notice it, and it is done at once.
CUstream where_it_runs(Target& on) { return before(1000) && is_capturing(on) ? eager(on) : on.cuda; }

bool is_device_memory(const Cuda& driver, const void* pointer) {
  CUmemorytype type{};
  return driver.PointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address(pointer)) == CUDA_SUCCESS;
}

template <class T>
hipError_t wait_value(const char* name, hipStream_t stream, void* pointer, T value, unsigned flags, T mask) {
  return on_queue(name, stream, [&](const Cuda& driver, Target& on) {
    if (flags > wait_nor) return hipErrorInvalidValue;
    if (!is_device_memory(driver, pointer)) return hipErrorInvalidValue;
    const CUstream native = where_it_runs(on);
    // CUDA's own wait has no mask, and compares cyclically.
    if (mask != static_cast<T>(~T{0}) || flags == wait_geq) {
      return from_cuda(spin<T>(driver, native, on.device, pointer, value, mask, flags));
    }
    if constexpr (sizeof(T) == 4) {
      return from_cuda(driver.StreamWaitValue32(native, address(pointer), value, flags));
    } else {
      return from_cuda(driver.StreamWaitValue64(native, address(pointer), value, flags));
    }
  });
}

template <class T>
hipError_t write_value(const char* name, hipStream_t stream, void* pointer, T value, unsigned flags) {
  return on_queue(name, stream, [&](const Cuda& driver, Target& on) {
    // The newest releases know 0 and two operations that the bridge has not; older ones do not look at the flags.
    if (!before(700) && flags != 0) {
      return flags == write_increment || flags == write_decrement ? hipErrorNotSupported : hipErrorInvalidValue;
    }
    if (!is_device_memory(driver, pointer)) return hipErrorInvalidValue;
    if constexpr (sizeof(T) == 4) {
      return from_cuda(driver.StreamWriteValue32(where_it_runs(on), address(pointer), value, 0));
    } else {
      return from_cuda(driver.StreamWriteValue64(where_it_runs(on), address(pointer), value, 0));
    }
  });
}

}  // namespace
}  // namespace bridge

using namespace bridge;

extern "C" {

hipError_t hipStreamWaitValue32(hipStream_t stream, void* pointer, uint32_t value, unsigned flags, uint32_t mask) {
  return wait_value<std::uint32_t>("hipStreamWaitValue32", stream, pointer, value, flags, mask);
}
hipError_t hipStreamWaitValue64(hipStream_t stream, void* pointer, uint64_t value, unsigned flags, uint64_t mask) {
  return wait_value<std::uint64_t>("hipStreamWaitValue64", stream, pointer, value, flags, mask);
}
hipError_t hipStreamWriteValue32(hipStream_t stream, void* pointer, uint32_t value, unsigned flags) {
  return write_value<std::uint32_t>("hipStreamWriteValue32", stream, pointer, value, flags);
}
hipError_t hipStreamWriteValue64(hipStream_t stream, void* pointer, uint64_t value, unsigned flags) {
  return write_value<std::uint64_t>("hipStreamWriteValue64", stream, pointer, value, flags);
}

hipError_t hipStreamBatchMemOp(hipStream_t stream, unsigned count, hipStreamBatchMemOpParams* operations, unsigned flags) {
  return on_queue("hipStreamBatchMemOp", stream, [&](const Cuda& driver, Target& on) {
    constexpr unsigned most = 256;
    if (flags != 0 || count == 0 || count > most || operations == nullptr) return hipErrorInvalidValue;
    static_assert(sizeof(CUstreamBatchMemOpParams) == sizeof(hipStreamBatchMemOpParams));
    auto* const native = reinterpret_cast<CUstreamBatchMemOpParams*>(operations);
    for (unsigned i = 0; i < count; ++i) {
      const bool known = native[i].operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 ||
                         native[i].operation == CU_STREAM_MEM_OP_WAIT_VALUE_64 ||
                         native[i].operation == CU_STREAM_MEM_OP_WRITE_VALUE_32 ||
                         native[i].operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
      if (!known) return hipErrorInvalidValue;  // barriers and flushes among them
    }
    const CUstream runs_on = where_it_runs(on);
    // CUDA takes one fewer at once.
    const unsigned first = std::min(count, most - 1);
    CUresult result = driver.StreamBatchMemOp(runs_on, first, native, 0);
    if (result == CUDA_SUCCESS && count > first) result = driver.StreamBatchMemOp(runs_on, count - first, native + first, 0);
    return from_cuda(result);
  });
}
}
