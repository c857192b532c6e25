// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

/// The barrier of the blocks of a cooperative launch.
namespace weir::host {

class GridBarrier {
 public:
  explicit GridBarrier(std::uint32_t blocks) : blocks_(blocks) {}

  /// Called once all threads exist, or cannot be created: lets them begin, or, if `run` is false, makes them end at once.
  void open(bool run) {
    const std::lock_guard lock(mutex_);
    state_ = run ? State::running : State::cancelled;
    changed_.notify_all();
  }
  /// Called first by the thread of each block; waits for `open`. Returns false if the block must not run.
  bool begin() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return state_ != State::closed; });
    return state_ == State::running;
  }
  /// Called last by the thread of each block, when it waits for no other block.
  void end() {
    const std::lock_guard lock(mutex_);
    ++ended_;
    changed_.notify_all();
  }

  struct Outcome {
    bool all_came;
    bool first_to_know;     ///< whether this is the first block to find that not all blocks arrived
    std::uint32_t waiting;  ///< how many blocks had arrived
    std::uint32_t blocks;
  };
  /// Waits until every block has arrived. Returns early if some block has ended instead.
  Outcome wait() {
    std::unique_lock lock(mutex_);
    const std::uint64_t round = round_;
    if (++waiting_ == blocks_) {
      waiting_ = 0;
      ++round_;
      changed_.notify_all();
      return {true, false, blocks_, blocks_};
    }
    changed_.wait(lock, [&] { return round_ != round || broken_ || waiting_ + ended_ == blocks_; });
    if (round_ != round) return {true, false, blocks_, blocks_};
    const bool first = !broken_;
    broken_ = true;
    changed_.notify_all();
    return {false, first, waiting_, blocks_};
  }

 private:
  enum class State : std::uint8_t { closed, running, cancelled };

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::uint32_t blocks_;
  std::uint32_t waiting_ = 0;
  std::uint32_t ended_ = 0;
  std::uint64_t round_ = 0;
  bool broken_ = false;
  State state_ = State::closed;
};

}  // namespace weir::host
