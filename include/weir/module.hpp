// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "weir/export.hpp"
#include "weir/fwd.hpp"
#include "weir/kernel_argument.hpp"
#include "weir/ptr.hpp"
#include "weir/span.hpp"

/// Modules and kernels: device code, loaded from an image or compiled at run time.
namespace weir {

template <class Signature>
class TypedKernel;

namespace detail {

template <class T>
concept Dimension = std::integral<T> && !std::same_as<T, bool>;

[[noreturn]] WEIR_API void throw_negative_extent(long long number);
[[noreturn]] WEIR_API void throw_large_extent(unsigned long long number);

template <Dimension T>
constexpr std::uint32_t extent(T number) {
  if (!std::in_range<std::uint32_t>(number)) [[unlikely]] {
    if (number < T(0)) throw_negative_extent(static_cast<long long>(number));
    throw_large_extent(static_cast<unsigned long long>(number));
  }
  return static_cast<std::uint32_t>(number);
}

}  // namespace detail

/// An extent in up to three dimensions, made from one, two or three integers of any type, like CUDA's `dim3`. Throws
/// `invalid_argument` for a number that is negative or above 2³²−1.
struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;

  constexpr Dim3() noexcept = default;
  template <detail::Dimension X>
  constexpr Dim3(X width) : x(detail::extent(width)) {}
  template <detail::Dimension X, detail::Dimension Y>
  constexpr Dim3(X width, Y height) : x(detail::extent(width)), y(detail::extent(height)) {}
  template <detail::Dimension X, detail::Dimension Y, detail::Dimension Z>
  constexpr Dim3(X width, Y height, Z depth)
      : x(detail::extent(width)), y(detail::extent(height)), z(detail::extent(depth)) {}

  friend bool operator==(const Dim3&, const Dim3&) = default;
};

/// "8x4x1"
WEIR_API std::string to_string(const Dim3&);

/// The shape of a launch, in the order of CUDA's chevrons: `{4, 256}` is 4 blocks of 256 threads, `{{4, 2}, 256}` is 4 x 2
/// blocks of 256 threads, and `{4, 256, 1024}` gives each block 1 KiB of dynamic shared memory. The rest are CUDA's launch
/// attributes (cuLaunchKernelEx).
struct LaunchConfig {
  Dim3 grid{};                            ///< blocks
  Dim3 block{};                           ///< threads in a block
  std::uint32_t shared_memory_bytes = 0;  ///< dynamic shared memory of each block
  bool cooperative = false;               ///< all blocks can wait for each other. Feature `cooperative_launch`
  /// The kernel may begin before the one before it on the stream has ended, and waits for that one's memory where it calls
  /// `cudaGridDependencySynchronize` (griddepcontrol.wait): programmatic dependent launch. Feature `programmatic_launch`.
  bool programmatic_stream_serialization = false;
  /// Blocks in a thread block cluster, which divide the grid. Feature `cluster_launch`.
  Dim3 cluster{};
  /// As vendors number priorities (`Device::priority_range`); nothing for the stream's own. Feature `launch_priority`.
  std::optional<int> priority{};

  /// Whether any attribute is set, `cooperative` among them.
  bool has_attributes() const noexcept {
    static constexpr Dim3 no_cluster;  // compared as bytes, which takes a third of the instructions: each launch asks
    return cooperative || programmatic_stream_serialization || priority.has_value() ||
           std::memcmp(&cluster, &no_cluster, sizeof cluster) != 0;
  }
};

/// A one-dimensional launch of at least `count` threads in blocks of `block`; one block if `count` is 0.
/// Throws `invalid_argument` if `block` is 0 or the grid would exceed 2³¹−1 blocks.
WEIR_API LaunchConfig grid_for(std::size_t count, std::uint32_t block = 256);

