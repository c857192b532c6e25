// SPDX-License-Identifier: Apache-2.0
#include "tools/timeline/timeline.hpp"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iterator>

#include "tools/model/options.hpp"
#include "tools/model/own_file.hpp"
#include "tools/model/step.hpp"
#include "tools/readable_name.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"
#include "weir/graph.hpp"
#include "weir/module.hpp"
#include "weir/plugin/support.hpp"
#include "weir/stream.hpp"
#include "weir/version.hpp"

namespace weir::timeline {
namespace {

// Number of additional pending operations after which finished ones are collected.
constexpr std::size_t collect_after = 256;
// Limit on pending operations. Operations beyond the limit are shown without times.
constexpr std::size_t most_pending = 16384;
// Limit on graph nodes that are kept until their launches end.
constexpr std::size_t most_nodes = 262144;
// Shorter queries are not shown, because a program that polls makes a million a second.
constexpr std::uint64_t shortest_query = 10000;
// Drivers return times as a `float` since an earlier event. The earlier event must be recent, or the times are not exact
// enough.
constexpr double time_base_age_ms = 4000;

std::string track_name(const Operation& operation, std::string_view name) {
  const char* const kind = operation.stream->kind() == StreamKind::legacy_default ? "default stream" : "stream";
  return fmt::format("{} {}{} {}", operation.device->describe(), kind, model::quoted(name), operation.stream_key.handle);
}

std::uint64_t system_thread() noexcept { return static_cast<std::uint64_t>(::syscall(SYS_gettid)); }

std::uint64_t bytes_of(const Operation& operation) noexcept {
  if (operation.accesses.empty()) return 0;
  return operation.accesses.front().bytes * operation.accesses.front().rows;
}

std::uint64_t nanoseconds(std::chrono::steady_clock::time_point time) noexcept {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count());
}

std::string name_of(const Operation& operation) {
  if (operation.kernel != nullptr) return tool::readable_name(operation.kernel->name());
  if (!operation.label.empty()) return std::string(operation.label);
  return std::string(operation.kind == OperationKind::external ? std::string_view(operation.name)
                                                               : to_string(operation.kind));
}

/// Describes the call that makes the operation, for the track of the calling thread.
std::string call_of(const Operation& operation) {
  if (operation.kernel != nullptr) return fmt::format("launch {}", tool::readable_name(operation.kernel->name()));
  std::string name(operation.label);
  if (operation.event != nullptr) name = operation.event->name();
  return operation.name + model::quoted(name);
}

}  // namespace

Timeline::Timeline(std::string file) : process_(::getpid()), file_(std::move(file)), next_collect_(collect_after) {}

std::uint64_t Timeline::now() noexcept { return nanoseconds(std::chrono::steady_clock::now()); }

std::uint64_t Timeline::new_track(const Track& track) {
  names_[++last_track_] = track.name;
  file_.add_track(last_track_, track);
  return last_track_;
}

std::uint64_t Timeline::thread_track() {
  const std::uint64_t thread = system_thread();
  std::uint64_t& track = threads_[thread];
  if (track == 0) track = new_track({fmt::format("thread {}", thread), thread});
  return track;
}

Timeline::StreamState& Timeline::stream_of(const Operation& operation) {
  StreamState& state = streams_[operation.stream_key];
  if (state.track == 0) {
    state.track = new_track({track_name(operation, operation.stream->name())});
  }
  return state;
}

// --- Operations -------------------------------------------------------------------------------------------------------

/// Whether the device's times can be measured. The first call for a device waits for the stream. It does so without the
/// lock, because the stream's host functions take the lock.
bool Timeline::has_time_base(const Operation& operation) {
  if (!operation.device->supports(Feature::event_timing)) return false;
  {
    const std::lock_guard lock(mutex_);
    if (time_bases_.contains(operation.device)) return true;
  }
  TimeBase base{const_cast<Stream*>(operation.stream)->record({.timing = true}), 0};
  base.event->synchronize();
  base.time = now();
  const std::lock_guard lock(mutex_);
  time_bases_.try_emplace(operation.device, std::move(base));
  // Registered after the driver was loaded, so this runs before the driver's own exit functions.
  static Timeline* const self = this;
  static const int registered = std::atexit([] { self->end(); });
  (void)registered;
  return true;
}

/// Whether the limit allows one more pending operation.
bool Timeline::can_take_more() {
  const std::lock_guard lock(mutex_);
  if (pending_ >= most_pending) collect();
  if (pending_ < most_pending) return true;
  ++untimed_;
  return false;
}

