// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "backends/host/engine/parallel.hpp"
#include "backends/host/engine/recorded_event.hpp"
#include "backends/host/engine/scheduler.hpp"
#include "backends/host/engine/signal.hpp"
#include "backends/host/engine/value_waits.hpp"
#include "backends/host/run/grid_barrier.hpp"
#include "backends/host/run/kernel.hpp"
#include "backends/host/run/launch_services.hpp"
#include "weir/graph.hpp"
#include "weir/plugin/pitched_copy.hpp"
#include "weir/plugin/stream.hpp"
#include "weir/stream.hpp"
#include "weir/stream_memory.hpp"
#include "weir/unique_function.hpp"

/// The kinds of work in queues and graphs, and the code that runs them.
namespace weir::host {

class GraphData;
class Executable;
class Queue;

/// The values of a launch's arguments. They are copied when the launch is enqueued.
class Arguments {
 public:
  Arguments() = default;
  Arguments(std::span<void* const> values, std::span<const Parameter> parameters);
  /// Sets `out` to the addresses of the values. They are valid until this object is moved or destroyed.
  void addresses(std::span<const Parameter> parameters, std::vector<const void*>& out) const;

 private:
  static constexpr std::size_t inline_bytes = 96;  // twelve pointers, so most kernels need no allocation
  alignas(16) std::byte inline_[inline_bytes];
  std::shared_ptr<std::byte[]> heap_;
};

struct Nothing {};  // an allocation or a free in a graph; nothing to do, because the memory lives as long as the graph
struct Copy : PitchedCopy {
  std::size_t rows() const noexcept { return height * depth; }
};
inline Copy contiguous_copy(void* destination, const void* source, std::size_t bytes) noexcept {
  return {{.destination = {static_cast<std::byte*>(destination), bytes, 1},
           .source = {static_cast<std::byte*>(const_cast<void*>(source)), bytes, 1},
           .width = bytes,
           .height = 1,
           .depth = 1}};
}
struct Fill {
  void* to;
  std::size_t pitch;
  std::uint32_t value;
  std::uint32_t element_size;
  std::size_t width;
  std::size_t height;
};
/// A cooperative launch may have at most this many blocks, because all its blocks run concurrently, each on its own thread.
inline constexpr std::uint64_t most_cooperative_blocks = 1024;
/// Throws `invalid_argument` if a cooperative launch has more blocks than that.
void check_cooperative(const char* operation, const std::string& object, const Kernel& kernel, const LaunchConfig& config);

struct Launch {
  Launch(const HostKernel& launched, const LaunchConfig& config, std::span<void* const> values,
         std::span<const Parameter> parameters)
      : kernel(&launched),
        grid(config.grid),
        block(config.block),
        shared_bytes(config.shared_memory_bytes),
        cooperative(config.cooperative),
        priority(config.priority),
        arguments(values, parameters) {}

  Ptr<const HostKernel> kernel;
  Dim3 grid;
  Dim3 block;
  std::uint64_t shared_bytes;
  bool cooperative;  ///< whether blocks may wait for each other
  std::optional<int> priority;  ///< if set, used instead of the queue's priority
  std::uint32_t most_workers = all_workers;
  Arguments arguments;
};
struct MemoryOperations {
  MemoryOperation first;
  std::vector<MemoryOperation> rest;

  std::size_t size() const noexcept { return rest.size() + 1; }
  const MemoryOperation& operator[](std::size_t i) const noexcept { return i == 0 ? first : rest[i - 1]; }
};
/// A host function in a graph. The graph's clones and executables share it.
struct SharedFunction final : RefCounted {
  explicit SharedFunction(HostFunction f) : function(std::move(f)) {}
  ~SharedFunction() override;
  HostFunction function;
};
struct HostCall {
  Ptr<SharedFunction> function;
};
struct TimedRecord {
  Ptr<RecordedEvent> event;
};
struct ExternalRecord {
  Ptr<RecordedEvent> event;
  /// For a prepared node: the signal that counts its records, and the number of launches. Each node has its own signal,
  /// because launches of different executables reach their records in any order.
  Ptr<PlainSignal> records{};
  std::uint64_t launches = 0;
};
struct SignalWait {
  Ptr<Signal> signal;
  std::uint64_t number;
};
struct ExternalWait {
  Ptr<const RecordedEvent> event;
  SignalWait point{};  // the event's record at the time when the graph was launched
};
struct PoolFree {
  void* memory;
  void (*free)(void* memory, const Queue& queue) noexcept;  ///< called when the free runs in the queue's order
};
struct SubGraph {
  Ptr<GraphData> graph;
  Ptr<Executable> executable;             // null until the enclosing graph is instantiated
  std::vector<SignalWait> wait_points{};  // for a launch: the present records of the events that the graph waits for
  std::uint64_t launch = 0;               // for a launch: the number that tools use for it, or 0
};
struct Conditional {
  const std::uint32_t* condition;
  ConditionalKind kind;
  std::vector<Ptr<GraphData>> bodies;
  std::vector<Ptr<Executable>> executables{};  // null until the enclosing graph is instantiated

