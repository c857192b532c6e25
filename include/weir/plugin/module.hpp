// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/module.hpp"

/// The interface that a backend implements for its modules and kernels.
namespace weir {

/// The base class of each backend's modules; every `Module` object is a `ModuleImpl`.
class WEIR_API ModuleImpl : public Module {
 public:
  virtual KernelPtr do_kernel(std::string_view name) = 0;
  virtual Span<std::byte> do_global(std::string_view name) = 0;

 protected:
  ModuleImpl(Device& device, void* handle) noexcept : Module(device, handle) {}
  Disposal disposal() const noexcept override { return Disposal::driver; }
};

/// The base class of each backend's kernels; every `Kernel` object is a `KernelImpl`.
class WEIR_API KernelImpl : public Kernel {
 public:
  virtual KernelProperties do_properties() const = 0;
  virtual int do_max_active_blocks(std::uint32_t block_threads, std::size_t shared_memory_bytes) const = 0;
  virtual std::uint32_t do_suggested_block_size(std::size_t shared_memory_bytes) const = 0;

 protected:
  KernelImpl(ModulePtr module, std::string name, void* handle, std::vector<Parameter> parameters,
             bool has_parameter_sizes)
      : Kernel(std::move(module), std::move(name), handle, std::move(parameters), has_parameter_sizes) {}
};

}  // namespace weir
