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

/// Modules: shared objects of compiled kernels. Each is loaded separately, so two modules of one source share no variables.
namespace weir::host {

class HostModule final : public Module {
 public:
  struct Variable {
    std::string name;
    Span<std::byte> memory;
  };

  /// Takes over the handle from dlopen. `file`: the folder of the object's file, if it has one.
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

/// Loads an image. Throws BadImage if it is no module for this processor; std::runtime_error with the loader's message.
/// `for_debugger`: as a file that exists as long as the module, for a debugger.
ModulePtr load_image(Device& device, std::span<const std::byte> image, bool for_debugger);

/// The processor's features in the words of /proc/cpuinfo, separated by spaces; empty if unknown.
const std::string& cpu_features();

}  // namespace weir::host
