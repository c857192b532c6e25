// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/timeline/trace.hpp"

namespace weir::timeline {

using Annotations = std::vector<std::pair<std::string, std::uint64_t>>;

/// A row of the trace.
struct Track {
  std::string name;
  std::uint64_t thread = 0;  ///< the system's number, or 0
  bool is_counter = false;
  std::uint64_t parent = 0;  ///< the track below which this one is; 0: the process's
};

/// Something that took time, in nanoseconds of the host's clock.
struct Slice {
  std::uint64_t track = 0;
  std::uint64_t begin = 0, end = 0;  ///< 0: not known yet
  std::string name;
  Annotations annotations;
  std::vector<std::uint64_t> flows, flow_ends;  ///< arrows that begin and end here
};

/// The trace, which is written as the program runs: what a crash leaves is a trace up to there. The order of what is in it
/// does not matter to Perfetto, times do; of one time on one track, the order is that of the calls. Not for several threads
/// at once.
class TraceFile {
 public:
  /// Opens the file. If that fails, says so on standard error, and writes nothing.
  explicit TraceFile(std::string name);
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  /// Adds a row, under which slices and values may follow.
  void add_track(std::uint64_t id, const Track& track);
  /// A slice that ends at the track's next `end_slice`. Its `end` is not used.
  void begin_slice(const Slice& slice) { append(track_event(slice.begin, begin_event(slice)), slice.track); }
  void end_slice(std::uint64_t track, std::uint64_t time) { append(track_event(time, end_event(track)), track); }
  /// Slices that may lie in one another.
  void add(const std::vector<Slice>& slices);
  void add_value(std::uint64_t track, std::uint64_t time, std::uint64_t value);

  /// Writes what is not written yet: all of it, or if there is much, or if some of it is old.
  void flush();
  void flush_if_due();
  /// Whether the last flush is so long ago.
  bool is_due() const noexcept;
  /// Lets another process have the file. Else a forked child, which outlives this one, would keep it.
  void unlock() noexcept;

  const std::string& name() const noexcept { return name_; }
  /// Whether all that was added could be written.
  bool is_good() const noexcept { return file_ >= 0; }

 private:
  static Message begin_event(const Slice& slice);
  static Message end_event(std::uint64_t track);
  static Message track_event(std::uint64_t time, const Message& event);
  void append(Message packet, std::uint64_t track);
  void give_up(int error) noexcept;

  std::string name_;
  int file_ = -1;
  std::string buffer_;
  std::chrono::steady_clock::time_point flushed_ = std::chrono::steady_clock::now();
};

/// The row of the process, under which all others are.
inline constexpr std::uint64_t process_track = 1;

}  // namespace weir::timeline
