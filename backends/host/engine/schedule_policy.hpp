// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "backends/host/engine/scheduler.hpp"
#include "backends/host/engine/work.hpp"

namespace weir::host {

/// Which operation of the program, the same in each run: the n-th that its stream was given.
struct OperationName {
  std::uint64_t stream = 0, number = 0;
  /// Of a node that runs: its place in the graph that was launched, then in the graph that this node is, and so on.
  std::vector<std::uint32_t> nodes;

  bool is_host() const noexcept { return stream == 0; }
  friend bool operator==(const OperationName&, const OperationName&) = default;
};

/// What WEIR_SCHEDULE changes: one operation runs at a time, and the policy chooses which. Without the variable there is no
/// policy, and work runs as it comes. backends/host/schedule implements it.
class SchedulePolicy {
 public:
  /// What WEIR_SCHEDULE asks for; null if it is not set. Throws `invalid_environment`. Defined in backends/host/schedule.
  static std::unique_ptr<SchedulePolicy> from_environment();
  virtual ~SchedulePolicy() = default;

  // What runs next.

  /// Takes what runs next out of `ready`, which is not empty.
  virtual Runnable* take(RunList& ready) noexcept = 0;
  /// Whether `may_start` and `ended` are to be called.
  virtual bool needs_names() const noexcept = 0;
  /// Called before that operation runs. `work`: null for a host function of a queue's. False: it must not run yet; `go_on`
  /// is called when it may, by the thread that lets it.
  virtual bool may_start(const OperationName& name, Runnable& item, const Work* work, std::function<void()> go_on) = 0;
  /// It has run.
  virtual void ended(const OperationName& name) = 0;

  // What has happened. Any thread.

  /// An item is in the scheduler's lists.
  virtual void made_ready() = 0;
  /// A stream has been given its operation of this number.
  virtual void was_given(std::uint64_t stream, std::uint64_t number) noexcept = 0;
  /// The host has submitted something. Waits for what is to run before the host goes on, if it can run.
  virtual void submitted() noexcept = 0;
  /// The host has asked whether work is done, which it was not.
  virtual void asked() noexcept = 0;
  virtual void begin_wait(HostWait& wait) = 0;
  virtual void end_wait(HostWait& wait) noexcept = 0;
  /// A wait of the host's ends since its deadline has come.
  virtual void gave_up() noexcept = 0;
  /// So many more host functions were handed to their threads, and have not returned.
  virtual void count_functions(int more) noexcept = 0;
  /// Calls `function`, which may make work ready, but only if nothing can run before it has returned: what is ready must not
  /// depend on the speed of threads.
  virtual void submit_from_outside(const std::function<void()>& function) = 0;

  // For policies.

  static Runnable* next_of(const Runnable& item) noexcept { return item.next_runnable_; }
  /// 0: none was drawn since the item may have any.
  static std::uint64_t& priority_of(Runnable& item) noexcept { return item.priority_; }
};

}  // namespace weir::host
