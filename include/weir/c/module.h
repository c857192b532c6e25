// SPDX-License-Identifier: Apache-2.0
#ifndef WEIR_C_MODULE_H
#define WEIR_C_MODULE_H

#include "weir/c/base.h"
#include "weir/c/device.h"

/// @file
/// The C interface: modules and kernels. Device code is loaded from an image or a bundle, or compiled at run time, and
/// launched.

WEIR_C_BEGIN

// --- Modules ------------------------------------------------------------------------------------------------------------

/// Two texts: a macro and its value, or a header's name and its content.
typedef struct weir_text_pair {
  const char* name;
  const char* text;
} weir_text_pair;

/// Options of compilation. All compilers treat them alike, except `extra`, which is passed to the compiler unchanged. Texts
/// are null-terminated. A list may be null if its count is 0. Nothing is used after the call has returned.
typedef struct weir_compile_options {
  size_t struct_size;             ///< `sizeof(weir_compile_options)`
  const char* name;               ///< the name of the source in the compiler's messages; null: "kernel.cu"
  const weir_text_pair* defines;  ///< macros, `NAME` or `NAME(parameters)`, and their values without line ends
  size_t define_count;
  const char* const* include_directories;  ///< absolute paths
  size_t include_directory_count;
  const weir_text_pair* headers;  ///< headers given as text: the names used in `#include`, and their content
  size_t header_count;
  const char* const* kernels;  ///< instances of `__global__` templates to compile: "blur<float, 3>"
  size_t kernel_count;
  const char* const* extra;  ///< options of NVRTC, HIPRTC or the host's compiler
  size_t extra_count;
  int32_t cxx_standard;  ///< 14, 17 or 20; 0: 17
  uint32_t flags;        ///< bits of `weir_compile_flags`
} weir_compile_options;

/// The bits of `weir_compile_options::flags`.
typedef enum weir_compile_flags WEIR_C_ENUM {
  WEIR_COMPILE_DEFAULT = 0,
  WEIR_COMPILE_FAST_MATH = 1,  ///< faster, less exact floating point
  WEIR_COMPILE_DEBUG = 2,      ///< debug information, no optimization
} weir_compile_flags;

/// Compiles `source`, written in the common subset of CUDA C++ and HIP C++, for this device, and loads it. Kernels are
/// `extern "C" __global__ void`. `options` may be null. `module` gets a reference. Fails with
/// `WEIR_ERROR_COMPILATION_FAILED`, whose message has the compiler's whole log, and `WEIR_ERROR_COMPILER_NOT_FOUND`. Feature
/// `runtime_compilation`. (nvrtcCompileProgram, cuModuleLoadData)
WEIR_C_API weir_result weir_module_compile(weir_device* device, const char* source, const weir_compile_options* options,
                                           weir_module** module);
/// Loads device code of `bytes` bytes: PTX, cubin or fatbin on CUDA, a code object on HIP, a shared object of
/// `weir_compile_image` on the host. `module` gets a reference. Fails with `WEIR_ERROR_INVALID_IMAGE`. Feature `modules`.
/// (cuModuleLoadData)
WEIR_C_API weir_result weir_module_load(weir_device* device, const void* image, size_t bytes, weir_module** module);
/// Loads the image that fits this device best from a bundle of kernels compiled ahead of time (docs/ahead-of-time.md); if
/// none fits, compiles the bundle's source. `module` gets a reference. Fails with `WEIR_ERROR_INVALID_IMAGE`, and like
/// `weir_module_compile`.
WEIR_C_API weir_result weir_module_load_bundle(weir_device* device, const void* bundle, size_t bytes, weir_module** module);
/// Compiles `source` for an architecture ("sm_90", "compute_90", "gfx90a", "x86-64-v3") of a backend. Needs no device and no
/// driver. `image` is set to `bytes` bytes that `weir_module_load` can load. `log`, if not null, is set to the compiler's
/// warnings. Free both with `weir_free`. Fails like `weir_module_compile` and `weir_backend_open`.
WEIR_C_API weir_result weir_compile_image(const char* backend, const char* architecture, const char* source,
                                          const weir_compile_options* options, void** image, size_t* bytes, char** log);
