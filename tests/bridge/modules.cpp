// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <unordered_map>

#include "bridge.hpp"
#include "launches.hpp"

/// Modules and launches.
using namespace bridge;

namespace {

constexpr unsigned shared_bytes_without_asking = 48 << 10;

// AMD's devices have no opt-in: a launch gets the shared memory it names. The limit only rises, because another thread may
// be about to launch the function with more.
hipError_t allow_shared_memory(const Cuda& driver, CUfunction function, unsigned bytes) {
  if (bytes <= shared_bytes_without_asking) return hipSuccess;
  static auto& mutex = *new std::mutex;
  const std::lock_guard lock(mutex);
  int allowed = 0;
  const CUresult result = driver.FuncGetAttribute(&allowed, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function);
  if (result != CUDA_SUCCESS || static_cast<unsigned>(allowed) >= bytes) return from_cuda(result);
  return from_cuda(
      driver.FuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, static_cast<int>(bytes)));
}

struct Functions {
  struct Function {
    hipModule_t module;
    int device;
  };
  std::mutex mutex;
  std::unordered_map<CUfunction, Function> known;
  std::unordered_map<hipModule_t, int> devices;  // of modules
};
Functions& functions() {
  static auto* const all = new Functions;
  return *all;
}

/// A function is looked for on the current device, and a null pointer followed where its module is another's.
void check_device(const char* name, hipFunction_t function) {
  const std::lock_guard lock(functions().mutex);
  const auto found = functions().known.find(handle<CUfunction>(function));
  if (found != functions().known.end() && found->second.device != current_device())
    undefined(name, "the current device is not the one that the function's module was loaded for");
}

/// A block may have as many threads as the kernel was compiled for. More are a failed launch, which is no fault of the
/// device.
bool has_too_many_threads(const Cuda& driver, CUfunction function, unsigned threads) {
  int most = 0;
  return driver.FuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function) == CUDA_SUCCESS &&
         threads > static_cast<unsigned>(most);
}

}  // namespace

hipModule_t bridge::module_of(CUfunction function) {
  const std::lock_guard lock(functions().mutex);
  const auto found = functions().known.find(function);
  return found != functions().known.end() ? found->second.module : nullptr;
}

extern "C" {

hipError_t hipModuleLoadData(hipModule_t* module, const void* image) {
  return on_device([&](const Cuda& driver) {
    // There is no PTX in HIP: images are ELF files and bundles of them.
    constexpr char elf[] = {0x7f, 'E', 'L', 'F'};
    if (std::memcmp(image, elf, sizeof(elf)) != 0) return hipErrorInvalidImage;
    const CUresult result = driver.ModuleLoadData(reinterpret_cast<CUmodule*>(module), image);
    if (result == CUDA_SUCCESS) {
      const std::lock_guard lock(functions().mutex);
      functions().devices[*module] = current_device();
    }
    return from_cuda(result);
  });
}
hipError_t hipModuleUnload(hipModule_t module) {
  return on_device([&](const Cuda& driver) {
    check_not_launched("hipModuleUnload", module);
    {
      const std::lock_guard lock(functions().mutex);
      std::erase_if(functions().known, [&](const auto& function) { return function.second.module == module; });
      functions().devices.erase(module);
    }
    return from_cuda(driver.ModuleUnload(handle<CUmodule>(module)));
  });
}
hipError_t hipModuleGetFunction(hipFunction_t* function, hipModule_t module, const char* name) {
  return on_device([&](const Cuda& driver) {
    const CUresult result =
        driver.ModuleGetFunction(reinterpret_cast<CUfunction*>(function), handle<CUmodule>(module), name);
    if (result == CUDA_SUCCESS) {
      const std::lock_guard lock(functions().mutex);
      functions().known[handle<CUfunction>(*function)] = {module, functions().devices[module]};
    }
    return from_cuda(result);
  });
}
hipError_t hipModuleGetGlobal(hipDeviceptr_t* pointer, size_t* bytes, hipModule_t module, const char* name) {
  return on_device(
      [&](const Cuda& driver) { return give(pointer, driver.ModuleGetGlobal, bytes, handle<CUmodule>(module), name); });
}

hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                                 unsigned block_y, unsigned block_z, unsigned shared_bytes, hipStream_t stream,
                                 void** parameters, void** extra) {
  return on_queue("hipModuleLaunchKernel", stream, [&](const Cuda& driver, Target& on) {
    if (extra != nullptr) return hipErrorInvalidValue;  // its marks are other numbers than CUDA's
    const auto native = handle<CUfunction>(function);
    if (has_too_many_threads(driver, native, block_x * block_y * block_z)) return hipErrorLaunchFailure;
    if (const hipError_t error = allow_shared_memory(driver, native, shared_bytes)) return error;
    return from_cuda(driver.LaunchKernel(native, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, on.cuda,
                                         parameters, nullptr));
  });
}

