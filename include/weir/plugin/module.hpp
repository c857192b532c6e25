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

/// The base class of each backend's modules; every `Module` object is a `ModuleImpl`. Any thread may call its functions at
/// any time. The destructor unloads the code; work that uses it may be pending. (cuModuleUnload)
class WEIR_API ModuleImpl : public Module {
 public:
  /// Returns the kernel of that name, which is not empty and has no spaces around it. An `extern "C"` kernel is named as in
  /// the source, another one by its name with namespaces, or as in `CompileOptions::kernels`; spaces in the name do not
  /// matter. Throws `kernel_not_found` for an unknown name, or if the name fits several. (cuModuleGetFunction)
  virtual KernelPtr do_kernel(std::string_view name) = 0;
  /// The memory of a variable, by its name with namespaces. It belongs to the module. Throws `kernel_not_found`.
  /// (cuModuleGetGlobal)
  virtual Span<std::byte> do_global(std::string_view name) = 0;

 protected:
  /// `handle`: the vendor's module, which this object owns.
  ModuleImpl(Device& device, void* handle) noexcept : Module(device, handle) {}
  Disposal disposal() const noexcept override { return Disposal::driver; }
};

/// The base class of each backend's kernels; every `Kernel` object is a `KernelImpl`. Any thread may call its functions at
/// any time. Each call of `do_kernel` may return another object for the same function.
class WEIR_API KernelImpl : public Kernel {
 public:
  /// Members without a value in this backend are 0. Throws the driver's error if it reports none. (cuFuncGetAttribute)
  virtual KernelProperties do_properties() const = 0;
  /// How many blocks of this shape one multiprocessor can run at a time; 0 if a block does not fit. `block_threads` is not
  /// checked. `shared_memory_bytes`: of dynamic shared memory, at most `shared_memory_per_block_optin` of the device.
  /// (cuOccupancyMaxActiveBlocksPerMultiprocessor)
  virtual int do_max_active_blocks(std::uint32_t block_threads, std::size_t shared_memory_bytes) const = 0;
  /// The number of threads in a block with the best occupancy. `shared_memory_bytes`: as above.
  /// (cuOccupancyMaxPotentialBlockSize)
  virtual std::uint32_t do_suggested_block_size(std::size_t shared_memory_bytes) const = 0;

 protected:
  /// `module`: kept alive by this object. `name`: for `Kernel::name`. `handle`: the vendor's function, owned by the module.
  /// `parameters`: the known facts about the kernel's parameters, in order; launches are checked against them. A size counts
  /// only if `has_parameter_sizes`; the kind of a parameter is `unknown` if it is not known.
  KernelImpl(ModulePtr module, std::string name, void* handle, std::vector<Parameter> parameters,
             bool has_parameter_sizes)
      : Kernel(std::move(module), std::move(name), handle, std::move(parameters), has_parameter_sizes) {}
};

}  // namespace weir
