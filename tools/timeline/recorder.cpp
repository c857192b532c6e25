// SPDX-License-Identifier: Apache-2.0
#include "tools/timeline/recorder.hpp"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>

#include "tools/file_name.hpp"
#include "tools/timeline/trace.hpp"
#include "tools/work.hpp"
#include "weir/backend_support.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"
#include "weir/graph.hpp"
#include "weir/module.hpp"
#include "weir/stream.hpp"
#include "weir/version.hpp"

namespace weir::timeline {
namespace {

constexpr std::uint64_t process_track = 1;
// So many more operations are under way before the finished ones are looked for.
constexpr std::size_t most_pending = 4096;

std::uint64_t system_thread() noexcept { return static_cast<std::uint64_t>(::syscall(SYS_gettid)); }

std::uint64_t bytes_of(const Operation& operation) noexcept {
  if (operation.accesses.empty()) return 0;
  return operation.accesses.front().bytes * operation.accesses.front().rows;
}

std::uint64_t nanoseconds(std::chrono::steady_clock::time_point time) noexcept {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count());
}

std::string name_of(const Operation& operation) {
  if (operation.kernel != nullptr) return operation.kernel->name();
  return std::string(operation.kind == OperationKind::external ? std::string_view(operation.name)
                                                               : to_string(operation.kind));
}

}  // namespace

Recorder::Recorder(std::string file) : file_(std::move(file)), process_(::getpid()), next_collect_(most_pending) {
  tracks_[process_track] = {};
}

std::uint64_t Recorder::now() noexcept { return nanoseconds(std::chrono::steady_clock::now()); }

std::uint64_t Recorder::new_track(Track track) {
  tracks_[++last_track_] = std::move(track);
  return last_track_;
}

std::uint64_t Recorder::thread_track(std::uint64_t thread) {
  std::uint64_t& track = threads_[thread];
  if (track == 0) track = new_track({fmt::format("thread {}", thread), thread});
  return track;
}

Recorder::StreamState& Recorder::stream_of(const Operation& operation) {
  StreamState& state = streams_[operation.stream_key];
  if (state.track == 0) {
    const char* const kind = operation.stream->kind() == StreamKind::legacy_default ? "default stream" : "stream";
    state.track = new_track({fmt::format("{} {} {}", operation.device->describe(), kind, operation.stream_key.handle)});
  }
  return state;
}

// --- Work -------------------------------------------------------------------------------------------------------------

/// Whether the device's times can be told. Waits for the stream, once for each device; nothing waits under the lock, which
/// host functions take.
bool Recorder::has_origin(const Operation& operation) {
  if (!operation.device->supports(Feature::event_timing)) return false;
  {
    const std::lock_guard lock(mutex_);
    if (origins_.contains(operation.device)) return true;
  }
  Origin origin{const_cast<Stream*>(operation.stream)->record({.timing = true}), 0};
  origin.event->synchronize();
  origin.time = now();
  const std::lock_guard lock(mutex_);
  origins_.try_emplace(operation.device, std::move(origin));
  // Registered when the driver is there, so it runs before the driver ends.
  static Recorder* const self = this;
  static const int registered = std::atexit([] { self->write(); });
  (void)registered;
  return true;
}

void Recorder::before(const Operation& operation) {
  Begun begun{now(), nullptr};
  if (operation.stream != nullptr && operation.capture == 0 && is_work(operation.kind)) {
    try {
      if (has_origin(operation)) begun.event = const_cast<Stream*>(operation.stream)->record({.timing = true});
    } catch (const std::exception& error) {  // a capture forbids it: the operation has no time
      support::log(support::LogLevel::debug, "timeline: ", error.what());
    }
  }
  begun.time = now();
  const std::lock_guard lock(mutex_);
  begun_[operation.id] = std::move(begun);
}

