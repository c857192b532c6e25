// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/host/engine/schedule_policy.hpp"

/// Fixes the order of two operations in a schedule, for `weir race --witness`.
namespace weir::host {

/// WEIR_SCHEDULE=SEED,hold=LATE,until=EARLY: operation LATE does not run before operation EARLY, unless nothing else can run
/// while the host waits. If both are ready at the same time, they run one right after the other. Then a run in the opposite
/// order has the same state before the two, and the same memory contents later, unless the order of the two matters. LATE or
/// EARLY may also be "host", which stands for the program's own accesses to memory that streams use.
class ScheduleOrder {
 public:
  /// What is known about a running operation.
  struct Kind {
    std::string text;  ///< "kernel 'scale'", "copy", "fill", or empty
    /// Returns a hash of the memory that the operation writes; empty if that memory is unknown.
    std::function<std::uint64_t()> hash;
  };

  /// Parses the text after the seed, which may have these parts in this order: ",hold=LATE,until=EARLY",
  /// ",notes=FILE". Returns false for any other text.
  bool read(std::string_view text);

  /// Whether the policy needs the names of operations.
  bool is_wanted() const noexcept { return is_wanted_; }
  bool has_notes() const noexcept { return notes_ >= 0; }
  void write_note(std::string_view line) noexcept;

  /// Called before an operation runs. `work`: null for a host function. Returns true if the operation must not run yet. The
  /// thread that later releases it then calls `go_on`.
  bool holds(const OperationName& name, Runnable& item, const Work* work, std::function<void()> go_on);
  /// Called when the operation has run.
  void has_run(const OperationName& name);
  /// The item that must run next if it is ready; null if there is none.
  Runnable* preferred() const noexcept { return preferred_.load(std::memory_order_relaxed); }
  bool is_holding() const noexcept { return is_holding_.load(std::memory_order_acquire); }
  /// Whether any operation was ever held back, so that the program was delayed.
  bool has_held() const noexcept { return has_held_.load(std::memory_order_relaxed); }
  /// Releases the held operations because nothing else can run. `why`: a word for the notes.
  void let_go(std::string_view why);

  /// Called when the operation with this number was enqueued to the stream.
  void was_given(std::uint64_t stream, std::uint64_t number) noexcept;
  /// With hold=host: whether the host must wait for an operation that is enqueued.
  bool holds_host() const noexcept { return holds_host_.load(std::memory_order_acquire); }
  /// Called when the host begins and when it ends to wait for that operation.
  void set_host_waits(bool waits) noexcept { host_waits_.store(waits, std::memory_order_relaxed); }

 private:
  struct Side {
    OperationName name;
    Runnable* item = nullptr;
    Kind kind;
    std::function<void()> go_on;  // set while the operation is held back
    std::uint64_t memory = 0;     // hash of all watched memory when the operation begins
  };

  bool belongs_to_pair(const OperationName& name) const;
  std::function<void()> release(Side& side);
  void update_holding() noexcept;
  std::uint64_t memory() const;

  bool is_wanted_ = false;
  int notes_ = -1;
  Side early_, late_;     // if no order is fixed, both name the host
  std::mutex mutex_;      // guards the members below and both sides
  bool is_over_ = false;  // the early operation has run or nothing else could: the late one need not wait any longer
  // The early operation has begun and the late one comes next; all others wait until both have run.
  bool are_running_ = false;
  std::vector<std::function<void()>> others_;
  std::atomic<Runnable*> preferred_{nullptr};
  std::atomic<bool> is_holding_{false}, has_held_{false}, holds_host_{false}, host_waits_{false};
};

}  // namespace weir::host
