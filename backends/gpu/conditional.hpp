// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "backends/gpu/errors.hpp"

namespace weir::gpu {

/// The kernel that reads a value from memory and reports to the driver whether to run the body of a conditional node.
/// Drivers accept a condition only from device code.
template <class Api>
class ConditionalKernel {
 public:
  /// The device must be current.
  template <class Object>
  ConditionalKernel(const Api& api, const Object& object) : api_(api) {
    check(api, api.load_conditional_kernel(module_, function_), "Stream::capture_if", object);
  }
  // Never unloaded: it lives as long as the device.
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
