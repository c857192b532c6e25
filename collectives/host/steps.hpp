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

/// Work that begins when a stream comes to it and that other threads finish, while the stream waits and holds no thread.
namespace weir::collectives {

/// The words in a device's memory that its streams wait for. They stay until the process ends, like the device: a stream may
/// look at a word, and `writer_` write to it, when the communicator has gone. A free word is used again.
class SignalWords {
 public:
  using Word = std::uint32_t*;

  /// The device's. Throws `unsupported` if its streams cannot wait for values.
  static SignalWords& of(Device& device);
  explicit SignalWords(Device& device);

  Word take();
  /// The word is free once the event is complete; at once without one.
  void give_back(Word word, EventPtr behind = {}) noexcept;
  /// The stream waits for a 1 there.
  void await(Stream& stream, Word word) const;
  /// Writes 1, for which a stream waits. Not in a host function.
  void end(Word word) noexcept;

 private:
  struct Returned {
    Word word;
    EventPtr behind;
  };
  void find_free() noexcept;
  std::shared_ptr<void> allocate();

  Device& device_;
  StreamPtr writer_;  // on the host: its writes are noticed at once

  std::mutex mutex_;  // guards what follows
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
/// A step is a host function, which sets a word to 0 and begins the step, and a wait for 1 in that word
/// (`Stream::wait_value`), which the step's end writes. One word serves all steps that are not captured, since one begins
/// when the wait of the one before is over. A captured step has a word of its own.
class StepQueue {
 public:
  using Begin = UniqueFunction<void(StepEnd)>;

  /// Throws `unsupported` if the device cannot do it.
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

/// The calls of a group, those of one rank together: they are one step, so that its sends and receives can wait for each
/// other. Calls of two captures, or of one that is captured and one that is not, are two steps.
std::vector<std::vector<CollectiveCall>> by_rank(std::span<const CollectiveCall> calls);

/// The streams of a step's calls. Its work is enqueued on the first, which waits for the others' earlier work; the others'
/// later work waits for the step. (NCCL orders the streams of a group alike.)
class StreamsOfStep {
 public:
  /// The first stream waits for the others.
  explicit StreamsOfStep(std::span<const CollectiveCall> calls);
  Stream& first() const noexcept { return first_; }
  /// The step has been enqueued: the others wait for the first.
  void go_on();

 private:
  Stream& first_;
  std::vector<Stream*> others_;
};

/// Why steps cannot be captured on a device; empty if they can.
std::string capture_obstacle(const Device& device);

}  // namespace weir::collectives
