// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "backends/host/engine/scheduler.hpp"
#include "backends/host/engine/work.hpp"

namespace weir::host {

/// The name of an operation of the program, which is the same in each run: the stream, and the operation's number among
/// those enqueued to that stream.
struct OperationName {
  std::uint64_t stream = 0, number = 0;
  /// For a node of a graph launch: its index in the launched graph. If that node is a graph itself, the index in that graph
  /// follows, and so on.
  std::vector<std::uint32_t> nodes;

  bool is_host() const noexcept { return stream == 0; }
  friend bool operator==(const OperationName&, const OperationName&) = default;
};

/// The policy that WEIR_SCHEDULE selects: operations run one at a time, and the policy chooses the next one. If the variable
/// is not set, there is no policy, and work runs as soon as it can. backends/host/schedule implements the policy.
class SchedulePolicy {
 public:
  /// Returns the policy that WEIR_SCHEDULE selects; null if the variable is not set. Throws `invalid_environment`. Defined
  /// in backends/host/schedule.
  static std::unique_ptr<SchedulePolicy> from_environment();
  virtual ~SchedulePolicy() = default;

  // The next functions choose what runs next.

  /// Removes the next item from `ready`, which is not empty, and returns it.
  virtual Runnable* take(RunList& ready) noexcept = 0;
  /// Whether the scheduler must call `may_start` and `ended`.
  virtual bool needs_names() const noexcept = 0;
  /// Called before an operation runs. `work`: null for a host function of a queue. Returns false if the operation must not
  /// run yet. The thread that later releases it then calls `go_on`.
  virtual bool may_start(const OperationName& name, Runnable& item, const Work* work, std::function<void()> go_on) = 0;
  /// Called when the operation has run.
  virtual void ended(const OperationName& name) = 0;

  // The next functions notify the policy. Any thread may call them.

  /// Called when an item was added to the scheduler's lists.
  virtual void made_ready() = 0;
  /// Called when the operation with this number was enqueued to the stream.
  virtual void was_given(std::uint64_t stream, std::uint64_t number) noexcept = 0;
  /// Called when the host has submitted something. Blocks as long as work can run that must run before the host continues.
  virtual void submitted() noexcept = 0;
  /// Called when the host has queried work that was not complete.
  virtual void asked() noexcept = 0;
  virtual void begin_wait(HostWait& wait) = 0;
  virtual void end_wait(HostWait& wait) noexcept = 0;
  /// Called when a wait of the host has reached its deadline.
  virtual void gave_up() noexcept = 0;
  /// Adds `more` to the number of host functions that were passed to their thread and have not returned.
  virtual void count_functions(int more) noexcept = 0;
  /// Calls `function`, which may make work ready. No work runs until `function` returns, because the work that is ready then
  /// must not depend on the speed of threads.
  virtual void submit_from_outside(const std::function<void()>& function) = 0;

  // Give policies access to private members of items.

  static Runnable* next_of(const Runnable& item) noexcept { return item.next_runnable_; }
  /// The priority of an item, which may have any value except 0: 0 means that none was drawn yet.
  static std::uint64_t& priority_of(Runnable& item) noexcept { return item.priority_; }
};

}  // namespace weir::host
