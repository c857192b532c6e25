// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/export.hpp"
#include "weir/fwd.hpp"
#include "weir/memory.hpp"
#include "weir/ptr.hpp"

/// Modules and kernels: device code, loaded from an image or compiled at run time.
namespace weir {

namespace detail {

template <class T>
concept Extent = std::integral<T> && !std::same_as<T, bool>;

template <Extent T>
constexpr std::uint32_t extent(T number) noexcept {
  return std::in_range<std::uint32_t>(number) ? static_cast<std::uint32_t>(number) : UINT32_MAX;
}

/// Not constructible from a number, so that `{4, 2, 256}` does not compile: is 256 the threads or the shared memory?
struct ByNameFromHere {
  constexpr explicit ByNameFromHere() noexcept = default;
};

}  // namespace detail

/// An extent in up to three dimensions, made from one, two or three numbers like CUDA's `dim3`. A number that is negative or
/// too large becomes the largest value, which every device refuses.
struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;

  constexpr Dim3() noexcept = default;
  template <detail::Extent X>
  constexpr Dim3(X width) noexcept : x(detail::extent(width)) {}
  template <detail::Extent X, detail::Extent Y>
  constexpr Dim3(X width, Y height) noexcept : x(detail::extent(width)), y(detail::extent(height)) {}
  template <detail::Extent X, detail::Extent Y, detail::Extent Z>
  constexpr Dim3(X width, Y height, Z depth) noexcept
      : x(detail::extent(width)), y(detail::extent(height)), z(detail::extent(depth)) {}

  friend bool operator==(const Dim3&, const Dim3&) = default;
};

/// "8x4x1"
WEIR_API std::string to_string(const Dim3&);

/// The shape of a launch: `{4, 256}` is 4 blocks of 256 threads, as in CUDA's chevrons; `{{4, 2}, 256}` is 4 x 2 blocks of
/// 256 threads. Further fields are given by name: `{.grid = 4, .block = 256, .cooperative = true}`.
struct LaunchConfig {
  Dim3 grid{};                          ///< blocks
  Dim3 block{};                         ///< threads in a block
  [[no_unique_address]] detail::ByNameFromHere by_name_from_here = detail::ByNameFromHere();
  std::uint32_t shared_memory_bytes = 0;///< dynamic shared memory of each block
  bool cooperative = false;             ///< all blocks can wait for each other. Feature `cooperative_launch`
};

/// A one-dimensional launch of at least `count` threads in blocks of `block`; one block if `count` is 0.
/// Throws `invalid_argument` if `block` is 0 or the grid would exceed 2³¹−1 blocks.
WEIR_API LaunchConfig grid_for(std::size_t count, std::uint32_t block = 256);

/// Options of compilation. They mean the same to every compiler, except `extra`, which is passed on as it is.
struct CompileOptions {
  std::string name = "kernel.cu";                               ///< the name of the source in the compiler's messages
  std::vector<std::pair<std::string, std::string>> defines = {};  ///< macros, `NAME` or `NAME(parameters)`, and their values, of one line
  std::vector<std::string> include_directories = {};              ///< absolute
  int cxx_standard = 17;                                        ///< 14, 17 or 20
  bool fast_math = false;                                       ///< faster, less exact floating point
  bool debug = false;                                           ///< debug information, no optimization
  std::vector<std::string> extra = {};                            ///< options of NVRTC, HIPRTC or the host's compiler
};

/// A kernel's limits and resources, as far as the backend knows them.
struct KernelProperties {
  std::uint32_t max_threads_per_block = 0;
  std::uint32_t registers_per_thread = 0;
  std::size_t static_shared_memory_bytes = 0;
  std::size_t local_memory_bytes = 0;
};

/// Device code that is loaded on one device. It is unloaded with its last owner; its kernels are owners.
class WEIR_API Module : public RefCounted {
 public:
  /// The device that it is loaded on.
  Device& device() const noexcept { return device_; }
  /// The vendor's module (CUmodule, hipModule_t). This object still owns it.
  void* native_handle() const noexcept { return handle_; }

