// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "backends/host/engine/graph_data.hpp"
#include "backends/host/engine/work.hpp"

/// A graph that is prepared to run. Independent branches run concurrently. Runs of one executable do not overlap, and a run
/// does not allocate.
namespace weir::host {

struct OperationName;

class Executable final : public RefCounted {
 public:
  explicit Executable(const GraphData& graph);
  ~Executable() override;

  /// Runs all nodes once for `queue`. The first nodes run on the calling thread, which must be a worker. If the run is not
  /// finished on return, `continuation` is resumed when it is.
  Progress start(Queue& queue, Continuation& continuation);

  /// Called when a launch is enqueued that will record the graph's events, including those of subgraphs.
  void expect_records() noexcept;
  bool calls_host_functions() const noexcept { return calls_host_functions_; }
  /// Whether launches record an event whose records are counted by `signal`.
  bool records(const Signal& signal) const noexcept;
  /// Calls `function(number, work, item)` for each node of the current run that is not done, or, if `begun`, only for nodes
  /// that may have begun. `item`: the object through which threads run the node. The launch must stay in its queue
  /// meanwhile.
  void for_each_open(bool begun,
                     const std::function<void(std::uint32_t number, const Work&, const Runnable& item)>& function) const;
  /// For each event that a run waits for, including those of subgraphs: its present record.
  std::vector<SignalWait> wait_points() const;
  /// Sets the records that the next run waits for: the result of `wait_points` at the time when the run was enqueued. An
  /// empty list changes nothing.
  void set_wait_points(const std::vector<SignalWait>& points);
  /// Makes later runs report each node to tools. `launch`: the launch's number for tools. `parent`: the node that contains
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
  // The nodes of this executable and of its subgraphs that record events, and those that wait for events.
  std::vector<ExternalRecord*> recorded_;
  std::vector<ExternalWait*> waited_;
  bool calls_host_functions_ = false;
  std::vector<std::shared_ptr<void>> memory_;
  Queue* queue_ = nullptr;
  Continuation* continuation_ = nullptr;
  std::uint64_t launch_ = 0;
  const void* parent_ = nullptr;
  const Node* outer_ = nullptr;  // the node that contains this graph, or null; never changes
  SchedulePolicy* const schedule_ = Scheduler::instance().policy();
  std::atomic<std::uint32_t> unfinished_{0};
};

}  // namespace weir::host
