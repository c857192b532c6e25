// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tools/race/clock.hpp"
#include "tools/race/memory.hpp"
#include "tools/race/report.hpp"
#include "weir/plugin/tool.hpp"

/// The stream sanitizer: finds operations that touch the same memory, of which one writes, and that nothing orders.
///
/// Every stream is a lane of a vector clock, and the host is one more: what any thread of the host has waited for is known
/// to be done by all, since tools cannot see how threads tell each other so. An event is a copy of a clock. Captured
/// operations have clocks of their own, by which a graph is checked once; a launch is then one operation of its stream that
/// touches what all nodes touch.
namespace weir::race {

class Detector final : public Tool {
 public:
  explicit Detector(Options options) : report_(std::move(options)) {}

  void before(const Operation& operation) override;
  void after(const Operation& operation) noexcept override;
  void begin_host_function(std::uint64_t operation) noexcept override;
  void end_host_function(std::uint64_t operation) noexcept override;
  int finish() noexcept override;

 private:
  struct StreamState {
    std::uint32_t lane = 0;
    Clock clock;
    const Device* device = nullptr;
    bool is_legacy = false;
    bool is_blocking = true;  ///< ordered against the legacy default stream, or not known
    bool is_known = false;
    /// How far it has waited for other lanes: what its newest wait for that lane stood for.
    std::map<std::uint32_t, std::uint64_t> waited;
  };
  struct CaptureId {
    const Backend* backend = nullptr;
    std::uint64_t number = 0;
    friend auto operator<=>(const CaptureId&, const CaptureId&) = default;
  };
  /// Work of a graph.
  struct Node {
    std::uint64_t operation = 0;
    Point point;
    std::vector<Access> accesses;  ///< their points are of the graph's own lanes
    Clock clock;
    std::vector<MemoryOperation> memory_operations;
    std::vector<std::uint64_t> host_functions;
    std::vector<const Event*> recorded, awaited;  ///< by `record_external`, `wait_external`
  };
  struct Model {
    std::vector<Node> nodes;
    std::uint32_t lanes = 0;
  };
  using ModelPtr = std::shared_ptr<Model>;
  struct Write {
    std::uint64_t value = 0;
    Point point;
    Clock clock;
  };
  /// What one lane has written to one address.
  struct Writes {
    std::deque<Write> list;
    bool has_forgotten = false;  ///< there were more than are kept: the first are not known
  };
  struct Waiter {
    MemoryOperation wait{};
    Point point;
    std::shared_ptr<ValueWait> result;
    Point ended_by{};  ///< the first write that may have ended it
  };
  /// Values that are written and waited for, by their addresses: those of streams, or those of one capture.
  struct Values {
    std::map<const void*, std::map<std::uint32_t, Writes>> writes;  // of each lane
    std::map<const void*, std::vector<Waiter>> waiters;
    /// Where there were more waits than are kept: no write ends the later ones.
    std::map<const void*, std::shared_ptr<ValueWait>> endless;
  };
  struct Capture {
    Model model;
    Values values;
    std::map<StreamKey, std::pair<std::uint32_t, Clock>> lanes;
    std::vector<Access> freed;      ///< memory that its nodes have freed
    std::uint64_t conditional = 0;  ///< the operation of the conditional node whose body this is, or 0
  };
  /// Where an event was recorded last.
  struct Snapshot {
    Clock clock;
    CaptureId capture;  ///< of that capture's lanes if its number is not 0
    std::uint32_t lane = 0;
  };
  struct Executable {
    ModelPtr model;
    Clock last_launch;
  };
  /// A host function that is enqueued: what comes before it.
  struct Function {
    Point point;
    Clock clock;
    std::string where;  ///< its stream
    bool in_graph = false;
  };
  /// Two accesses whose order depends on a wait that is open.
  struct Doubt {
    Access first, second;
    Clock first_clock, second_clock;
    Block block;
  };

  static CaptureId capture_id(const Operation& operation);
  StreamState& state_of(const Operation& operation);
  StreamState& state_of(const StreamKey& key);
  void order_against_default_stream(StreamState& state);
  StepPtr step_of(const Operation& operation, std::string what);
  StepPtr step_of(const Operation& operation, std::string what, std::string where);
  Access access_of(const MemoryAccess& access, const Point& point, const StepPtr& step, const Clock& clock,
                   Toucher by = Toucher::work) const;
  std::shared_ptr<const Clock> kept(const Clock& clock) const;
  std::string what_of(const Operation& operation) const;

  std::uint32_t new_lane();
  void run(const Operation& operation);
  void forget_if_pageable(const void* address);
  void withdraw(const Operation& operation);
  void add_function(std::uint64_t operation, Function function);
  void launch(const Operation& operation, StreamState& state, const Point& point);
  void note_in_capture(const Operation& operation);
  void join_capture(const Operation& operation);
  Capture& capture_of(const Operation& operation);
  std::pair<std::uint32_t, Clock>& lane_of(Capture& capture, const StreamKey& key);
  static void add_model(Node& node, const Model& model);
  Node* node_of(const Operation& operation);
  void check_freed(Capture& capture, OperationKind kind, const Access& access, const Clock& clock);
  void end_capture(const Operation& operation);
  static void drop_ended_waits(Capture& capture);
  void check_graph(const Model& model);

  void check_host(const Operation& operation);
  void touch(Access access, const Clock& clock, bool is_free = false);
  void touch(Block& block, Access access, const Clock& clock, bool is_free);
  void judge(const Access& first, const Access& second, const Clock& clock, Block& block);
  void tell(const Access& first, const Access& second, const Block& block);
  void allocate(const Operation& operation);
  void free(const Operation& operation);
  void unregister(const Operation& operation);
  void write(const MemoryOperation& operation, Values& values, const Point& point, const Clock& clock);
  std::vector<const Write*> ends_of(const MemoryOperation& operation, Values& values, const Clock& clock);
  bool wait(const MemoryOperation& operation, Values& values, const Point& point, Clock& clock);
  bool operate(const MemoryOperation& operation, Values& values, const Point& point, Clock& clock);
  static void forget_values(Values& values, const Region& region);
  void settle_doubts(bool is_end);
  std::string note_of(const Access& first, const Access& second) const;
  void host_learns(const Clock& clock);
  Clock everything() const;

  std::mutex mutex_;
  Report report_;
  std::uint32_t last_lane_ = 0;
  std::vector<Point> retired_;  ///< the last points of lanes whose streams are gone
  Clock host_;
  std::map<StreamKey, StreamState> streams_;
  std::map<const Event*, Snapshot> events_;
  std::map<CaptureId, Capture> captures_;
  std::map<const Graph*, ModelPtr> graphs_;
  std::map<const GraphExec*, Executable> executables_;
  std::map<std::uint64_t, Function> functions_;
  std::map<std::uint64_t, Clock> awaited_;  ///< what a wait of the host's waits for, by its operation
  std::map<std::uint64_t, std::vector<std::uint64_t>> conditionals_;  ///< those that a thread is in the middle of
  std::map<std::uint64_t, std::vector<Node>> bodies_;                 ///< of bodies whose captures have ended
  Values values_;
  Memory memory_;
  std::map<Stack, std::uint32_t> places_;  ///< of steps
  std::vector<Doubt> doubts_;
};

}  // namespace weir::race
