// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/python/src/common.hpp"
#include "bindings/python/src/dtype.hpp"
#include "bindings/python/src/gil.hpp"
#include "weir/device.hpp"
#include "weir/module.hpp"

/// Kernels, and the facts that are known about their parameters.
namespace weir::python {

/// The facts that are known about a parameter.
struct Parameter {
  ParameterKind kind = ParameterKind::unknown;
  std::size_t size = 0;         // in bytes; 0 if not known
  bool is_declared = false;     // by the program, not only reported by the driver
  std::optional<DType> type{};  // of a declared number; for a declared pointer, of the elements if they have one

  bool is_number() const noexcept { return is_declared && kind != ParameterKind::address; }
  bool is_pointer() const noexcept { return is_declared && kind == ParameterKind::address; }
};

struct KernelObject : Owned<Kernel> {
  std::vector<Parameter> parameters{};
  bool is_counted = false;  // whether the number of `parameters` is known

  /// `types`: the Python types of the kernel's parameters; None if not known.
  KernelObject(KernelPtr kernel, nb::handle types);
};

/// A kernel as source, created by `@weir.kernel`. It is compiled for a device at the first launch there.
class KernelFunction {
 public:
  KernelFunction(std::string source, std::string name, nb::object types, CompileOptions options)
      : source_(std::move(source)), name_(std::move(name)), types_(std::move(types)), options_(std::move(options)) {}

  const std::string& name() const noexcept { return name_; }
  /// Returns the kernel for a device; the first call compiles it.
  const KernelObject& on(Device& device);

 private:
  std::string source_, name_;
  nb::object types_;
  CompileOptions options_;
  std::mutex mutex_;
  std::map<Device*, std::unique_ptr<KernelObject>> kernels_;
};

/// Converts the keyword options of `weir.compile`.
CompileOptions compile_options(const nb::kwargs& options);

/// Launches a kernel with Python arguments. `stream` must be on the kernel's device.
void launch(Stream& stream, const LaunchConfig& config, const KernelObject& kernel, PyObject* const* arguments,
            std::size_t count);

/// Adds a change: the node launches the kernel with these arguments.
void change(GraphChanges& changes, GraphNode node, const LaunchConfig& config, const KernelObject& kernel,
            PyObject* const* arguments, std::size_t count);

/// Returns the kernel for an argument: a Kernel, or a KernelFunction, which is compiled for `device`.
const KernelObject& kernel_of(nb::handle argument, Device& device);

/// Stores the address of another library's device array. Returns false if `object` is no such array.
bool foreign_address_of(nb::handle object, void*& address);

}  // namespace weir::python
