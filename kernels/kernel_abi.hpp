// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

/// The interface between a compiled module and the worker that launches it. The kernel prelude declares the same
/// (kernel_prelude.hpp, kernels/fiber_threads.hpp): change both together, and the revision in each.
namespace weir::host {

/// Value of KernelFault::thread if the whole grid is stuck, not one block.
inline constexpr std::uint32_t whole_grid = 0xffffffffU;

/// Why a block is stuck.
struct KernelFault {
  const char* place;             ///< "kernel.cu:12"
  const char* function;          ///< the function in which threads were to meet: "__syncthreads"
  std::uint32_t block[3];
  std::uint32_t thread;          ///< for a warp function: the linear index of the calling thread
  std::uint32_t here;            ///< for a barrier: how many threads reached it
  std::uint32_t expected;        ///< how many of them had not returned
  std::uint64_t
      missing_lanes;  ///< for a warp function: named lanes that did not call it; 0 if the caller itself was not named
  const char* others = nullptr;  ///< where threads that did not reach `place` wait: "__syncthreads at kernel.cu:14"
};

/// A thread of a block that waits for others. Stored on the waiting thread's stack.
struct Wait {
  enum Kind : std::uint32_t {
    block,   ///< for all threads of the block
    grid,    ///< for all threads of the grid
    lanes,   ///< for the lanes of its warp that the mask names
    active,  ///< for the lanes of its warp that reach the same call before they wait for something else
    step,    ///< like `active`, at a memory access
    turn     ///< for nothing: lets other threads run first
  };

  const char* function;
  const char* file;
  std::uint32_t line;
  Kind kind;
  std::uint64_t named;       ///< `lanes`: the mask; `active`: identifies the path to the call
  const void* address;       ///< `active`: identifies the call; `step`: where the code continues
  /// Called once when all have met, before they continue. `waits`: by lane for a warp or by thread for a block; null for a
  /// lane or thread that is absent.
  void (*combine)(Wait* const* waits, std::uint32_t count);
  std::uint32_t thread;      ///< linear index in the block
};

/// How a module runs threads of a kernel on a fiber.
struct FiberKernel {
  /// Runs the block's threads one after the other, starting with number `first`. Returns how many threads have started,
  /// which is always all: while one waits, `LaunchServices::wait` starts the next ones on another stack.
  std::uint32_t (*run_threads)(const FiberKernel& kernel, void* fibers, const std::uint32_t* block, std::uint32_t first);
  /// Stores the running thread's threadIdx.
  void (*thread_index)(std::uint32_t* index);
  std::uint32_t warp_size;
};

struct BlockRange;

/// Services of the worker for compiled code.
struct LaunchServices {
  /// Takes memory from this worker, aligned to 64 bytes and uninitialized. Return it in reverse order.
  void* (*take)(std::size_t bytes);
  void (*give_back)(void* memory);
  /// Reports a block that cannot finish. The texts need not outlive the call.
  void (*fail)(void* launch, const KernelFault& fault);
  /// Waits until all blocks of a cooperative launch have called it. Returns false if they cannot; the fault is already
  /// reported.
  bool (*sync_grid)(void* launch, const char* place);
  /// Runs all threads of a range of blocks. A block moves to fibers as soon as one of its threads waits.
  void (*run_fibers)(const BlockRange& range, const FiberKernel& kernel);
  /// Called by a thread on a fiber when `started` threads of its block have started. Returns when the thread may continue,
  /// with the number that have started by then; does not return if the block fails.
  std::uint32_t (*wait)(void* fibers, Wait& wait, std::uint32_t started);
  /// Reports a failed `assert` of the calling thread and does not return. The texts must live as long as the module.
  void (*fail_assertion)(const char* condition, const char* file, std::uint32_t line) = nullptr;
};

/// A part of a launch.
struct BlockRange {
  std::uint32_t grid[3];
  std::uint32_t block[3];
  std::uint64_t first_block;   ///< linear number, x fastest
  std::uint64_t last_block;    ///< one past the last
  std::uint64_t shared_bytes;  ///< size of dynamic shared memory
  const LaunchServices* services;
  void* launch;                ///< passed to LaunchServices::fail
  bool cooperative;            ///< other blocks of the launch may wait for these
  const std::atomic<bool>* is_over = nullptr;  ///< true once a thread of the launch has crashed
  mutable std::uint64_t running_block = 0;     ///< the block whose threads run, written for reports
  mutable std::uint64_t running_end = 0;       ///< one past the last of several blocks that run as one; otherwise 0
};

/// Runs all threads of the blocks of a range. `arguments`: pointers to the parameters' values.
using RunBlocks = void (*)(const BlockRange& range, const void* const* arguments);

/// The limit on a block's shared memory: that of a large GPU. More would not fit into a second-level cache.
inline constexpr std::uint64_t most_shared_bytes = 227 * 1024;

/// How a kernel's threads run; see `KernelProperties::tier`.
enum class KernelTier : std::uint32_t { unknown, fibers, workgroup };

struct KernelRecord {
  const char* name;
  RunBlocks run;  ///< null if several kernels have the name
  const std::size_t* parameter_sizes;
  std::uint32_t parameter_count;
  std::uint32_t max_threads_per_block;  ///< from `__launch_bounds__`, or 0
  std::uint64_t known_kinds;            ///< parameters that are numbers, pointers or enumerators; parameter i is bit i
  std::uint64_t floating_kinds;         ///< those that are floating-point numbers
  std::uint64_t constant_kinds;         ///< those that are pointers which the kernel only reads through
  std::uint64_t atomic_kinds;           ///< those that are pointers used only for atomic updates of one kind
  std::uint64_t update_kinds;           ///< byte i: the weir::UpdateKind of the i-th pointer in `atomic_kinds`; at most 8
  KernelTier tier;
};

struct ModuleRecord {
  std::uint32_t revision;     ///< `module_revision`
  std::uint32_t record_size;  ///< sizeof(KernelRecord)
  const KernelRecord* const* first;
  const KernelRecord* const* last;  ///< one past the last
  const LaunchServices** services;  ///< for code that calls the worker outside of a launch; set when the module is loaded
};

inline constexpr std::uint32_t module_revision = 9;
/// The symbol of the module's record. It contains the revision, which can thus be checked before the module is loaded.
inline constexpr const char* module_symbol = "weir_host_module_9";
inline constexpr const char* module_symbol_stem = "weir_host_module_";
/// The symbol of a string: the processor features that the code uses, as /proc/cpuinfo spells them, separated by spaces.
inline constexpr const char* features_symbol = "weir_host_cpu_features";

}  // namespace weir::host
