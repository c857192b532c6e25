// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "weir/capture.hpp"
#include "weir/plugin/communicator.hpp"
#include "weir/event.hpp"
#include "weir/fwd.hpp"
#include "weir/memory.hpp"
#include "weir/ptr.hpp"
#include "weir/stream.hpp"
#include "weir/unique_function.hpp"

/// Work that starts when a stream reaches it and that other threads finish. Meanwhile the stream waits without occupying a
/// thread.
namespace weir::collectives {

/// The words in a device's memory that its streams wait for. Like the device, they exist until the process ends, because a
/// stream may read a word, and `writer_` write it, after the communicator is destroyed. Free words are reused.
class SignalWords {
 public:
  using Word = std::uint32_t*;

  /// Returns the device's words. Throws `unsupported` if its streams cannot wait for values.
  static SignalWords& of(Device& device);
  explicit SignalWords(Device& device);

  Word take();
  /// Frees the word once the event is complete; at once without an event.
  void give_back(Word word, EventPtr behind = {}) noexcept;
  /// Makes the stream wait until the word is 1.
  void await(Stream& stream, Word word) const;
  /// Writes the 1 that a stream waits for. Not allowed in a host function.
  void end(Word word) noexcept;

 private:
  struct Returned {
    Word word;
    EventPtr behind;
  };
  void find_free() noexcept;
  std::shared_ptr<void> allocate();

  Device& device_;
  StreamPtr writer_;  // on the host: streams notice its writes at once

  std::mutex mutex_;  // guards the members below
  std::vector<std::shared_ptr<void>> memory_;
  std::vector<Word> free_;
  std::vector<Returned> returned_;
};

/// Ends a step, so that the stream continues. Called once, on a thread that may call Weir: not in a host function.
class StepEnd {
 public:
  StepEnd() = default;
  StepEnd(SignalWords& words, SignalWords::Word word) noexcept : words_(&words), word_(word) {}
  void operator()() noexcept { words_->end(word_); }
  SignalWords::Word word() const noexcept { return word_; }

 private:
  SignalWords* words_ = nullptr;
  SignalWords::Word word_ = nullptr;
};

/// The steps of one rank. They run one after the other, in the order of submission.
///
/// A step consists of a host function, which sets a word to 0 and begins the step, and a wait (`Stream::wait_value`) until
/// the step's end writes 1 to that word. One word serves all steps that are not captured, because each begins after the
/// previous one's wait. A captured step has a word of its own.
class StepQueue {
 public:
  using Begin = UniqueFunction<void(StepEnd)>;

  /// Throws `unsupported` if the device lacks wait values or host functions.
  explicit StepQueue(Device& device);
  ~StepQueue();
  StepQueue(const StepQueue&) = delete;
  StepQueue& operator=(const StepQueue&) = delete;

  /// Enqueues a step. `begin` is called in a host function, at each launch if the stream captures.
  void enqueue(Stream& stream, const CaptureState& capture, Begin begin);

 private:
  struct CapturedStep;

  SignalWords& words_;
  SignalWords::Word word_ = nullptr;
  EventPtr last_end_;  // after the last step that was not captured
  std::uint64_t last_stream_ = 0;
};

/// Groups a group's calls into steps: the calls of one rank form one step, so that its sends and receives can wait for each
/// other. Calls in two captures, or captured and uncaptured calls, form two steps.
std::vector<std::vector<CollectiveCall>> by_rank(std::span<const CollectiveCall> calls);

/// The streams of a step's calls. The step runs on the first, which waits for the others' earlier work; the others' later
/// work waits for the step. (NCCL orders the streams of a group in the same way.)
class StreamsOfStep {
 public:
  /// Makes the first stream wait for the others.
  explicit StreamsOfStep(std::span<const CollectiveCall> calls);
  Stream& first() const noexcept { return first_; }
  /// Called when the step is enqueued: makes the others wait for the first.
  void go_on();

 private:
  Stream& first_;
  std::vector<Stream*> others_;
};

/// The reason why steps cannot be captured on a device; empty if they can.
std::string capture_obstacle(const Device& device);

}  // namespace weir::collectives
