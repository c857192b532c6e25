// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace weir::timeline {

/// Measures how busy streams were, how much they overlapped, and the longest waits. Its memory does not grow with the
/// program's run time.
class Usage {
 public:
  /// Adds work of a stream, in the order in which the stream's work begins. It may overlap other work of the stream, as the
  /// copies of a collective do; the time counts once.
  void add_work(std::uint64_t track, std::uint64_t begin, std::uint64_t end);
  /// Adds a wait of the host.
  void add_wait(std::uint64_t track, const std::string& name, std::uint64_t nanoseconds);
  /// Promises that work that is added from now on begins later than `time`.
  void advance(std::uint64_t time);
  /// Returns the time until which the stream's work is known.
  std::uint64_t known_until(std::uint64_t track) const noexcept;

  /// Returns the report's lines; empty if there was no work. `name_of` returns a track's name.
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

  std::map<std::uint64_t, Busy> busy_;    // by tracks
  std::map<std::uint64_t, int> changes_;  // changes of the number of busy streams, later than `since_`
  std::uint64_t first_ = UINT64_MAX, last_ = 0;
  std::uint64_t since_ = 0, any_ = 0, several_ = 0;
  int running_ = 0;
  bool is_least_ = false;  // some work came too late to be counted in `any_` and `several_`
  std::vector<Wait> waits_;
};

}  // namespace weir::timeline
