// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/model/graphs.hpp"
#include "tools/race/clock.hpp"
#include "tools/race/memory.hpp"
#include "weir/plugin/operation.hpp"

namespace weir::race {

/// A stream is a lane of vector clocks.
struct StreamState {
  std::uint32_t lane = 0;
  Clock clock;
  const Device* device = nullptr;
  bool is_legacy = false;
  bool is_blocking = true;  ///< ordered against the legacy default stream, or not known
  bool is_known = false;
  /// How far it has waited for other lanes: what its newest wait for that lane stood for.
  std::map<std::uint32_t, std::uint64_t> waited = {};

  Point now() const { return {lane, clock.at(lane)}; }
  void wait_for(const Clock& other, std::uint32_t other_lane) {
    clock.join(other);
    waited[other_lane] = other.at(other_lane);
  }
};

/// The streams that run, and the host. The host is one lane, 0: what any of its threads has waited for is known to be done
/// by all, since tools cannot see how threads tell each other so.
class Streams {
 public:
  void add(const Operation& operation, bool is_blocking);
  StreamState& of(const Operation& operation);
  StreamState& of(const StreamKey& key);
  /// The stream of work or an order that is submitted now: behind all that the host knows of and default streams order.
  StreamState& submit(const Operation& operation);
  void order_against_default_stream(StreamState& state);

  /// What all work of the device comes before.
  Clock all_of(const Device& device) const;
  Clock everything() const;
  const Clock& host() const noexcept { return host_; }
  Point advance_host() { return host_.advance(0); }
  void host_learns(const Clock& clock);

  /// Tells of a wait that was made, and came too early; or nothing.
  std::string early_wait(const Access& first, const Access& second) const;

 private:
  std::uint32_t new_lane();

  std::uint32_t last_lane_ = 0;
  std::vector<Point> retired_;  // the last points of lanes whose streams are gone
  Clock host_;
  std::map<StreamKey, StreamState> streams_;
};

/// Where events were recorded last. An event is a copy of a clock.
struct Recorded {
  Clock clock;
  std::uint32_t lane = 0;
  model::CaptureId capture = {};  ///< of that capture's lanes if its number is not 0
  bool is_captured() const noexcept { return capture.second != 0; }
};
using Events = std::map<const Event*, Recorded>;

}  // namespace weir::race