void Timeline::before(const Operation& operation) {
  if (operation.kind == OperationKind::destroy_graph) {
    const std::lock_guard lock(mutex_);
    executables_.erase(operation.exec);
    return;
  }
  Begun begun;
  begun.submitted = now();
  begun.is_query = operation.kind == OperationKind::query;
  if (operation.stream != nullptr && operation.capture == 0 && traits_of(operation.kind).is_work) {
    try {
      if (has_time_base(operation) && can_take_more())
        begun.event = const_cast<Stream*>(operation.stream)->record({.timing = true});
    } catch (const std::exception& error) {  // not possible in a capture: the operation has no time
      support::log(support::LogLevel::debug, "timeline: ", error.what());
    }
  }
  const std::lock_guard lock(mutex_);
  if (is_over_) return;
  begun.track = thread_track();
  begun.time = now();
  if (begun.event) {
    begun.stream = &stream_of(operation);
    if (operation.kind == OperationKind::launch_graph) nodes_.try_emplace(operation.id);
  }
  if (!begun.is_query) {
    file_.begin_slice({begun.track, begun.time, 0, call_of(operation), {}, {}, {}});
  }
  begun_[operation.id] = std::move(begun);
  if (operation.kind != OperationKind::synchronize) return;
  collect();
  file_.flush();  // the program may end right after this wait
}

void Timeline::after(const Operation& operation) noexcept try {
  const std::uint64_t end_time = now();
  EventPtr end;
  bool has_event = false;
  {
    const std::lock_guard lock(mutex_);
    const auto found = begun_.find(operation.id);
    if (found == begun_.end()) return;
    has_event = found->second.event != nullptr;
  }
  try {
    if (has_event && !operation.has_failed) end = const_cast<Stream*>(operation.stream)->record({.timing = true});
  } catch (const std::exception& error) {  // not possible in a capture, as in `before`
    support::log(support::LogLevel::debug, "timeline: ", error.what());
  }
  if (operation.kind == OperationKind::instantiate && !operation.has_failed) record_executable(operation);
  const std::lock_guard lock(mutex_);
  if (is_over_) return;
  const auto found = begun_.extract(operation.id);
  if (found.empty()) return;
  Begun begun = std::move(found.mapped());
  if (!begun.is_query) {
    file_.end_slice(begun.track, end_time);
  } else if (end_time - begun.time >= shortest_query) {
    file_.add({{begun.track, begun.time, end_time, operation.name, {}, {}, {}}});
  }
  if (operation.kind == OperationKind::synchronize) usage_.add_wait(begun.track, operation.name, end_time - begun.time);
  if (!end) {  // without times, the nodes are not shown
    if (const auto nodes = nodes_.extract(operation.id); !nodes.empty()) kept_nodes_ -= nodes.mapped().size();
  }
  if (operation.has_failed) {
    file_.flush();
    return;
  }
  record_memory(operation);
  if (operation.kind == OperationKind::set_name) record_name(operation);
  if (end) {
    record_work(operation, std::move(begun), std::move(end));
  } else if (operation.stream != nullptr && operation.capture == 0) {
    record_order(operation);
  }
  if (pending_ >= next_collect_ || operation.kind == OperationKind::synchronize || file_.is_due()) {
    collect();
    next_collect_ = pending_ + collect_after;  // so that pending operations are not queried each time
  }
  file_.flush_if_due();
} catch (const std::exception& error) {
  support::log(support::LogLevel::debug, "timeline: ", error.what());
}

void Timeline::record_work(const Operation& operation, Begun begun, EventPtr end) {
  StreamState& stream = *begun.stream;
  const auto work = std::make_shared<WorkSlice>();
  work->number = ++last_work_;
  work->track = stream.track;
  work->name = name_of(operation);
  if (operation.kind == OperationKind::copy || operation.kind == OperationKind::fill) {
    work->annotations.emplace_back("bytes", bytes_of(operation));
  }
  if (operation.config != nullptr) {
    const Dim3 grid = operation.config->grid, block = operation.config->block;
    work->annotations.emplace_back("blocks", std::uint64_t{grid.x} * grid.y * grid.z);
    work->annotations.emplace_back("threads in a block", std::uint64_t{block.x} * block.y * block.z);
  }
  const bool is_launch = operation.kind == OperationKind::launch_graph;
  if (is_launch) work->annotations = executables_[operation.exec];
  for (const auto& [track, awaited] : std::exchange(stream.waits_for, {})) {
    work->flow_ends.push_back(++last_flow_);
    if (awaited->end == 0) {
      awaited->flows.push_back(last_flow_);
    } else {  // the work is already written, so begin the arrow at its end
      const std::uint64_t time = std::max(awaited->begin, awaited->end - 1);
      file_.add({{track, time, time, "awaited", {}, {last_flow_}, {}}});
    }
  }
  stream.last = work;
  // Work within other work, such as the copies of a collective, is reported before the outer work. So sort by the time of
  // submission.
  auto at = stream.pending.end();
  while (at != stream.pending.begin() && std::prev(at)->submitted > begun.submitted) --at;
  stream.pending.insert(
      at, {operation.device, begun.submitted, std::move(begun.event), std::move(end), work, is_launch ? operation.id : 0});
  active_.insert(&stream);
  ++pending_;
}