void Recorder::after(const Operation& operation) noexcept try {
  const std::uint64_t end_time = now();
  EventPtr end;
  Begun begun;
  {
    const std::lock_guard lock(mutex_);
    auto found = begun_.extract(operation.id);
    if (found.empty()) return;
    begun = std::move(found.mapped());
  }
  if (begun.event && !operation.has_failed) end = const_cast<Stream*>(operation.stream)->record({.timing = true});
  if (operation.kind == OperationKind::instantiate && !operation.has_failed) note_executable(operation);
  const std::lock_guard lock(mutex_);
  Slice call{thread_track(system_thread()), begun.time, end_time, operation.name, {}, {}, {}};
  if (operation.kernel != nullptr) call.name = fmt::format("launch {}", operation.kernel->name());
  slices_.push_back(std::move(call));
  if (operation.has_failed) return;
  note_memory(operation);
  if (operation.stream == nullptr || operation.capture != 0) return;
  if (end) {
    note_work(operation, std::move(begun.event), std::move(end));
  } else {
    note_order(operation);
  }
  if (pending_.size() >= next_collect_ || operation.kind == OperationKind::synchronize) {
    collect();
    next_collect_ = pending_.size() + most_pending;  // those that are under way are not asked for each time
  }
} catch (const std::exception& error) {
  support::log(support::LogLevel::debug, "timeline: ", error.what());
}

void Recorder::note_work(const Operation& operation, EventPtr begin, EventPtr end) {
  StreamState& stream = stream_of(operation);
  Slice slice{stream.track, 0, 0, name_of(operation), {}, {}, {}};
  if (operation.kind == OperationKind::copy || operation.kind == OperationKind::fill) {
    slice.annotations.emplace_back("bytes", bytes_of(operation));
  }
  if (operation.config != nullptr) {
    const Dim3 grid = operation.config->grid, block = operation.config->block;
    slice.annotations.emplace_back("blocks", std::uint64_t{grid.x} * grid.y * grid.z);
    slice.annotations.emplace_back("threads in a block", std::uint64_t{block.x} * block.y * block.z);
  }
  if (operation.kind == OperationKind::launch_graph) {
    launches_[operation.id] = {operation.device, slices_.size()};
    slice.annotations = executables_[operation.exec];
  }
  for (const std::size_t source : std::exchange(stream.waits_for, {})) {
    slices_[source].flows.push_back(++last_flow_);
    slice.flow_ends.push_back(last_flow_);
  }
  stream.last = slices_.size();
  slices_.push_back(std::move(slice));
  pending_.push_back({operation.device, std::move(begin), std::move(end), *stream.last});
}

void Recorder::note_order(const Operation& operation) {
  const auto add = [&](const std::optional<std::size_t>& slice) {
    if (slice) stream_of(operation).waits_for.push_back(*slice);
  };
  if (operation.kind == OperationKind::record) events_[operation.event] = stream_of(operation).last;
  if (operation.kind == OperationKind::wait_event) {
    if (const auto found = events_.find(operation.event); found != events_.end()) add(found->second);
  }
  if (operation.kind == OperationKind::wait_stream) {
    if (const auto found = streams_.find(operation.awaited); found != streams_.end()) add(found->second.last);
  }
}

void Recorder::note_memory(const Operation& operation) {
  if (operation.kind != OperationKind::allocate && operation.kind != OperationKind::free) return;
  auto& [track, bytes] = memory_[operation.device];
  if (track == 0) track = new_track({fmt::format("{} memory in use", operation.device->describe()), 0, true});
  const std::uint64_t change = bytes_of(operation);
  bytes = operation.kind == OperationKind::allocate ? bytes + change : bytes - std::min(bytes, change);
  counts_.push_back({track, now(), bytes});
}

/// Asks for the times of what is done.
void Recorder::collect() noexcept {
  std::erase_if(pending_, [&](const Pending& work) {
    try {
      if (!work.end->is_complete()) return false;
      const Origin& origin = origins_.at(work.device);
      const auto time_of = [&](const Event& event) {
        const double ms = event.elapsed_since(*origin.event).count();
        return origin.time + static_cast<std::uint64_t>(std::max(0.0, ms * 1e6));
      };
      slices_[work.slice].begin = time_of(*work.begin);
      slices_[work.slice].end = std::max(time_of(*work.end), slices_[work.slice].begin);
      return true;
    } catch (const std::exception&) {  // a capture forbids to ask, or the device has failed
      return false;
    }
  });
}

// --- Graphs -----------------------------------------------------------------------------------------------------------

