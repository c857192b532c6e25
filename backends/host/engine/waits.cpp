// SPDX-License-Identifier: Apache-2.0
#include "backends/host/engine/waits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "backends/host/engine/engine.hpp"
#include "backends/host/engine/executable.hpp"
#include "backends/host/engine/queue.hpp"
#include "backends/host/engine/value_waits.hpp"
#include "weir/device.hpp"
#include "weir/plugin/support.hpp"

namespace weir::host {
namespace {

using Kind = PendingWork::Kind;

StreamKey key_of(const Queue& queue) noexcept { return {&queue.device(), &queue, 0}; }

/// One condition that a piece of work waits for.
struct Obstacle {
  std::string what;
  Ptr<Signal> signal{};  ///< the signal that it waits for,
  std::optional<StreamKey> stream{};
  std::optional<MemoryOperation> value{};
};

/// The state of a piece of work, and what that work waits for.
struct State {
  PendingWork work;
  std::vector<Obstacle> obstacles;
  bool calls_program = false;
};

std::string name_of(const Queue& queue) {
  if (queue.role() == Queue::Role::legacy) return queue.device().describe() + " default stream";
  if (queue.role() == Queue::Role::per_thread) return queue.device().describe() + " per-thread default stream";
  return support::label_of(key_of(queue));
}

std::string words_of(const Signal& signal) {
  const auto* const queue = dynamic_cast<const Queue*>(&signal);
  return queue != nullptr ? name_of(*queue) : "an event that a launch of a graph records";
}

/// The state of a host function. `item`: the object through which the host-function thread runs it.
State state_of_function(const Queue& queue, const Runnable& item) {
  const HostThread& thread = queue.engine().host_thread();
  if (thread.runs(item)) return {{.kind = Kind::host_function, .subject = "which runs"}, {}, true};
  const Queue* const other = thread.runs_queue();
  // The thread runs the nodes of a graph one after the other, so the running function may be this one.
  if (other == &queue) return {{.kind = Kind::host_function, .subject = "which runs, or waits for its turn"}, {}, true};
  State state{{.kind = Kind::host_function, .subject = "which waits for its turn"}, {}};
  if (other != nullptr) state.obstacles.push_back({.what = "", .stream = StreamKey{&queue.device(), other, 0}});
  return state;
}

State state_of(const Work& work, const Queue& queue, const Runnable& item);

/// Index of the wait that blocks the batch; empty if it does not wait or has not started.
std::optional<std::size_t> wait_of(const MemoryOperations& operations) {
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (operations[i].is_wait() && ValueWaits::instance().has(operations[i])) return i;
  }
  return std::nullopt;
}

/// The state of a graph: the states of the nodes that have begun. Nodes that cannot continue come first.
State state_of_graph(const Executable& executable, const Queue& queue) {
  State all{{.kind = Kind::graph}, {}};
  bool runs = false;
  executable.for_each_open(true, [&](std::uint32_t number, const Work& work, const Runnable& item) {
    State node = state_of(work, queue, item);
    const bool waits = !node.obstacles.empty() || node.calls_program;
    if (all.work.subject.empty() || (runs && waits))
      all.work.subject = fmt::format("node {}, {}", number,
                                     std::holds_alternative<Conditional>(work) ? node.work.subject : node.work.describe());
    if (waits) all.work.wait = node.work.wait;
    runs |= !waits;
    all.calls_program |= node.calls_program;
    std::move(node.obstacles.begin(), node.obstacles.end(), std::back_inserter(all.obstacles));
  });
  if (runs || all.work.subject.empty()) return {std::move(all.work), {}};
  return all;
}

State state_of_conditional(const Conditional& conditional, const Queue& queue) {
  State all{{.kind = Kind::graph}, {}};
  for (const Ptr<Executable>& executable : conditional.executables) {
    State body = state_of_graph(*executable, queue);
    if (!body.work.subject.empty()) all = std::move(body);
  }
  const std::uint32_t value = __atomic_load_n(conditional.condition, __ATOMIC_RELAXED);
  const std::string body = all.work.subject.empty() ? "" : ", in a body at " + all.work.subject;
  all.work.subject = fmt::format("a conditional node, whose condition is {}{}", value, body);
  return all;
}

State state_of(const Work& work, const Queue& queue, const Runnable& item) {
  if (const auto* const launch = std::get_if<Launch>(&work))
    return {{.kind = Kind::kernel, .subject = launch->kernel->name()}, {}};
  if (const auto* const copy = std::get_if<Copy>(&work))
    return {{.kind = Kind::memory, .subject = fmt::format("Stream::copy of {} bytes", copy->width * copy->rows())}, {}};
  if (const auto* const fill = std::get_if<Fill>(&work)) {
    const std::size_t bytes = fill->width * fill->element_size * fill->height;
    return {{.kind = Kind::memory, .subject = fmt::format("Stream::fill of {} bytes", bytes)}, {}};
  }
  if (std::holds_alternative<HostCall>(work)) return state_of_function(queue, item);
  if (const auto* const graph = std::get_if<SubGraph>(&work)) return state_of_graph(*graph->executable, queue);
  if (const auto* const operations = std::get_if<MemoryOperations>(&work)) {
    std::optional<std::size_t> at = wait_of(*operations);
    for (std::size_t i = 0; i < operations->size() && !at; ++i) {
      if ((*operations)[i].is_wait() && !is_met((*operations)[i])) at = i;
    }
    if (at && !is_met((*operations)[*at])) {  // a satisfied wait is not an obstacle: it ends as soon as a thread notices
      const MemoryOperation& operation = (*operations)[*at];
      PendingWork wait{.kind = Kind::value, .subject = fmt::format("now it is {}", value_at(operation)), .wait = operation};
      std::string what = wait.describe();
      return {std::move(wait), {{.what = std::move(what), .value = operation}}};
    }
    return {{.kind = Kind::memory, .subject = "memory operations"}, {}};
  }
  if (const auto* const conditional = std::get_if<Conditional>(&work)) return state_of_conditional(*conditional, queue);
  const auto* const node = std::get_if<ExternalWait>(&work);
  const SignalWait* const wait = node != nullptr ? &node->point : std::get_if<SignalWait>(&work);
  if (wait == nullptr || !wait->signal) return {{.kind = Kind::memory, .subject = "a record or a free"}, {}};
  State state{{.kind = Kind::stream, .subject = words_of(*wait->signal)}, {}};
  if (!wait->signal->has_reached(wait->number))
    state.obstacles.push_back({.what = state.work.describe(), .signal = wait->signal});
  return state;
}

/// The state of the queue's first operation. Empty if all operations are done; `unknown` if it cannot be determined.
State state_of(const Queue& queue) {
  State state;
  const bool is_known = queue.inspect([&](const Backlog& backlog, std::uint64_t left) {
    const Backlog::Operation& first = *backlog.peek();
    const Runnable& item = queue.as_item();
    state = first.is_function() ? state_of_function(queue, item) : state_of(first.work(), queue, item);
    state.work.behind = left - 1;
  });
  if (!is_known) state.work.kind = Kind::unknown;
  return state;
}

std::vector<Ptr<Queue>> queues_of(const Device& device) {
  return BusyQueues::instance().matching([&](const Queue& queue) { return &queue.device() == &device; });
}

/// Finds the queue with a graph launch that records the event whose records `signal` counts; empty if there is none.
std::optional<StreamKey> recorder_of(const Signal& signal) {
  for (const Ptr<Queue>& queue : BusyQueues::instance().matching([](const Queue&) { return true; })) {
    bool records = false;
    (void)queue->inspect([&](const Backlog& backlog, std::uint64_t) {
      backlog.for_each([&](const Backlog::Operation& operation) {
        const auto* const graph = operation.is_function() ? nullptr : std::get_if<SubGraph>(&operation.work());
        records |= graph != nullptr && graph->executable->records(signal);
      });
    });
    if (records) return key_of(*queue);
  }
  return std::nullopt;
}

Awaited awaited_for(Obstacle&& obstacle) {
  Awaited awaited{std::move(obstacle.what), obstacle.stream, obstacle.value};
  if (obstacle.signal) {
    const auto* const queue = dynamic_cast<const Queue*>(obstacle.signal.get());
    awaited.stream = queue != nullptr ? key_of(*queue) : recorder_of(*obstacle.signal);
  }
  return awaited;
}

bool covers(const void* begin, std::size_t bytes, const void* address) noexcept {
  return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(begin) < bytes;
}

/// Whether exactly `address` is an argument of the launch. `places`: a buffer that is reused for many launches.
bool gets(const Launch& launch, const void* address, std::vector<const void*>& places) {
  const std::span parameters = launch.kernel->parameters();
  launch.arguments.addresses(parameters, places);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].size == sizeof(void*) && std::memcmp(places[i], &address, sizeof(void*)) == 0) return true;
  }
  return false;
}

