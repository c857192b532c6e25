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

class Program::Node final : public Runnable, public Continuation {
 public:
  void execute(Lane lane) noexcept override { program->run_from(this, lane); }
  const Queue* queue() const noexcept override { return program->queue_; }
  void resume(Lane lane) noexcept override {
    if (Node* const next = program->after(*this, lane))
      program->run_from(next, program->schedule_ != nullptr ? Lane::none : lane);
  }
  using Runnable::follow;
  static constexpr std::uint32_t done = ~0U;  // of `awaited`

  Program* program = nullptr;
  Work work;
  WorkRun work_run;
  std::vector<std::uint32_t> successors;
  std::uint32_t predecessors = 0;
  std::atomic<std::uint32_t> awaited{done};
  NodeKind kind{};
  std::chrono::steady_clock::time_point begin;  // if tools are told
};

Program::Program(const GraphData& graph)
    : node_count_(static_cast<std::uint32_t>(graph.nodes.size())),
      nodes_(new Node[graph.nodes.size()]),
      memory_(graph.memory) {
  for (std::uint32_t i = 0; i < node_count_; ++i) {
    const NodeData& source = graph.nodes[i];
    Node& node = nodes_[i];
    node.program = this;
    node.kind = source.kind;
    if (!source.is_disabled) node.work = source.work;
    node.predecessors = static_cast<std::uint32_t>(source.after.size());
    for (const std::uint32_t before : source.after) nodes_[before].successors.push_back(i);
    if (source.after.empty()) roots_.push_back(i);
    if (auto* const sub = std::get_if<SubGraph>(&node.work)) {
      sub->program = make_ptr<Program>(*sub->graph);
      sub->program->outer_ = &node;
      recorded_.insert(recorded_.end(), sub->program->recorded_.begin(), sub->program->recorded_.end());
      waited_.insert(waited_.end(), sub->program->waited_.begin(), sub->program->waited_.end());
      calls_host_functions_ |= sub->program->calls_host_functions_;
    } else if (auto* const conditional = std::get_if<Conditional>(&node.work)) {
      for (const Ptr<GraphData>& body : conditional->bodies) {
        conditional->programs.push_back(make_ptr<Program>(*body));
        conditional->programs.back()->outer_ = &node;
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

Program::~Program() = default;

void Program::expect_records() noexcept {
  for (ExternalRecord* record : recorded_) record->event->record_at(*record->records, ++record->launches);
}

std::vector<SignalWait> Program::wait_points() const {
  std::vector<SignalWait> points;
  for (const ExternalWait* wait : waited_) {
    RecordPoint at = wait->event->point();
    points.push_back({std::move(at.signal), at.number});
  }
  return points;
}

void Program::set_wait_points(const std::vector<SignalWait>& points) {
  for (std::size_t i = 0; i < points.size(); ++i) waited_[i]->point = points[i];
}

Progress Program::start(Queue& queue, Continuation& continuation) {
  if (node_count_ == 0) return Progress::done;
  queue_ = &queue;
  continuation_ = &continuation;
  for (std::uint32_t i = 0; i < node_count_; ++i) {
    nodes_[i].awaited.store(nodes_[i].predecessors, std::memory_order_relaxed);
  }
  // One more than the nodes, so that the continuation is not resumed before this returns.
  unfinished_.store(node_count_ + 1, std::memory_order_release);
  // A schedule chooses among all roots.
  const bool begins_here = roots_.size() == 1 || schedule_ == nullptr;
  for (std::size_t i = begins_here ? 1 : 0; i < roots_.size(); ++i) hand_out(nodes_[roots_[i]]);
  if (begins_here) run_from(&nodes_[roots_[0]], Lane::worker);
  return finish(1) ? Progress::done : Progress::pending;
}

bool Program::records(const Signal& signal) const noexcept {
  return std::any_of(recorded_.begin(), recorded_.end(),
                     [&](const ExternalRecord* record) { return record->records.get() == &signal; });
}

void Program::for_each_open(
    bool begun, const std::function<void(std::uint32_t number, const Work&, const Runnable& item)>& function) const {
  const bool runs = unfinished_.load(std::memory_order_acquire) != 0;
  for (std::uint32_t i = 0; i < node_count_; ++i) {
    const std::uint32_t awaited = nodes_[i].awaited.load(std::memory_order_acquire);
    if (runs ? awaited != Node::done && (!begun || awaited == 0) : !begun) function(i, nodes_[i].work, nodes_[i]);
  }
}

void Program::hand_out(Node& node) noexcept {
  if (lane_of(node.work) == Lane::host_functions && schedule_ == nullptr) {
    queue_->engine().host_thread().submit(&node);
  } else {
    Scheduler::instance().submit(&node, queue_->level());
  }
}

bool Program::finish(std::uint32_t count) noexcept {
  return unfinished_.fetch_sub(count, std::memory_order_acq_rel) == count;
}

OperationName Program::name_of(const Node& node) const {
  OperationName name =
      outer_ != nullptr ? outer_->program->name_of(*outer_) : OperationName{queue_->id(), queue_->begun(), {}};
  name.nodes.push_back(static_cast<std::uint32_t>(&node - nodes_.get()));
  return name;
}

void Program::note_begin(Node& node) noexcept {
  if (auto* const sub = std::get_if<SubGraph>(&node.work)) sub->program->watch(launch_, &node);
  if (auto* const conditional = std::get_if<Conditional>(&node.work)) {
    for (const Ptr<Program>& program : conditional->programs) program->watch(launch_, &node);
  }
  node.begin = std::chrono::steady_clock::now();
}

void Program::note_end(const Node& node) noexcept {
  NodeRun run{launch_, &node, parent_, node.kind, {}, 0, node.begin, std::chrono::steady_clock::now()};
  if (const auto* const launch = std::get_if<Launch>(&node.work)) run.kernel = launch->kernel->name();
  if (const auto* const copy = std::get_if<Copy>(&node.work)) run.bytes = copy->width * copy->height;
  if (const auto* const fill = std::get_if<Fill>(&node.work)) run.bytes = fill->width * fill->height * fill->element_size;
  support::note_node(run);
}

void Program::run_from(Node* node, Lane lane) noexcept {
  TimeSlice turn(queue_->level());  // behind its last node the program may be gone
  for (int done = 0; node != nullptr; ++done) {
    const Lane wanted = lane_of(node->work);
    const bool is_over =
        (lane == Lane::worker || (schedule_ != nullptr && lane == Lane::host_functions)) && done != 0 && turn.is_over();
    const bool is_elsewhere = wanted != Lane::none && wanted != lane;
    // The schedule has chosen this function.
    if (is_elsewhere && schedule_ != nullptr && lane == Lane::worker && done == 0) {
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
    if (launch_ != 0) [[unlikely]] note_begin(*node);
    if (node->work_run.start(node->work, *queue_, *node) == Progress::pending) return;
    node = after(*node, lane);
  }
}

Program::Node* Program::after(Node& node, Lane lane) noexcept {
  if (launch_ != 0) [[unlikely]] note_end(node);
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
  // If this was the last node, the program may be destroyed as soon as its continuation is resumed.
  if (finish(1)) {
    launch_ = 0;
    continuation_->resume(lane);
  }
  return next;
}

}  // namespace weir::host
