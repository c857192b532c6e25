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

/// The trace, written while the program runs, so that after a crash the file is a valid trace up to that time. Perfetto
/// sorts by times, so calls may come in any order; entries at the same time on one track keep the order of the calls. Not
/// thread-safe.
class TraceFile {
 public:
  /// Opens the file. If that fails, prints an error to standard error and writes nothing.
  explicit TraceFile(std::string name);
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  /// Adds a row, under which slices and values may follow.
  void add_track(std::uint64_t id, const Track& track);
  /// Begins a slice that ends at the track's next `end_slice`. Its `end` is not used.
  void begin_slice(const Slice& slice) { append(track_event(slice.begin, begin_event(slice)), slice.track); }
  void end_slice(std::uint64_t track, std::uint64_t time) { append(track_event(time, end_event(track)), track); }
  /// Adds slices, which may be nested.
  void add(const std::vector<Slice>& slices);
  void add_value(std::uint64_t track, std::uint64_t time, std::uint64_t value);

  /// Writes the buffered entries.
  void flush();
  void flush_if_due();
  /// Whether the last flush is so long ago that another one is due.
  bool is_due() const noexcept;
  /// Unlocks the file for other processes. Otherwise a forked child that outlives this process would keep the lock.
  void unlock() noexcept;

  const std::string& name() const noexcept { return name_; }
  /// Whether everything so far could be written.
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

/// The row of the process, the parent of all others.
inline constexpr std::uint64_t process_track = 1;

}  // namespace weir::timeline