void Recorder::note_executable(const Operation& operation) {
  Topology graph;
  try {
    graph = operation.graph->topology();  // not under the lock, as above
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

void Recorder::after_node(const NodeRun& run) noexcept try {
  const std::lock_guard lock(mutex_);
  nodes_[run.launch].push_back({run.node, run.parent, nanoseconds(run.begin), nanoseconds(run.end), run.bytes,
                                std::string(run.kernel.empty() ? to_string(run.kind) : run.kernel)});
} catch (const std::exception& error) {
  support::log(support::LogLevel::debug, "timeline: ", error.what());
}

/// Makes slices of the nodes. Their times are the host's, those of streams are later by what the host took to see the
/// device's first event: no more than what any launch leaves between the end of its nodes and its own.
void Recorder::add_nodes() {
  std::map<const Device*, std::int64_t> later;
  const auto times_of = [&](const Launch& launch) -> const Slice* {
    const Slice& slice = slices_[launch.slice];
    return slice.begin != 0 && slice.end != 0 ? &slice : nullptr;
  };
  for (const auto& [id, nodes] : nodes_) {
    const auto launch = launches_.find(id);
    if (launch == launches_.end()) continue;
    const Slice* const slice = times_of(launch->second);
    if (slice == nullptr) continue;
    std::uint64_t end = 0;
    for (const Node& node : nodes) end = std::max(end, node.end);
    const auto distance = static_cast<std::int64_t>(slice->end - end);
    const auto [shift, is_new] = later.try_emplace(launch->second.device, distance);
    shift->second = std::min(shift->second, distance);
  }
  for (auto& [id, nodes] : nodes_) {
    const auto launch = launches_.find(id);
    if (launch == launches_.end()) continue;
    const Slice* const slice = times_of(launch->second);
    if (slice == nullptr) continue;
    const auto shift = static_cast<std::uint64_t>(later.at(launch->second.device));
    for (Node& node : nodes) {
      node.begin = std::clamp(node.begin + shift, slice->begin, slice->end);
      node.end = std::clamp(node.end + shift, node.begin, slice->end);
    }
    add_nodes_of(*slice, std::move(nodes));
  }
  nodes_.clear();
}

/// A node goes on the track of what it is a node of, in it. Where another one still runs there, it goes on the first track
/// below the stream's that is free.
void Recorder::add_nodes_of(const Slice& launch, std::vector<Node> nodes) {
  // The nodes of a child graph were told before that one, and may begin in the same nanosecond.
  std::reverse(nodes.begin(), nodes.end());
  std::stable_sort(nodes.begin(), nodes.end(), [](const Node& a, const Node& b) { return a.begin < b.begin; });
  const std::uint64_t stream_track = launch.track;
  std::vector<std::uint64_t>& branches = branch_tracks_[stream_track];
  std::map<std::uint64_t, std::vector<const Node*>> open;  // by tracks
  const auto is_free = [&](std::uint64_t track, const Node& node) {
    std::vector<const Node*>& stack = open[track];
    while (!stack.empty() && stack.back()->end <= node.begin) stack.pop_back();
    return stack.empty() || stack.back()->node == node.parent;
  };
  for (const Node& node : nodes) {
    std::uint64_t track = stream_track;
    for (const auto& [other, stack] : open) {
      const auto is_parent = [&](const Node* outer) { return outer->node == node.parent && outer->end >= node.end; };
      if (std::any_of(stack.begin(), stack.end(), is_parent)) track = other;
    }
    if (!is_free(track, node)) {
      std::size_t i = 0;
      while (i < branches.size() && !is_free(branches[i], node)) ++i;
      if (i == branches.size()) {
        const std::string name = fmt::format("{} branch {}", tracks_.at(stream_track).name, i + 2);
        branches.push_back(new_track({name, 0, false, stream_track}));
      }
      track = branches[i];
    }
    open[track].push_back(&node);
    Slice slice{track, node.begin, node.end, node.name, {}, {}, {}, true};
    if (node.bytes != 0) slice.annotations.emplace_back("bytes", node.bytes);
    slices_.push_back(std::move(slice));
  }
}

// --- Ranges -----------------------------------------------------------------------------------------------------------

void Recorder::begin_range(std::string_view name) noexcept try {
  const std::lock_guard lock(mutex_);
  ranges_[system_thread()].push_back(slices_.size());
  slices_.push_back({thread_track(system_thread()), now(), 0, std::string(name), {}, {}, {}});
} catch (const std::exception& error) {
  support::log(support::LogLevel::debug, "timeline: ", error.what());
}

void Recorder::end_range() noexcept {
  const std::lock_guard lock(mutex_);
  std::vector<std::size_t>& open = ranges_[system_thread()];
  if (open.empty()) return;
  slices_[open.back()].end = now();
  open.pop_back();
}

// --- The end ----------------------------------------------------------------------------------------------------------

int Recorder::finish() noexcept {
  write();
  return 0;
}

void Recorder::write() noexcept try {
  const support::UnshownCalls unshown;  // exit calls this: else what is asked here would be told to this very tool
  std::vector<Pending> pending;
  {
    if (::getpid() != process_) return;  // a forked child has a copy
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_written_, true)) return;
    pending = pending_;
  }
  // Work that never ends must not keep the process.
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  bool is_over = true;
  for (const Pending& work : pending) {
    try {
      is_over = work.end->synchronize_for(patience - std::chrono::steady_clock::now()) && is_over;
    } catch (const std::exception&) {
      // It stays without a time.
    }
  }
  if (!is_over)
    std::fputs("weir timeline: some work had not ended 10 s after the program: it has no times in the trace\n", stderr);
  const std::lock_guard lock(mutex_);
  collect();
  add_nodes();
  std::ofstream out(file_, std::ios::binary);
  out << encode();
  if (!out.flush()) {
    std::fprintf(stderr, "weir timeline: the file '%s' could not be written\n", file_.c_str());
    return;
  }
  std::fputs(summary().c_str(), stderr);
} catch (const std::exception& error) {
  std::fprintf(stderr, "weir timeline: %s\n", error.what());
}

