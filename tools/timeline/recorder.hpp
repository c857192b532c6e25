// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/event.hpp"
#include "weir/tool.hpp"

/// What happened when: on the threads of the host by its clock, on streams by events around each operation, and in graphs by
/// what a backend that runs them itself tells of each node.
namespace weir::timeline {

class Recorder final : public Tool {
 public:
  explicit Recorder(std::string file);

  void before(const Operation& operation) override;
  void after(const Operation& operation) noexcept override;
  bool watches_nodes() const noexcept override { return true; }
  void after_node(const NodeRun& run) noexcept override;
  void begin_range(std::string_view name) noexcept override;
  void end_range() noexcept override;
  int finish() noexcept override;

  /// Waits for the work that is under way, and writes the file, once. Called while drivers still work.
  void write() noexcept;

 private:
  using Annotations = std::vector<std::pair<std::string, std::uint64_t>>;
  /// Something that took time; nanoseconds of the host's clock.
  struct Slice {
    std::uint64_t track = 0;
    std::uint64_t begin = 0, end = 0;
    std::string name;
    Annotations annotations;
    std::vector<std::uint64_t> flows, flow_ends;
    bool is_nested = false;  ///< a node of a graph: its time is a part of the launch's
  };
  struct Count {
    std::uint64_t track, time, value;
  };
  struct Track {
    std::string name;
    std::uint64_t thread = 0;  ///< the system's number, or 0
    bool is_counter = false;
    std::uint64_t parent = 0;  ///< the track below which this one is; 0: the process's
  };
  struct StreamState {
    std::uint64_t track = 0;
    std::optional<std::size_t> last;     ///< its last slice
    std::vector<std::size_t> waits_for;  ///< slices that its next one waits for
  };
  /// An event of each device, and the host's time of it.
  struct Origin {
    EventPtr event;
    std::uint64_t time = 0;
  };
  /// Work whose time is not known yet: slice number `slice`.
  struct Pending {
    const Device* device;
    EventPtr begin, end;
    std::size_t slice;
  };
  /// A node of a graph that has run, by the host's clock.
  struct Node {
    const void *node, *parent;
    std::uint64_t begin, end, bytes;
    std::string name;
  };
  /// A launch of a graph, whose slice is number `slice`.
  struct Launch {
    const Device* device;
    std::size_t slice;
  };
  struct Begun {
    std::uint64_t time = 0;
    EventPtr event;
  };

  static std::uint64_t now() noexcept;
  std::uint64_t thread_track(std::uint64_t thread);
  std::uint64_t new_track(Track track);
  StreamState& stream_of(const Operation& operation);
  bool has_origin(const Operation& operation);
  void note_order(const Operation& operation);
  void note_work(const Operation& operation, EventPtr begin, EventPtr end);
  void note_memory(const Operation& operation);
  void note_executable(const Operation& operation);
  void add_nodes();
  void add_nodes_of(const Slice& launch, std::vector<Node> nodes);
  void collect() noexcept;
  std::string encode() const;
  std::string summary() const;

  const std::string file_;
  const int process_;
  std::mutex mutex_;
  bool is_written_ = false;
  std::map<std::uint64_t, Track> tracks_;
  std::map<std::uint64_t, std::uint64_t> threads_;            // tracks, by Weir's numbers of threads
  std::map<std::uint64_t, std::vector<std::size_t>> ranges_;  // open ones, by the system's numbers
  std::map<StreamKey, StreamState> streams_;
  std::map<const Device*, Origin> origins_;
  std::map<const Event*, std::optional<std::size_t>> events_;                // the last slice before the record
  std::map<const Device*, std::pair<std::uint64_t, std::uint64_t>> memory_;  // its track, and the bytes in use
  std::map<std::uint64_t, Begun> begun_;                                     // operations, by their ids
  std::map<const GraphExec*, Annotations> executables_;                      // how many nodes of each kind
  std::map<std::uint64_t, Launch> launches_;                                 // by their operations' ids
  std::map<std::uint64_t, std::vector<Node>> nodes_;                         // by the launches
  std::map<std::uint64_t, std::vector<std::uint64_t>> branch_tracks_;        // below a stream's
  std::deque<Slice> slices_;
  std::vector<Count> counts_;
  std::vector<Pending> pending_;
  std::size_t next_collect_;      // when so many are pending
  std::uint64_t last_track_ = 1;  // of the process
  std::uint64_t last_flow_ = 0;
};

}  // namespace weir::timeline
