// SPDX-License-Identifier: Apache-2.0
#include "tools/race/detector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "tools/validate/memory_map.hpp"
#include "weir/backend.hpp"
#include "weir/plugin/support.hpp"
#include "weir/device.hpp"
#include "weir/event.hpp"
#include "weir/module.hpp"
#include "weir/stream.hpp"
#include "weir/version.hpp"

namespace weir::race {
namespace {

// Of one value, so many writes are known, and so many waits that no write is known to end. Clocks have all those in them.
constexpr std::size_t most_writes = 4096, most_waiters = 1024;
constexpr std::size_t most_doubts = 10000;
// Host functions that were enqueued, and those of graphs, which may run again.
constexpr std::size_t most_functions = 65536;

bool meets(std::uint64_t now, const MemoryOperation& wait) noexcept {
  const std::uint64_t mask = wait.is_64() ? ~std::uint64_t{0} : 0xFFFFFFFFU;
  switch (wait.condition) {
    case WaitCondition::geq:
      return wait.is_64() ? static_cast<std::int64_t>(now - wait.value) >= 0
                          : static_cast<std::int32_t>(static_cast<std::uint32_t>(now - wait.value)) >= 0;
    case WaitCondition::eq: return ((now ^ wait.value) & mask) == 0;
    case WaitCondition::bit_and: return (now & wait.value & mask) != 0;
    case WaitCondition::bit_nor: return (~(now | wait.value) & mask) != 0;
  }
  return false;
}

std::string place_of(const Operation& operation) {
  if (operation.stream == nullptr) return "the host";
  std::string text = operation.device->describe();
  switch (operation.stream->kind()) {
    case StreamKind::legacy_default: return text + " default stream";
    case StreamKind::per_thread_default:
      return fmt::format("{} per-thread default stream of thread {}", text, operation.stream_key.thread);
    default: return fmt::format("{} stream {}", text, operation.stream_key.handle);
  }
}

MemoryAccess written_by(const MemoryOperation& operation) noexcept {
  return {operation.address, operation.is_64() ? sizeof(std::uint64_t) : sizeof(std::uint32_t), AccessKind::write};
}

}  // namespace

// --- What the program does --------------------------------------------------------------------------------------------

void Detector::before(const Operation& operation) {
  const std::lock_guard lock(mutex_);
  if (operation.stream != nullptr && traits_of(operation.kind).is_in_order) {
    if (operation.capture != 0) {
      note_in_capture(operation);
    } else {
      run(operation);
    }
    return;
  }
  switch (operation.kind) {
    case OperationKind::free: free(operation); break;
    case OperationKind::synchronize:
    case OperationKind::query: {
      Clock& clock = awaited_[operation.id];
      if (operation.event != nullptr) {
        const auto found = events_.find(operation.event);
        if (found == events_.end()) {
          if (operation.event->is_recorded()) clock = everything();  // by other code
        } else if (operation.event->is_recorded() && found->second.capture.number == 0) {
          clock = found->second.clock;
        }
      } else if (operation.stream != nullptr) {
        StreamState& state = state_of(operation);
        order_against_default_stream(state);
        clock = state.clock;
      } else {
        for (const auto& [key, state] : streams_) {
          if (state.device == operation.device) clock.join(state.clock);
        }
      }
      break;
    }
    case OperationKind::host_access:
    case OperationKind::host_copy: check_host(operation); break;
    case OperationKind::unregister_host: unregister(operation); break;
    default: break;
  }
}

void Detector::after(const Operation& operation) noexcept try {
  bool is_blocking = true;
  if (operation.kind == OperationKind::create_stream && operation.stream != nullptr) {
    is_blocking = !operation.stream->is_non_blocking();  // may ask the driver, so outside the lock
  }
  const std::lock_guard lock(mutex_);
  if (operation.has_failed && operation.stream != nullptr && traits_of(operation.kind).is_in_order) withdraw(operation);
  switch (operation.kind) {
    case OperationKind::create_stream: {
      if (operation.stream == nullptr) break;
      StreamState& state = streams_[operation.stream_key];
      // A handle of the driver's may have been another stream's before.
      if (state.lane != 0) retired_.push_back({state.lane, state.clock.at(state.lane)});
      const std::uint32_t lane = new_lane();
      state = {lane, host_, operation.device, false, is_blocking, true, {}};
      break;
    }
    case OperationKind::synchronize:
    case OperationKind::query: {
      const auto waited = awaited_.extract(operation.id);
      if (waited.empty() || operation.has_failed) break;
      if (operation.kind == OperationKind::synchronize || operation.is_complete) host_learns(waited.mapped());
      break;
    }
    case OperationKind::allocate: allocate(operation); break;
    case OperationKind::register_host:
      for (const MemoryAccess& access : operation.accesses) {
        const Block* const block = memory_.find(reinterpret_cast<std::uintptr_t>(access.address));
        if (!operation.has_failed && (block == nullptr || block->freed)) {
          memory_.add(reinterpret_cast<std::uintptr_t>(access.address), access.bytes, step_of(operation, operation.name));
        }
      }
      break;
    case OperationKind::module_global:
      for (const MemoryAccess& access : operation.accesses) {
        if (memory_.find(reinterpret_cast<std::uintptr_t>(access.address)) == nullptr)
          memory_.add(reinterpret_cast<std::uintptr_t>(access.address), access.bytes, step_of(operation, operation.name));
      }
      break;
    case OperationKind::begin_capture:
      if (!operation.has_failed) {
        Capture& capture = capture_of(operation);
        if (operation.graph != nullptr) {  // it continues that graph, behind all of its work
          if (const auto found = graphs_.find(operation.graph); found != graphs_.end() && found->second)
            capture.model = *found->second;
          Clock all;
          for (const Node& node : capture.model.nodes) all.join(node.clock);
          lane_of(capture, operation.stream_key).second.join(all);
        }
      }
      break;
    case OperationKind::end_capture: end_capture(operation); break;
    case OperationKind::conditional: {
      auto& open = conditionals_[operation.thread];
      std::erase(open, operation.id);
      std::vector<Node> nodes = std::exchange(bodies_[operation.id], {});
      bodies_.erase(operation.id);
      for (auto next = captures_.begin(); next != captures_.end();) {
        if (next->second.conditional != operation.id) {
          ++next;
          continue;
        }
        check_graph(next->second.model);
        for (Node& node : next->second.model.nodes) nodes.push_back(std::move(node));
        next = captures_.erase(next);
      }
      if (Node* const node = node_of(operation)) add_model(*node, Model{std::move(nodes), 0});
      break;
    }
    case OperationKind::clone_graph:
      if (operation.new_graph != nullptr) {
        const auto found = graphs_.find(operation.graph);
        const ModelPtr model = found != graphs_.end() ? found->second : nullptr;
        graphs_[operation.new_graph] = model;  // where another graph may have been before
      }
      break;
    case OperationKind::instantiate:
    case OperationKind::update_graph:
      if (operation.exec != nullptr && !operation.has_failed) {
        const auto found = graphs_.find(operation.graph);
        Executable& executable = executables_[operation.exec];
        if (operation.kind == OperationKind::instantiate) executable = {};
        executable.model = found != graphs_.end() ? found->second : nullptr;
      }
      break;
    case OperationKind::host_function:
    case OperationKind::callback:
      if (operation.has_failed) functions_.erase(operation.id);
      break;
    default: break;
  }
} catch (const std::exception& error) {
  support::log(support::LogLevel::error, "race: ", error.what());
}

/// Whoever learns from the function that it runs knows that all before it is done.
void Detector::begin_host_function(std::uint64_t operation) noexcept try {
  const std::lock_guard lock(mutex_);
  if (const auto found = functions_.find(operation); found != functions_.end()) host_learns(found->second.clock);
} catch (const std::exception& error) {
  support::log(support::LogLevel::error, "race: ", error.what());
}

void Detector::end_host_function(std::uint64_t operation) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = functions_.find(operation);
  if (found != functions_.end() && !found->second.in_graph) functions_.erase(found);
}

