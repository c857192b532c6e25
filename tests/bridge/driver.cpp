// SPDX-License-Identifier: Apache-2.0
#include "driver.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <type_traits>

// Opens the CUDA driver for the bridge.

namespace bridge {
namespace {

const Cuda* open_driver() {
  void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  const auto find = reinterpret_cast<PFN_cuGetProcAddress_v12000>(::dlsym(library, "cuGetProcAddress_v2"));
  if (find == nullptr) return nullptr;
  auto* const driver = new Cuda;
  bool complete = true;
  const auto resolve = [&](const char* name, int version, auto& pointer, bool required) {
    void* address = nullptr;
    CUdriverProcAddressQueryResult status{};
    // The null stream is the legacy one, as in HIP.
    if (find(name, &address, version, CU_GET_PROC_ADDRESS_LEGACY_STREAM, &status) != CUDA_SUCCESS) address = nullptr;
    if (address == nullptr && required) {
      std::fprintf(stderr, "HIP bridge: the CUDA driver has no %s of version %d\n", name, version);
      complete = false;
    }
    pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(address);
  };
#define BRIDGE_CUDA_RESOLVE(name, version) resolve("cu" #name, version, driver->name, true);
  BRIDGE_CUDA_SYMBOLS(BRIDGE_CUDA_RESOLVE)
#undef BRIDGE_CUDA_RESOLVE
#define BRIDGE_CUDA_RESOLVE(name, version, parameters) resolve("cu" #name, version, driver->name, false);
  BRIDGE_NEWER_CUDA_SYMBOLS(BRIDGE_CUDA_RESOLVE)
#undef BRIDGE_CUDA_RESOLVE
  if (!complete || driver->Init(0) != CUDA_SUCCESS || driver->DeviceGetCount(&driver->device_count) != CUDA_SUCCESS ||
      driver->device_count == 0) {
    return nullptr;
  }
  return driver;
}

}  // namespace

const Cuda* cuda() noexcept {
  static const Cuda* const driver = open_driver();
  return driver;
}

}  // namespace bridge
