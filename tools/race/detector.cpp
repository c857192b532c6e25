// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "tools/model/process_memory.hpp"
#include "tools/model/step.hpp"
#include "tools/race/accesses.hpp"
#include "tools/race/graphs.hpp"
#include "tools/race/report.hpp"
#include "tools/race/streams.hpp"
#include "weir/device.hpp"
#include "weir/event.hpp"
#include "weir/plugin/support.hpp"
#include "weir/plugin/tool.hpp"
#include "weir/stream.hpp"
#include "weir/version.hpp"

/// The stream sanitizer: finds pairs of unordered operations that touch the same memory, at least one of them writing.
///
/// Every stream is a lane of a vector clock, and the host is one more (streams.hpp). Values that streams write and wait for
/// also order them (values.hpp). Each access to memory is compared with the earlier ones (accesses.hpp). Captured operations
/// have separate clocks, with which a graph is checked once (graphs.hpp); a launch is then one operation of its stream that
/// touches the memory of all nodes.
namespace weir::race {
namespace {

// Limit on stored host functions: those that are enqueued, and those of graphs, which may run again.
constexpr std::size_t most_functions = 65536;

class Detector final : public Tool {
 public:
  explicit Detector(Options options) : report_(std::move(options)) {}

  void before(const Operation& operation) override {
    const std::lock_guard lock(mutex_);
    streams_.sweep();
    ++operations_;
    report_.pairs().begin(operation);
    if (operation.stream != nullptr && traits_of(operation.kind).is_in_order) {
      if (operation.capture != 0) {
        graphs_.add(operation);
      } else {
        submit(operation);
      }
      return;
    }
    switch (operation.kind) {
      case OperationKind::free: free(operation); break;
      case OperationKind::synchronize:
      case OperationKind::query: awaited_[operation.id] = awaited_by(operation); break;
      case OperationKind::host_access:
      case OperationKind::host_copy: access_by_host(operation); break;
      case OperationKind::unregister_host: unregister(operation); break;
      default: break;
    }
  }

  void after(const Operation& operation) noexcept override try {
    bool is_blocking = true;
    if (operation.kind == OperationKind::create_stream && operation.stream != nullptr) {
      is_blocking = !operation.stream->is_non_blocking();  // may call the driver, so not under the lock
    }
    const std::lock_guard lock(mutex_);
    if (operation.has_failed && operation.stream != nullptr && traits_of(operation.kind).is_in_order) withdraw(operation);
    graphs_.follow(operation);
    report_.pairs().end(operation);
    switch (operation.kind) {
      case OperationKind::create_stream:
        if (operation.stream != nullptr) streams_.add(operation, is_blocking);
        break;
      case OperationKind::synchronize:
      case OperationKind::query: {
        const auto waited = awaited_.extract(operation.id);
        if (waited.empty() || operation.has_failed) break;
        if (operation.kind == OperationKind::synchronize || operation.is_complete) streams_.host_learns(waited.mapped());
        break;
      }
      case OperationKind::allocate: allocate(operation); break;
      case OperationKind::register_host:
        if (!operation.has_failed) add_foreign(operation, true);
        break;
      case OperationKind::module_global: add_foreign(operation, false); break;
      case OperationKind::set_name:
        if (operation.allocation == nullptr || operation.has_failed) break;
        if (Block* const block = accesses_.memory().find(model::number_of(operation.allocation->data())))
          block->name = operation.label;
        break;
      case OperationKind::destroy_graph:
        if (operation.exec != nullptr) launched_.erase(operation.exec);
        break;
      default: break;
    }
  } catch (const std::exception& error) {
    support::log(support::LogLevel::error, "race: ", error.what());
  }

  /// All work that is ordered before the function is complete when it begins. The function may signal that to the program,
  /// so the work counts as complete for the host.
  void begin_host_function(std::uint64_t operation) noexcept override try {
    const std::lock_guard lock(mutex_);
    if (const auto found = functions_.find(operation); found != functions_.end()) streams_.host_learns(found->second.clock);
  } catch (const std::exception& error) {
    support::log(support::LogLevel::error, "race: ", error.what());
  }

