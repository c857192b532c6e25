// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

/// Statistics for the summary of the timeline.
namespace weir::timeline {

/// Measures how busy streams were, how much they overlapped, and which waits were longest. Its memory does not grow with the
/// program's run time.
class Usage {
 public:
  /// Adds work of a stream. Calls must be in the order in which the stream's work begins. If work overlaps other work of the
  /// same stream, as the copies of a collective do, the common time counts once.
  void add_work(std::uint64_t track, std::uint64_t begin, std::uint64_t end);
  /// Adds a wait of a host thread.
  void add_wait(std::uint64_t track, const std::string& name, std::uint64_t nanoseconds);
  /// The caller promises that all work added later begins after `time`.
  void advance(std::uint64_t time);
  /// Returns the time up to which the stream's work is known.
  std::uint64_t known_until(std::uint64_t track) const noexcept;

  /// Returns the lines of the report; empty if there was no work. `name_of` returns the name of a track.
  std::string text(const std::function<std::string(std::uint64_t)>& name_of);

 private:
  struct Busy {
    std::uint64_t time = 0, until = 0;
    std::size_t operations = 0;
  };
  struct Wait {
    std::uint64_t nanoseconds, track;
    std::string name;
  };

  std::map<std::uint64_t, Busy> busy_;    // by track
  std::map<std::uint64_t, int> changes_;  // by time after `since_`: the change of the number of busy streams
  std::uint64_t first_ = UINT64_MAX, last_ = 0;
  std::uint64_t since_ = 0, any_ = 0, several_ = 0;
  int running_ = 0;
  bool is_least_ = false;  // some work came too late for `any_` and `several_`, so these are lower limits
  std::vector<Wait> waits_;
};

}  // namespace weir::timeline