int Detector::finish() noexcept {
  const std::lock_guard lock(mutex_);
  settle_doubts(true);
  return report_.finish();
}

/// Judges those whose waits are no more open. At the end the others go, too: where a wait stayed open, the host or a kernel
/// ended it, in an order that is not known here.
void Detector::settle_doubts(bool is_end) {
  std::erase_if(doubts_, [&](const Doubt& doubt) {
    bool open = false;
    if (doubt.second_clock.covers(doubt.first.point, open) || doubt.first_clock.covers(doubt.second.point, open))
      return true;
    if (!open) tell(doubt.first, doubt.second, doubt.block);
    return !open || is_end;
  });
}

// --- Streams ----------------------------------------------------------------------------------------------------------

Detector::StreamState& Detector::state_of(const StreamKey& key) {
  const auto [there, is_new] = streams_.try_emplace(key);
  if (is_new) {
    there->second.lane = new_lane();
    there->second.device = key.device;
  }
  return there->second;
}

Detector::StreamState& Detector::state_of(const Operation& operation) {
  StreamState& state = state_of(operation.stream_key);
  if (state.is_known || operation.capture != 0) return state;  // drivers do not tell it of a stream that captures
  state.is_legacy = operation.stream->kind() == StreamKind::legacy_default;
  try {
    state.is_blocking = !operation.stream->is_non_blocking();
  } catch (const std::exception&) {
    // It counts as ordered.
  }
  state.is_known = true;
  return state;
}

