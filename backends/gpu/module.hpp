// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/gpu/capture.hpp"
#include "backends/gpu/device.hpp"
#include "backends/gpu/errors.hpp"
#include "backends/gpu/kernel_names.hpp"
#include "backends/gpu/module_contents.hpp"
#include "kernels/kernel_name.hpp"
#include "weir/plugin/module.hpp"

namespace weir::gpu {

/// The current limit on a function's dynamic shared memory. The driver has one limit for each function, so all `GpuKernel`
/// objects of that function share this object.
struct SharedMemoryLimit {
  std::mutex mutex;  // held while the driver's limit is changed
  std::atomic<std::uint32_t> bytes{0};
};

/// A kernel of a loaded module.
template <class Api>
class GpuKernel final : public KernelImpl {
 public:
  using Handle = typename Api::FunctionHandle;

  /// The device must be current. Reads the kernel's properties once, because launches need some of them. If the driver does
  /// not provide them, only calls that need them fail.
  GpuKernel(GpuDevice<Api>& device, ModulePtr module, std::string name, Handle handle,
            std::vector<Parameter> parameters, bool has_parameter_sizes, SharedMemoryLimit& limit)
      : KernelImpl(std::move(module), std::move(name), handle, std::move(parameters), has_parameter_sizes),
        device_(device),
        limit_(limit) {
    properties_ = {.max_threads_per_block = attribute(Api::function_max_threads),
                   .registers_per_thread = attribute(Api::function_registers),
                   .static_shared_memory_bytes = attribute(Api::function_shared_bytes),
                   .local_memory_bytes = attribute(Api::function_local_bytes),
                   .constant_memory_bytes = attribute(Api::function_constant_bytes)};
    if constexpr (Api::tells_versions) {
      properties_.ptx_version = attribute(Api::function_ptx_version);
      properties_.binary_version = attribute(Api::function_binary_version);
    }
    const auto unasked = static_cast<std::uint32_t>(device.properties().shared_memory_per_block);
    const auto statically = static_cast<std::uint32_t>(properties_.static_shared_memory_bytes);
    const std::lock_guard lock(limit_.mutex);
    if (asked_ == Api::success && limit_.bytes.load(std::memory_order_relaxed) == 0)
      limit_.bytes.store(unasked - std::min(unasked, statically), std::memory_order_release);
  }

  Handle native() const noexcept { return static_cast<Handle>(native_handle()); }

  /// Raises the kernel's limit on shared memory, static and dynamic together, above the default for a block. Drivers require
  /// this call for each function.
  bool allows_shared_memory(std::uint32_t bytes) const noexcept {
    return bytes <= limit_.bytes.load(std::memory_order_acquire);
  }
  void allow_shared_memory(std::uint32_t bytes, const char* operation = "Stream::launch") const {
    if (allows_shared_memory(bytes)) return;
    const auto current = device_.make_current();
    const std::lock_guard lock(limit_.mutex);
    if (allows_shared_memory(bytes)) return;
    const auto result = device_.api().set_max_shared_memory(native(), bytes);
    if (result != Api::success) {
      fail(device_.api(), result, operation, device_.describe(),
           "kernel '" + name() + "' cannot have " + std::to_string(bytes) +
               " bytes of dynamic shared memory in addition to its static " +
               std::to_string(properties_.static_shared_memory_bytes));
    }
    limit_.bytes.store(bytes, std::memory_order_release);
  }

 protected:
  KernelProperties do_properties() const override {
    if (asked_ != Api::success) {
      fail(device_.api(), asked_, "Kernel::properties", device_.describe(),
           "the driver does not report the attributes of kernel '" + name() +
               "': " + std::string(Api::meaning(asked_).detail));
    }
    return properties_;
  }

  int do_max_active_blocks(std::uint32_t block_threads, std::size_t shared_memory_bytes) const override {
    allow_shared_memory(static_cast<std::uint32_t>(shared_memory_bytes), "Kernel::max_active_blocks");
    const auto current = device_.make_current();
    int blocks = 0;
    check(device_.api(),
          device_.api().max_active_blocks(blocks, native(), static_cast<int>(block_threads), shared_memory_bytes),
          "Kernel::max_active_blocks", device_);
    return blocks;
  }

  std::uint32_t do_suggested_block_size(std::size_t shared_memory_bytes) const override {
    const char* const operation = "Kernel::suggested_block_size";
    allow_shared_memory(static_cast<std::uint32_t>(shared_memory_bytes), operation);
    const auto current = device_.make_current();
    int blocks = 0, threads = 0;
    check(device_.api(), device_.api().suggested_block_size(blocks, threads, native(), shared_memory_bytes), operation,
          device_);
    // HIP (7.15) ignores the maximum block size that the kernel was compiled for.
    if (const auto most = properties_.max_threads_per_block; most > 0) threads = std::min(threads, static_cast<int>(most));
    return static_cast<std::uint32_t>(threads);
  }

 private:
  std::uint32_t attribute(typename Api::FunctionAttribute attribute) noexcept {
    int value = 0;
    const auto result = device_.api().FuncGetAttribute(&value, attribute, native());
    if (result != Api::success) asked_ = result;
    return static_cast<std::uint32_t>(value);
  }

  GpuDevice<Api>& device_;
  SharedMemoryLimit& limit_;  // owned by the module
  KernelProperties properties_;
  typename Api::Result asked_ = Api::success;  // the driver's error if the properties are unavailable
};

/// A loaded image: a module with its kernels and variables.
template <class Api>
class GpuModule final : public ModuleImpl {
 public:
  using Handle = typename Api::ModuleHandle;