/// Adds a reference and returns the module.
WEIR_C_API weir_module* weir_module_retain(weir_module* module);
/// Releases a reference. The last release unloads the code. Each kernel of the module also holds a reference.
/// (cuModuleUnload)
WEIR_C_API void weir_module_release(weir_module* module);
/// The device that the module is loaded on.
WEIR_C_API weir_device* weir_module_device(const weir_module* module);
/// The vendor's module (CUmodule, hipModule_t). This object still owns it.
WEIR_C_API void* weir_module_native_handle(const weir_module* module);
/// Returns the address and the size in bytes of the `__device__` or `__constant__` variable `name`. `address` or `bytes` may
/// be null. Fails with `WEIR_ERROR_KERNEL_NOT_FOUND`. (cuModuleGetGlobal)
WEIR_C_API weir_result weir_module_get_global(weir_module* module, const char* name, void** address, size_t* bytes);

// --- Kernels ------------------------------------------------------------------------------------------------------------

/// Returns the kernel `name`. For an `extern "C"` function this is its name in the source; otherwise write namespaces
/// ("image::blur") and template arguments ("blur<float, 3>"). `kernel` gets a reference. Fails with
/// `WEIR_ERROR_KERNEL_NOT_FOUND`; the message lists the module's kernels if the backend can list them. This call is slow, so
/// keep the result. (cuModuleGetFunction)
WEIR_C_API weir_result weir_module_get_kernel(weir_module* module, const char* name, weir_kernel** kernel);
/// Adds a reference and returns the kernel.
WEIR_C_API weir_kernel* weir_kernel_retain(weir_kernel* kernel);
/// Releases a reference.
WEIR_C_API void weir_kernel_release(weir_kernel* kernel);
/// The kernel's name in its module.
WEIR_C_API const char* weir_kernel_name(const weir_kernel* kernel);
/// The kernel's module, without a reference for the caller.
WEIR_C_API weir_module* weir_kernel_module(const weir_kernel* kernel);
/// The vendor's function (CUfunction, hipFunction_t). Its module still owns it.
WEIR_C_API void* weir_kernel_native_handle(const weir_kernel* kernel);
/// The size of each parameter in bytes. Writes at most `capacity` sizes to `sizes`, which may be null if `capacity` is 0,
/// and the number of parameters to `count`. Fails with `WEIR_ERROR_UNSUPPORTED` if the driver does not report them.
/// (cuFuncGetParamInfo)
WEIR_C_API weir_result weir_kernel_get_parameter_sizes(const weir_kernel* kernel, size_t capacity, size_t* sizes,
                                                       size_t* count);

/// A kernel's limits and resources. A field is 0 or "" if the backend does not report it (docs/kernels-launch.md).
typedef struct weir_kernel_properties {
  size_t struct_size;                   ///< `sizeof(weir_kernel_properties)`
  uint64_t static_shared_memory_bytes;  ///< for each block
  uint64_t local_memory_bytes;          ///< for each thread, for data that does not fit into registers
  uint64_t constant_memory_bytes;       ///< of the module's `__constant__` variables
  uint32_t max_threads_per_block;       ///< for this kernel, on its device
  uint32_t registers_per_thread;
  uint32_t ptx_version;     ///< CUDA: 90 if the kernel was compiled from PTX for compute_90
  uint32_t binary_version;  ///< CUDA: 90 for machine code for sm_90
  const char* tier;         ///< on the CPU: "workgroup" or "fibers". Static text
} weir_kernel_properties;

/// The kernel's limits and resources. `properties`: set its `struct_size` before the call. (cuFuncGetAttribute)
WEIR_C_API weir_result weir_kernel_get_properties(const weir_kernel* kernel, weir_kernel_properties* properties);
/// How many blocks one multiprocessor can run at a time, if each block has `block_threads` threads and `shared_memory_bytes`
/// bytes of dynamic shared memory. 0 if a block does not fit. (cuOccupancyMaxActiveBlocksPerMultiprocessor)
WEIR_C_API weir_result weir_kernel_max_active_blocks(const weir_kernel* kernel, uint32_t block_threads,
                                                     size_t shared_memory_bytes, int32_t* blocks);
/// The block size, in threads, with the best occupancy, if each block uses `shared_memory_bytes` bytes of dynamic shared
/// memory. (cuOccupancyMaxPotentialBlockSize)
WEIR_C_API weir_result weir_kernel_suggested_block_size(const weir_kernel* kernel, size_t shared_memory_bytes,
                                                        uint32_t* block_threads);

