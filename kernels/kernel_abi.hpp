// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

/// The interface between a compiled module and the worker that runs its kernels. The kernel prelude declares the same types
/// (kernel_prelude.hpp, kernels/fiber_threads.hpp). Change both together, and the revision in each.
namespace weir::host {

/// The value of KernelFault::thread if the whole grid is stuck, and not just one block.
inline constexpr std::uint32_t whole_grid = 0xffffffffU;

/// Describes why a block is stuck.
struct KernelFault {
  const char* place;             ///< "kernel.cu:12"
  const char* function;          ///< name of the function at which the threads wait: "__syncthreads"
  std::uint32_t block[3];
  std::uint32_t thread;          ///< for a warp function: the linear index of the calling thread
  std::uint32_t here;            ///< for a barrier: how many threads reached it
  std::uint32_t expected;        ///< how many threads should have reached it: those that had not returned
  std::uint64_t
      /// For a warp function: the named lanes that did not call it; 0 if the caller did not name its own lane.
      missing_lanes;
  const char* others = nullptr;  ///< where the threads wait that did not reach `place`: "__syncthreads at kernel.cu:14"
};

/// Describes what a thread waits for. It is stored on the waiting thread's stack.
struct Wait {
  enum Kind : std::uint32_t {
    block,   ///< all threads of the block
    grid,    ///< all threads of the grid
    lanes,   ///< the lanes of its warp that are in the mask
    active,  ///< the lanes of its warp that reach the same call before they wait elsewhere
    step,    ///< like `active`, but at a memory access
    turn,    ///< no thread: only lets other threads run first
    fence    ///< the lanes of its warp that reach a fence before they wait elsewhere
  };

  const char* function;
  const char* file;
  std::uint32_t line;
  Kind kind;
  std::uint64_t named;       ///< for `lanes`: the mask; for `active`: a number for the path to the call
  const void* address;       ///< for `active`: identifies the call; for `step`: where the code continues
  /// Called once when all awaited threads have arrived, before they continue. `waits`: the `Wait` of each lane of the warp
  /// or thread of the block; null for a lane or thread that is absent.
  void (*combine)(Wait* const* waits, std::uint32_t count);
  std::uint32_t thread;      ///< linear index in the block
};

/// The functions through which a worker runs a module's kernel on fibers.
struct FiberKernel {
  /// Runs the block's threads one after the other, beginning with number `first`. Returns how many threads have started. On
  /// return all have started: while one waits, `LaunchServices::wait` starts the next ones on another stack.
  std::uint32_t (*run_threads)(const FiberKernel& kernel, void* fibers, const std::uint32_t* block, std::uint32_t first);
  /// Sets `index` to the threadIdx of the running thread.
  void (*thread_index)(std::uint32_t* index);
  std::uint32_t warp_size;
};

struct BlockRange;

/// Functions of the worker that compiled code calls.
struct LaunchServices {
  /// Returns memory of this worker, aligned to 64 bytes and uninitialized. It must be given back in reverse order.
  void* (*take)(std::size_t bytes);
  void (*give_back)(void* memory);
  /// Reports that a block cannot finish. The texts in `fault` need not outlive the call.
  void (*fail)(void* launch, const KernelFault& fault);
  /// Waits until all blocks of a cooperative launch have called it. Returns false if some of them cannot; that fault has
  /// been reported already.
  bool (*sync_grid)(void* launch, const char* place);
  /// Runs all threads of a range of blocks. The threads of a block run on one stack until one of them waits; then others run
  /// on further stacks.
  void (*run_fibers)(const BlockRange& range, const FiberKernel& kernel);
  /// Called by a thread on a fiber when it must wait. `started`: how many threads of its block have started. Returns when
  /// the thread may continue; the result is how many have started by then. Does not return if the block fails.
  std::uint32_t (*wait)(void* fibers, Wait& wait, std::uint32_t started);
  /// Reports that an `assert` of the calling thread failed. Does not return. The texts must live as long as the module.
  void (*fail_assertion)(const char* condition, const char* file, std::uint32_t line) = nullptr;
  /// Sets `range` to the begin and the end of the calling thread's memory for its module's thread variables. `range` is one
  /// of these variables.
  void (*thread_memory)(char** range) = nullptr;
};

/// A range of the blocks of a launch.
struct BlockRange {
  std::uint32_t grid[3];
  std::uint32_t block[3];
  std::uint64_t first_block;   ///< linear number of the first block; x varies fastest
  std::uint64_t last_block;    ///< one past the last block's number
  std::uint64_t shared_bytes;  ///< bytes of dynamic shared memory
  const LaunchServices* services;
  void* launch;                ///< the argument for LaunchServices::fail
  bool cooperative;            ///< whether other blocks of the launch may wait for these
  const std::atomic<bool>* is_over = nullptr;  ///< set to true when a thread of the launch has crashed
  mutable std::uint64_t running_block = 0;     ///< number of the running block, for reports
  /// If several blocks run as one, one past the number of the last; otherwise 0.
  mutable std::uint64_t running_end = 0;
};

/// Runs all threads of the blocks of a range. `arguments`: pointers to the parameters' values.
using RunBlocks = void (*)(const BlockRange& range, const void* const* arguments);

/// The maximum shared memory of a block, as on a large GPU. More would not fit into a processor's second-level cache.
inline constexpr std::uint64_t most_shared_bytes = 227 * 1024;

/// How a kernel's threads run: see `KernelProperties::tier`.
enum class KernelTier : std::uint32_t { unknown, fibers, workgroup };

struct KernelRecord {
  const char* name;
  RunBlocks run;  ///< null if several kernels have this name
  const std::size_t* parameter_sizes;
  std::uint32_t parameter_count;
  std::uint32_t max_threads_per_block;  ///< the argument of `__launch_bounds__`, or 0
  /// Parameters that are numbers, pointers or enumerators; bit i stands for parameter i.
  std::uint64_t known_kinds;
  std::uint64_t floating_kinds;         ///< of these, the floating-point numbers
  std::uint64_t constant_kinds;         ///< of these, the pointers through which the kernel only reads
  std::uint64_t atomic_kinds;           ///< of these, the pointers that are used only for atomic updates of one kind
  /// Byte i: the weir::UpdateKind of the i-th pointer in `atomic_kinds`, for the first 8.
  std::uint64_t update_kinds;
  KernelTier tier;
};

struct ModuleRecord {
  std::uint32_t revision;     ///< the value of `module_revision` in the prelude
  std::uint32_t record_size;  ///< sizeof(KernelRecord) in the prelude
  const KernelRecord* const* first;
  const KernelRecord* const* last;  ///< one past the last record
  /// Where the loader stores the services, for code that calls the worker outside of a launch.
  const LaunchServices** services;
};

inline constexpr std::uint32_t module_revision = 10;
/// The symbol of a module's record. It contains the revision, so the revision can be checked before the module is loaded.
inline constexpr const char* module_symbol = "weir_host_module_10";
inline constexpr const char* module_symbol_stem = "weir_host_module_";
/// The symbol of a string with the processor features that the code uses, spelled as in /proc/cpuinfo and separated by
/// spaces.
inline constexpr const char* features_symbol = "weir_host_cpu_features";

}  // namespace weir::host
