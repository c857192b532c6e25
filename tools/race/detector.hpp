// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "tools/model/step.hpp"
#include "tools/race/accesses.hpp"
#include "tools/race/graphs.hpp"
#include "tools/race/report.hpp"
#include "tools/race/streams.hpp"
#include "weir/plugin/tool.hpp"

/// The stream sanitizer: finds operations that touch the same memory, of which one writes, and that nothing orders.
///
/// Every stream is a lane of a vector clock, and the host is one more (streams.hpp). Values that streams write and wait for
/// also order them (values.hpp). Each access to memory is judged against those before it (accesses.hpp). Captured operations
/// have clocks of their own, by which a graph is checked once (graphs.hpp); a launch is then one operation of its stream
/// that touches what all nodes touch.
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
  /// A host function that is enqueued: what comes before it.
  struct Function {
    Point point;
    Clock clock;
    std::string where;  ///< its stream
    bool in_graph = false;
  };

  void submit(const Operation& operation);
  void wait_for_event(const Operation& operation, StreamState& state);
  void wait_for_stream(const Operation& operation, StreamState& state);
  void launch_graph(const Operation& operation, StreamState& state, const Point& point);
  void withdraw(const Operation& operation);
  Clock awaited_by(const Operation& operation);

  void touch(const MemoryAccess& memory, const Point& point, const StepPtr& step, const Clock& clock,
             Toucher by = Toucher::work);
  void access_by_host(const Operation& operation);
  void allocate(const Operation& operation);
  void add_foreign(const Operation& operation, bool replaces_freed);
  void free(const Operation& operation);
  void unregister(const Operation& operation);
  void forget_if_pageable(const void* address);

  void add_function(std::uint64_t operation, Function function);
  std::shared_ptr<const Clock> kept(const Clock& clock) const;

  std::mutex mutex_;
  Report report_;
  model::Steps steps_;
  Streams streams_;
  Events events_;
  Accesses accesses_{report_, streams_};
  Graphs graphs_{report_, steps_, accesses_.memory(), events_};
  std::map<std::uint64_t, Function> functions_;
  std::map<std::uint64_t, Clock> awaited_;      // what a wait of the host's waits for, by its operation
  std::map<const GraphExec*, Clock> launched_;  // the last launch
};

}  // namespace weir::race
