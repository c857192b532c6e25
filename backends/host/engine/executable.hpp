// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "backends/host/engine/graph_data.hpp"
#include "backends/host/engine/work.hpp"

/// A graph that is prepared to run. Independent branches run at once. There is one run at a time, and runs do not allocate.
namespace weir::host {

struct OperationName;

class Executable final : public RefCounted {
 public:
  explicit Executable(const GraphData& graph);
  ~Executable() override;

  /// Runs all nodes once for `queue`, starting on this thread, which must be a worker. If they are not done on return,
  /// `continuation` is resumed when they are.
  Progress start(Queue& queue, Continuation& continuation);

  /// A launch was enqueued: it now records the graph's events, those of subgraphs included.
  void expect_records() noexcept;
  bool calls_host_functions() const noexcept { return calls_host_functions_; }
  /// Whether a launch records an event whose records that signal counts.
  bool records(const Signal& signal) const noexcept;
  /// Calls `function(number, work, item)` for each node of the present run that is not done; `begun`: only for those that
  /// may have begun. `item`: what a thread runs. The run's launch must stay in its queue meanwhile.
  void for_each_open(bool begun,
                     const std::function<void(std::uint32_t number, const Work&, const Runnable& item)>& function) const;
  /// The present records of the events that a run waits for, those of subgraphs included.
  std::vector<SignalWait> wait_points() const;
  /// Sets what the next run waits for: the result of `wait_points` when the run was enqueued. Empty: as before.
  void set_wait_points(const std::vector<SignalWait>& points);
  /// Tools are told of each node of the runs that follow. `launch`: the number for tools; `parent`: the node that this is
  /// the graph of, or null.
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
  // In the nodes of this executable and of its subgraphs.
  std::vector<ExternalRecord*> recorded_;
  std::vector<ExternalWait*> waited_;
  bool calls_host_functions_ = false;
  std::vector<std::shared_ptr<void>> memory_;
  Queue* queue_ = nullptr;
  Continuation* continuation_ = nullptr;
  std::uint64_t launch_ = 0;
  const void* parent_ = nullptr;
  const Node* outer_ = nullptr;  // the node that this is the graph of, once and for all
  SchedulePolicy* const schedule_ = Scheduler::instance().policy();
  std::atomic<std::uint32_t> unfinished_{0};
};

}  // namespace weir::host
