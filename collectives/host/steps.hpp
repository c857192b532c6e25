// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weir/capture.hpp"
#include "weir/event.hpp"
#include "weir/fwd.hpp"
#include "weir/memory.hpp"
#include "weir/plugin/communicator.hpp"
#include "weir/ptr.hpp"
#include "weir/stream.hpp"
#include "weir/unique_function.hpp"

/// Steps: work that starts when a stream reaches it, and that other threads finish. The stream waits until then, without
/// occupying a thread.
namespace weir::collectives {

/// Words in a device's memory that its streams wait for. Words are reused, but their memory exists until the process ends,
/// like the device: a stream may read a word, and `writer_` may write it, after the communicator is destroyed.
class SignalWords {
 public:
  using Word = std::uint32_t*;

  /// Returns the words of the device. Throws `unsupported` if its streams cannot wait for values.
  static SignalWords& of(Device& device);
  explicit SignalWords(Device& device);

  Word take();
  /// Makes the word reusable when the event is complete; without an event, immediately.
  void give_back(Word word, EventPtr behind = {}) noexcept;
  /// Enqueues a wait until the word is 1.
  void await(Stream& stream, Word word) const;
  /// Writes 1 to the word, so that the stream continues. Must not be called in a host function.
  void end(Word word) noexcept;

 private:
  struct Returned {
    Word word;
    EventPtr behind;
  };
  void find_free() noexcept;
  std::shared_ptr<void> allocate();

  Device& device_;
  StreamPtr writer_;  // for the host backend: writes on a stream, which waiting streams see immediately

  std::mutex mutex_;  // guards the members below
  std::vector<std::shared_ptr<void>> memory_;
  std::vector<Word> free_;
  std::vector<Returned> returned_;
};

/// Ends a step, so that its stream continues. Call it once, on a thread that may call Weir, which a host function may not.
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

/// A function that an engine's thread calls after a failure, so that the communicator fails at once and not at its next
/// call.
class FailureHandler {
 public:
  /// Waits while another function runs. An empty function ends the calls: its predecessor is not running afterwards.
  void set(std::function<void()> function) {
    const std::lock_guard lock(mutex_);
    function_ = std::move(function);
  }
  void call() {
    const std::lock_guard lock(mutex_);
    if (function_) function_();
  }

 private:
  std::mutex mutex_;  // guards the next member, and is held while it runs
  std::function<void()> function_;
};

/// The steps of one rank, which run one after another in the order of submission.
///
/// A step consists of a host function, which sets a word to 0 and begins the step, and a wait (`Stream::wait_value`) until
/// the step's end writes 1 to that word. All steps that are not captured share one word, because each begins after the wait
/// of the previous one. Each captured step has its own word.
class StepQueue {
 public:
  using Begin = UniqueFunction<void(StepEnd)>;

  /// Throws `unsupported` if the device has no wait for values or no host functions.
  explicit StepQueue(Device& device);
  ~StepQueue();
  StepQueue(const StepQueue&) = delete;
  StepQueue& operator=(const StepQueue&) = delete;

  /// Enqueues a step. `begin` is called in a host function; in a captured step, at each launch of the graph.
  void enqueue(Stream& stream, const CaptureState& capture, Begin begin);

 private:
  struct CapturedStep;

  SignalWords& words_;
  SignalWords::Word word_ = nullptr;
  EventPtr last_end_;  // recorded after the last step that was not captured
  std::uint64_t last_stream_ = 0;
};

/// Splits the calls of a group into steps. All calls of one rank form one step, so that its sends and receives can wait for
/// each other. Calls in different captures, or outside captures, form different steps.
std::vector<std::vector<CollectiveCall>> by_rank(std::span<const CollectiveCall> calls);

/// The streams of a step's calls. The step runs on the first stream. That stream waits for the earlier work of the other
/// streams, and their later work waits for the step. (NCCL orders the streams of a group in the same way.)
class StreamsOfStep {
 public:
  /// Makes the first stream wait for the other streams.
  explicit StreamsOfStep(std::span<const CollectiveCall> calls);
  Stream& first() const noexcept { return first_; }
  /// Makes the other streams wait for the first. Call it when the step is enqueued.
  void go_on();

 private:
  Stream& first_;
  std::vector<Stream*> others_;
};

/// Returns the reason why steps cannot be captured on a device; "" if they can.
std::string capture_obstacle(const Device& device);

}  // namespace weir::collectives
