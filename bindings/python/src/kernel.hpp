// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/python/src/common.hpp"
#include "bindings/python/src/dtype.hpp"
#include "weir/device.hpp"

/// Kernels and the known facts about their parameters.
namespace weir::python {

/// The known facts about a parameter's type.
struct Parameter {
  enum class Kind : std::uint8_t { unknown, number, integer, floating, pointer };
  Kind kind = Kind::unknown;    // number: has the type `type`; integer, floating: has `size` bytes
  std::optional<DType> type{};  // pointer: of the elements
  std::size_t size = 0;         // 0 if it is not known
};

struct KernelObject {
  KernelPtr kernel;
  std::vector<Parameter> parameters;
  bool is_counted = false;  // whether `parameters` is complete

  /// `types`: the Python types of its parameters; None if unknown.
  KernelObject(KernelPtr kernel, nb::handle types);
  KernelObject(KernelObject&&) = default;
  KernelObject& operator=(KernelObject&&) = delete;
  ~KernelObject();
};

/// Kernel source that is compiled for a device at its first launch there. Made by `@weir.kernel`.
class KernelFunction {
 public:
  KernelFunction(std::string source, std::string name, nb::object types, CompileOptions options)
      : source_(std::move(source)), name_(std::move(name)), types_(std::move(types)), options_(std::move(options)) {}

  const std::string& name() const noexcept { return name_; }
  /// Compiles at the first call for a device.
  const KernelObject& on(Device& device);

 private:
  std::string source_, name_;
  nb::object types_;
  CompileOptions options_;
  std::mutex mutex_;
  std::vector<std::pair<Device*, std::unique_ptr<KernelObject>>> kernels_;
};

/// Options of `weir.compile`, by their names in Python.
CompileOptions compile_options(const nb::kwargs& options);

/// Launches with Python arguments. `stream` must be of the kernel's device.
void launch(Stream& stream, const LaunchConfig& config, const KernelObject& kernel, PyObject* const* arguments,
            std::size_t count);

/// Adds the change that the node launches the kernel with these arguments.
void change(GraphChanges& changes, GraphNode node, const LaunchConfig& config, const KernelObject& kernel,
            PyObject* const* arguments, std::size_t count);

/// The kernel that an argument names: a Kernel, or a KernelFunction, compiled for `device`.
const KernelObject& kernel_of(nb::handle argument, Device& device);

/// Gets the address of another library's device array. False if `object` is not one.
bool foreign_address_of(nb::handle object, void*& address);

}  // namespace weir::python
