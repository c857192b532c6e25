// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>


/// The interface between a compiled module and launches. The prelude of kernels declares the same (kernel_prelude.hpp,
/// kernels/runtime.hpp): change both together, and the revision in both.
namespace weir::host {

/// In KernelFault::thread: it is not one block that could not go on, but the grid.
inline constexpr std::uint32_t whole_grid = 0xffffffffU;

/// The reason why a block could not go on.
struct KernelFault {
  const char* place;             ///< "kernel.cu:12"
  const char* function;          ///< where threads were to meet: "__syncthreads"
  std::uint32_t block[3];
  std::uint32_t thread;          ///< of a warp's function: the linear index of the thread that called it
  std::uint32_t here;            ///< of a barrier: how many threads reached it
  std::uint32_t expected;        ///< how many of them had not returned
  std::uint64_t
      missing_lanes;  ///< of a warp's function: lanes that were named and did not call it; 0 if the caller was not named
};

/// Services of the worker for compiled code.
struct LaunchServices {
  /// Memory of this worker, aligned to 64 bytes, with undefined content. Returned in reverse order.
  void* (*take)(std::size_t bytes);
  void (*give_back)(void* memory);
  /// Reports an unfinished block. The texts need not outlive the call.
  void (*fail)(void* launch, const KernelFault& fault);
  /// Waits until all blocks of a cooperative launch have called it. False if they cannot, which has been told then.
  bool (*sync_grid)(void* launch, const char* place);
};

/// A part of a launch.
struct BlockRange {
  std::uint32_t grid[3];
  std::uint32_t block[3];
  std::uint64_t first_block;   ///< linear number, x fastest
  std::uint64_t last_block;    ///< one past the last
  std::uint64_t shared_bytes;  ///< of dynamic shared memory
  const LaunchServices* services;
  void* launch;                ///< for LaunchServices::fail
};

/// Runs all threads of the blocks of a range. `arguments`: the address of each parameter's value.
using RunBlocks = void (*)(const BlockRange& range, const void* const* arguments);

struct KernelRecord {
  const char* name;
  RunBlocks run;
  const std::size_t* parameter_sizes;
  std::uint32_t parameter_count;
  std::uint32_t max_threads_per_block;  ///< what `__launch_bounds__` says, or 0
  std::uint64_t known_kinds;            ///< parameters that are numbers, pointers or enumerators: as detail::NumberKinds
  std::uint64_t floating_kinds;         ///< those of them that are floating-point numbers
  std::uint64_t constant_kinds;         ///< those of them that are pointers to const
};

struct ModuleRecord {
  std::uint32_t revision;     ///< `module_revision`
  std::uint32_t record_size;  ///< sizeof(KernelRecord)
  const KernelRecord* const* first;
  const KernelRecord* const* last;  ///< one past the last
};

inline constexpr std::uint32_t module_revision = 4;
/// The symbol of the module's record, with the revision in it, so that it can be checked before anything is loaded.
inline constexpr const char* module_symbol = "weir_host_module_4";
inline constexpr const char* module_symbol_stem = "weir_host_module_";
/// The symbol of a string: the processor features that the code uses, in the words of /proc/cpuinfo, with spaces between.
inline constexpr const char* features_symbol = "weir_host_cpu_features";

}  // namespace weir::host