  bool is_loop() const noexcept { return kind == ConditionalKind::while_nonzero; }
  /// The index of the body that runs for this value. If no body runs, a number not below `bodies.size()`.
  std::size_t chosen(std::uint32_t value) const noexcept {
    return kind == ConditionalKind::switch_case  ? value
           : value != 0                          ? 0
           : kind == ConditionalKind::if_nonzero ? 1
                                                 : bodies.size();
  }
};

using Work = std::variant<Nothing, Copy, Fill, Launch, MemoryOperations, HostCall, TimedRecord, ExternalRecord, SignalWait,
                          ExternalWait, PoolFree, SubGraph, Conditional>;

/// The kind of thread on which the work must run; `none` if any thread will do.
ThreadKind thread_kind_of(const Work& work) noexcept;

/// Calls a host function. The queue stores its exception.
void call_host_function(HostFunction& function, Queue& queue) noexcept;
/// Calls a host function and destroys it on the same thread, because the destructors of its captured objects must not call
/// Weir either.
void call_host_function_once(HostFunction& function, Queue& queue) noexcept;

enum class Progress : std::uint8_t { done, pending };

/// Runs one piece of work at a time. The object can be reused.
class WorkRun final : private Divisible,
                      private RunningLaunch,
                      private Waiter,
                      private ValueWaiter,
                      private Runnable,
                      private Continuation {
 public:
  /// Starts `work` for `queue` on the calling thread, whose kind must fit. `work` must live until it is done. If the work is
  /// not done on return, `continuation` is resumed when it is done; do not use this object until then.
  Progress start(const Work& work, Queue& queue, Continuation& continuation);

 private:
  Progress run_copy(const Copy& copy);
  Progress run_fill(const Fill& fill);
  Progress run_launch(const Launch& launch);
  Progress run_memory_operations(const MemoryOperations& operations);
  Progress run_conditional(const Conditional& conditional);

  void do_range(std::uint64_t first, std::uint64_t last) noexcept override;
  void fail(const KernelFault& fault) override;
  bool is_stuck() const noexcept override { return stuck_.load(std::memory_order_relaxed); }
  bool sync_grid(const char* place) override;
  void has_waited_on_fibers() noexcept override { std::get<Launch>(*work_).kernel->warn_of_fibers(); }
  void do_blocks(const Launch& launch, std::uint64_t first, std::uint64_t last);
  BlockRange block_range(const Launch& launch, std::uint64_t first, std::uint64_t last);
  void run_together(std::uint64_t blocks);
  void reached() noexcept override { come_back(); }
  void met() noexcept override { come_back(); }
  void come_back() noexcept;
  void take_next_turn() noexcept;
  void execute(ThreadKind thread_kind) noexcept override;
  void resume(ThreadKind thread_kind) noexcept override;

  const Work* work_ = nullptr;
  Queue* queue_ = nullptr;
  Continuation* continuation_ = nullptr;
  std::size_t position_ = 0;          // index in a list of memory operations
  GridBarrier* barrier_ = nullptr;    // barrier of the running cooperative launch
  std::atomic<bool> crashed_{false};  // a thread of the launch has crashed, so blocks that have not begun are skipped
  std::atomic<bool> stuck_{false};    // a block of the launch is stuck
  std::vector<const void*> argument_addresses_;
};

}  // namespace weir::host
