// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/host/kernel_abi.hpp"
#include "backends/host/temporary_folder.hpp"
#include "weir/module.hpp"

/// Modules: shared objects of compiled kernels, each loaded anew, so that two modules of one source share no variables.
namespace weir::host {

class HostModule final : public Module {
 public:
  struct Variable {
    std::string name;
    Span<std::byte> memory;
  };

  /// Takes over the handle, which dlopen gave. `file`: the folder of the object's file, if it has one.
  HostModule(Device& device, void* handle, const ModuleRecord& record, std::vector<Variable> variables,
             std::optional<TemporaryFolder> file);
  ~HostModule() override;

 protected:
  KernelPtr do_kernel(std::string_view name) override;
  Span<std::byte> do_global(std::string_view name) override;

 private:
  std::span<const KernelRecord* const> kernels() const noexcept { return {record_.first, record_.last}; }

  const ModuleRecord& record_;
  std::vector<Variable> variables_;
  std::optional<TemporaryFolder> file_;
};

/// Loads an image. Throws BadImage for one that is not a module for this processor; std::runtime_error with the loader's
/// message. `for_debugger`: as a file that lasts as long as the module, where a debugger finds it.
ModulePtr load_image(Device& device, std::span<const std::byte> image, bool for_debugger);

/// What the processor can do, in the words of /proc/cpuinfo with spaces between; empty if it cannot be told.
const std::string& cpu_features();

}  // namespace weir::host
