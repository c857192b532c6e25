// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

/// The interface between a compiled module and launches. The prelude of kernels declares the same (kernel_prelude.hpp,
/// kernels/fiber_threads.hpp): change them together, and the revision in all.
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
  const char* others = nullptr;  ///< where threads that did not reach `place` wait: "__syncthreads at kernel.cu:14"
};

/// A thread of a block that waits for others. Lies on the waiting thread's stack.
struct Wait {
  enum Kind : std::uint32_t {
    block,   ///< for all threads of the block
    grid,    ///< for all threads of the grid
    lanes,   ///< for the lanes of its warp that it names
    active,  ///< for the lanes of its warp that come to the same call before they wait for something else
    step,    ///< as `active`, at an access to memory
    turn     ///< for nothing: other threads run first
  };

  const char* function;
  const char* file;
  std::uint32_t line;
  Kind kind;
  std::uint64_t named;       ///< `lanes`: the mask; `active`: the way to the call
  const void* address;       ///< `active`: a number of the call; `step`: where the code goes on
  /// Called once for those that met, before they go on: the waits of a warp by lane or of a block by thread, null where a
  /// lane or thread is not there.
  void (*combine)(Wait* const* waits, std::uint32_t count);
  std::uint32_t thread;      ///< linear index in the block
};

/// How a module runs threads of a kernel on a fiber.
struct FiberKernel {
  /// Runs the block's threads from number `first` on, one after the other. Returns how many have started, all of them:
  /// while one waits, `LaunchServices::wait` starts the next ones elsewhere.
  std::uint32_t (*run_threads)(const FiberKernel& kernel, void* fibers, const std::uint32_t* block, std::uint32_t first);
  /// The running thread's threadIdx.
  void (*thread_index)(std::uint32_t* index);
  std::uint32_t warp_size;
};

struct BlockRange;

/// Services of the worker for compiled code.
struct LaunchServices {
  /// Memory of this worker, aligned to 64 bytes, with undefined content. Returned in reverse order.
  void* (*take)(std::size_t bytes);
  void (*give_back)(void* memory);
  /// Reports an unfinished block. The texts need not outlive the call.
  void (*fail)(void* launch, const KernelFault& fault);
  /// Waits until all blocks of a cooperative launch have called it. False if they cannot, which has been told then.
  bool (*sync_grid)(void* launch, const char* place);
  /// Runs all threads of a range of blocks, each block's on fibers as soon as one of them waits.
  void (*run_fibers)(const BlockRange& range, const FiberKernel& kernel);
  /// Called by a thread on a fiber, `started` threads of whose block have started. Returns when the thread goes on, with how
  /// many have started by then; does not return if the block fails.
  std::uint32_t (*wait)(void* fibers, Wait& wait, std::uint32_t started);
  /// An `assert` of the calling thread has failed. The texts live as long as the module. Does not return.
  void (*fail_assertion)(const char* condition, const char* file, std::uint32_t line) = nullptr;
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
  bool cooperative;            ///< other blocks of the launch may wait for these
  const std::atomic<bool>* is_over = nullptr;  ///< whether a thread of the launch has crashed
  mutable std::uint64_t running_block = 0;     ///< whose threads run: written for reports
  mutable std::uint64_t running_end = 0;       ///< one past the last of several that run as one; or 0
};

/// Runs all threads of the blocks of a range. `arguments`: the address of each parameter's value.
using RunBlocks = void (*)(const BlockRange& range, const void* const* arguments);

/// The most shared memory of a block: as much as on a large GPU. More would not fit into a second-level cache.
inline constexpr std::uint64_t most_shared_bytes = 227 * 1024;

/// How a kernel's threads run: `KernelProperties::tier`.
enum class KernelTier : std::uint32_t { unknown, fibers, workgroup };

struct KernelRecord {
  const char* name;
  RunBlocks run;
  const std::size_t* parameter_sizes;
  std::uint32_t parameter_count;
  std::uint32_t max_threads_per_block;  ///< what `__launch_bounds__` says, or 0
  std::uint64_t known_kinds;            ///< parameters that are numbers, pointers or enumerators: as detail::NumberKinds
  std::uint64_t floating_kinds;         ///< those of them that are floating-point numbers
  std::uint64_t constant_kinds;         ///< those of them that are pointers through which it only reads
  std::uint64_t atomic_kinds;           ///< and those through which it makes atomic updates of one kind alone
  std::uint64_t update_kinds;           ///< byte i: the kind, a weir::UpdateKind, of the i-th of these; there are up to 8
  KernelTier tier;
};

struct ModuleRecord {
  std::uint32_t revision;     ///< `module_revision`
  std::uint32_t record_size;  ///< sizeof(KernelRecord)
  const KernelRecord* const* first;
  const KernelRecord* const* last;  ///< one past the last
  const LaunchServices** services;  ///< what calls the worker outside of a launch's own code: set when it is loaded
};

inline constexpr std::uint32_t module_revision = 9;
/// The symbol of the module's record, with the revision in it, so that it can be checked before anything is loaded.
inline constexpr const char* module_symbol = "weir_host_module_9";
inline constexpr const char* module_symbol_stem = "weir_host_module_";
/// The symbol of a string: the processor features that the code uses, in the words of /proc/cpuinfo, with spaces between.
inline constexpr const char* features_symbol = "weir_host_cpu_features";

}  // namespace weir::host
