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

/// What the core tells tools, and writes down of portable captures. Included by sources alone: without either a call tests
/// one bit, and none of this runs.
namespace weir::detail {

/// Loads the tools that WEIR_TOOLS lists, and `faults` if WEIR_FAULTS is set. From here on no tool is added. Called once,
/// when the registry is made. Throws `invalid_environment`, `plugin_not_found`, `plugin_incompatible`.
void open_tools();

inline bool is_watched() noexcept { return tools_watch.load(std::memory_order_relaxed); }

/// One operation as it is shown to tools:
/// `ToolNotice(*this, OperationKind::copy, "Stream::copy").reads(p, n).run([&] { … })`.
class ToolNotice {
 public:
  ToolNotice(const Device& device, OperationKind kind, const char* name) noexcept;
  /// Asks for the capture that the stream is in.
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
  /// The bodies of a conditional node, which a portable capture writes down, too.
  ToolNotice& captures(std::span<UniqueFunction<void(Stream&)>> bodies);
  /// Those that `touches` declared on this thread, or else the ones given.
  ToolNotice& kernel(const Kernel& kernel, const LaunchConfig& config, std::span<const MemoryAccess> accesses);

  /// Calls `act()` between the tools' `before` and `after`, and returns what it returns.
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
  /// The same for a free, which no tool can refuse: what a tool throws is logged. If `act()` is false, it has failed.
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

  Operation operation_;
  std::vector<MemoryAccess> accesses_;
  // Where the capture is written down, if it is; what the operation comes behind; the bodies that were captured.
  std::shared_ptr<CapturedWork> captured_work_;
  std::vector<GraphNode> after_;
  std::vector<std::shared_ptr<const CapturedWork>> bodies_;
  std::size_t told_ = 0;  // how many tools have been told that it begins
  bool begun_ = false;
};

/// Ends what `accesses::touches` declared for this thread's next launch: it was refused before tools were told of it.
void forget_touches() noexcept;

/// Calls `act()`, and keeps what it needs out of the function that calls it.
template <class F>
[[gnu::cold, gnu::noinline]] decltype(auto) out_of_line(F&& act) {
  return act();
}

/// `function`, which tells tools when it runs, unless a tool makes the call; `id`: of its operation.
HostFunction watched_function(std::uint64_t id, HostFunction&& function);
StreamCallback watched_callback(std::uint64_t id, StreamCallback&& callback);

}  // namespace weir::detail
