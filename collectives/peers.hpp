// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// What the ranks of one communicator exchange beside its library.
namespace weir::collectives {

/// The other ranks of one communicator: their values, their names and their ends. Any thread may call its functions.
/// `Communicator::from_environment` connects the ranks by TCP; see collectives/store.
class Peers {
 public:
  using Clock = std::chrono::steady_clock;

  Peers() = default;
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;
  virtual ~Peers() = default;

  /// Publishes this rank's value under `key`; does not wait for other ranks. A second value replaces the first. A key has
  /// at most 512 bytes, and a value at most 60 KiB; others throw `invalid_argument`. A rank has at most 1 MiB of values: the
  /// oldest are forgotten.
  virtual void publish(std::string_view key, std::string_view value) = 0;
  /// Removes this rank's value under `key`, if there is one: later `value_of` waits for a new one.
  virtual void forget(std::string_view key) = 0;
  /// Returns the value that `rank` has published, and waits for it until `deadline`. nullopt: it has published none by then,
  /// or it is dead, or this rank has lost the connection.
  virtual std::optional<std::string> value_of(int rank, std::string_view key, Clock::time_point deadline) = 0;
  /// Returns how messages name a rank: "rank 3 (host node7, pid 81)", or "rank 3" if it is not known.
  virtual std::string name_of(int rank) = 0;
  /// Whether the rank has been reported dead. Ranks may hear of a death at different times.
  virtual bool is_dead(int) { return false; }
  /// Why this rank reaches no other any more: "rank 0 (…), which keeps the store, died". "" while it does.
  virtual std::string lost() { return ""; }
  /// Makes the peers of a subgroup, for `split` and `rebuild`. `members`: ranks of this group, in their new order; this rank
  /// is one of them. `name`: the same on all members, and new among all groups of the job. Does not wait for them.
  virtual std::shared_ptr<Peers> group(std::span<const int> members, std::string_view name) = 0;
  /// Whether `meet` is there: not for the ranks of one process.
  virtual bool can_meet() const noexcept { return true; }
  /// Waits until all of `members`, ranks of this group, have called this with the same list, and returns the epoch of their
  /// meeting, a number that no other meeting has. If a member is dead, or has not come by the deadline of the first that
  /// came, or has come with another list of the same ranks, all members that have come throw `communicator_failed` with the
  /// sentence, and may meet again.
  virtual std::uint64_t meet(std::span<const int> members, Clock::time_point deadline) = 0;

  /// Reports to the other ranks that this rank's communicator has failed. Does not wait.
  virtual void announce(std::string_view cause) noexcept = 0;
  /// Calls `on_failure` once, on another thread, when a rank of the group has died or has announced a failure, with the
  /// sentence; also for what came before this call. An empty function ends this: afterwards none is running.
  virtual void watch(std::function<void(const std::string& sentence)> on_failure) = 0;
};

/// Makes the peers of each rank, for ranks of one process. `names`: of the ranks, for messages.
std::vector<std::shared_ptr<Peers>> make_process_peers(std::vector<std::string> names);

}  // namespace weir::collectives