/// Describes how the work would write the value that `wait` waits for; "" if the work does not write it.
std::string writes(const Work& work, const MemoryOperation& wait, std::vector<const void*>& places) {
  if (const auto* const operations = std::get_if<MemoryOperations>(&work)) {
    for (std::size_t i = wait_of(*operations).value_or(0); i < operations->size(); ++i) {
      const MemoryOperation& write = (*operations)[i];
      if (write.is_write() && write.address == wait.address && support::would_end(wait, write.value))
        return "a written value";
    }
  } else if (const auto* const copy = std::get_if<Copy>(&work)) {
    for (std::size_t row = 0; row < copy->rows(); ++row) {
      if (covers(copy->destination.row(row, copy->height), copy->width, wait.address)) return "a copy";
    }
  } else if (const auto* const fill = std::get_if<Fill>(&work)) {
    for (std::size_t row = 0; row < fill->height; ++row) {
      const void* const begin = static_cast<const std::byte*>(fill->to) + row * fill->pitch;
      if (covers(begin, fill->width * fill->element_size, wait.address)) return "a fill";
    }
  } else if (const auto* const launch = std::get_if<Launch>(&work)) {
    if (gets(*launch, wait.address, places))
      return fmt::format("kernel '{}', which gets the address", launch->kernel->name());
  } else if (const auto* const graph = std::get_if<SubGraph>(&work)) {
    std::string in_node;
    graph->executable->for_each_open(false, [&](std::uint32_t number, const Work& node, const Runnable&) {
      if (!in_node.empty()) return;
      if (const std::string how = writes(node, wait, places); !how.empty())
        in_node = fmt::format("{} in node {} of a graph", how, number);
    });
    return in_node;
  }
  return "";
}

}  // namespace