void Timeline::record_order(const Operation& operation) {
  const auto add = [&](const WorkPtr& work) {
    if (!work) return;
    WorkPtr& newest = stream_of(operation).waits_for[work->track];
    if (!newest || newest->number < work->number) newest = work;
  };
  if (operation.kind == OperationKind::record) events_[operation.event] = stream_of(operation).last;
  if (operation.kind == OperationKind::wait_event) {
    if (const auto found = events_.find(operation.event); found != events_.end()) add(found->second);
  }
  if (operation.kind == OperationKind::wait_stream) {
    if (const auto found = streams_.find(operation.awaited); found != streams_.end()) add(found->second.last);
  }
}

/// Renames the track of a stream. Perfetto shows a track's last name.
void Timeline::record_name(const Operation& operation) {
  const auto stream = operation.stream != nullptr ? streams_.find(operation.stream_key) : streams_.end();
  if (stream == streams_.end() || stream->second.track == 0) return;
  names_[stream->second.track] = track_name(operation, operation.label);
  file_.add_track(stream->second.track, {names_[stream->second.track]});
}

void Timeline::record_memory(const Operation& operation) {
  if (operation.kind != OperationKind::allocate && operation.kind != OperationKind::free) return;
  auto& [track, bytes] = memory_[operation.device];
  if (track == 0) track = new_track({fmt::format("{} memory in use", operation.device->describe()), 0, true});
  const std::uint64_t change = bytes_of(operation);
  bytes = operation.kind == OperationKind::allocate ? bytes + change : bytes - std::min(bytes, change);
  file_.add_value(track, now(), bytes);
}

// --- Times of streams -------------------------------------------------------------------------------------------------

/// Writes the work that has completed.
void Timeline::collect() noexcept {
  std::map<const StreamState*, std::uint64_t> begun;  // by stream: the oldest operation that is still being submitted
  std::uint64_t known = UINT64_MAX;                   // all work without a known time began later than this
  for (const auto& [id, operation] : begun_) {
    if (!operation.event) continue;
    std::uint64_t& oldest = begun.try_emplace(operation.stream, UINT64_MAX).first->second;
    oldest = std::min(oldest, operation.submitted);
    known = std::min(known, operation.submitted);
  }
  for (auto next = active_.begin(); next != active_.end();) {
    StreamState& stream = **next;
    const auto oldest = begun.find(&stream);
    std::list<Pending>& pending = stream.pending;
    // Work after an operation that is still being submitted may be part of that operation.
    while (!pending.empty() && (oldest == begun.end() || pending.front().submitted < oldest->second) &&
           finish_work(stream, pending.front())) {
      pending.pop_front();
      --pending_;
    }
    if (!pending.empty()) known = std::min(known, std::max(usage_.known_until(stream.track), pending.front().submitted));
    next = pending.empty() ? active_.erase(next) : std::next(next);
  }
  usage_.advance(known);
}

/// Writes the work. Returns false if it is not complete, or if a query is not allowed now.
bool Timeline::finish_work(StreamState& stream, const Pending& pending) noexcept try {
  if (!pending.end->is_complete()) return false;
  TimeBase& base = time_bases_.at(pending.device);
  const auto since_base = [&](const Event& event) { return event.elapsed_since(*base.event).count(); };
  const auto time_of = [&](double milliseconds) {
    return base.time + static_cast<std::uint64_t>(std::llround(milliseconds * 1e6));
  };
  WorkSlice& work = *pending.work;
  const double begin = since_base(*pending.begin), end = since_base(*pending.end);
  work.begin = time_of(begin);
  work.end = std::max(time_of(end), work.begin);
  if (end > time_base_age_ms) base = {pending.end, time_of(end)};
  std::vector<Slice> slices{work};
  if (pending.launch != 0) {
    const auto nodes = nodes_.extract(pending.launch);
    if (!nodes.empty()) add_nodes(stream, *pending.device, std::move(nodes.mapped()), slices);
  }
  file_.add(slices);
  usage_.add_work(work.track, work.begin, work.end);
  work.name = {};
  work.annotations = {};
  work.flows = work.flow_ends = {};
  return true;
} catch (const std::exception&) {  // a capture forbids the query, or the device has failed
  return false;
}

