// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/temporary_folder.hpp"
#include "kernels/kernel_abi.hpp"
#include "weir/plugin/module.hpp"

/// Modules: shared objects of compiled kernels. Each is loaded separately, so two modules of one source share no variables.
namespace weir::host {

class HostModule final : public ModuleImpl {
 public:
  struct Variable {
    std::string name;
    Span<std::byte> memory;
  };

  /// Takes ownership of the handle from dlopen. Copies `image`. `code`: its loaded code. `file`: the folder of the object's
  /// file, if it has one.
  HostModule(Device& device, void* handle, const ModuleRecord& record, std::vector<Variable> variables,
             std::span<const std::byte> image, std::span<const std::byte> code, std::optional<detail::TemporaryFolder> file);
  ~HostModule() override;

  std::span<const std::byte> code() const noexcept { return code_; }
  /// The source location of an instruction: "kernel.cu:12", or an offset in the module if that is unknown.
  std::string place_of(const void* instruction) const;
  std::span<const Variable> variables() const noexcept { return variables_; }
  /// Keeps the object alive until just before the image is unloaded.
  void attach(std::shared_ptr<void> object) noexcept { attached_ = std::move(object); }
  /// Called after each load: a module may occupy the addresses of an unloaded one, and is used only after all uses of that
  /// one. The loader's lock ensures this, but ThreadSanitizer does not see it.
  static void see_unloaded() noexcept { (void)unloaded_.load(std::memory_order_acquire); }
  /// Sets the same module on fibers, with whose kernels launches are compared.
  void set_reference(ModulePtr reference) noexcept { reference_ = std::move(reference); }

 protected:
  KernelPtr do_kernel(std::string_view name) override;
  Span<std::byte> do_global(std::string_view name) override;

 private:
  std::span<const KernelRecord* const> kernels() const noexcept { return {record_.first, record_.last}; }

  const ModuleRecord& record_;
  std::vector<Variable> variables_;
  std::vector<std::byte> image_;  // crash reports look up lines in it
  std::span<const std::byte> code_;
  ModulePtr reference_;
  std::optional<detail::TemporaryFolder> file_;
  std::shared_ptr<void> attached_;
  static inline std::atomic<std::uint64_t> unloaded_{0};
};

}  // namespace weir::host
