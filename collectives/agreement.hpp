// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/peers.hpp"
#include "weir/plugin/flight_recorder.hpp"

/// Compares the operations of a communicator's ranks, which exchange them through `Peers`.
namespace weir::collectives {

/// Waits until `deadline`, or `has_failed`, for what a rank publishes under `key`. If nothing can come any more, returns
/// nullopt before, and sets `obstacle` to a sentence, such as that the rank has left.
std::optional<std::string> await_value(Peers& peers, int rank, std::string_view key, Peers::Clock::time_point deadline,
                                       const std::function<bool()>& has_failed, std::string& obstacle);

/// Publishes the last operations of this rank, for `absent_ranks` on the other ranks. Called when the communicator has
/// failed.
void publish_operations(Peers& peers, const FlightRecorder& recorder, int rank);
/// Returns what is known about the first operation that is not complete on this rank: which ranks have not called it, or
/// have called another one. Waits until `deadline` for what the others publish.
/// `names_operation`: whether the text begins with the operation. Then it is "" if all ranks have called that.
std::string absent_ranks(Peers& peers, const FlightRecorder& recorder, int rank, int ranks,
                         Peers::Clock::time_point deadline, bool names_operation);

/// Compares each operation of a rank with those of the others before it is enqueued (WEIR_COMM_CHECK). Used by one thread at
/// a time.
class OperationCheck {
 public:
  OperationCheck(std::shared_ptr<Peers> peers, int rank, int ranks) : peers_(std::move(peers)), rank_(rank), ranks_(ranks) {}

  /// Publishes an operation that is about to be enqueued.
  void publish(const CollectiveCall& call);
  /// Waits until the other ranks have published theirs, at most for `timeout` (0: no limit), or until `has_failed`. Returns
  /// a sentence if the operations differ or a rank has not come, otherwise "".
  std::string compare(const CollectiveCall& call, std::chrono::milliseconds timeout,
                      const std::function<bool()>& has_failed);
  /// After a difference, waits until all ranks have failed, at most a second: if a process ends before, the others may not
  /// hear of the difference.
  void await_failures();
  /// Called after the comparisons of all operations that were published: the others have read those of the previous time.
  void forget_previous();

 private:
  struct Published {
    std::string series, key;  // series: all collectives, or the messages from one rank to another
  };

  const std::shared_ptr<Peers> peers_;
  const int rank_, ranks_;
  std::vector<Published> previous_, current_;
};

}  // namespace weir::collectives
