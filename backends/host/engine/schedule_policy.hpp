// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "backends/host/engine/scheduler.hpp"
#include "backends/host/engine/work.hpp"

namespace weir::host {

/// Identifies an operation of the program, the same in each run: the n-th operation enqueued to its stream.
struct OperationName {
  std::uint64_t stream = 0, number = 0;
  /// For a running node: its index in the launched graph, then its index in the graph of that node, and so on.
  std::vector<std::uint32_t> nodes;

  bool is_host() const noexcept { return stream == 0; }
  friend bool operator==(const OperationName&, const OperationName&) = default;
};

/// The policy selected by WEIR_SCHEDULE: one operation runs at a time, and the policy chooses it. Without the variable there
/// is no policy, and work runs as soon as it can. backends/host/schedule implements it.
class SchedulePolicy {
 public:
  /// The policy that WEIR_SCHEDULE selects; null if it is not set. Throws `invalid_environment`. Defined in
  /// backends/host/schedule.
  static std::unique_ptr<SchedulePolicy> from_environment();
  virtual ~SchedulePolicy() = default;

  // Choosing the next item.

  /// Removes the next item from `ready`, which is not empty, and returns it.
  virtual Runnable* take(RunList& ready) noexcept = 0;
  /// Whether to call `may_start` and `ended`.
  virtual bool needs_names() const noexcept = 0;
  /// Called before an operation runs. `work`: null for a queue's host function. Returns false if it must not run yet;
  /// `go_on` is called, on the thread that releases it, once it may.
  virtual bool may_start(const OperationName& name, Runnable& item, const Work* work, std::function<void()> go_on) = 0;
  /// The operation has run.
  virtual void ended(const OperationName& name) = 0;

  // Notifications. Any thread.

  /// An item was added to the scheduler's lists.
  virtual void made_ready() = 0;
  /// The operation with this number was enqueued to the stream.
  virtual void was_given(std::uint64_t stream, std::uint64_t number) noexcept = 0;
  /// The host has submitted something. Blocks while work that must run before the host continues can run.
  virtual void submitted() noexcept = 0;
  /// The host has queried work that was not complete.
  virtual void asked() noexcept = 0;
  virtual void begin_wait(HostWait& wait) = 0;
  virtual void end_wait(HostWait& wait) noexcept = 0;
  /// A host wait has reached its deadline.
  virtual void gave_up() noexcept = 0;
  /// Changes the number of host functions that were passed to their threads and have not returned.
  virtual void count_functions(int more) noexcept = 0;
  /// Calls `function`, which may make work ready, but nothing runs before it has returned, because the ready work must not
  /// depend on the speed of threads.
  virtual void submit_from_outside(const std::function<void()>& function) = 0;

  // Access for policies.

  static Runnable* next_of(const Runnable& item) noexcept { return item.next_runnable_; }
  /// 0: no priority was drawn, because the item may have any.
  static std::uint64_t& priority_of(Runnable& item) noexcept { return item.priority_; }
};

}  // namespace weir::host