  GpuModule(GpuDevice<Api>& device, Handle handle, ModuleContents&& contents)
      : ModuleImpl(device, handle), device_(device), contents_(std::move(contents)) {}

  Handle native() const noexcept { return static_cast<Handle>(native_handle()); }

 protected:
  ~GpuModule() override { device_.unload(native()); }

  KernelPtr do_kernel(std::string_view name) override {
    const char* const operation = "Module::kernel";
    const auto current = device_.make_current();
    std::string symbol(name);
    typename Api::FunctionHandle function = nullptr;
    auto result = find(function, symbol);
    if (result == Api::not_found) {
      symbol = symbol_of(name);
      if (symbol.empty()) throw_missing(operation, "kernel", name);
      result = find(function, symbol);
    }
    if (result != Api::success) fail_for(result, operation, "kernel", name);
    // Loads the code now. Loading it at the first launch could fail or deadlock: the launch may be in a capture, or a
    // running kernel may wait for this one.
    const auto loaded = device_.api().load_function(function);
    if (loaded != Api::success) fail_for(loaded, operation, "kernel", name);
    const auto limit = [&]() -> SharedMemoryLimit& {
      const std::lock_guard lock(mutex_);
      return limits_[function];
    };
    std::vector<Parameter> parameters = parameters_of(symbol);
    const auto sizes = parameter_sizes(function, symbol);
    if (sizes) {
      parameters.resize(sizes->size());
      for (std::size_t i = 0; i < sizes->size(); ++i) parameters[i].size = static_cast<std::uint32_t>((*sizes)[i]);
    }
    return make_ptr<GpuKernel<Api>>(device_, ModulePtr(this), std::string(name), function, std::move(parameters),
                                    sizes.has_value(), limit());
  }

  Span<std::byte> do_global(std::string_view name) override {
    const char* const operation = "Module::global";
    const auto current = device_.make_current();
    void* address = nullptr;
    std::size_t bytes = 0;
    const auto result = device_.api().module_global(address, bytes, native(), kernels::variable_symbol(name).c_str());
    if (result == Api::not_found) throw_missing(operation, "variable", name);
    if (result != Api::success) fail_for(result, operation, "variable", name);
    return {static_cast<std::byte*>(address), bytes};
  }

 private:
  [[noreturn]] void fail_for(typename Api::Result result, const char* operation, const char* what,
                             std::string_view name) const {
    const Meaning meaning = Api::meaning_at_load(result);
    throw Error(meaning.errc, operation, device_.describe(),
                std::string(what) + " '" + std::string(name) + "': " + std::string(meaning.detail),
                native_error(device_.api(), result));
  }
  [[noreturn]] void throw_missing(const char* operation, const char* what, std::string_view name) const {
    const bool is_kernel = what == std::string_view("kernel");
    std::string detail = std::string("the module has no ") + what + " '" + std::string(name) + "'";
    if (const auto symbols = kernel_symbols(); is_kernel && !symbols.empty()) {
      detail += "; its kernels are ";
      for (std::size_t i = 0; i < symbols.size(); ++i) detail.append(i == 0 ? "" : ", ").append(declaration_of(symbols[i]));
    }
    throw Error(
        Errc::kernel_not_found, operation, device_.describe(),
        detail + (is_kernel ? "; to find it by this name, declare it extern \"C\", or list it when the source is compiled: "
                              "in CompileOptions::kernels, or behind KERNELS in weir_add_kernels"
                            : "; variables are found by their names with namespaces, unless they are static or const"));
  }

  typename Api::Result find(typename Api::FunctionHandle& function, const std::string& symbol) const {
    return device_.api().ModuleGetFunction(&function, native(), symbol.c_str());
  }

  // Returns the symbol of a kernel whose name is given as an expression passed to the compiler, or as in the source. Empty
  // if there is none. Throws if several kernels match.
  std::string symbol_of(std::string_view name) const {
    const std::string wanted = kernels::normalized_name(name);
    if (const auto found = contents_.symbols.find(wanted); found != contents_.symbols.end()) return found->second;
    std::vector<std::string> meant = kernel_symbols();
    std::erase_if(meant, [&](const std::string& symbol) { return name_of(symbol) != wanted; });
    if (meant.size() > 1) {
      throw Error(Errc::kernel_not_found, "Module::kernel", device_.describe(),
                  "'" + std::string(name) + "' is the name of several kernels: " + declaration_of(meant[0]) + ", " +
                      declaration_of(meant[1]) + "; use a different name for each");
    }
    return meant.empty() ? std::string() : meant[0];
  }

  std::vector<std::string> kernel_symbols() const {
    std::vector<std::string> names = device_.api().kernel_names(native());
    if (names.empty()) {
      for (const ImageKernel& kernel : contents_.kernels) names.push_back(kernel.name);
    }
    return names;
  }

  std::optional<std::vector<std::size_t>> parameter_sizes(typename Api::FunctionHandle function,
                                                          const std::string& symbol) const {
    if (auto sizes = device_.api().parameter_sizes(function)) return sizes;
    for (const ImageKernel& kernel : contents_.kernels) {
      if (kernel.name == symbol) return kernel.parameter_sizes;
    }
    return std::nullopt;
  }

  GpuDevice<Api>& device_;
  ModuleContents contents_;
  std::mutex mutex_;
  std::map<typename Api::FunctionHandle, SharedMemoryLimit> limits_;  // one for each kernel; guarded by mutex_
};

}  // namespace weir::gpu
