// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/runtime/stream_core.hpp"
#include "weir/device.hpp"
#include "weir/plugin/tool.hpp"

/// `ToolNotice`: reports operations to tools, and records the operations of portable captures. Without tools and portable
/// captures, a call only tests one bit and uses nothing of this file.
namespace weir::detail {

/// Loads the tools that WEIR_TOOLS lists, and the tool `faults` if WEIR_FAULTS is set. Tools cannot be added afterwards.
/// Called once, when the registry is created. Throws `invalid_environment`, `plugin_not_found`, `plugin_incompatible`.
void open_tools();

inline bool is_watched() noexcept { return tools_watch.load(std::memory_order_relaxed); }

/// Reports one operation to tools: `ToolNotice(*this, OperationKind::copy, "Stream::copy").reads(p, n).run([&] { … })`.
class ToolNotice {
 public:
  ToolNotice(const Device& device, OperationKind kind, const char* name) noexcept;
  /// Determines the stream's capture state itself.
  ToolNotice(const Stream& stream, OperationKind kind, const char* name);
  ToolNotice(const Stream& stream, OperationKind kind, const char* name, const CaptureState& capture) noexcept;
  ~ToolNotice() {
    if (begun_) end(true);
  }
  ToolNotice(const ToolNotice&) = delete;
  ToolNotice& operator=(const ToolNotice&) = delete;

  Operation& operator*() noexcept { return operation_; }
  Operation* operator->() noexcept { return &operation_; }
  ToolNotice& touches(MemoryAccess access) {
    accesses_.push_back(access);
    return *this;
  }
  ToolNotice& reads(const void* address, std::size_t bytes) { return touches({address, bytes, AccessKind::read}); }
  ToolNotice& writes(const void* address, std::size_t bytes) { return touches({address, bytes, AccessKind::write}); }
  ToolNotice& allocation(const Allocation& memory);
  ToolNotice& awaits(const Stream& other) noexcept;
  /// Adds the bodies of a conditional node. In a portable capture, replaces each function in `bodies` by one that also
  /// records the body.
  ToolNotice& captures(std::span<UniqueFunction<void(Stream&)>> bodies);
  /// Adds a kernel. Its accesses are those that the thread declared with `accesses::touches`; without a declaration,
  /// `accesses`.
  ToolNotice& kernel(const Kernel& kernel, const LaunchConfig& config, std::span<const MemoryAccess> accesses);

  /// Calls `before` of all tools, then `act()`, then `after` of all tools. Returns the result of `act()`.
  template <class F>
  decltype(auto) run(F&& act) {
    begin();
    if constexpr (std::is_void_v<decltype(act())>) {
      act();
      end(false);
    } else {
      auto result = act();
      set_result(result);
      end(false);
      return result;
    }
  }
  /// The same for operations that tools cannot refuse, such as frees: exceptions of tools are logged. If `act` returns bool,
  /// false means that it has failed.
  template <class F>
  auto run_always(F&& act) {
    begin_always();
    if constexpr (std::is_void_v<decltype(act())>) {
      act();
      end(false);
    } else {
      const bool done = act();
      end(!done);
      return done;
    }
  }

 private:
  void begin();
  void begin_always() noexcept;
  void end(bool has_failed) noexcept;
  void set_result(bool is_complete) noexcept { operation_.is_complete = is_complete; }
  void set_result(std::uint64_t capture) noexcept { operation_.capture = capture; }
  void set_result(const GraphPtr& graph) noexcept { operation_.new_graph = graph.get(); }
  void set_result(const GraphExecPtr& exec) noexcept { operation_.exec = exec.get(); }
  void set_result(const StreamPtr& stream) noexcept;
  void set_result(void* memory) noexcept;
  void set_result(const ModulePtr&) noexcept {}
  void set_result(const MemoryPoolPtr&) noexcept {}

  Operation operation_;
  std::vector<MemoryAccess> accesses_;
  // For a portable capture: the object that records operations, the nodes on which the operation depends, and the recorded
  // bodies of a conditional node.
  std::shared_ptr<CapturedWork> captured_work_;
  std::vector<GraphNode> after_;
  std::vector<std::shared_ptr<const CapturedWork>> bodies_;
  std::size_t told_ = 0;  // the number of tools whose `before` has returned
  bool begun_ = false;
};

/// Discards the accesses that the calling thread has declared with `accesses::touches`. Called if a launch fails before it
/// is reported.
void forget_touches() noexcept;

/// Calls `act()` in a function that is not inlined, so that the calling function stays small.
template <class F>
[[gnu::cold, gnu::noinline]] decltype(auto) out_of_line(F&& act) {
  return act();
}

/// Returns a function that calls `function` and reports its begin and end to tools. Returns `function` itself if a tool
/// makes the call. `id`: the id of the operation that enqueues the function.
HostFunction watched_function(std::uint64_t id, HostFunction&& function);
StreamCallback watched_callback(std::uint64_t id, StreamCallback&& callback);

}  // namespace weir::detail