  void end_host_function(std::uint64_t operation) noexcept override {
    const std::lock_guard lock(mutex_);
    const auto found = functions_.find(operation);
    if (found != functions_.end() && !found->second.in_graph) functions_.erase(found);
  }

  int finish() noexcept override {
    const std::lock_guard lock(mutex_);
    accesses_.settle(true);
    return report_.finish(operations_);
  }

 private:
  /// An enqueued host function and the operations ordered before it.
  struct Function {
    Point point;
    Clock clock;
    std::string where;      ///< its stream
    std::string name = {};  ///< as in reports
    bool in_graph = false;
  };

  /// Handles an operation that is submitted to a stream outside captures: work, a wait or a record.
  void submit(const Operation& operation) {
    StreamState& state = streams_.submit(operation);
    switch (operation.kind) {
      case OperationKind::record: events_[operation.event] = {state.clock, state.lane}; return;
      case OperationKind::wait_event: return wait_for_event(operation, state);
      case OperationKind::wait_stream: return wait_for_stream(operation, state);
      default: break;
    }
    graphs_.leave(operation.stream_key);
    const Point point = state.clock.advance(state.lane);
    switch (operation.kind) {
      case OperationKind::allocate: return;  // `after` handles it, when the address is known
      case OperationKind::free: return free(operation);
      case OperationKind::launch_graph: return launch_graph(operation, state, point);
      case OperationKind::host_function:
      case OperationKind::callback:
        return add_function(operation.id, {point, state.clock, model::place_of(operation), model::quoted(operation.label)});
      default: break;
    }
    const OperationTraits traits = traits_of(operation.kind);
    if (!traits.reads && !traits.writes) return;
    StepPtr step;
    const auto the_step = [&]() -> const StepPtr& { return step ? step : step = steps_.make(operation); };
    for (const MemoryOperation& each : operation.memory_operations) {
      accesses_.operate(each, point, state.clock);
      if (each.is_write()) touch(model::access_of(each), point, the_step(), state.clock, Accessor::value);
    }
    for (const MemoryAccess& memory : operation.accesses) {
      if (operation.kind == OperationKind::copy) record_pageable(memory);
      Access access = make_access(memory, point, the_step());
      access.is_any_time = operation.reads_any_time && !access.writes();
      const Clock& before = access.is_any_time ? streams_.host() : state.clock;
      access.clock = kept(before);
      accesses_.touch(std::move(access), before, false, operation.element);
    }
  }

  void wait_for_event(const Operation& operation, StreamState& state) {
    if (!operation.event->is_recorded()) return;  // the stored clock belongs to an earlier event at this address
    const auto found = events_.find(operation.event);
    if (found == events_.end()) {
      state.clock.join(streams_.everything());  // other code recorded it, after unknown work
    } else if (!graphs_.join(operation)) {
      state.wait_for(found->second.clock, found->second.lane, model::quoted(operation.event->name()));
    }
  }

  void wait_for_stream(const Operation& operation, StreamState& state) {
    if (graphs_.join(operation)) return;
    StreamState& other = streams_.of(operation.awaited);
    streams_.order_against_default_stream(other);
    state.wait_for(other.clock, other.lane);
  }

