// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <functional>
#include <stdexcept>
#include <string>

#include "weir/interop/cuda.hpp"
#include "weir/weir.hpp"

/// The CUDA driver as external code calls it. Weir does not know of these calls.
namespace driver {

template <class Function>
Function find(const char* name) {
  static void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  void* const address = library != nullptr ? ::dlsym(library, name) : nullptr;
  if (address == nullptr) throw std::runtime_error(std::string("the driver has no ") + name);
  return reinterpret_cast<Function>(address);
}

/// Calls `exported`, which has the type of `declared`.
#define DRIVER(exported, declared) driver::find<decltype(&declared)>(#exported)

inline CUstreamCaptureStatus capture_status(CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  DRIVER(cuStreamIsCapturing, cuStreamIsCapturing)(stream, &status);
  return status;
}

/// The error that a call of Weir throws; none of them if it throws none.
inline weir::Errc error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const weir::Error& error) {
    INFO(error.what());
    return error.errc();
  }
  return weir::Errc{};
}

}  // namespace driver
