// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "backends/host/engine/graph_data.hpp"
#include "backends/host/engine/work.hpp"

/// A graph prepared to run. Independent branches run concurrently. There is one run at a time, and runs do not allocate.
namespace weir::host {

struct OperationName;

class Executable final : public RefCounted {
 public:
  explicit Executable(const GraphData& graph);
  ~Executable() override;

  /// Runs all nodes once for `queue`, starting on this thread, which must be a worker. If they are not done on return,
  /// `continuation` is resumed when they are.
  Progress start(Queue& queue, Continuation& continuation);

  /// Called when a launch was enqueued, which will record the graph's events, including those of subgraphs.
  void expect_records() noexcept;
  bool calls_host_functions() const noexcept { return calls_host_functions_; }
  /// Whether a launch records an event whose records are counted by that signal.
  bool records(const Signal& signal) const noexcept;
  /// Calls `function(number, work, item)` for each node of the present run that is not done; `begun`: only for nodes that
  /// may have begun. `item`: what a thread runs. The run's launch must stay in its queue meanwhile.
  void for_each_open(bool begun,
                     const std::function<void(std::uint32_t number, const Work&, const Runnable& item)>& function) const;
  /// The present records of the events that a run waits for, including those of subgraphs.
  std::vector<SignalWait> wait_points() const;
  /// Sets what the next run waits for: the result of `wait_points` when the run was enqueued. Empty: unchanged.
  void set_wait_points(const std::vector<SignalWait>& points);
  /// Reports each node of later runs to tools. `launch`: the launch's number for tools; `parent`: the node that contains
  /// this graph, or null.
  void watch(std::uint64_t launch, const void* parent) noexcept {
    launch_ = launch;
    parent_ = parent;
  }

 private:
  class Node;
  void run_from(Node* node, ThreadKind thread_kind) noexcept;
  Node* after(Node& node, ThreadKind thread_kind) noexcept;
  void hand_out(Node& node) noexcept;
  void report_begin(Node& node) noexcept;
  void report_end(const Node& node) noexcept;
  bool finish(std::uint32_t count) noexcept;
  OperationName name_of(const Node& node) const;

  std::uint32_t node_count_;
  std::unique_ptr<Node[]> nodes_;
  std::vector<std::uint32_t> roots_;
  // The records in the nodes of this executable and of its subgraphs.
  std::vector<ExternalRecord*> recorded_;
  std::vector<ExternalWait*> waited_;
  bool calls_host_functions_ = false;
  std::vector<std::shared_ptr<void>> memory_;
  Queue* queue_ = nullptr;
  Continuation* continuation_ = nullptr;
  std::uint64_t launch_ = 0;
  const void* parent_ = nullptr;
  const Node* outer_ = nullptr;  // the node that contains this graph; never changes
  SchedulePolicy* const schedule_ = Scheduler::instance().policy();
  std::atomic<std::uint32_t> unfinished_{0};
};

}  // namespace weir::host