/// Options of compilation. They mean the same to every compiler, except `extra`, which is passed on as it is.
struct CompileOptions {
  std::string name = "kernel.cu";                               ///< the name of the source in the compiler's messages
  std::vector<std::pair<std::string, std::string>> defines =
      {};  ///< macros, `NAME` or `NAME(parameters)`, and their values, of one line
  std::vector<std::string> include_directories = {};              ///< absolute
  int cxx_standard = 17;                                        ///< 14, 17 or 20
  bool fast_math = false;                                       ///< faster, less exact floating point
  bool debug = false;                                           ///< debug information, no optimization
  std::vector<std::string> extra = {};                            ///< options of NVRTC, HIPRTC or the host's compiler
  /// Headers that are in no folder: the name as it stands between the quotes or brackets of an `#include`, and the text.
  std::vector<std::pair<std::string, std::string>> headers = {};
  /// Instances of `__global__` templates to compile; `Module::kernel` finds them by these names: "blur<float, 3>".
  std::vector<std::string> kernels = {};
};

/// A kernel's limits and needs. 0 where a backend has no such number; docs/kernels-launch.md tells which has which.
struct KernelProperties {
  std::uint32_t max_threads_per_block = 0;     ///< of this kernel, on its device
  std::uint32_t registers_per_thread = 0;
  std::size_t static_shared_memory_bytes = 0;  ///< of each block
  std::size_t local_memory_bytes = 0;          ///< of each thread: what does not fit into registers
  std::size_t constant_memory_bytes = 0;       ///< of the module's `__constant__` variables
  std::uint32_t ptx_version = 0;               ///< 90 for PTX of compute_90. CUDA
  std::uint32_t binary_version = 0;            ///< 90 for machine code of sm_90. CUDA
  /// On the CPU: "workgroup" if the kernel was compiled to loops over a block's threads, "fibers" if each thread that waits
  /// for others is left on a stack of its own, which is slow where threads wait. WEIR_LOG=info says why when it is compiled.
  std::string_view tier = {};
};

/// Device code that is loaded on one device. It is unloaded with its last owner; its kernels are owners.
class WEIR_API Module : public RefCounted {
 public:
  /// The device that it is loaded on.
  Device& device() const noexcept { return device_; }
  /// The vendor's module (CUmodule, hipModule_t). This object still owns it.
  void* native_handle() const noexcept { return handle_; }

  /// The kernel of that name, which takes parameters of these types: `kernel<void(int, float, const float*,
  /// float*)>("saxpy")`. `name`: as it stands in the source for an `extern "C"` function, with its namespaces for another
  /// one ("image::blur"), and with its arguments for an instance of a template ("blur<float, 3>"), which must be among
  /// `CompileOptions::kernels` or be instantiated in the source. Spaces do not matter. Throws `kernel_not_found`; the error
  /// lists the module's kernels if the backend knows them. Throws `invalid_argument` for a name with a zero byte, and where
  /// the types are known not to be the kernel's (see `TypedKernel`). Not cheap: keep the result. (cuModuleGetFunction)
  template <class Signature>
  TypedKernel<Signature> kernel(std::string_view name);
  /// The same for a kernel whose parameters are known at run time only: launches check the number and the sizes of their
  /// arguments, but an `int*` may go where the kernel takes a `float*`.
  KernelPtr untyped_kernel(std::string_view name);
  /// The memory of a `__device__` or `__constant__` variable. Throws `kernel_not_found`.
  Span<std::byte> global(std::string_view name);
  /// The bytes of the `KernelBundle` that it was made of, or of one of the source that it was compiled from, which lead to
  /// the same kernels on any device. Empty for a module of an image alone, and of a source that was compiled with include
  /// directories. There as long as the module.
  std::span<const std::byte> bundle() const noexcept { return bundle_; }

 private:
  friend class Device;
  friend class ModuleImpl;
  Module(Device& device, void* handle) noexcept : device_(device), handle_(handle) {}

