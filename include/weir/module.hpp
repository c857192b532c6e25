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

/// Modules (device code, loaded from an image or compiled at run time), their kernels, and the shape of a launch.
namespace weir {

template <class Signature>
class TypedKernel;

namespace detail {

struct ParameterMatch;

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

/// Returns the extent as text: "8x4x1".
WEIR_API std::string to_string(const Dim3&);

/// The shape of a launch, with members in the order of CUDA's `<<<grid, block, shared_memory>>>`: `{4, 256}` is 4 blocks of
/// 256 threads, `{{4, 2}, 256}` is 4 x 2 blocks of 256 threads, and `{4, 256, 1024}` gives each block 1 KiB of dynamic
/// shared memory. The other members are CUDA's launch attributes (cuLaunchKernelEx).
struct LaunchConfig {
  Dim3 grid{};                            ///< blocks
  Dim3 block{};                           ///< threads in a block
  std::uint32_t shared_memory_bytes = 0;  ///< dynamic shared memory of each block
  bool cooperative = false;               ///< all blocks run at the same time, so they can wait for each other. Feature
                                          ///< `cooperative_launch`
  /// The kernel may begin before the stream's previous kernel has ended. It must call `cudaGridDependencySynchronize`
  /// (griddepcontrol.wait) before it uses that kernel's results: programmatic dependent launch. Feature
  /// `programmatic_launch`.
  bool programmatic_stream_serialization = false;
  /// The number of blocks in a thread block cluster, which must divide the grid. Feature `cluster_launch`.
  Dim3 cluster{};
  /// The priority in the vendor's numbering (`Device::priority_range`). Without a value, the launch has the stream's
  /// priority. Feature `launch_priority`.
  std::optional<int> priority{};

  /// Whether any attribute is set, including `cooperative`.
  bool has_attributes() const noexcept {
    // Compares bytes, which takes a third of the instructions: every launch calls this function.
    static constexpr Dim3 no_cluster;
    return cooperative || programmatic_stream_serialization || priority.has_value() ||
           std::memcmp(&cluster, &no_cluster, sizeof cluster) != 0;
  }
};

/// Returns a one-dimensional launch of at least `count` threads in blocks of `block` threads; one block if `count` is 0.
/// Throws `invalid_argument` if `block` is 0 or the grid would exceed 2³¹−1 blocks.
WEIR_API LaunchConfig grid_for(std::size_t count, std::uint32_t block = 256);

/// Options of compilation. All compilers treat them alike, except `extra`, which is passed to the compiler unchanged.
struct CompileOptions {
  std::string name = "kernel.cu";                               ///< the name of the source in the compiler's messages
  std::vector<std::pair<std::string, std::string>> defines =
      {};  ///< macros, `NAME` or `NAME(parameters)`, and their values without line ends
  std::vector<std::string> include_directories = {};              ///< absolute paths
  int cxx_standard = 17;                                        ///< 14, 17 or 20
  bool fast_math = false;                                       ///< allow faster but less exact floating-point operations
  bool debug = false;                                           ///< generate debug information; do not optimize
  std::vector<std::string> extra = {};                            ///< options of NVRTC, HIPRTC or the host's compiler
  /// Headers that are passed as text: pairs of the name in `#include`, without quotes or brackets, and the content.
  std::vector<std::pair<std::string, std::string>> headers = {};
  /// Instances of `__global__` templates to compile; `Module::kernel` finds them by these names: "blur<float, 3>".
  std::vector<std::string> kernels = {};
};

/// A kernel's limits and resources. A member is 0 if the backend does not report it: see docs/kernels-launch.md.
struct KernelProperties {
  std::uint32_t max_threads_per_block = 0;     ///< the maximum for this kernel on its device
  std::uint32_t registers_per_thread = 0;
  std::size_t static_shared_memory_bytes = 0;  ///< for each block
  std::size_t local_memory_bytes = 0;          ///< for each thread: memory for data that does not fit into registers
  std::size_t constant_memory_bytes = 0;       ///< the size of the module's `__constant__` variables
  std::uint32_t ptx_version = 0;               ///< CUDA: 90 if the kernel was compiled from PTX for compute_90
  std::uint32_t binary_version = 0;            ///< CUDA: 90 if the kernel's machine code is for sm_90
  /// How the CPU runs the kernel: "workgroup" if the compiler has turned the block's threads into loops; "fibers" if each
  /// thread has its own stack, which is slow for kernels with barriers. With WEIR_LOG=info the compiler logs the reason.
  /// Empty on GPUs.
  std::string_view tier = {};
};

/// Device code loaded on one device (CUmodule). The code is unloaded when the last owner releases the module. Each kernel is
/// an owner of its module. Any thread may use it.
class WEIR_API Module : public RefCounted {
 public:
  /// The device that the module is loaded on.
  Device& device() const noexcept { return device_; }
  /// The vendor's module (CUmodule, hipModule_t). This object still owns it.
  void* native_handle() const noexcept { return handle_; }

