// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tools/model/graphs.hpp"
#include "tools/race/clock.hpp"
#include "tools/race/memory.hpp"
#include "weir/plugin/operation.hpp"

namespace weir::race {

/// A stream, as a lane of vector clocks.
struct StreamState {
  std::uint32_t lane = 0;
  Clock clock;
  const Device* device = nullptr;
  bool is_legacy = false;
  bool is_blocking = true;  ///< ordered against the legacy default stream, or unknown
  bool is_known = false;
  /// How far a wait reached, and the name of its event as shown in reports.
  struct Waited {
    std::uint64_t number = 0;
    std::string event;
  };
  std::map<std::uint32_t, Waited> waited = {};  ///< the newest wait for each other lane

  Point now() const { return {lane, clock.at(lane)}; }
  void wait_for(const Clock& other, std::uint32_t other_lane, std::string event = "") {
    clock.join(other);
    waited[other_lane] = {other.at(other_lane), std::move(event)};
  }
};

/// The running streams, and the host, which is lane 0. Work that one host thread has waited for counts as complete for all
/// threads, because tools do not see how threads synchronize.
class Streams {
 public:
  void add(const Operation& operation, bool is_blocking);
  /// Removes streams whose work the host knows to be complete, if there are many. Invalidates references to states.
  void sweep();
  StreamState& of(const Operation& operation);
  StreamState& of(const StreamKey& key);
  /// Returns the stream to which an operation is submitted. First joins the host's clock into the stream's, and applies the
  /// order that default streams impose.
  StreamState& submit(const Operation& operation);
  void order_against_default_stream(StreamState& state);

  /// Returns the join of the clocks of the device's streams.
  Clock all_of(const Device& device) const;
  Clock everything() const;
  const Clock& host() const noexcept { return host_; }
  Point advance_host() { return host_.advance(0); }
  void host_learns(const Clock& clock);

  /// Describes a wait between the two accesses that was made too early; empty if there was no such wait.
  std::string early_wait(const Access& first, const Access& second) const;

 private:
  std::uint32_t new_lane();

  std::uint32_t last_lane_ = 0;
  std::size_t next_sweep_ = 64;
  std::vector<Point> retired_;  // the last points of lanes whose streams are gone
  Clock host_;
  std::map<StreamKey, StreamState> streams_;
};

/// The last record of an event: a copy of the stream's clock.
struct Recorded {
  Clock clock;
  std::uint32_t lane = 0;
  model::CaptureId capture = {};  ///< if its number is not 0, the clock uses this capture's lanes
  bool is_captured() const noexcept { return capture.second != 0; }
};
using Events = std::map<const Event*, Recorded>;

}  // namespace weir::race