  Device& device_;
  void* handle_;
  std::vector<std::byte> bundle_;
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
  /// Which parameters are known to be floating-point numbers, or known not to be. Launches are checked against it.
  const detail::NumberKinds& parameter_kinds() const noexcept { return parameter_kinds_; }
  /// Its limits and needs. Throws where the driver does not tell them.
  KernelProperties properties() const;
  /// How many blocks of `block_threads` threads, with `shared_memory_bytes` of dynamic shared memory each, one
  /// multiprocessor runs at a time. Times the device's `multiprocessor_count`, that is the largest grid of a cooperative
  /// launch. 0 if none fits. (cuOccupancyMaxActiveBlocksPerMultiprocessor)
  int max_active_blocks(std::uint32_t block_threads, std::size_t shared_memory_bytes = 0) const;
  /// The number of threads in a block with the best occupancy (most threads run at a time), for a kernel with so much
  /// dynamic shared memory in each block: `launch(kernel, grid_for(n, kernel->suggested_block_size()), …)`. Throws
  /// `invalid_argument` for more shared memory than a block can have. (cuOccupancyMaxPotentialBlockSize)
  std::uint32_t suggested_block_size(std::size_t shared_memory_bytes = 0) const;

 private:
  friend class KernelImpl;
  Kernel(ModulePtr module, std::string name, void* handle, std::optional<std::vector<std::size_t>> parameter_sizes,
         const detail::NumberKinds& parameter_kinds)
      : module_(std::move(module)),
        name_(std::move(name)),
        handle_(handle),
        parameter_sizes_(std::move(parameter_sizes)),
        parameter_kinds_(parameter_kinds) {}

  ModulePtr module_;
  std::string name_;
  void* handle_;
  std::optional<std::vector<std::size_t>> parameter_sizes_;
  detail::NumberKinds parameter_kinds_;
};

namespace detail {
/// Throws `invalid_argument` unless a kernel's parameters, as far as they are known, are of these types.
WEIR_API void check_parameters(const Kernel& kernel, const ArgumentTypes& types);
}  // namespace detail

/// A kernel and the types of its parameters: `TypedKernel<void(int, float*)>`. A launch converts its arguments to them, or
/// does not compile (`KernelParameter`). A value, as cheap as the `KernelPtr` in it; null until one is assigned.
template <class Signature>
class TypedKernel {
  static_assert(!std::is_same_v<Signature, Signature>, "write the kernel's type as a function's: void(int, float*)");
};

template <class... P>
class TypedKernel<void(P...)> {
  static_assert((!std::is_reference_v<P> && ...), "a kernel takes its parameters by value or by pointer, not by reference");
  static_assert((std::is_trivially_copyable_v<P> && ...),
                "a kernel's parameters are passed as bytes: they must be trivially copyable");

 public:
  TypedKernel() noexcept = default;
  /// Throws `invalid_argument` if `kernel` takes another number of parameters or parameters of other sizes, and if only
  /// one of `P` and the parameter is a floating-point number; both as far as the backend knows them
  /// (docs/kernels-launch.md).
  explicit TypedKernel(KernelPtr kernel) : kernel_(std::move(kernel)) {
    if (kernel_) detail::check_parameters(*kernel_, types());
  }

  /// The kernel; null until one is assigned.
  const KernelPtr& kernel() const noexcept { return kernel_; }
  const Kernel& operator*() const noexcept { return *kernel_; }
  const Kernel* operator->() const noexcept { return kernel_.get(); }
  explicit operator bool() const noexcept { return kernel_ != nullptr; }

  /// The sizes and kinds of the parameters.
  static constexpr const ArgumentTypes& types() noexcept { return detail::argument_types<P...>; }

 private:
  KernelPtr kernel_;
};

template <class Signature>
TypedKernel<Signature> Module::kernel(std::string_view name) {
  return TypedKernel<Signature>(untyped_kernel(name));
}

}  // namespace weir