std::string Recorder::encode() const {
  struct Point {
    std::uint64_t time;
    std::uint64_t order;  // among those of one time: longer slices begin first, and end last
    Message event;
  };
  std::vector<Point> points;
  const std::uint64_t end_of_all = now();
  for (const Slice& slice : slices_) {
    if (slice.begin == 0) continue;  // it has no time
    const std::uint64_t end = slice.end != 0 ? slice.end : end_of_all, length = end - slice.begin;
    Message begin;
    begin.add(field::event::type, field::event::slice_begin).add(field::event::track, slice.track);
    begin.add(field::event::category, "weir").add(field::event::name, slice.name);
    for (const auto& [name, value] : slice.annotations) {
      begin.add(field::event::annotation,
                Message().add(field::annotation::name, name).add(field::annotation::number, value));
      if (name != "bytes" || length == 0) continue;
      begin.add(field::event::annotation,
                Message()
                    .add(field::annotation::name, "GB/s")
                    .add_double(field::annotation::real, static_cast<double>(value) / static_cast<double>(length)));
    }
    for (const std::uint64_t flow : slice.flows) begin.add_fixed(field::event::flow, flow);
    for (const std::uint64_t flow : slice.flow_ends) begin.add_fixed(field::event::flow_end, flow);
    points.push_back({slice.begin, length == 0 ? UINT64_MAX / 2 : UINT64_MAX - length, std::move(begin)});
    points.push_back({end, length == 0 ? UINT64_MAX / 2 + 1 : length,
                      Message().add(field::event::type, field::event::slice_end).add(field::event::track, slice.track)});
  }
  for (const Count& count : counts_) {
    points.push_back({count.time, 0,
                      Message()
                          .add(field::event::type, field::event::counter_value)
                          .add(field::event::track, count.track)
                          .add(field::event::counter, count.value)});
  }
  std::stable_sort(points.begin(), points.end(),
                   [](const Point& a, const Point& b) { return a.time != b.time ? a.time < b.time : a.order < b.order; });

  const auto pid = static_cast<std::uint64_t>(::getpid());
  Message trace;
  const auto add_packet = [&](Message packet) {
    trace.add(field::trace_packet, packet.add(field::packet::sequence, std::uint64_t{1}));
  };
  for (const auto& [uuid, track] : tracks_) {
    Message descriptor;
    descriptor.add(field::track::uuid, uuid);
    if (uuid == process_track) {
      descriptor.add(
          field::track::process,
          Message().add(field::track::process_pid, pid).add(field::track::process_name, program_invocation_short_name));
    } else if (track.thread != 0) {
      descriptor.add(field::track::parent, process_track);
      descriptor.add(field::track::thread, Message()
                                               .add(field::track::thread_pid, pid)
                                               .add(field::track::thread_id, track.thread)
                                               .add(field::track::thread_name, track.name));
    } else {
      descriptor.add(field::track::parent, track.parent != 0 ? track.parent : process_track);
      descriptor.add(field::track::name, track.name);
      if (track.is_counter)
        descriptor.add(field::track::counter, Message().add(field::track::counter_unit, field::track::unit_bytes));
    }
    add_packet(Message().add(field::packet::track_descriptor, descriptor));
  }
  for (const Point& point : points) {
    add_packet(Message().add(field::packet::timestamp, point.time).add(field::packet::track_event, point.event));
  }
  return trace.bytes();
}

