// SPDX-License-Identifier: Apache-2.0
#include "tools/race/streams.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "weir/device.hpp"
#include "weir/stream.hpp"

namespace weir::race {

void Streams::add(const Operation& operation, bool is_blocking) {
  StreamState& state = streams_[operation.stream_key];
  if (state.lane != 0) retired_.push_back(state.now());  // the driver may have reused another stream's handle
  const std::uint32_t lane = new_lane();
  state = {lane, host_, operation.device, false, is_blocking, true};
}

StreamState& Streams::of(const StreamKey& key) {
  const auto [there, is_new] = streams_.try_emplace(key);
  if (is_new) {
    there->second.lane = new_lane();
    there->second.device = key.device;
  }
  return there->second;
}

StreamState& Streams::of(const Operation& operation) {
  StreamState& state = of(operation.stream_key);
  if (state.is_known || operation.capture != 0) return state;  // drivers do not report the kind of a capturing stream
  state.is_legacy = operation.stream->kind() == StreamKind::legacy_default;
  try {
    state.is_blocking = !operation.stream->is_non_blocking();
  } catch (const std::exception&) {
    // The kind is unknown, so the stream counts as ordered against the legacy default stream.
  }
  state.is_known = true;
  return state;
}

StreamState& Streams::submit(const Operation& operation) {
  StreamState& state = of(operation);
  state.clock.settle();
  state.clock.join(host_);
  order_against_default_stream(state);
  return state;
}

/// Returns the lane of a removed stream whose work is complete according to the host's clock, or else a new lane. Lanes are
/// reused because clocks grow with the number of lanes. A reused lane continues its numbers.
std::uint32_t Streams::new_lane() {
  const auto over =
      std::find_if(retired_.begin(), retired_.end(), [&](const Point& last) { return host_.at(last.lane) >= last.number; });
  if (over == retired_.end()) return ++last_lane_;
  const std::uint32_t lane = over->lane;
  retired_.erase(over);
  for (auto& [key, state] : streams_) state.waited.erase(lane);
  return lane;
}

/// Removes idle streams, because tools do not see when threads and streams end. If a removed stream is used again, it starts
/// with the host's clock, which includes all work that the stream was ordered after.
void Streams::sweep() {
  if (streams_.size() < next_sweep_) return;
  for (auto next = streams_.begin(); next != streams_.end();) {
    StreamState& state = next->second;
    state.clock.settle();
    if (!host_.includes(state.clock)) {
      ++next;
      continue;
    }
    retired_.push_back(state.now());
    next = streams_.erase(next);
  }
  next_sweep_ = std::max<std::size_t>(64, 2 * streams_.size());
}

void Streams::order_against_default_stream(StreamState& state) {
  if (!state.is_legacy && !state.is_blocking) return;
  for (const auto& [key, other] : streams_) {
    if (other.device == state.device && (state.is_legacy ? other.is_blocking : other.is_legacy))
      state.clock.join(other.clock);
  }
}

Clock Streams::all_of(const Device& device) const {
  Clock clock;
  for (const auto& [key, state] : streams_) {
    if (state.device == &device) clock.join(state.clock);
  }
  return clock;
}

Clock Streams::everything() const {
  Clock clock;
  clock.join_numbers(host_);
  for (const auto& [key, state] : streams_) clock.join_numbers(state.clock);
  return clock;
}

void Streams::host_learns(const Clock& clock) {
  clock.assume_ended();
  // A store by the host or a kernel, which tools do not see, ended the other waits.
  for (const auto& wait : clock.open_waits()) {
    if (!wait->before) wait->before = std::make_unique<Clock>(everything());
  }
  host_.join(clock);
}

std::string Streams::early_wait(const Access& first, const Access& second) const {
  for (const auto& [key, state] : streams_) {
    if (state.lane != second.point.lane) continue;
    const auto waited = state.waited.find(first.point.lane);
    if (waited == state.waited.end() || waited->second.number >= first.point.number) continue;
    return fmt::format(
        "{} has waited for {}, but only for {}: the event{} was recorded, or the wait was enqueued, too early",
        second.where(), first.where(),
        waited->second.number == 0 ? "a point before its first operation" : "a point before the first of the two",
        waited->second.event);
  }
  return "";
}

}  // namespace weir::race