/// A lane whose stream is gone and all of whose work the host knows to be done, or else a new one: clocks grow with lanes.
/// Its numbers go on.
std::uint32_t Detector::new_lane() {
  const auto over =
      std::find_if(retired_.begin(), retired_.end(), [&](const Point& last) { return host_.at(last.lane) >= last.number; });
  if (over == retired_.end()) return ++last_lane_;
  const std::uint32_t lane = over->lane;
  retired_.erase(over);
  return lane;
}

void Detector::order_against_default_stream(StreamState& state) {
  if (!state.is_legacy && !state.is_blocking) return;
  for (const auto& [key, other] : streams_) {
    if (other.device == state.device && (state.is_legacy ? other.is_blocking : other.is_legacy))
      state.clock.join(other.clock);
  }
}

std::string Detector::what_of(const Operation& operation) const {
  if (operation.kernel != nullptr) return fmt::format("kernel '{}'", operation.kernel->name());
  return operation.kind == OperationKind::free ? "the free" : operation.name;
}

/// Of an operation that `clock` comes before.
Access Detector::access_of(const MemoryAccess& access, const Point& point, const StepPtr& step, const Clock& clock,
                           Toucher by) const {
  Access result{Region(access), access.kind != AccessKind::write, access.kind != AccessKind::read, point, step, kept(clock)};
  result.by = by;
  return result;
}

/// A copy, if what comes later may come before it: where waits are open, and where a host function will touch memory when it
/// runs.
std::shared_ptr<const Clock> Detector::kept(const Clock& clock) const {
  return clock.is_open() || !functions_.empty() ? std::make_shared<const Clock>(clock) : nullptr;
}

StepPtr Detector::step_of(const Operation& operation, std::string what) {
  return step_of(operation, std::move(what), place_of(operation));
}

StepPtr Detector::step_of(const Operation& operation, std::string what, std::string where) {
  Stack stack = take_stack();
  const auto place = places_.emplace(stack, static_cast<std::uint32_t>(places_.size())).first->second;
  return std::make_shared<const Step>(Step{operation.id, std::move(what), std::move(where), operation.device->describe(),
                                           std::string(operation.tag), operation.thread, std::move(stack), place});
}

/// Work, or an order, that is submitted to a stream and runs.
void Detector::run(const Operation& operation) {
  StreamState& state = state_of(operation);
  state.clock.settle();
  state.clock.join(host_);
  order_against_default_stream(state);
  switch (operation.kind) {
    case OperationKind::record: events_[operation.event] = {state.clock, {}, state.lane}; return;
    case OperationKind::wait_event: {
      if (!operation.event->is_recorded()) return;  // what is known is of an event that was there before
      const auto found = events_.find(operation.event);
      if (found == events_.end()) {
        state.clock.join(everything());  // other code has recorded it, behind whatever it was
      } else if (found->second.capture.number != 0) {
        join_capture(operation);
      } else {
        state.clock.join(found->second.clock);
        state.waited[found->second.lane] = found->second.clock.at(found->second.lane);
      }
      return;
    }
    case OperationKind::wait_stream: {
      for (const auto& [id, capture] : captures_) {
        if (capture.lanes.contains(operation.awaited)) return join_capture(operation);
      }
      StreamState& other = state_of(operation.awaited);
      order_against_default_stream(other);
      state.clock.join(other.clock);
      state.waited[other.lane] = other.clock.at(other.lane);
      return;
    }
    default: break;
  }
  // It is in no capture any more, if it was in one.
  for (auto& [id, capture] : captures_) capture.lanes.erase(operation.stream_key);
  const Point point = state.clock.advance(state.lane);
  switch (operation.kind) {
    case OperationKind::allocate: return;  // `after` has the address
    case OperationKind::free: return free(operation);
    case OperationKind::launch_graph: return launch(operation, state, point);
    case OperationKind::memory_operations: {
      StepPtr step;
      for (const MemoryOperation& each : operation.memory_operations) {
        operate(each, values_, point, state.clock);
        if (!each.is_write()) continue;
        if (!step) step = step_of(operation, operation.name);
        touch(access_of(written_by(each), point, step, state.clock, Toucher::value), state.clock);
      }
      return;
    }
    case OperationKind::host_function:
    case OperationKind::callback: add_function(operation.id, {point, state.clock, place_of(operation), false}); return;
    default: break;
  }
  const OperationTraits traits = traits_of(operation.kind);
  if (operation.accesses.empty() || (!traits.reads && !traits.writes)) return;
  const StepPtr step = step_of(operation, what_of(operation));
  for (const MemoryAccess& access : operation.accesses) {
    if (operation.kind == OperationKind::copy) forget_if_pageable(access.address);
    touch(access_of(access, point, step, state.clock), state.clock);
  }
}

