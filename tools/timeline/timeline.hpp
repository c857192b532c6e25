// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tools/timeline/trace_file.hpp"
#include "tools/timeline/usage.hpp"
#include "weir/event.hpp"
#include "weir/plugin/tool.hpp"

/// Records when operations ran. Operations of host threads are timed with the host's clock, operations of streams with an
/// event before and after each, and graph nodes by the backend, if it runs graphs itself. Each operation is written as soon
/// as its time is known, and is not kept.
namespace weir::timeline {

class Timeline final : public Tool {
 public:
  explicit Timeline(std::string file);

  void before(const Operation& operation) override;
  void after(const Operation& operation) noexcept override;
  bool watches_nodes() const noexcept override { return true; }
  void after_node(const NodeRun& run) noexcept override;
  void begin_range(std::string_view name) noexcept override;
  void end_range() noexcept override;
  int finish() noexcept override;

  /// Waits for pending work and ends the trace. Later calls do nothing. Must be called before drivers end.
  void end() noexcept;

 private:
  /// Work of a stream, with a number. Its times are 0 until they are known.
  struct WorkSlice : Slice {
    std::uint64_t number = 0;
  };
  using WorkPtr = std::shared_ptr<WorkSlice>;
  /// Work whose time is not known yet.
  struct Pending {
    const Device* device;
    std::uint64_t submitted;  ///< the time of submission; the work cannot have begun earlier
    EventPtr begin, end;
    WorkPtr work;
    std::uint64_t launch;  ///< the operation of a graph launch, else 0
  };
  struct StreamState {
    std::uint64_t track = 0;
    std::list<Pending> pending;                  ///< in the order in which the work begins
    WorkPtr last;                                ///< the stream's last work
    std::map<std::uint64_t, WorkPtr> waits_for;  ///< by track: the work that the stream's next work waits for
    std::vector<std::uint64_t> branches;         ///< tracks below the stream's own, for nodes that run in parallel
  };
  /// An event of a device, and the time at which the host saw it complete.
  struct TimeBase {
    EventPtr event;
    std::uint64_t time = 0;
  };
  /// A graph node that has run. Times use the host's clock.
  struct Node {
    const void *node, *parent;
    std::uint64_t begin, end, bytes;
    std::string name;
  };
  /// An operation that a thread is submitting.
  struct Begun {
    std::uint64_t track = 0, submitted = 0, time = 0;
    EventPtr event;
    StreamState* stream = nullptr;  ///< the stream of `event`
    bool is_query = false;
  };

  static std::uint64_t now() noexcept;
  std::uint64_t thread_track();
  std::uint64_t new_track(const Track& track);
  StreamState& stream_of(const Operation& operation);
  bool has_time_base(const Operation& operation);
  bool can_take_more();
  void record_order(const Operation& operation);
  void record_work(const Operation& operation, Begun begun, EventPtr end);
  void record_name(const Operation& operation);
  void record_memory(const Operation& operation);
  void record_executable(const Operation& operation);
  void collect() noexcept;
  bool finish_work(StreamState& stream, const Pending& pending) noexcept;
  void add_nodes(StreamState& stream, const Device& device, std::vector<Node> nodes, std::vector<Slice>& slices);
  std::string summary();

  const int process_;
  std::mutex mutex_;
  TraceFile file_;
  Usage usage_;
  bool is_over_ = false;
  std::map<std::uint64_t, std::string> names_;      // by track
  std::map<std::uint64_t, std::uint64_t> threads_;  // tracks, by the system's thread number
  std::map<std::uint64_t, std::size_t> ranges_;     // number of open ranges, by track
  std::map<StreamKey, StreamState> streams_;
  std::set<StreamState*> active_;  // streams with pending work
  std::map<const Device*, TimeBase> time_bases_;
  std::map<const Event*, WorkPtr> events_;                                   // the stream's last work before the record
  std::map<const Device*, std::pair<std::uint64_t, std::uint64_t>> memory_;  // the device's track, and its bytes in use
  std::map<std::uint64_t, Begun> begun_;                                     // by operation
  std::map<const GraphExec*, Annotations> executables_;                      // number of nodes of each kind
  std::map<std::uint64_t, std::vector<Node>> nodes_;                         // by launch
  std::map<const Device*, std::int64_t> node_shifts_;                        // see `add_nodes`
  std::size_t pending_ = 0, next_collect_;                                   // size of all `pending`; when to query
  std::size_t kept_nodes_ = 0;                                               // nodes of launches that have not ended
  std::size_t untimed_ = 0, unshown_nodes_ = 0;
  std::uint64_t last_track_ = process_track, last_flow_ = 0, last_work_ = 0;
};

}  // namespace weir::timeline