  void launch_graph(const Operation& operation, StreamState& state, const Point& point) {
    const std::vector<Node>* const nodes = graphs_.nodes_of(operation);
    if (nodes == nullptr) return;
    Clock& last_launch = launched_[operation.exec];
    state.clock.join(last_launch);  // launches of one executable run one after another
    for (const Node& node : *nodes) {
      for (const Event* const awaited : node.awaited) {
        const auto event = events_.find(awaited);
        if (event != events_.end() && !event->second.is_captured()) state.clock.join(event->second.clock);
      }
    }
    for (const Node& node : *nodes) {
      for (const MemoryOperation& each : node.memory_operations) accesses_.operate(each, point, state.clock);
    }
    const StepPtr step = steps_.make(operation);
    const std::shared_ptr<const Clock> clock = kept(state.clock);
    if (report_.pairs().are_wanted()) {
      std::set<std::uint64_t> operations;
      for (const Node& node : *nodes) {
        for (const Access& access : node.accesses) operations.insert(access.step->operation);
      }
      report_.pairs().launch(operation.id, operations);
    }
    for (const Node& node : *nodes) {
      if (node.is_disabled) continue;
      for (const Access& captured : node.accesses) {
        Access access = node.placed(captured);
        access.launch = step;
        access.point = point;
        access.clock = clock;
        accesses_.touch(std::move(access), state.clock);
      }
      for (const std::uint64_t function : node.host_functions)
        add_function(function, {.point = point, .clock = state.clock, .where = step->where, .in_graph = true});
      for (const Event* const recorded : node.recorded) events_[recorded] = {state.clock, state.lane};
    }
    last_launch = state.clock;
  }

  /// Removes an operation that the driver or another tool refused. It has touched no memory.
  void withdraw(const Operation& operation) {
    functions_.erase(operation.id);
    if (operation.capture != 0) return graphs_.withdraw(operation);
    const auto forget = [&](const void* address) { accesses_.withdraw(operation.id, model::number_of(address)); };
    for (const MemoryAccess& memory : operation.accesses) forget(memory.address);
    for (const MemoryOperation& each : operation.memory_operations) forget(each.address);
    const std::vector<Node>* const nodes = graphs_.nodes_of(operation);
    if (nodes == nullptr) return;
    for (const Node& node : *nodes) {
      for (const Access& access : node.accesses) accesses_.withdraw(operation.id, access.region.begin);
    }
  }

  /// Returns the clock of the operations that are complete after the host's wait `operation`.
  Clock awaited_by(const Operation& operation) {
    if (operation.event != nullptr) {
      const auto found = events_.find(operation.event);
      if (!operation.event->is_recorded() || (found != events_.end() && found->second.is_captured())) return {};
      return found != events_.end() ? found->second.clock : streams_.everything();  // other code recorded it
    }
    if (operation.stream == nullptr) return streams_.all_of(*operation.device);
    StreamState& state = streams_.of(operation);
    streams_.order_against_default_stream(state);
    return state.clock;
  }

  void touch(const MemoryAccess& memory, const Point& point, const StepPtr& step, const Clock& clock,
             Accessor by = Accessor::work) {
    Access access = make_access(memory, point, step, by);
    access.clock = kept(clock);
    accesses_.touch(std::move(access), clock);
  }

  void access_by_host(const Operation& operation) {
    if (operation.host_function != 0) {
      const auto found = functions_.find(operation.host_function);
      if (found == functions_.end()) return;
      const Function& function = found->second;
      const StepPtr step =
          steps_.make(operation, operation.name, function.where + " (in its host function" + function.name + ")");
      for (const MemoryAccess& memory : operation.accesses)
        touch(memory, function.point, step, function.clock, Accessor::watcher);
      return;
    }
    const Point point = streams_.advance_host();
    const StepPtr step = steps_.make(operation, operation.name, "the host");
    for (const MemoryAccess& memory : operation.accesses) {
      if (operation.kind == OperationKind::copy) forget_freed(memory);
      touch(memory, point, step, streams_.host(), Accessor::watcher);
    }
  }

  void allocate(const Operation& operation) {
    if (operation.has_failed || operation.accesses.empty()) return;
    const MemoryAccess& memory = operation.accesses.front();
    const std::uintptr_t begin = model::number_of(memory.address);
    const StepPtr step = steps_.make(operation);
    Block& block = accesses_.memory().add({begin, begin + memory.bytes, step});
    block.is_of_device = operation.allocation == nullptr || operation.allocation->kind() == MemoryKind::device;
    if (operation.stream == nullptr) return;
    if (operation.capture != 0) return graphs_.add_allocation(operation, step);
    const StreamState& state = streams_.of(operation);
    block.accesses.push_back(make_access(memory, state.now(), step));
    block.accesses.back().clock = kept(state.clock);
  }

