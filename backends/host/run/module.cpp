// SPDX-License-Identifier: Apache-2.0
#include "backends/host/run/module.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "backends/host/run/kernel.hpp"
#include "backends/host/run/source_lines.hpp"
#include "kernels/kernel_name.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"

namespace weir::host {
namespace {

std::string list(std::vector<std::string_view> names) {
  constexpr std::size_t most = 20;
  std::sort(names.begin(), names.end());
  std::string text;
  std::size_t count = 0;
  for (const std::string_view name : names) {
    if (count++ == most) return text + ", …";
    if (!text.empty()) text += ", ";
    text += name;
  }
  return text;
}

}  // namespace

HostModule::HostModule(Device& device, void* handle, const ModuleRecord& record, std::vector<Variable> variables,
                       std::span<const std::byte> image, std::span<const std::byte> code,
                       std::optional<detail::TemporaryFolder> file)
    : ModuleImpl(device, handle),
      record_(record),
      variables_(std::move(variables)),
      image_(image.begin(), image.end()),
      code_(code),
      file_(std::move(file)) {}

HostModule::~HostModule() {
  attached_.reset();
  unloaded_.fetch_add(1, std::memory_order_release);
  ::dlclose(native_handle());
}

std::string HostModule::place_of(const void* instruction) const {
  const auto offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(instruction) - code_.data());
  const std::string line = source_line(image_, offset);
  return !line.empty() ? line : fmt::format("module + 0x{:x} (with CompileOptions::debug the line is known)", offset);
}

KernelPtr HostModule::do_kernel(std::string_view name) {
  std::vector<std::string_view> names;
  const std::string wanted = kernels::normalized_name(name);
  for (const KernelRecord* const record : kernels()) {
    if (kernels::normalized_name(record->name) == wanted) {
      if (record->run == nullptr) {
        throw Error(
            Errc::kernel_not_found, "Module::kernel", device().describe(),
            fmt::format("'{}' is the name of several kernels with different parameters; use a different name for each",
                        name));
      }
      return make_ptr<HostKernel>(Ptr<HostModule>(this), std::string(name), *record);
    }
    names.emplace_back(record->name);
  }
  throw Error(
      Errc::kernel_not_found, "Module::kernel", device().describe(),
      fmt::format("there is no kernel '{}'; the module has {}; a kernel is a __global__ function, or an instance of a "
                  "template that the source instantiates or CompileOptions::kernels names (KERNELS in weir_add_kernels)",
                  name, names.empty() ? "no kernels at all" : list(names)));
}

Span<std::byte> HostModule::do_global(std::string_view name) {
  std::vector<std::string_view> names;
  const std::string symbol = kernels::variable_symbol(name);
  for (const Variable& variable : variables_) {
    if (variable.name == symbol) return variable.memory;
    names.emplace_back(variable.name);
  }
  throw Error(Errc::kernel_not_found, "Module::global", device().describe(),
              names.empty() ? fmt::format("there is no variable '{}': the module has none; variables are __device__ or "
                                          "__constant__, but not static or const",
                                          name)
                            : fmt::format("there is no variable '{}'; the module has {}", name, list(names)));
}

}  // namespace weir::host