/// A copy takes pageable memory, which the heap may have made where memory of a stream's was: on the host backend, and for
/// managed memory. So much of what was freed is not looked at.
void Detector::forget_if_pageable(const void* address) {
  const Block* const block = memory_.find(reinterpret_cast<std::uintptr_t>(address));
  if (block != nullptr && block->freed && validate::is_readable(address)) memory_.remove(block->begin);
}

/// An operation that was refused, by the driver or by another tool, has touched nothing.
void Detector::withdraw(const Operation& operation) {
  if (operation.capture != 0) {
    if (const auto capture = captures_.find(capture_id(operation)); capture != captures_.end()) {
      std::erase_if(capture->second.model.nodes, [&](const Node& node) { return node.operation == operation.id; });
      std::erase_if(capture->second.freed, [&](const Access& freed) { return freed.step->operation == operation.id; });
    }
    return;
  }
  const auto forget = [&](const MemoryAccess& memory) {
    Block* const block = memory_.find(reinterpret_cast<std::uintptr_t>(memory.address));
    if (block == nullptr) return;
    std::erase_if(block->accesses, [&](const Access& access) {
      return access.step->operation == operation.id || (access.launch && access.launch->operation == operation.id);
    });
  };
  for (const MemoryAccess& memory : operation.accesses) forget(memory);
  for (const MemoryOperation& each : operation.memory_operations) {
    if (each.is_write()) forget(written_by(each));
  }
  const auto executable = executables_.find(operation.exec);
  if (executable == executables_.end() || !executable->second.model) return;
  for (const Node& node : executable->second.model->nodes) {
    for (const Access& access : node.accesses) forget({reinterpret_cast<const void*>(access.region.begin), 1});
  }
}

void Detector::add_function(std::uint64_t operation, Function function) {
  if (functions_.size() >= most_functions) {
    functions_.erase(functions_.begin());
    report_.add_limit(fmt::format("more than {} host functions have not run, and the first are forgotten", most_functions));
  }
  functions_[operation] = std::move(function);
}

void Detector::host_learns(const Clock& clock) {
  // Something that is not seen here ended these: the host's own store, or a kernel's.
  for (const auto& wait : clock.open_waits()) {
    if (!wait->before) wait->before = std::make_unique<Clock>(everything());
  }
  host_.join(clock);
}

Clock Detector::everything() const {
  Clock clock;
  clock.join_numbers(host_);
  for (const auto& [key, state] : streams_) clock.join_numbers(state.clock);
  return clock;
}

// --- Values -----------------------------------------------------------------------------------------------------------

/// `point` and `clock`: of the operation. Returns false for a wait of which it is not known what ends it.
bool Detector::operate(const MemoryOperation& operation, Values& values, const Point& point, Clock& clock) {
  if (operation.is_wait()) return wait(operation, values, point, clock);
  if (operation.is_write()) write(operation, values, point, clock);
  return true;
}

void Detector::write(const MemoryOperation& operation, Values& values, const Point& point, const Clock& clock) {
  Writes& writes = values.writes[operation.address][point.lane];
  if (writes.list.size() >= most_writes) {
    writes.list.pop_front();
    writes.has_forgotten = true;
  }
  writes.list.push_back({operation.value, point, clock});
  if (const auto endless = values.endless.find(operation.address);
      endless != values.endless.end() && !endless->second->before) {
    report_.add_limit(
        fmt::format("more than {} waits for the value at {} were open, and it is not looked for what ends more",
                    most_waiters, operation.address));
  }
  const auto own = clock.open_waits();
  std::erase_if(values.waiters[operation.address], [&](Waiter& waiter) {
    std::unique_ptr<Clock>& before = waiter.result->before;
    bool open = false;
    if (before && (waiter.ended_by == Point{} || clock.covers(waiter.point, open))) return true;  // by the host; or long ago
    if (!meets(operation.value, waiter.wait)) return false;
    if (!before) {
      if (std::find(own.begin(), own.end(), waiter.result) != own.end()) return false;  // the write comes behind that wait
      before = std::make_unique<Clock>(clock);
      waiter.ended_by = point;
    } else if (!clock.covers(waiter.ended_by, open)) {  // either may have ended it
      before = std::make_unique<Clock>(common(*before, clock));
    }
    return false;
  });
}

