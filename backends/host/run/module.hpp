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

  /// Takes over the handle from dlopen. `image` is copied. `code`: where it was loaded. `file`: the folder of the object's
  /// file, if it has one.
  HostModule(Device& device, void* handle, const ModuleRecord& record, std::vector<Variable> variables,
             std::span<const std::byte> image, std::span<const std::byte> code, std::optional<detail::TemporaryFolder> file);
  ~HostModule() override;

  std::span<const std::byte> code() const noexcept { return code_; }
  /// Where the source has an instruction: "kernel.cu:12", or or an offset in the module where that cannot be found out.
  std::string place_of(const void* instruction) const;
  std::span<const Variable> variables() const noexcept { return variables_; }
  /// Keeps the object until the image is about to be unloaded.
  void attach(std::shared_ptr<void> object) noexcept { attached_ = std::move(object); }
  /// Called behind each load: a module may lie where another one was, and is used behind all uses of that one. The loader
  /// has a lock for this, which ThreadSanitizer does not see.
  static void see_unloaded() noexcept { (void)unloaded_.load(std::memory_order_acquire); }
  /// The same module on fibers, with whose kernels launches are compared.
  void set_reference(ModulePtr reference) noexcept { reference_ = std::move(reference); }

 protected:
  KernelPtr do_kernel(std::string_view name) override;
  Span<std::byte> do_global(std::string_view name) override;

 private:
  std::span<const KernelRecord* const> kernels() const noexcept { return {record_.first, record_.last}; }

  const ModuleRecord& record_;
  std::vector<Variable> variables_;
  std::vector<std::byte> image_;  // whose lines a report of a crash names
  std::span<const std::byte> code_;
  ModulePtr reference_;
  std::optional<detail::TemporaryFolder> file_;
  std::shared_ptr<void> attached_;
  static inline std::atomic<std::uint64_t> unloaded_{0};
};

}  // namespace weir::host