// Never captured.
hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                            unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                            hipStream_t stream, void** parameters) {
  return on_queue("hipModuleLaunchCooperativeKernel", stream, [&](const Cuda& driver, Target& on) {
    const auto native = handle<CUfunction>(function);
    if (const hipError_t error = allow_shared_memory(driver, native, shared_bytes)) return error;
    return from_cuda(driver.LaunchCooperativeKernel(native, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes,
                                                    is_capturing(on) ? eager(on) : on.cuda, parameters));
  });
}

// Attributes have CUDA's numbers, so all are passed on.
hipError_t hipDrvLaunchKernelEx(const HIP_LAUNCH_CONFIG* config, hipFunction_t function, void** parameters, void** extra) {
  CUlaunchConfig native = *reinterpret_cast<const CUlaunchConfig*>(config);
  return on_queue(
      "hipDrvLaunchKernelEx", reinterpret_cast<hipStream_t>(native.hStream), [&](const Cuda& driver, Target& on) {
        if (extra != nullptr) return hipErrorInvalidValue;
        if (driver.LaunchKernelEx == nullptr) return hipErrorNotSupported;
        if (const hipError_t error = allow_shared_memory(driver, handle<CUfunction>(function), native.sharedMemBytes))
          return error;
        native.hStream = on.cuda;
        return from_cuda(driver.LaunchKernelEx(&native, handle<CUfunction>(function), parameters, extra));
      });
}

hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, hipFunction_t function, int threads,
                                                              size_t shared_bytes) {
  return on_device([&](const Cuda& driver) {
    check_device("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", function);
    const auto native = handle<CUfunction>(function);
    if (const hipError_t error = allow_shared_memory(driver, native, static_cast<unsigned>(shared_bytes))) return error;
    return from_cuda(driver.OccupancyMaxActiveBlocksPerMultiprocessor(blocks, native, threads, shared_bytes));
  });
}

hipError_t hipModuleOccupancyMaxPotentialBlockSize(int* grid, int* block, hipFunction_t function, size_t shared_bytes,
                                                   int limit) {
  return on_device([&](const Cuda& driver) {
    const auto native = handle<CUfunction>(function);
    if (const hipError_t error = allow_shared_memory(driver, native, static_cast<unsigned>(shared_bytes))) return error;
    return from_cuda(driver.OccupancyMaxPotentialBlockSize(grid, block, native, nullptr, shared_bytes, limit));
  });
}

hipError_t hipFuncGetAttribute(int* value, hipFunction_attribute attribute, hipFunction_t function) {
  return on_device([&](const Cuda& driver) {
    check_device("hipFuncGetAttribute", function);
    return from_cuda(
        driver.FuncGetAttribute(value, static_cast<CUfunction_attribute>(attribute), handle<CUfunction>(function)));
  });
}

// Takes the address of a host function: nothing happens up to 6.2, and a module's function is not found since.
hipError_t hipFuncSetAttribute(const void*, hipFuncAttribute, int) {
  return call([](const Cuda&) { return before(603) ? hipSuccess : hipErrorInvalidDeviceFunction; });
}
}