/// The writes of which any may have ended that wait, which `clock` comes before.
std::vector<const Detector::Write*> Detector::ends_of(const MemoryOperation& operation, Values& values, const Clock& clock) {
  std::map<std::uint32_t, Writes>& lanes = values.writes[operation.address];
  const auto first_behind = [](std::deque<Write>& list, std::uint64_t number) {
    return std::upper_bound(list.begin(), list.end(), number,
                            [](std::uint64_t last, const Write& write) { return last < write.point.number; });
  };
  // Of each lane, the last write that surely comes before the wait: the writes before that one are written over.
  std::vector<Write*> known;
  for (auto& [lane, writes] : lanes) {
    const auto behind = first_behind(writes.list, clock.at(lane));
    if (behind == writes.list.begin()) continue;
    known.push_back(&*std::prev(behind));
    known.back()->clock.settle();
  }
  // Of each lane, the first write that may end the wait. What comes before that one comes before the later ones, too.
  std::vector<const Write*> ends;
  for (auto& [lane, writes] : lanes) {
    auto write = writes.list.begin();
    bool is_first_known = !writes.has_forgotten;
    for (Write* const last : known) {
      const auto from = last->point.lane == lane ? std::prev(first_behind(writes.list, last->point.number))
                                                 : first_behind(writes.list, last->clock.at(lane));
      if (from < write) continue;
      write = from;
      is_first_known = is_first_known || last->point.lane == lane || from != writes.list.begin();
    }
    write = std::find_if(write, writes.list.end(), [&](const Write& each) { return meets(each.value, operation); });
    if (write == writes.list.end()) continue;
    if (!is_first_known && write == writes.list.begin()) {
      report_.add_limit(
          fmt::format("of one stream's writes of the value at {} the last {} are known, and a wait is for an earlier one",
                      operation.address, most_writes));
    }
    ends.push_back(&*write);
  }
  for (auto write = ends.begin(); write != ends.end();) {  // likewise of two lanes whose writes are in order
    const bool is_later = std::any_of(ends.begin(), ends.end(), [&](const Write* other) {
      bool open = false;
      return other != *write && (*write)->clock.covers(other->point, open);
    });
    write = is_later ? ends.erase(write) : std::next(write);
  }
  return ends;
}

bool Detector::wait(const MemoryOperation& operation, Values& values, const Point& point, Clock& clock) {
  clock.settle();
  if (const std::vector<const Write*> ends = ends_of(operation, values, clock); !ends.empty()) {
    Clock before = ends.front()->clock;
    for (std::size_t i = 1; i < ends.size(); ++i) before = common(std::move(before), ends[i]->clock);
    clock.join(before);
    return true;
  }
  auto result = std::make_shared<ValueWait>();
  std::vector<Waiter>& waiters = values.waiters[operation.address];
  if (waiters.size() >= most_waiters)
    std::erase_if(waiters, [](const Waiter& each) { return each.result->before != nullptr; });
  if (waiters.size() < most_waiters) {
    waiters.push_back({operation, point, result});
  } else {  // the host or a kernel ends them, it seems
    std::shared_ptr<ValueWait>& endless = values.endless[operation.address];
    if (!endless || endless->before) endless = std::move(result);
    result = endless;
  }
  clock.add(std::move(result));
  return false;
}

/// The values there are written over by something else, so that no later wait is for them.
void Detector::forget_values(Values& values, const Region& region) {
  constexpr std::uintptr_t widest = sizeof(std::uint64_t);
  auto& writes = values.writes;
  auto next = writes.lower_bound(reinterpret_cast<const void*>(region.begin - std::min(region.begin, widest - 1)));
  while (next != writes.end() && reinterpret_cast<std::uintptr_t>(next->first) < region.end()) {
    next = writes.erase(next);
  }
}

// --- Memory -----------------------------------------------------------------------------------------------------------

void Detector::check_host(const Operation& operation) {
  std::string where = "the host";
  Point point;
  Clock clock;
  if (operation.host_function != 0) {
    const auto found = functions_.find(operation.host_function);
    if (found == functions_.end()) return;
    point = found->second.point;
    clock = found->second.clock;
    where = found->second.where + " (in its host function)";
  } else {
    point = host_.advance(0);
    clock = host_;
  }
  const StepPtr step = step_of(operation, operation.name, where);
  for (const MemoryAccess& access : operation.accesses)
    touch(access_of(access, point, step, clock, Toucher::watcher), clock);
}

void Detector::touch(Access access, const Clock& clock, bool is_free) {
  if (access.region.width == 0) return;
  Block* const block = memory_.find(access.region.begin);
  if (block == nullptr) {
    if (access.writes && access.by != Toucher::value) forget_values(values_, access.region);
    return;
  }
  if (access.region.is_one_piece()) access.region.width = std::min(access.region.width, block->end - access.region.begin);
  touch(*block, std::move(access), clock, is_free);
}