// --- Graphs -----------------------------------------------------------------------------------------------------------

void Timeline::record_executable(const Operation& operation) {
  Topology graph;
  try {
    graph = operation.graph->topology();  // may call the driver, so not under the lock
  } catch (const Error& error) {
    support::log(support::LogLevel::debug, "timeline: ", error.what());
  }
  Annotations annotations;
  for (int i = 0; i <= static_cast<int>(NodeKind::other); ++i) {
    const auto kind = static_cast<NodeKind>(i);
    if (const std::size_t count = graph.count(kind); count != 0) {
      annotations.emplace_back(fmt::format("nodes: {}", to_string(kind)), count);
    }
  }
  const std::lock_guard lock(mutex_);
  executables_[operation.exec] = std::move(annotations);
}

void Timeline::after_node(const NodeRun& run) noexcept try {
  const std::lock_guard lock(mutex_);
  const auto launch = nodes_.find(run.launch);
  if (launch == nodes_.end()) return;  // the launch has no time
  if (kept_nodes_ >= most_nodes) {
    ++unshown_nodes_;
    return;
  }
  launch->second.push_back(
      {run.node, run.parent, nanoseconds(run.begin), nanoseconds(run.end), run.bytes,
       run.kernel.empty() ? std::string(to_string(run.kind)) : tool::readable_name(std::string(run.kernel))});
  ++kept_nodes_;
} catch (const std::exception& error) {
  support::log(support::LogLevel::debug, "timeline: ", error.what());
}

/// Adds slices for the nodes of a graph after the slice of the launch. A node is drawn within its parent, on the parent's
/// track. If another node still runs on that track, the node is drawn on the first free track below the stream's track.
void Timeline::add_nodes(StreamState& stream, const Device& device, std::vector<Node> nodes, std::vector<Slice>& slices) {
  if (nodes.empty()) return;
  kept_nodes_ -= nodes.size();
  const Slice launch = slices.front();
  // Node times use the host's clock. Times of streams are later, by the delay with which the host saw the device's first
  // event. This delay is at most the time between the ends of the last node and of the launch, so use the smallest such
  // time.
  std::uint64_t end = 0;
  for (const Node& node : nodes) end = std::max(end, node.end);
  const auto distance = static_cast<std::int64_t>(launch.end - end);
  std::int64_t& shift = node_shifts_.try_emplace(&device, distance).first->second;
  shift = std::min(shift, distance);
  for (Node& node : nodes) {
    node.begin = std::clamp(node.begin + static_cast<std::uint64_t>(shift), launch.begin, launch.end);
    node.end = std::clamp(node.end + static_cast<std::uint64_t>(shift), node.begin, launch.end);
  }
  // The nodes of a child graph are reported before the child graph's own node, and may begin in the same nanosecond. So
  // reverse the order first.
  std::reverse(nodes.begin(), nodes.end());
  std::stable_sort(nodes.begin(), nodes.end(), [](const Node& a, const Node& b) { return a.begin < b.begin; });
  std::map<std::uint64_t, std::vector<const Node*>> open;  // the running nodes of each track
  const auto is_free = [&](std::uint64_t track, const Node& node) {
    std::vector<const Node*>& stack = open[track];
    while (!stack.empty() && stack.back()->end <= node.begin) stack.pop_back();
    return stack.empty() || stack.back()->node == node.parent;
  };
  for (const Node& node : nodes) {
    std::uint64_t track = stream.track;
    for (const auto& [other, stack] : open) {
      const auto is_parent = [&](const Node* outer) { return outer->node == node.parent && outer->end >= node.end; };
      if (std::any_of(stack.begin(), stack.end(), is_parent)) track = other;
    }
    if (!is_free(track, node)) {
      std::size_t i = 0;
      while (i < stream.branches.size() && !is_free(stream.branches[i], node)) ++i;
      if (i == stream.branches.size()) {
        const std::string name = fmt::format("{} branch {}", names_.at(stream.track), i + 2);
        stream.branches.push_back(new_track({name, 0, false, stream.track}));
      }
      track = stream.branches[i];
    }
    open[track].push_back(&node);
    slices.push_back({track, node.begin, node.end, node.name, {}, {}, {}});
    if (node.bytes != 0) slices.back().annotations.emplace_back("bytes", node.bytes);
  }
}

