// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "backends/host/engine/schedule_policy.hpp"
#include "backends/host/schedule/schedule.hpp"

namespace weir::host {

/// Runs one operation at a time, on the stream that the schedule chooses. No operation runs before the host waits or has
/// submitted nothing for a while. So the choice depends on the seed, and not on the speed of the host.
class ScheduledRun final : public SchedulePolicy {
 public:
  explicit ScheduledRun(std::unique_ptr<Schedule> schedule) : schedule_(std::move(schedule)) {}
  /// The instance of the process; null if WEIR_SCHEDULE is not set.
  static ScheduledRun* instance() noexcept { return static_cast<ScheduledRun*>(Scheduler::instance().policy()); }

  ScheduleOrder& order() noexcept { return schedule_->order(); }
  /// Waits until no work can run, for at most a second. Returns false if work could still run then.
  bool run_all() noexcept;

  Runnable* take(RunList& ready) noexcept override { return schedule_->take(ready); }
  bool needs_names() const noexcept override { return schedule_->order().is_wanted(); }
  bool may_start(const OperationName& name, Runnable& item, const Work* work, std::function<void()> go_on) override {
    return !order().holds(name, item, work, std::move(go_on));
  }
  void ended(const OperationName& name) override { order().has_run(name); }

  void made_ready() override;
  void was_given(std::uint64_t stream, std::uint64_t number) noexcept override { order().was_given(stream, number); }
  void submitted() noexcept override;
  void asked() noexcept override { asks_.store(true, std::memory_order_relaxed); }
  void begin_wait(HostWait& wait) override;
  void end_wait(HostWait& wait) noexcept override;
  void gave_up() noexcept override;
  void count_functions(int more) noexcept override;
  void submit_from_outside(const std::function<void()>& function) override;

 private:
  void ensure_started();
  void run() noexcept;
  void wait_for_work() noexcept;
  void wait_for_host() noexcept;
  void wait_for_function() noexcept;

  const std::unique_ptr<Schedule> schedule_;  // used only by the thread that runs the work
  std::mutex step_;                           // held while an operation runs
  std::mutex mutex_;                          // guards the members below
  std::condition_variable changed_;
  std::uint64_t submissions_ = 0;  // number of submissions by the host
  // Value of `submissions_` when the host had last used much processor time without submitting.
  std::uint64_t silent_at_ = 0;
  std::atomic<bool> asks_{false};  // the host has queried work that was not complete
  HostWait* host_waits_ = nullptr;
  std::uint32_t order_waits_ = 0;  // number of host threads that wait only because the schedule fixes an order
  std::uint32_t functions_ = 0;    // number of host functions that were passed to their thread and have not returned
  // How often `functions_` has changed, and that count when `wait_for_function` last stopped waiting.
  std::uint64_t function_changes_ = 0, waiting_function_ = 0;
  bool is_idle_ = true;                                        // the thread that runs the work has nothing to run
  OnDemandThread thread_;
};

}  // namespace weir::host
