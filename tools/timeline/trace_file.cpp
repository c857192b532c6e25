// SPDX-License-Identifier: Apache-2.0
#include "tools/timeline/trace_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include "tools/model/own_file.hpp"

namespace weir::timeline {
namespace {

constexpr std::size_t much = 65536;
constexpr std::chrono::milliseconds old(10);

// The begin or end of a slice. `order` sorts points with equal times: longer slices begin first and end last.
struct Point {
  std::uint64_t time, order, track;
  Message event;
};

}  // namespace

TraceFile::TraceFile(std::string name) : name_(std::move(name)) {
  file_ = detail::FileDescriptor(model::open_own("weir timeline", name_));
  if (!file_) {
    give_up(errno);
    return;
  }
  add_track(process_track, {program_invocation_short_name});
}

void TraceFile::give_up(int error) noexcept {
  std::fprintf(stderr, "weir timeline: the file '%s' could not be written: %s\n", name_.c_str(),
               std::generic_category().message(error).c_str());
  file_.close();
  buffer_.clear();
}

void TraceFile::add_track(std::uint64_t id, const Track& track) {
  const auto pid = static_cast<std::uint64_t>(::getpid());
  Message descriptor;
  descriptor.add(field::track::uuid, id);
  if (id == process_track) {
    descriptor.add(field::track::process,
                   Message().add(field::track::process_pid, pid).add(field::track::process_name, track.name));
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
  append(Message().add(field::packet::track_descriptor, descriptor), id);
}

Message TraceFile::begin_event(const Slice& slice) {
  Message event;
  event.add(field::event::type, field::event::slice_begin).add(field::event::track, slice.track);
  event.add(field::event::category, "weir").add(field::event::name, slice.name);
  for (const auto& [name, value] : slice.annotations) {
    event.add(field::event::annotation, Message().add(field::annotation::name, name).add(field::annotation::number, value));
    if (name != "bytes" || slice.end <= slice.begin) continue;
    const double rate = static_cast<double>(value) / static_cast<double>(slice.end - slice.begin);
    event.add(field::event::annotation,
              Message().add(field::annotation::name, "GB/s").add_double(field::annotation::real, rate));
  }
  for (const std::uint64_t flow : slice.flows) event.add_fixed(field::event::flow, flow);
  for (const std::uint64_t flow : slice.flow_ends) event.add_fixed(field::event::flow_end, flow);
  return event;
}

Message TraceFile::end_event(std::uint64_t track) {
  return Message().add(field::event::type, field::event::slice_end).add(field::event::track, track);
}

Message TraceFile::track_event(std::uint64_t time, const Message& event) {
  return Message().add(field::packet::timestamp, time).add(field::packet::track_event, event);
}

void TraceFile::add(const std::vector<Slice>& slices) {
  std::vector<Point> points;
  for (const Slice& slice : slices) {
    const std::uint64_t length = slice.end - slice.begin;
    points.push_back({slice.begin, length == 0 ? UINT64_MAX / 2 : UINT64_MAX - length, slice.track, begin_event(slice)});
    points.push_back({slice.end, length == 0 ? UINT64_MAX / 2 + 1 : length, slice.track, end_event(slice.track)});
  }
  std::stable_sort(points.begin(), points.end(),
                   [](const Point& a, const Point& b) { return a.time != b.time ? a.time < b.time : a.order < b.order; });
  for (const Point& point : points) append(track_event(point.time, point.event), point.track);
}

void TraceFile::add_value(std::uint64_t track, std::uint64_t time, std::uint64_t value) {
  append(track_event(time, Message()
                               .add(field::event::type, field::event::counter_value)
                               .add(field::event::track, track)
                               .add(field::event::counter, value)),
         track);
}

/// Appends a packet. Each track is a sequence of its own, because Perfetto accepts the packets of different sequences in any
/// order.
void TraceFile::append(Message packet, std::uint64_t track) {
  if (!is_good()) return;
  buffer_ += Message().add(field::trace_packet, packet.add(field::packet::sequence, track)).bytes();
  if (buffer_.size() >= much) flush();
}

void TraceFile::flush() {
  if (is_good() && !file_.write(buffer_.data(), buffer_.size())) return give_up(errno);
  buffer_.clear();
  flushed_ = std::chrono::steady_clock::now();
}

void TraceFile::flush_if_due() {
  if (!buffer_.empty() && is_due()) flush();
}

bool TraceFile::is_due() const noexcept { return std::chrono::steady_clock::now() - flushed_ >= old; }

void TraceFile::unlock() noexcept { model::release(file_.number()); }

}  // namespace weir::timeline