  /// Adds memory that Weir has not allocated, if it is not known yet: registered memory or a variable of a module.
  void add_foreign(const Operation& operation, bool replaces_freed) {
    for (const MemoryAccess& memory : operation.accesses) {
      const std::uintptr_t begin = model::number_of(memory.address);
      const Block* const block = accesses_.memory().find(begin);
      if (block == nullptr || (replaces_freed && block->freed))
        accesses_.memory().add({begin, begin + memory.bytes, steps_.make(operation)});
    }
  }

  void free(const Operation& operation) {
    for (const MemoryAccess& memory : operation.accesses) {
      Block* const block = accesses_.memory().find(model::number_of(memory.address));
      if (block == nullptr) continue;
      const StepPtr step = steps_.make(operation);
      if (operation.stream != nullptr) {
        const StreamState& state = streams_.of(operation);
        Access access = make_access(memory, state.now(), step);
        access.clock = kept(state.clock);
        accesses_.touch(std::move(access), state.clock, true);
        block->freed = step;
        block->freed_at = state.now();
        continue;
      }
      // The free waits only for work on the memory's own device.
      accesses_.judge_end(*block, make_access(memory, streams_.advance_host(), step), step->device);
      accesses_.memory().remove(block->begin);
    }
  }

  /// Handles the end of a registration. Unlike a free, it does not wait for work.
  void unregister(const Operation& operation) {
    for (const MemoryAccess& memory : operation.accesses) {
      const std::uintptr_t begin = model::number_of(memory.address);
      const Block* const block = accesses_.memory().find(begin);
      if (block == nullptr) continue;
      const StepPtr step = steps_.make(operation, "the end of a HostRegistration", "the host");
      accesses_.judge_end(*block, make_access(memory, streams_.advance_host(), step), "");
      accesses_.memory().remove(begin);
    }
  }

  /// Removes a freed block that a copy uses, if it may be pageable memory now: on the host backend, and with managed memory,
  /// the heap may place that where stream-ordered memory was.
  void forget_freed(const MemoryAccess& memory) {
    const Block* const block = accesses_.memory().find(model::number_of(memory.address));
    if (block != nullptr && block->freed && model::is_readable(memory.address)) accesses_.memory().remove(block->begin);
  }

  /// Begins to check a copy's pageable memory.
  void record_pageable(const MemoryAccess& memory) {
    forget_freed(memory);
    const Block* const block = accesses_.memory().find(model::number_of(memory.address));
    if ((block == nullptr || block->is_pageable) && model::is_readable(memory.address))
      accesses_.add_pageable(Region(memory));
  }

  void add_function(std::uint64_t operation, Function function) {
    if (functions_.size() >= most_functions) {
      functions_.erase(functions_.begin());
      report_.add_limit(
          fmt::format("more than {} host functions are pending, so the first ones were dropped", most_functions));
    }
    functions_[operation] = std::move(function);
  }

  /// Returns a copy of the clock for an access, or null if none is needed. Later operations may still be ordered before this
  /// one if waits are open, or if there are host functions, which touch memory when they run.
  std::shared_ptr<const Clock> kept(const Clock& clock) const {
    return clock.is_open() || !functions_.empty() ? std::make_shared<const Clock>(clock) : nullptr;
  }

  std::mutex mutex_;
  std::uint64_t operations_ = 0;
  Report report_;
  model::StepMaker steps_;
  Streams streams_;
  Events events_;
  Accesses accesses_{report_, streams_};
  Graphs graphs_{report_, steps_, accesses_.memory(), events_};
  std::map<std::uint64_t, Function> functions_;
  std::map<std::uint64_t, Clock> awaited_;      // by operation: the clock that a wait of the host adds
  std::map<const GraphExec*, Clock> launched_;  // the clock of each executable's last launch
};

Tool* create() { return new Detector(read_options()); }

}  // namespace
}  // namespace weir::race

WEIR_TOOL("race", WEIR_VERSION_STRING, weir::race::create)