// --- Ranges -----------------------------------------------------------------------------------------------------------

void Timeline::begin_range(std::string_view name) noexcept try {
  const std::lock_guard lock(mutex_);
  if (is_over_) return;
  const std::uint64_t track = thread_track();
  file_.begin_slice({track, now(), 0, std::string(name), {}, {}, {}});
  ++ranges_[track];
} catch (const std::exception& error) {
  support::log(support::LogLevel::debug, "timeline: ", error.what());
}

void Timeline::end_range() noexcept try {
  const std::lock_guard lock(mutex_);
  if (is_over_) return;
  const std::uint64_t track = thread_track();
  const auto open = ranges_.find(track);
  if (open == ranges_.end()) return;
  file_.end_slice(track, now());
  if (--open->second == 0) ranges_.erase(open);
  file_.flush_if_due();
} catch (const std::exception& error) {
  support::log(support::LogLevel::debug, "timeline: ", error.what());
}

// --- The end ----------------------------------------------------------------------------------------------------------

int Timeline::finish() noexcept {
  end();
  return file_.is_good() ? 0 : model::lost_output;
}

void Timeline::end() noexcept try {
  const support::UnshownCalls unshown;  // `exit` calls this; without it, the calls below would be reported to this tool
  std::vector<EventPtr> last;
  {
    if (::getpid() != process_) return;  // a forked child has only a copy of this object
    const std::lock_guard lock(mutex_);
    if (is_over_) return;
    for (const StreamState* const stream : active_) {
      if (!stream->pending.empty()) last.push_back(stream->pending.back().end);
    }
  }
  // Limit the wait, so that work that never ends does not keep the process alive.
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  bool has_ended = true;
  for (const EventPtr& event : last) {
    try {
      has_ended = event->synchronize_for(patience - std::chrono::steady_clock::now()) && has_ended;
    } catch (const std::exception&) {
      // Ignored: the work is shown without a time.
    }
  }
  if (!has_ended)
    std::fputs(
        "weir timeline: some work was still running 10 s after the end of the program; it has no times in the trace\n",
        stderr);
  const std::lock_guard lock(mutex_);
  if (std::exchange(is_over_, true)) return;
  const std::uint64_t time = now();
  for (const auto& [id, operation] : std::exchange(begun_, {})) {
    if (!operation.is_query) file_.end_slice(operation.track, time);
  }
  for (const auto& [track, count] : ranges_) {
    for (std::size_t i = 0; i < count; ++i) file_.end_slice(track, time);
  }
  collect();
  file_.flush();
  file_.unlock();
  std::fputs(summary().c_str(), stderr);
} catch (const std::exception& error) {
  std::fprintf(stderr, "weir timeline: %s\n", error.what());
}

std::string Timeline::summary() {
  std::string text =
      file_.is_good()
          ? fmt::format("weir timeline: {} written; open it in https://ui.perfetto.dev\n", file_.name())
          : fmt::format("weir timeline: the trace is incomplete, because '{}' could not be written\n", file_.name());
  text += usage_.text([this](std::uint64_t track) { return names_.at(track); });
  if (pending_ != 0) {
    text += fmt::format("  {} operations have no time: the device failed, or a capture forbade the query\n", pending_);
  }
  if (untimed_ != 0) {
    text += fmt::format("  {} operations have no time: more than {} were pending\n", untimed_, most_pending);
  }
  if (unshown_nodes_ != 0) {
    text += fmt::format("  {} nodes of graphs are not shown: more than {} were pending\n", unshown_nodes_, most_nodes);
  }
  return text;
}

}  // namespace weir::timeline

namespace {

weir::Tool* create() {
  const std::string file = weir::support::environment("WEIR_TIMELINE").value_or("weir.pftrace");
  if (file.empty()) {
    throw weir::Error(weir::Errc::invalid_environment, "reading WEIR_TIMELINE=''", "",
                      "it is set but empty; unset it, or set it to the trace's file");
  }
  return new weir::timeline::Timeline(weir::model::with_process(file));
}

}  // namespace

WEIR_TOOL("timeline", WEIR_VERSION_STRING, create)
