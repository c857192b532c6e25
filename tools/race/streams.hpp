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

/// The vector clocks of streams and of the host.
namespace weir::race {

/// A stream, as a lane of vector clocks.
struct StreamState {
  std::uint32_t lane = 0;
  Clock clock;
  const Device* device = nullptr;
  bool is_legacy = false;
  bool is_blocking = true;  ///< ordered against the legacy default stream, or unknown
  bool is_known = false;
  /// The last operation that a wait covered, and the event's name as shown in reports.
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

/// The program's streams, and the host, which is lane 0. Work that one host thread has waited for counts as complete for all
/// threads, because tools do not see how threads synchronize.
class Streams {
 public:
  void add(const Operation& operation, bool is_blocking);
  /// If there are many streams, removes those whose work is complete according to the host's clock. Invalidates references
  /// to states.
  void sweep();
  StreamState& of(const Operation& operation);
  StreamState& of(const StreamKey& key);
  /// Returns the stream of an operation. First joins the host's clock into the stream's clock, and applies the order that
  /// default streams impose.
  StreamState& submit(const Operation& operation);
  void order_against_default_stream(StreamState& state);

  /// Returns the joined clocks of the device's streams.
  Clock all_of(const Device& device) const;
  Clock everything() const;
  const Clock& host() const noexcept { return host_; }
  Point advance_host() { return host_.advance(0); }
  void host_learns(const Clock& clock);

  /// If the program waited for the first access's stream between the two accesses, but too early, describes that wait; else
  /// returns "".
  std::string early_wait(const Access& first, const Access& second) const;

 private:
  std::uint32_t new_lane();

  std::uint32_t last_lane_ = 0;
  std::size_t next_sweep_ = 64;
  std::vector<Point> retired_;  // the last points of removed streams, whose lanes can be reused
  Clock host_;
  std::map<StreamKey, StreamState> streams_;
};

/// The last record of an event: the stream's clock at that time.
struct Recorded {
  Clock clock;
  std::uint32_t lane = 0;
  model::CaptureId capture = {};  ///< a number other than 0: the clock uses the lanes of this capture
  bool is_captured() const noexcept { return capture.second != 0; }
};
using Events = std::map<const Event*, Recorded>;

}  // namespace weir::race
