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

/// Modules: loaded shared objects with compiled kernels. Each module is loaded separately, so two modules of one source
/// share no variables.
namespace weir::host {

class HostModule final : public ModuleImpl {
 public:
  struct Variable {
    std::string name;
    Span<std::byte> memory;
  };

  /// Takes ownership of `handle`, which dlopen returned. Copies `image`. `code`: the loaded machine code. `file`: the folder
  /// with the object's file, if there is one.
  HostModule(Device& device, void* handle, const ModuleRecord& record, std::vector<Variable> variables,
             std::span<const std::byte> image, std::span<const std::byte> code, std::optional<detail::TemporaryFolder> file);
  ~HostModule() override;

  std::span<const std::byte> code() const noexcept { return code_; }
  /// Returns the source location of an instruction, such as "kernel.cu:12"; if that is unknown, the offset in the module.
  std::string place_of(const void* instruction) const;
  std::span<const Variable> variables() const noexcept { return variables_; }
  /// Whether this process compiled the module, with the compiler that Backend::versions names; if not, it was loaded.
  bool is_compiled_here() const noexcept { return is_compiled_here_; }
  void set_compiled_here() noexcept { is_compiled_here_ = true; }
  /// Stores an object to be destroyed just before the module is unloaded.
  void attach(std::shared_ptr<void> object) noexcept { attached_ = std::move(object); }
  /// Called after each load. The new module may be at the addresses of a module that was unloaded, after all uses of that
  /// module. The loader's lock orders the two, but ThreadSanitizer does not see that lock, so this load of an atomic makes
  /// the order visible.
  static void see_unloaded() noexcept { (void)unloaded_.load(std::memory_order_acquire); }

 protected:
  KernelPtr do_kernel(std::string_view name) override;
  Span<std::byte> do_global(std::string_view name) override;

 private:
  std::span<const KernelRecord* const> kernels() const noexcept { return {record_.first, record_.last}; }

  const ModuleRecord& record_;
  std::vector<Variable> variables_;
  std::vector<std::byte> image_;  // used by crash reports to find source lines
  std::span<const std::byte> code_;
  std::optional<detail::TemporaryFolder> file_;
  std::shared_ptr<void> attached_;
  bool is_compiled_here_ = false;
  static inline std::atomic<std::uint64_t> unloaded_{0};
};

}  // namespace weir::host
