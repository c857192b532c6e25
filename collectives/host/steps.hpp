// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
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

/// The failure of an engine that runs steps.
class EngineFailure {
 public:
  bool has_failed() const noexcept { return failed_.load(std::memory_order_acquire); }
  /// Records a failure, and returns whether it is the first. `late`: the number of the call that took too long, or 0. Any
  /// thread.
  bool set(std::string_view cause, std::uint64_t late = 0) noexcept;
  /// After a failure: its cause, and the number of the call that took too long.
  const std::string& cause() const noexcept { return cause_; }
  std::uint64_t late() const noexcept { return late_; }
  /// Sets the function that `tell` calls. Waits while another one runs. An empty one ends the calls.
  void on_failure(std::function<void()> function) {
    const std::lock_guard lock(telling_);
    function_ = std::move(function);
  }
  /// Called by the engine's thread after a failure, so that the communicator fails at once and not at its next call.
  void tell() {
    const std::lock_guard lock(telling_);
    if (function_) function_();
  }

 private:
  std::mutex mutex_;  // held by `set`
  std::atomic<bool> failed_{false};
  std::string cause_;
  std::uint64_t late_ = 0;
  std::mutex telling_;  // guards the next member, and is held while it runs
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

/// A communicator whose operations are steps. All calls of one rank in a group form one step, so that its sends and receives
/// can wait for each other. The step runs on the stream of its first call. That stream waits for the earlier work of the
/// other streams, and their later work waits for the step. (NCCL orders the streams of a group in the same way.)
class StepCommunicator : public CommunicatorImpl {
 protected:
  /// `failure`: of the engine that runs the steps.
  StepCommunicator(Device& device, int rank, int size, std::string library, std::chrono::milliseconds timeout,
                   std::shared_ptr<EngineFailure> failure);
  void dispose() noexcept override;
  void do_enqueue(std::span<const CollectiveCall> calls) override;
  void do_check() override;
  void do_watch(Stream&, void*) override {}  // not needed: engines also see captured operations
  void* do_native_handle() const noexcept override { return nullptr; }

  /// Fails as soon as the engine tells its failure.
  void follow_failure() {
    failure_->on_failure([this] { do_check(); });
  }
  /// Enqueues the calls of one step.
  virtual void enqueue_step(Stream& stream, std::vector<CollectiveCall> calls);
  /// Returns a function that begins a step with these calls. It may outlive the communicator.
  virtual StepQueue::Begin step_of(std::vector<CollectiveCall> calls) = 0;

 private:
  const std::shared_ptr<EngineFailure> failure_;
  StepQueue steps_;
};

}  // namespace weir::collectives