PendingWork pending_of(Queue& queue) {
  (void)queue.point();  // enqueues the waits that the rules of the default stream require, so that they are visible here
  return state_of(queue).work;
}

std::vector<BusyStream> busy_streams(const Device& device) {
  std::vector<BusyStream> streams;
  for (const Ptr<Queue>& queue : queues_of(device)) {
    State state = state_of(*queue);
    if (state.work.kind == Kind::nothing) continue;
    BusyStream stream{key_of(*queue), std::move(state.work), {}, state.calls_program, name_of(*queue)};
    for (Obstacle& obstacle : state.obstacles) stream.awaited.push_back(awaited_for(std::move(obstacle)));
    streams.push_back(std::move(stream));
  }
  return streams;
}

std::vector<ValueWriter> writers_of(const Device& device, const MemoryOperation& wait) {
  std::vector<ValueWriter> writers;
  std::vector<const void*> places;
  for (const Ptr<Queue>& queue : queues_of(device)) {
    (void)queue->inspect([&](const Backlog& backlog, std::uint64_t) {
      std::size_t behind = 0;
      backlog.for_each([&](const Backlog::Operation& operation) {
        std::string how = operation.is_function() ? std::string() : writes(operation.work(), wait, places);
        if (!how.empty()) writers.push_back({key_of(*queue), behind, std::move(how)});
        ++behind;
      });
    });
  }
  return writers;
}

}  // namespace weir::host
