// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "weir/capture.hpp"
#include "weir/communicator.hpp"
#include "weir/event.hpp"
#include "weir/fwd.hpp"
#include "weir/memory.hpp"
#include "weir/ptr.hpp"
#include "weir/stream.hpp"
#include "weir/unique_function.hpp"

/// Work that begins when a stream comes to it and that other threads finish, while the stream waits and holds no thread.
namespace weir::collectives {

/// The words in a device's memory that its streams wait for, one for each step under way. They are as many as there were
/// steps at one time, and stay until the process ends, like the device: a stream may look at a word, and `writer_` write to
/// it, when the communicator has gone.
///
/// The value of a word only grows, so a word can be used again as soon as its write is enqueued: whoever still waits for the
/// former value goes on. The wait of a captured step is the same at each launch, so its word is the graph's own and begins
/// at 0 each time.
class Words {
 public:
  struct Word {
    std::uint32_t* address = nullptr;
    std::uint32_t last = 0;  // the value of its last use
  };

  /// The device's. Throws `unsupported` if its streams cannot wait for values.
  static Words& of(Device& device);
  explicit Words(Device& device);

  Word* take();
  Word* take_captured();
  void give_back(Word& word) noexcept;
  void give_back_captured(Word& word) noexcept;
  /// Writes the value, for which a stream waits. Not in a host function.
  void write(const Word& word, std::uint32_t value) noexcept;

 private:
  Word* take_from(std::vector<Word*>& free);
  std::shared_ptr<void> allocate();

  Device& device_;
  StreamPtr writer_;  // on the host: its writes are noticed at once

  std::mutex mutex_;  // guards what follows
  std::vector<std::shared_ptr<void>> memory_;
  std::deque<Word> words_;
  std::vector<Word*> free_, free_captured_;
};

/// Ends a step: the stream goes on. Called once, on a thread that may call Weir: not in a host function.
class StepEnd {
 public:
  StepEnd() = default;
  void operator()() noexcept;

 private:
  friend class Steps;
  Words* words_ = nullptr;
  Words::Word* word_ = nullptr;
  std::uint32_t value_ = 0;
  bool captured_ = false;
};

/// The steps of one rank: they run one after the other, in the order in which they are enqueued.
///
/// A step is a host function, which begins it, and a wait for a value in memory (`Stream::wait_value`), which its end
/// writes.
class Steps {
 public:
  using Begin = UniqueFunction<void(StepEnd)>;

  /// Throws `unsupported` if the device cannot do it.
  explicit Steps(Device& device);

  /// Enqueues a step. `begin` is called in a host function, at each launch if the stream captures.
  void enqueue(Stream& stream, const CaptureState& capture, Begin begin);

 private:
  struct CapturedStep;

  Words& words_;
  EventPtr last_end_;  // behind the last step that was not captured
  std::uint64_t last_stream_ = 0;
};

/// The calls of a group, those of one rank and stream together: they are one step, so that its sends and receives can wait
/// for each other.
std::vector<std::vector<CollectiveCall>> by_stream(std::span<const CollectiveCall> calls);

/// Why steps cannot be captured on a device; empty if they can.
std::string capture_obstacle(const Device& device);

}  // namespace weir::collectives
