// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "backends/gpu/errors.hpp"

namespace weir::gpu {

/// A kernel that reads a value from memory and sets the driver's condition for a conditional node. Drivers let only device
/// code set a condition.
template <class Api>
class ConditionalKernel {
 public:
  /// The device must be current on the calling thread.
  template <class Object>
  ConditionalKernel(const Api& api, const Object& object) : api_(api) {
    check(api, api.load_conditional_kernel(module_, function_), "Stream::capture_if", object);
  }
  // The module is never unloaded; this object lives as long as the device.
  ConditionalKernel(const ConditionalKernel&) = delete;
  ConditionalKernel& operator=(const ConditionalKernel&) = delete;

  typename Api::Result launch(typename Api::StreamHandle stream, typename Api::ConditionalHandle handle,
                              const std::uint32_t* condition) const {
    void* arguments[] = {&handle, &condition};
    return api_.LaunchKernel(function_, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr);
  }

 private:
  const Api& api_;
  typename Api::ModuleHandle module_ = nullptr;
  typename Api::FunctionHandle function_ = nullptr;
};

}  // namespace weir::gpu