void Detector::touch(Block& block, Access access, const Clock& clock, bool is_free) {
  if (access.writes && access.by != Toucher::value) forget_values(values_, access.region);
  if (block.freed && !is_free) {
    // A host function that was enqueued before the free may touch the memory when the free is enqueued already.
    if (access.point.lane == block.freed_at.lane && access.point.number < block.freed_at.number) return;
    const Access freed{access.region, false, true, {}, block.freed, nullptr};
    report_.add(Fault::use_after_free, freed, access, block, "");
    return;
  }
  for (const Access& before : block.accesses) judge(before, access, clock, block);
  if (!add_access(block, std::move(access), clock, host_)) {
    report_.add_limit(
        fmt::format("more than {} accesses to the {} bytes at {:#x} are under way, and the first are forgotten",
                    most_accesses, block.end - block.begin, block.begin));
  }
}

void Detector::judge(const Access& first, const Access& second, const Clock& clock, Block& block) {
  if (!first.conflicts_with(second)) return;
  // A host function touches memory when it runs: work that comes behind it, on its stream or others, may have been submitted
  // before that.
  if (first.point.lane == second.point.lane) return;
  bool open = false;
  if (clock.covers(first.point, open) || (first.clock && first.clock->covers(second.point, open))) return;
  if (!open) return tell(first, second, block);
  if (doubts_.size() >= most_doubts) settle_doubts(false);
  if (doubts_.size() >= most_doubts) {
    report_.add_limit(
        fmt::format("more than {} pairs of operations depend on values that nothing has written", most_doubts));
    return;
  }
  doubts_.push_back({first, second, first.clock ? *first.clock : Clock(), clock,
                     Block{block.begin, block.end, block.made, nullptr, {}, {}}});
}

void Detector::tell(const Access& first, const Access& second, const Block& block) {
  if (report_.has_told(first, second)) return;
  report_.add(Fault::race, first, second, block, note_of(first, second));
}

/// Tells of a wait that was made, and came too early.
std::string Detector::note_of(const Access& first, const Access& second) const {
  for (const auto& [key, state] : streams_) {
    if (state.lane != second.point.lane) continue;
    const auto waited = state.waited.find(first.point.lane);
    if (waited == state.waited.end() || waited->second >= first.point.number) continue;
    return fmt::format("{} has waited for {}, but for {}: the event was recorded, or the wait made, too early",
                       second.where(), first.where(),
                       waited->second == 0 ? "a point before its first operation" : "a point before the first of the two");
  }
  return "";
}

void Detector::allocate(const Operation& operation) {
  if (operation.has_failed || operation.accesses.empty()) return;
  const MemoryAccess& access = operation.accesses.front();
  const StepPtr step = step_of(operation, operation.name);
  Block& block = memory_.add(reinterpret_cast<std::uintptr_t>(access.address), access.bytes, step);
  if (operation.stream == nullptr) return;
  if (operation.capture != 0) {
    if (Node* const node = node_of(operation)) {
      node->accesses.push_back(access_of(access, node->point, step, node->clock));
      check_freed(capture_of(operation), operation.kind, node->accesses.back(), node->clock);
    }
    return;
  }
  const StreamState& state = state_of(operation);
  const Point point{state.lane, state.clock.at(state.lane)};
  block.accesses.push_back(access_of(access, point, step, state.clock));
}

void Detector::free(const Operation& operation) {
  for (const MemoryAccess& memory : operation.accesses) {
    Block* const block = memory_.find(reinterpret_cast<std::uintptr_t>(memory.address));
    if (block == nullptr) continue;
    const StepPtr step = step_of(operation, what_of(operation));
    if (operation.stream != nullptr) {
      const StreamState& state = state_of(operation);
      touch(access_of(memory, {state.lane, state.clock.at(state.lane)}, step, state.clock), state.clock, true);
      block->freed = step;
      block->freed_at = {state.lane, state.clock.at(state.lane)};
      continue;
    }
    // The free waits for work of the memory's own device, and no other.
    for (const Access& before : block->accesses) {
      if (before.step->device == step->device) continue;
      judge(before, access_of(memory, host_.advance(0), step, host_), host_, *block);
    }
    memory_.remove(block->begin);
  }
}

/// It waits for nothing.
void Detector::unregister(const Operation& operation) {
  for (const MemoryAccess& memory : operation.accesses) {
    Block* const block = memory_.find(reinterpret_cast<std::uintptr_t>(memory.address));
    if (block == nullptr) continue;
    const Access access = access_of(memory, host_.advance(0), step_of(operation, "the end of a HostRegistration"), host_);
    for (const Access& before : block->accesses) judge(before, access, host_, *block);
    memory_.remove(reinterpret_cast<std::uintptr_t>(memory.address));
  }
}

Detector::CaptureId Detector::capture_id(const Operation& operation) {
  return {&operation.device->backend(), operation.capture};
}

// --- Graphs -----------------------------------------------------------------------------------------------------------

Detector::Capture& Detector::capture_of(const Operation& operation) {
  const auto [there, is_new] = captures_.try_emplace(capture_id(operation));
  if (is_new) {
    const std::vector<std::uint64_t>& open = conditionals_[operation.thread];
    if (!open.empty()) there->second.conditional = open.back();
  }
  return there->second;
}