// --- Launches -----------------------------------------------------------------------------------------------------------

/// The shape of a launch.
typedef struct weir_launch_config {
  size_t struct_size;            ///< `sizeof(weir_launch_config)`
  weir_dim3 grid;                ///< blocks; 0 in y or z means 1
  weir_dim3 block;               ///< threads in a block; 0 in y or z means 1
  uint32_t shared_memory_bytes;  ///< dynamic shared memory of each block
  uint32_t flags;                ///< bits of `weir_launch_flags`
  weir_dim3 cluster;             ///< blocks in a thread block cluster; 0 means 1. Feature `cluster_launch`
  int32_t priority;              ///< with `WEIR_LAUNCH_PRIORITY`: in the vendor's numbering. Feature `launch_priority`
} weir_launch_config;

/// The bits of `weir_launch_config::flags`.
typedef enum weir_launch_flags WEIR_C_ENUM {
  WEIR_LAUNCH_DEFAULT = 0,
  WEIR_LAUNCH_COOPERATIVE = 1,  ///< all blocks can wait for each other. Feature `cooperative_launch`
  /// The kernel may begin before the stream's previous kernel has ended. It must call `cudaGridDependencySynchronize` before
  /// it uses that kernel's results. Feature `programmatic_launch`.
  WEIR_LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION = 2,
  WEIR_LAUNCH_PRIORITY = 4,  ///< `priority` replaces the stream's
} weir_launch_flags;

/// Sets `config` to a one-dimensional launch of at least `count` threads in blocks of `block_threads` threads; one block if
/// `count` is 0. Set `config->struct_size` before the call; all other fields are overwritten. Fails with
/// `WEIR_ERROR_INVALID_ARGUMENT` if `block_threads` is 0 or the grid would exceed 2³¹−1 blocks.
WEIR_C_API weir_result weir_grid_for(size_t count, uint32_t block_threads, weir_launch_config* config);
/// Launches `kernel` on `stream`. `arguments` contains the addresses of `count` arguments: `{&n, &a, &x, &y}`, where `x` is
/// a variable that contains a device address. The arguments are copied before the call returns. `sizes` contains their sizes
/// in bytes, which are compared with the kernel's parameters. If `sizes` is null, they are not compared; this fails with
/// `WEIR_ERROR_INVALID_ARGUMENT` if the backend cannot determine the kernel's parameters. Fails with
/// `WEIR_ERROR_WRONG_DEVICE`; `WEIR_ERROR_INVALID_ARGUMENT` for a shape that the device or the kernel cannot run, and if the
/// number or the sizes of the arguments do not match the kernel. Dynamic shared memory needs the feature
/// `block_cooperation`, and each attribute in `config` the feature that is named there. (cuLaunchKernel, cuLaunchKernelEx)
WEIR_C_API weir_result weir_stream_launch(weir_stream* stream, weir_kernel* kernel, const weir_launch_config* config,
                                          void* const* arguments, const size_t* sizes, size_t count);

/// The kind of a launch's argument.
typedef enum weir_argument_kind WEIR_C_ENUM {
  WEIR_ARGUMENT_OPAQUE = 0,    ///< unknown: a structure that may contain addresses
  WEIR_ARGUMENT_ADDRESS = 1,   ///< a device address, or null
  WEIR_ARGUMENT_INTEGER = 2,   ///< an integer, a boolean or an enumerator
  WEIR_ARGUMENT_FLOATING = 3,  ///< a `float` or a `double`
  WEIR_ARGUMENT_VALUE = 4,     ///< any other value without addresses
} weir_argument_kind;

/// Like `weir_stream_launch`, with the kind of each argument in `kinds`. From the kinds, tools can distinguish addresses
/// from other values, and a captured graph can be saved (weir/c/portable_graph.h). Also fails with
/// `WEIR_ERROR_INVALID_ARGUMENT` if exactly one of an argument and the kernel's parameter is known to be a floating-point
/// number, and for an address whose size is not the size of a pointer.
WEIR_C_API weir_result weir_stream_launch_typed(weir_stream* stream, weir_kernel* kernel, const weir_launch_config* config,
                                                void* const* arguments, const size_t* sizes,
                                                const weir_argument_kind* kinds, size_t count);

WEIR_C_END

#endif
