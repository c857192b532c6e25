// SPDX-License-Identifier: Apache-2.0
#include "backends/host/engine/executable.hpp"

#include <algorithm>
#include <chrono>

#include "backends/host/engine/engine.hpp"
#include "backends/host/engine/queue.hpp"
#include "backends/host/engine/schedule_policy.hpp"
#include "weir/plugin/operation.hpp"
#include "weir/plugin/support.hpp"

namespace weir::host {

class Executable::Node final : public Runnable, public Continuation {
 public:
  void execute(ThreadKind thread_kind) noexcept override { executable->run_from(this, thread_kind); }
  const Queue* queue() const noexcept override { return executable->queue_; }
  void resume(ThreadKind thread_kind) noexcept override {
    if (Node* const next = executable->after(*this, thread_kind))
      executable->run_from(next, executable->schedule_ != nullptr ? ThreadKind::none : thread_kind);
  }
  using Runnable::follow;
  static constexpr std::uint32_t done = ~0U;  // the value of `awaited` for a node that is done

  Executable* executable = nullptr;
  Work work;
  WorkRun work_run;
  std::vector<std::uint32_t> successors;
  std::uint32_t predecessors = 0;
  std::atomic<std::uint32_t> awaited{done};
  NodeKind kind{};
  std::chrono::steady_clock::time_point begin;  // set if tools watch the run
};

Executable::Executable(const GraphData& graph)
    : node_count_(static_cast<std::uint32_t>(graph.nodes.size())),
      nodes_(new Node[graph.nodes.size()]),
      memory_(graph.memory) {
  for (std::uint32_t i = 0; i < node_count_; ++i) {
    const NodeData& source = graph.nodes[i];
    Node& node = nodes_[i];
    node.executable = this;
    node.kind = source.kind;
    if (!source.is_disabled) node.work = source.work;
    node.predecessors = static_cast<std::uint32_t>(source.after.size());
    for (const std::uint32_t before : source.after) nodes_[before].successors.push_back(i);
    if (source.after.empty()) roots_.push_back(i);
    if (auto* const sub = std::get_if<SubGraph>(&node.work)) {
      sub->executable = make_ptr<Executable>(*sub->graph);
      sub->executable->outer_ = &node;
      recorded_.insert(recorded_.end(), sub->executable->recorded_.begin(), sub->executable->recorded_.end());
      waited_.insert(waited_.end(), sub->executable->waited_.begin(), sub->executable->waited_.end());
      calls_host_functions_ |= sub->executable->calls_host_functions_;
    } else if (auto* const conditional = std::get_if<Conditional>(&node.work)) {
      for (const Ptr<GraphData>& body : conditional->bodies) {
        conditional->executables.push_back(make_ptr<Executable>(*body));
        conditional->executables.back()->outer_ = &node;
      }
    } else if (auto* const record = std::get_if<ExternalRecord>(&node.work)) {
      record->records = make_ptr<PlainSignal>();
      recorded_.push_back(record);
    } else if (auto* const wait = std::get_if<ExternalWait>(&node.work)) {
      waited_.push_back(wait);
    } else if (std::holds_alternative<HostCall>(node.work)) {
      calls_host_functions_ = true;
    }
  }
}

Executable::~Executable() = default;

void Executable::expect_records() noexcept {
  for (ExternalRecord* record : recorded_) record->event->record_at(*record->records, ++record->launches);
}

std::vector<SignalWait> Executable::wait_points() const {
  std::vector<SignalWait> points;
  for (const ExternalWait* wait : waited_) {
    RecordPoint at = wait->event->point();
    points.push_back({std::move(at.signal), at.number});
  }
  return points;
}

void Executable::set_wait_points(const std::vector<SignalWait>& points) {
  for (std::size_t i = 0; i < points.size(); ++i) waited_[i]->point = points[i];
}

Progress Executable::start(Queue& queue, Continuation& continuation) {
  if (node_count_ == 0) return Progress::done;
  queue_ = &queue;
  continuation_ = &continuation;
  for (std::uint32_t i = 0; i < node_count_; ++i) {
    nodes_[i].awaited.store(nodes_[i].predecessors, std::memory_order_relaxed);
  }
  // Counts one more than the nodes, so that the continuation is not resumed before this function returns.
  unfinished_.store(node_count_ + 1, std::memory_order_release);
  // If there is a schedule, it must choose even the only root, so no root starts here.
  const bool begins_here = roots_.size() == 1 || schedule_ == nullptr;
  for (std::size_t i = begins_here ? 1 : 0; i < roots_.size(); ++i) hand_out(nodes_[roots_[i]]);
  if (begins_here) run_from(&nodes_[roots_[0]], ThreadKind::worker);
  return finish(1) ? Progress::done : Progress::pending;
}

bool Executable::records(const Signal& signal) const noexcept {
  return std::any_of(recorded_.begin(), recorded_.end(),
                     [&](const ExternalRecord* record) { return record->records.get() == &signal; });
}

void Executable::for_each_open(
    bool begun, const std::function<void(std::uint32_t number, const Work&, const Runnable& item)>& function) const {
  const bool runs = unfinished_.load(std::memory_order_acquire) != 0;
  for (std::uint32_t i = 0; i < node_count_; ++i) {
    const std::uint32_t awaited = nodes_[i].awaited.load(std::memory_order_acquire);
    if (runs ? awaited != Node::done && (!begun || awaited == 0) : !begun) function(i, nodes_[i].work, nodes_[i]);
  }
}

void Executable::hand_out(Node& node) noexcept {
  if (thread_kind_of(node.work) == ThreadKind::host_functions && schedule_ == nullptr) {
    queue_->engine().host_thread().submit(&node);
  } else {
    Scheduler::instance().submit(&node, queue_->level());
  }
}

bool Executable::finish(std::uint32_t count) noexcept {
  return unfinished_.fetch_sub(count, std::memory_order_acq_rel) == count;
}

OperationName Executable::name_of(const Node& node) const {
  OperationName name =
      outer_ != nullptr ? outer_->executable->name_of(*outer_) : OperationName{queue_->id(), queue_->begun(), {}};
  name.nodes.push_back(static_cast<std::uint32_t>(&node - nodes_.get()));
  return name;
}

void Executable::report_begin(Node& node) noexcept {
  if (auto* const sub = std::get_if<SubGraph>(&node.work)) sub->executable->watch(launch_, &node);
  if (auto* const conditional = std::get_if<Conditional>(&node.work)) {
    for (const Ptr<Executable>& executable : conditional->executables) executable->watch(launch_, &node);
  }
  node.begin = std::chrono::steady_clock::now();
}

void Executable::report_end(const Node& node) noexcept {
  NodeRun run{launch_, &node, parent_, node.kind, {}, 0, node.begin, std::chrono::steady_clock::now()};
  if (const auto* const launch = std::get_if<Launch>(&node.work)) run.kernel = launch->kernel->name();
  if (const auto* const copy = std::get_if<Copy>(&node.work)) run.bytes = copy->width * copy->height;
  if (const auto* const fill = std::get_if<Fill>(&node.work)) run.bytes = fill->width * fill->height * fill->element_size;
  support::note_node(run);
}

void Executable::run_from(Node* node, ThreadKind thread_kind) noexcept {
  TimeSlice turn(queue_->level());  // a local object, because the executable may be destroyed after its last node
  for (int done = 0; node != nullptr; ++done) {
    const ThreadKind wanted = thread_kind_of(node->work);
    const bool is_over =
        (thread_kind == ThreadKind::worker || (schedule_ != nullptr && thread_kind == ThreadKind::host_functions)) &&
        done != 0 && turn.is_over();
    const bool is_elsewhere = wanted != ThreadKind::none && wanted != thread_kind;
    // The schedule itself has chosen this host function, so submit it directly; `hand_out` would let the schedule choose
    // again.
    if (is_elsewhere && schedule_ != nullptr && thread_kind == ThreadKind::worker && done == 0) {
      queue_->engine().host_thread().submit(node);
      return;
    }
    if (is_elsewhere || is_over) {
      hand_out(*node);
      return;
    }
    if (schedule_ != nullptr && schedule_->needs_names() &&
        !schedule_->may_start(name_of(*node), *node, &node->work, [this, node] { hand_out(*node); }))
      return;
    if (launch_ != 0) [[unlikely]]
      report_begin(*node);
    if (node->work_run.start(node->work, *queue_, *node) == Progress::pending) return;
    node = after(*node, thread_kind);
  }
}

Executable::Node* Executable::after(Node& node, ThreadKind thread_kind) noexcept {
  if (launch_ != 0) [[unlikely]]
    report_end(node);
  if (schedule_ != nullptr && schedule_->needs_names()) schedule_->ended(name_of(node));
  node.awaited.store(Node::done, std::memory_order_relaxed);
  Node* next = nullptr;
  for (const std::uint32_t i : node.successors) {
    Node& successor = nodes_[i];
    if (successor.awaited.fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
    if (next == nullptr) {
      next = &successor;
      next->follow(node);
    } else {
      hand_out(successor);
    }
  }
  // If this was the last node, resuming the continuation may destroy the executable, so reset the members first.
  if (finish(1)) {
    launch_ = 0;
    continuation_->resume(thread_kind);
  }
  return next;
}

}  // namespace weir::host