std::pair<std::uint32_t, Clock>& Detector::lane_of(Capture& capture, const StreamKey& key) {
  const auto [there, is_new] = capture.lanes.try_emplace(key);
  if (is_new) there->second.first = ++capture.model.lanes;  // from 1, as 0 is the host
  return there->second;
}

/// A stream that waits for work of a capture, and is in none, joins it.
void Detector::join_capture(const Operation& operation) {
  if (operation.kind == OperationKind::wait_event) {
    const Snapshot& snapshot = events_.at(operation.event);
    const auto capture = captures_.find(snapshot.capture);
    if (capture != captures_.end()) lane_of(capture->second, operation.stream_key).second.join(snapshot.clock);
    return;
  }
  for (auto& [id, capture] : captures_) {
    const auto other = capture.lanes.find(operation.awaited);
    if (other == capture.lanes.end()) continue;
    const Clock clock = other->second.second;
    lane_of(capture, operation.stream_key).second.join(clock);
    return;
  }
}

void Detector::note_in_capture(const Operation& operation) {
  Capture& capture = capture_of(operation);
  auto& [lane, clock] = lane_of(capture, operation.stream_key);
  if (operation.kind == OperationKind::record && !operation.in_graph) {
    events_[operation.event] = {clock, capture_id(operation)};
    return;
  }
  if (operation.kind == OperationKind::wait_event && !operation.in_graph) {
    const auto found = events_.find(operation.event);
    if (found != events_.end() && found->second.capture == capture_id(operation)) {
      clock.join(found->second.clock);
    }
    return;
  }
  if (operation.kind == OperationKind::wait_stream) {
    if (const auto other = capture.lanes.find(operation.awaited); other != capture.lanes.end())
      clock.join(other->second.second);
    return;
  }
  Node node;
  const Point point = clock.advance(lane);
  node.operation = operation.id;
  node.point = point;
  const StepPtr step = step_of(operation, what_of(operation));
  const Toucher by = operation.kind == OperationKind::conditional ? Toucher::watcher : Toucher::work;
  for (const MemoryAccess& access : operation.accesses) {
    if (access.bytes == 0) continue;
    node.accesses.push_back(access_of(access, point, step, clock, by));
    check_freed(capture, operation.kind, node.accesses.back(), clock);
    if (node.accesses.back().writes) forget_values(capture.values, node.accesses.back().region);
  }
  for (const MemoryOperation& each : operation.memory_operations) {
    if (each.is_write()) node.accesses.push_back(access_of(written_by(each), point, step, clock, Toucher::value));
  }
  if (operation.kind == OperationKind::host_function) node.host_functions.push_back(operation.id);
  if (operation.kind == OperationKind::record) node.recorded.push_back(operation.event);
  if (operation.kind == OperationKind::wait_event) node.awaited.push_back(operation.event);
  if (operation.kind == OperationKind::child_graph) {
    const auto found = graphs_.find(operation.graph);
    if (found != graphs_.end() && found->second) add_model(node, *found->second);
  }
  if (operation.kind == OperationKind::launch_graph) {
    const auto found = executables_.find(operation.exec);
    if (found != executables_.end() && found->second.model) add_model(node, *found->second.model);
  }
  node.memory_operations.insert(node.memory_operations.end(), operation.memory_operations.begin(),
                                operation.memory_operations.end());
  // A wait that the graph itself ends is none of the launch's.
  std::erase_if(node.memory_operations, [&, &clock = clock](const MemoryOperation& each) {
    return operate(each, capture.values, point, clock) && !each.is_write();
  });
  node.clock = clock;
  capture.model.nodes.push_back(std::move(node));
  if (operation.kind == OperationKind::conditional) conditionals_[operation.thread].push_back(operation.id);
}

/// A graph within a graph: one node that does what all of its nodes do.
void Detector::add_model(Node& node, const Model& model) {
  const auto append = [](auto& all, const auto& more) { all.insert(all.end(), more.begin(), more.end()); };
  for (const Node& inner : model.nodes) {
    append(node.accesses, inner.accesses);
    append(node.memory_operations, inner.memory_operations);
    append(node.host_functions, inner.host_functions);
    append(node.recorded, inner.recorded);
    append(node.awaited, inner.awaited);
  }
  for (Access& access : node.accesses) access.point = node.point;
}

/// The node that the operation has become, or null.
Detector::Node* Detector::node_of(const Operation& operation) {
  const auto capture = captures_.find(capture_id(operation));
  if (capture == captures_.end()) return nullptr;
  std::vector<Node>& nodes = capture->second.model.nodes;
  const auto found =
      std::find_if(nodes.rbegin(), nodes.rend(), [&](const Node& node) { return node.operation == operation.id; });
  return found != nodes.rend() ? &*found : nullptr;
}

