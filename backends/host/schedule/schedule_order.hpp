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

/// A fixed order of two operations in a schedule, for `weir race --witness`.
namespace weir::host {

/// WEIR_SCHEDULE=SEED,hold=LATE,until=EARLY: LATE does not run before EARLY has run, unless nothing else can run while the
/// host waits. If both can run at the same time, they run one right after the other: everything before them is then the same
/// in the opposite order, and so are all memory contents unless the order of the two matters. Either may be the host: its
/// own accesses to memory that streams use.
class ScheduleOrder {
 public:
  /// Known facts about a running operation.
  struct Kind {
    std::string text;                     ///< "kernel 'scale'", "copy", "fill", or nothing
    std::function<std::uint64_t()> hash;  ///< of what it writes, if known
  };

  /// Parses the text after the seed: ",hold=LATE,until=EARLY", ",watch=OPERATION+OPERATION…", ",notes=FILE", in this order,
  /// or nothing. Returns false for anything else.
  bool read(std::string_view text);

  /// Whether names of operations matter.
  bool is_wanted() const noexcept { return is_wanted_; }
  bool has_notes() const noexcept { return notes_ >= 0; }
  void write_note(std::string_view line) noexcept;

  /// Called before an operation runs. `work`: null for a host function. Returns true if it must not run yet; `go_on` is
  /// called, on the thread that releases it, once it may.
  bool holds(const OperationName& name, Runnable& item, const Work* work, std::function<void()> go_on);
  /// Records that the operation has run.
  void has_run(const OperationName& name);
  /// The item that comes next if it may run, or null.
  Runnable* preferred() const noexcept { return preferred_.load(std::memory_order_relaxed); }
  bool is_holding() const noexcept { return is_holding_.load(std::memory_order_acquire); }
  /// Whether it has held anything back so far, so that the program was delayed.
  bool has_held() const noexcept { return has_held_.load(std::memory_order_relaxed); }
  /// Releases held operations because nothing else can run. `why`: a word for the notes.
  void let_go(std::string_view why);

  /// Records that the operation with this number was enqueued to the stream.
  void was_given(std::uint64_t stream, std::uint64_t number) noexcept;
  /// With hold=host: whether the host must wait for an enqueued operation.
  bool holds_host() const noexcept { return holds_host_.load(std::memory_order_acquire); }
  /// The host begins or ends to wait for that operation.
  void set_host_waits(bool waits) noexcept { host_waits_.store(waits, std::memory_order_relaxed); }

 private:
  struct Side {
    OperationName name;
    Runnable* item = nullptr;
    Kind kind;
    std::function<void()> go_on;  // while it is held
    std::uint64_t memory = 0;     // hash of all memory when it begins
  };

  bool belongs_to_pair(const OperationName& name) const;
  std::function<void()> release(Side& side);
  void update_holding() noexcept;
  std::uint64_t memory() const;

  bool is_wanted_ = false;
  int notes_ = -1;
  Side early_, late_;  // both are the host if no order is fixed
  std::vector<OperationName> watched_;  // their ends are written to the notes
  std::mutex mutex_;   // guards the members below, and the sides
  bool is_over_ = false;      // the late one need no longer wait
  bool are_running_ = false;  // the early one has begun, and the late one comes next; others wait until then
  std::vector<std::function<void()>> others_;
  std::atomic<Runnable*> preferred_{nullptr};
  std::atomic<bool> is_holding_{false}, has_held_{false}, holds_host_{false}, host_waits_{false};
};

}  // namespace weir::host