  /// The kernel of that name, which is unmangled (`extern "C"`). Throws `kernel_not_found`; the error lists the module's
  /// kernels if the backend knows them. Not cheap: keep the result.
  KernelPtr kernel(std::string_view name);
  /// The memory of a `__device__` or `__constant__` variable. Throws `kernel_not_found`.
  Span<std::byte> global(std::string_view name);

 protected:
  Module(Device& device, void* handle) noexcept : device_(device), handle_(handle) {}
  Disposal disposal() const noexcept override { return Disposal::driver; }
  virtual KernelPtr do_kernel(std::string_view name) = 0;
  virtual Span<std::byte> do_global(std::string_view name) = 0;

 private:
  Device& device_;
  void* handle_;
};

/// A function that a stream launches on a grid of threads. Keeps its module alive. Many threads may launch it at once.
class WEIR_API Kernel : public RefCounted {
 public:
  /// The device that its module is loaded on.
  Device& device() const noexcept { return module_->device(); }
  /// The module that it is of.
  const ModulePtr& module() const noexcept { return module_; }
  /// Its name in the module.
  const std::string& name() const noexcept { return name_; }
  /// The vendor's function (CUfunction, hipFunction_t). Its module still owns it.
  void* native_handle() const noexcept { return handle_; }
  /// The size of each parameter in bytes, which launches are checked against; nothing if the driver cannot tell.
  const std::optional<std::vector<std::size_t>>& parameter_sizes() const noexcept { return parameter_sizes_; }
  /// Its limits and needs. Throws where the driver does not tell them.
  KernelProperties properties() const { return do_properties(); }
  /// How many blocks of `block_threads` threads, with `shared_memory_bytes` of dynamic shared memory each, one
  /// multiprocessor runs at a time.
  int max_active_blocks(std::uint32_t block_threads, std::size_t shared_memory_bytes = 0) const {
    return do_max_active_blocks(block_threads, shared_memory_bytes);
  }

 protected:
  Kernel(ModulePtr module, std::string name, void* handle, std::optional<std::vector<std::size_t>> parameter_sizes)
      : module_(std::move(module)), name_(std::move(name)), handle_(handle), parameter_sizes_(std::move(parameter_sizes)) {}
  virtual KernelProperties do_properties() const = 0;
  virtual int do_max_active_blocks(std::uint32_t block_threads, std::size_t shared_memory_bytes) const = 0;

 private:
  ModulePtr module_;
  std::string name_;
  void* handle_;
  std::optional<std::vector<std::size_t>> parameter_sizes_;
};

namespace detail {

/// What a kernel receives for an argument: a value itself; for buffers and spans the address of the first element.
template <class T>
  requires(std::is_trivially_copyable_v<T> && !std::is_array_v<T>)
constexpr T kernel_argument(const T& value) noexcept {
  return value;
}
template <class T>
T* kernel_argument(const Buffer<T>& buffer) noexcept {
  return buffer.data();
}
template <class T>
T* kernel_argument(const Span<T>& span) noexcept {
  return span.data();
}
template <class T, std::size_t N>
T* kernel_argument(const std::span<T, N>& span) noexcept {
  return span.data();
}
inline void* kernel_argument(const AllocationPtr& allocation) noexcept { return allocation ? allocation->data() : nullptr; }
// The characters are in host memory.
template <class C, class Traits>
void kernel_argument(std::basic_string_view<C, Traits> text) = delete;

template <class... Values>
inline constexpr std::size_t sizes_of[sizeof...(Values) + 1] = {sizeof(Values)...};

}  // namespace detail

/// Types that can be passed to a kernel: a trivially copyable value, a `Buffer`, a `Span`, a `std::span`, an
/// `AllocationPtr`. Arrays, strings and containers cannot, since they are in host memory: copy them to a `Buffer`.
template <class T>
concept KernelArgument = requires(const T& value) { detail::kernel_argument(value); };

}  // namespace weir