  /// Returns the kernel of that name, with parameters of these types: `kernel<void(int, float, const float*,
  /// float*)>("saxpy")`. `name`: for an `extern "C"` function, its name in the source; otherwise the name with namespaces
  /// ("image::blur") and template arguments ("blur<float, 3>"); spaces do not matter. An instance of a template must be
  /// listed in `CompileOptions::kernels` or be instantiated in the source. Throws `kernel_not_found`; the error lists the
  /// module's kernels if the backend can list them. Throws `invalid_argument` for a name with a zero byte, and if the types
  /// are known to differ from the kernel's (see `TypedKernel`). This call is slow, so keep the result. (cuModuleGetFunction)
  template <class Signature>
  TypedKernel<Signature> kernel(std::string_view name);
  /// Returns the kernel of that name, for a program that finds out the kernel's parameters only at run time. Launches check
  /// only the number and the sizes of the arguments. They do not detect, for example, an `int*` that is passed for a
  /// `float*`.
  KernelPtr untyped_kernel(std::string_view name);
  /// The memory of a `__device__` or `__constant__` variable. `name`: "scale", or with its namespaces "image::scale". Throws
  /// `kernel_not_found`. (cuModuleGetGlobal)
  Span<std::byte> global(std::string_view name);
  /// The bytes of a `KernelBundle` that gives other devices the same kernels: the bundle of this module, or a bundle that
  /// contains its source. Empty for a module that was loaded from an
  /// image, or compiled with include directories. Valid as long as the module.
  std::span<const std::byte> bundle() const noexcept { return bundle_; }

 private:
  friend class Device;
  friend class ModuleImpl;
  Module(Device& device, void* handle) noexcept : device_(device), handle_(handle) {}

  Device& device_;
  void* handle_;
  std::vector<std::byte> bundle_;
};

/// A function that runs on a grid of threads (CUfunction). Keeps its module alive. Any number of threads may launch it
/// concurrently.
class WEIR_API Kernel : public RefCounted {
 public:
  /// The device that the kernel's module is loaded on.
  Device& device() const noexcept { return module_->device(); }
  /// The kernel's module.
  const ModulePtr& module() const noexcept { return module_; }
  /// The kernel's name in its module.
  const std::string& name() const noexcept { return name_; }
  /// The vendor's function (CUfunction, hipFunction_t). Its module still owns it.
  void* native_handle() const noexcept { return handle_; }
  /// The kernel's parameters, as far as the backend can determine them. Launches compare their arguments with these
  /// parameters. Their kinds are known on the CPU, and on GPUs for kernels with C++ linkage, because their symbols contain
  /// the types.
  std::span<const Parameter> parameters() const noexcept { return parameters_; }
  /// Whether the driver reports the number and the sizes of the parameters.
  bool has_parameter_sizes() const noexcept { return has_parameter_sizes_; }
  /// The kernel's limits and resources. Throws if the driver does not report them.
  KernelProperties properties() const;
  /// How many blocks one multiprocessor can run at a time, if each block has `block_threads` threads and
  /// `shared_memory_bytes` bytes of dynamic shared memory. 0 if a block does not fit. This number times
  /// `DeviceProperties::multiprocessor_count` is the largest grid of a cooperative launch.
  /// (cuOccupancyMaxActiveBlocksPerMultiprocessor)
  int max_active_blocks(std::uint32_t block_threads, std::size_t shared_memory_bytes = 0) const;
  /// The block size, in threads, with the best occupancy (most threads run at a time), if each block uses
  /// `shared_memory_bytes` bytes of dynamic shared memory: `launch(kernel, grid_for(n, kernel->suggested_block_size()),
  /// …)`. Throws `invalid_argument` for more shared memory than a block can have. (cuOccupancyMaxPotentialBlockSize)
  std::uint32_t suggested_block_size(std::size_t shared_memory_bytes = 0) const;

 private:
  friend class KernelImpl;
  friend struct detail::ParameterMatch;
  Kernel(ModulePtr module, std::string name, void* handle, std::vector<Parameter> parameters, bool has_parameter_sizes);

  ModulePtr module_;
  std::string name_;
  void* handle_;
  std::vector<Parameter> parameters_;
  bool has_parameter_sizes_;
  std::uint64_t parameter_mask_;  // which bytes of each `Parameter` a launch compares first
};

namespace detail {
/// Throws `invalid_argument` if a known parameter of the kernel has another size or kind than `given`.
WEIR_API void check_parameters(const Kernel& kernel, std::span<const Parameter> given);
}  // namespace detail

/// A kernel with the types of its parameters: `TypedKernel<void(int, float*)>`. A launch converts its arguments to these
/// types; if an argument does not convert, the launch does not compile (see `KernelParameter`). A `TypedKernel` is a value
/// that contains a `KernelPtr`; default-constructed it is null.
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
  /// Makes a typed kernel. Throws `invalid_argument` if `kernel` differs from `P` in the number of parameters, in the size
  /// of a parameter, or in whether a parameter is a floating-point number. Checks only what the backend can determine
  /// (docs/kernels-launch.md).
  explicit TypedKernel(KernelPtr kernel) : kernel_(std::move(kernel)) {
    if (kernel_) detail::check_parameters(*kernel_, parameters());
  }

  /// The kernel; null for a default-constructed object.
  const KernelPtr& kernel() const noexcept { return kernel_; }
  const Kernel& operator*() const noexcept { return *kernel_; }
  const Kernel* operator->() const noexcept { return kernel_.get(); }
  explicit operator bool() const noexcept { return kernel_ != nullptr; }

  /// The sizes and kinds of the parameters.
  static constexpr const std::span<const Parameter>& parameters() noexcept { return detail::parameters_of<P...>; }

 private:
  KernelPtr kernel_;
};

template <class Signature>
TypedKernel<Signature> Module::kernel(std::string_view name) {
  return TypedKernel<Signature>(untyped_kernel(name));
}

}  // namespace weir