/// Of a node: what it uses may have been freed by a node before it. Where no order is between the two, that is a race.
void Detector::check_freed(Capture& capture, OperationKind kind, const Access& access, const Clock& clock) {
  if (kind == OperationKind::allocate) {
    std::erase_if(capture.freed, [&](const Access& freed) { return freed.region.overlaps(access.region); });
    return;
  }
  bool open = false;
  for (const Access& freed : capture.freed) {
    if (!freed.region.overlaps(access.region) || !clock.covers(freed.point, open)) continue;
    if (const Block* const block = memory_.find(access.region.begin))
      report_.add(Fault::use_after_free, freed, access, *block, "");
  }
  if (kind == OperationKind::free) capture.freed.push_back(access);
}

void Detector::end_capture(const Operation& operation) {
  const auto found = captures_.find(capture_id(operation));
  if (found == captures_.end()) return;
  if (operation.new_graph != nullptr && !operation.has_failed) {
    drop_ended_waits(found->second);
    check_graph(found->second.model);
    if (found->second.conditional != 0) {
      for (Node& node : found->second.model.nodes) bodies_[found->second.conditional].push_back(std::move(node));
    } else {
      graphs_[operation.new_graph] = std::make_shared<Model>(std::move(found->second.model));
    }
  }
  captures_.erase(found);
}

/// Of those waits that were open when they were captured: a later write may have ended them.
void Detector::drop_ended_waits(Capture& capture) {
  for (Node& node : capture.model.nodes) {
    std::erase_if(node.memory_operations, [&](const MemoryOperation& each) {
      const std::vector<Waiter>& open = capture.values.waiters[each.address];
      return each.is_wait() && std::none_of(open.begin(), open.end(), [&](const Waiter& waiter) {
               return !waiter.result->before && waiter.wait.value == each.value && waiter.wait.condition == each.condition;
             });
    });
  }
}

/// Reports nodes of one graph that may run at once and touch the same memory.
void Detector::check_graph(const Model& model) {
  struct Entry {
    const Access* access;
    const Node* node;
  };
  std::vector<Entry> entries;
  for (const Node& node : model.nodes) {
    for (const Access& access : node.accesses) entries.push_back({&access, &node});
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.access->region.begin < b.access->region.begin; });
  for (std::size_t i = 0; i < entries.size(); ++i) {
    for (std::size_t j = i + 1; j < entries.size() && entries[j].access->region.begin < entries[i].access->region.end();
         ++j) {
      const bool in_order = entries[i].node <= entries[j].node;  // that of the capture
      const Entry& first = in_order ? entries[i] : entries[j];
      const Entry& second = in_order ? entries[j] : entries[i];
      bool open = false;
      if (first.node == second.node || !first.access->conflicts_with(*second.access)) continue;
      if (second.node->clock.covers(first.access->point, open) || first.node->clock.covers(second.access->point, open))
        continue;
      if (Block* const block = memory_.find(std::max(first.access->region.begin, second.access->region.begin))) {
        report_.add(Fault::race, *first.access, *second.access, *block, "");
      }
    }
  }
}

void Detector::launch(const Operation& operation, StreamState& state, const Point& point) {
  const auto found = executables_.find(operation.exec);
  if (found == executables_.end() || !found->second.model) return;
  Executable& executable = found->second;
  state.clock.join(executable.last_launch);  // launches of one executable run one after another
  const Model& model = *executable.model;
  for (const Node& node : model.nodes) {
    for (const Event* const awaited : node.awaited) {
      const auto event = events_.find(awaited);
      if (event != events_.end() && event->second.capture.number == 0) state.clock.join(event->second.clock);
    }
  }
  for (const Node& node : model.nodes) {
    for (const MemoryOperation& each : node.memory_operations) operate(each, values_, point, state.clock);
  }
  const StepPtr launch_step = step_of(operation, what_of(operation));
  const std::shared_ptr<const Clock> clock = kept(state.clock);
  for (const Node& node : model.nodes) {
    for (Access access : node.accesses) {
      access.launch = launch_step;
      access.point = point;
      access.clock = clock;
      if (Block* const block = memory_.find(access.region.begin)) touch(*block, std::move(access), state.clock, false);
    }
    for (const std::uint64_t function : node.host_functions)
      add_function(function, {point, state.clock, launch_step->where, true});
    for (const Event* const recorded : node.recorded) events_[recorded] = {state.clock, {}, state.lane};
  }
  executable.last_launch = state.clock;
}

}  // namespace weir::race

namespace {

weir::Tool* create() { return new weir::race::Detector(weir::race::read_options()); }

}  // namespace

WEIR_TOOL("race", WEIR_VERSION_STRING, create)