std::string Recorder::summary() const {
  struct Busy {
    std::uint64_t time = 0, until = 0;
    std::size_t operations = 0;
  };
  std::map<std::uint64_t, Busy> busy;
  std::vector<std::pair<std::uint64_t, int>> edges;
  std::vector<const Slice*> waits;
  std::uint64_t first = UINT64_MAX, last = 0;
  std::vector<const Slice*> work;
  for (const Slice& slice : slices_) {
    if (slice.begin == 0 || slice.end < slice.begin || slice.is_nested) continue;
    if (tracks_.at(slice.track).thread == 0) {
      work.push_back(&slice);
    } else if (slice.name.ends_with("::synchronize")) {
      waits.push_back(&slice);
    }
  }
  // One may lie in another, as the copies of a collective: what counts is the time of either.
  std::stable_sort(work.begin(), work.end(), [](const Slice* a, const Slice* b) { return a->begin < b->begin; });
  for (const Slice* const slice : work) {
    Busy& stream = busy[slice->track];
    ++stream.operations;
    first = std::min(first, slice->begin);
    last = std::max(last, slice->end);
    const std::uint64_t begin = std::max(slice->begin, stream.until);
    if (slice->end <= begin) continue;
    stream.time += slice->end - begin;
    stream.until = slice->end;
    edges.emplace_back(begin, 1);
    edges.emplace_back(slice->end, -1);
  }
  std::string text = fmt::format("weir timeline: {} written; open it in https://ui.perfetto.dev\n", file_);
  if (busy.empty()) return text;
  std::sort(edges.begin(), edges.end());
  std::uint64_t any = 0, several = 0, since = first;
  int running = 0;
  for (const auto& [time, change] : edges) {
    if (running >= 1) any += time - since;
    if (running >= 2) several += time - since;
    running += change;
    since = time;
  }
  const double all = static_cast<double>(std::max<std::uint64_t>(last - first, 1));
  for (const auto& [track, stream] : busy) {
    text += fmt::format("  {}: {} operations, busy {:.3f} ms, {:.0f} % of {:.3f} ms\n", tracks_.at(track).name,
                        stream.operations, static_cast<double>(stream.time) / 1e6,
                        100.0 * static_cast<double>(stream.time) / all, all / 1e6);
  }
  text += fmt::format("  some stream busy {:.0f} % of the time, several at once {:.0f} %\n",
                      100.0 * static_cast<double>(any) / all, 100.0 * static_cast<double>(several) / all);
  std::sort(waits.begin(), waits.end(),
            [](const Slice* a, const Slice* b) { return a->end - a->begin > b->end - b->begin; });
  for (std::size_t i = 0; i < waits.size() && i < 3; ++i) {
    text += fmt::format("  {} {} waited {:.3f} ms\n", tracks_.at(waits[i]->track).name, waits[i]->name,
                        static_cast<double>(waits[i]->end - waits[i]->begin) / 1e6);
  }
  if (!pending_.empty()) {
    text += fmt::format("  {} operations have no time: the device failed, or a capture forbade to ask\n", pending_.size());
  }
  return text;
}

}  // namespace weir::timeline

namespace {

weir::Tool* create() {
  return new weir::timeline::Recorder(
      weir::with_process(weir::support::environment("WEIR_TIMELINE").value_or("weir.pftrace")));
}

}  // namespace

WEIR_TOOL("timeline", WEIR_VERSION_STRING, create)
