// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/file_descriptor.hpp"
#include "tools/timeline/trace.hpp"

/// Writes a trace to a file.
namespace weir::timeline {

using Annotations = std::vector<std::pair<std::string, std::uint64_t>>;

/// A row of the trace: a thread, a stream or a counter.
struct Track {
  std::string name;
  std::uint64_t thread = 0;  ///< the system's thread number, or 0
  bool is_counter = false;
  std::uint64_t parent = 0;  ///< the track above this one; 0: the process's track
};

/// An operation or range with its begin and end, in nanoseconds of the host's clock.
struct Slice {
  std::uint64_t track = 0;
  std::uint64_t begin = 0, end = 0;  ///< 0: not known yet
  std::string name;
  Annotations annotations;
  std::vector<std::uint64_t> flows, flow_ends;  ///< numbers of the arrows that begin or end here
};

/// The trace file. It is written while the program runs, so after a crash it is a valid trace up to that time. Perfetto
/// sorts by time, so calls may come in any order; entries of one track with equal times keep the order of the calls. Not
/// thread-safe.
class TraceFile {
 public:
  /// Opens the file. If that fails, prints an error to standard error, and later calls write nothing.
  explicit TraceFile(std::string name);
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  /// Adds a row. Call this before slices and values are added to it.
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
  /// Whether the last flush was long enough ago for another one.
  bool is_due() const noexcept;
  /// Unlocks the file for other processes. Without this, a forked child that outlives this process would keep the lock.
  void unlock() noexcept;

  const std::string& name() const noexcept { return name_; }
  /// Whether everything could be written so far.
  bool is_good() const noexcept { return static_cast<bool>(file_); }

 private:
  static Message begin_event(const Slice& slice);
  static Message end_event(std::uint64_t track);
  static Message track_event(std::uint64_t time, const Message& event);
  void append(Message packet, std::uint64_t track);
  void give_up(int error) noexcept;

  std::string name_;
  detail::FileDescriptor file_;
  std::string buffer_;
  std::chrono::steady_clock::time_point flushed_ = std::chrono::steady_clock::now();
};

/// The row of the process, the parent of all others.
inline constexpr std::uint64_t process_track = 1;

}  // namespace weir::timeline
