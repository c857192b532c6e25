// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gloo/transport/context.h>
#include <gloo/transport/device.h>
#include <gloo/transport/unbound_buffer.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/host/steps.hpp"
#include "collectives/peers.hpp"
#include "weir/plugin/communicator.hpp"
#include "weir/plugin/flight_recorder.hpp"

/// One rank's connections by Gloo, and the thread that runs its operations over them.
namespace weir::gloo {

namespace transport = ::gloo::transport;

/// What the ranks of a communicator need to find each other.
struct Meeting {
  collectives::Peers& peers;
  std::string key;                    ///< new for each meeting of these peers
  std::span<const int> members = {};  ///< ranks of the peers, in their new order
  int rank = 0;
  std::chrono::milliseconds timeout{0};
  /// When to give up, if that is before the timeout.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
};

/// Returns an error of Gloo without the place in Gloo's sources, "[/…/pair.cc:598] ", that it begins with.
std::string_view without_place(std::string_view error);

/// The operations of one rank. All memory is the CPU's.
///
/// Gloo's own collectives are not used, for three reasons. Closing a connection does not end their waits on this side, so
/// they cannot be aborted; those that reduce 16-bit numbers round at each step; and their rings take 2 (n - 1) messages one
/// after another where these take 2.
class Engine {
 public:
  using Clock = std::chrono::steady_clock;

  /// Connects the rank with all others, and starts its thread, which ends when the last owner is gone and all steps are
  /// done. Throws `communicator_failed` if a rank is not reached within the timeout, or ten minutes without one;
  /// `out_of_memory` if the system cannot start a thread.
  static std::shared_ptr<Engine> start(transport::Device& device, const Meeting& meeting);

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  std::chrono::milliseconds timeout() const noexcept { return timeout_; }
  void set_recorder(std::shared_ptr<FlightRecorder> recorder) { recorder_ = std::move(recorder); }

  /// Runs the calls on the thread, behind those of earlier steps. Called from a host function.
  void begin(const std::vector<CollectiveCall>& calls, collectives::StepEnd end);
  /// Ends the step that is running, and all later ones. When a step has ended, the memory of its calls is not used. Any
  /// thread.
  /// `late`: as for `EngineFailure`.
  void fail(std::string_view why, std::uint64_t late = 0) noexcept;
  /// The engine's thread tells of it behind each step.
  collectives::EngineFailure& failure() noexcept { return failure_; }

 private:
  struct Step {
    std::vector<CollectiveCall> calls;
    collectives::StepEnd end;
    Clock::time_point since;
  };
  /// Messages that are under way at the same time.
  class Round;

  Engine(transport::Device& device, const Meeting& meeting);
  void connect(const Meeting& meeting);
  void run();
  void run_calls(const Step& step);
  void run_collective(const CollectiveCall& call);
  void broadcast(const CollectiveCall& call, std::uint64_t slot);
  void barrier(std::uint64_t slot);
  void reduce_parts(const CollectiveCall& call, std::size_t total, std::size_t part, void* into, std::uint64_t slot);
  void gather_parts(const CollectiveCall& call, std::size_t total, std::size_t part, std::uint64_t slot, int complete = -1);
  void await(transport::UnboundBuffer& buffer, int peer, bool is_send);

  const int rank_, size_;
  const std::chrono::milliseconds timeout_;
  std::shared_ptr<transport::Context> context_;
  std::shared_ptr<FlightRecorder> recorder_;

  // Used by the thread alone, and by `start` before.
  std::vector<std::byte> scratch_;
  std::vector<std::uint64_t> sent_, received_;  // numbers of messages, by peer
  std::uint64_t collectives_ = 0;
  Clock::time_point deadline_;
  std::uint64_t current_ = 0;  // the number of the call that the thread waits for

  collectives::EngineFailure failure_;

  mutable std::mutex mutex_;  // guards the members below
  std::condition_variable wake_;
  std::deque<Step> steps_;
  bool is_closing_ = false;
  transport::UnboundBuffer* awaited_ = nullptr;
};

}  // namespace weir::gloo
