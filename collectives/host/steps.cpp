// SPDX-License-Identifier: Apache-2.0
#include "collectives/host/steps.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include "core/base/no_destructor.hpp"
#include "weir/backend.hpp"
#include "weir/plugin/support.hpp"
#include "weir/device.hpp"
#include "weir/plugin/flight_recorder.hpp"

namespace weir::collectives {
namespace {

// in bytes; puts the words of two steps on different cache lines
constexpr std::size_t words_of_block = 64, word_distance = 64;

}  // namespace

// --- SignalWords ------------------------------------------------------------------------------------------------------

SignalWords& SignalWords::of(Device& device) {
  struct All {
    std::mutex mutex;
    std::map<const Device*, SignalWords> of;
  };
  static detail::NoDestructor<All> immortal;
  All& all = *immortal;
  const std::lock_guard lock(all.mutex);
  return all.of.try_emplace(&device, device).first->second;
}

SignalWords::SignalWords(Device& device) : device_(device) {
  device.require({Feature::host_functions, Feature::wait_value_32});
  if (device.backend().name() == "host") writer_ = device.create_stream({.priority = Priority::high});
}

std::shared_ptr<void> SignalWords::allocate() {
  constexpr std::size_t bytes = words_of_block * word_distance;
  if (writer_) {  // ordinary host memory, because it can be allocated during a capture
    return {::operator new (bytes, std::align_val_t{word_distance}),
            [](void* memory) { ::operator delete (memory, std::align_val_t{word_distance}); }};
  }
  const AllocationPtr block = device_.allocate_bytes(bytes, MemoryKind::pinned);
  return {block->data(), [block](void*) {}};
}

// Moves the words with complete events to the free words.
void SignalWords::find_free() noexcept {
  std::erase_if(returned_, [this](const Returned& returned) {
    try {
      if (!returned.behind->is_complete()) return false;
    } catch (...) {  // a capture forbids the query
      return false;
    }
    free_.push_back(returned.word);
    return true;
  });
}

SignalWords::Word SignalWords::take() {
  std::unique_lock lock(mutex_);
  if (free_.empty()) find_free();
  if (free_.empty()) {
    lock.unlock();  // the driver may wait for the end of another step, which needs the lock
    std::shared_ptr<void> memory = allocate();
    lock.lock();
    auto* const block = static_cast<std::byte*>(memory.get());
    const std::size_t words = (memory_.size() + 1) * words_of_block;
    free_.reserve(words);
    returned_.reserve(words);
    memory_.push_back(std::move(memory));
    for (std::size_t i = 0; i < words_of_block; ++i) {
      free_.push_back(reinterpret_cast<Word>(block + i * word_distance));
    }
  }
  const Word word = free_.back();
  free_.pop_back();
  return word;
}

void SignalWords::give_back(Word word, EventPtr behind) noexcept {
  const std::lock_guard lock(mutex_);  // does not allocate: `take` has reserved room
  if (behind)
    returned_.push_back({word, std::move(behind)});
  else
    free_.push_back(word);
}

void SignalWords::await(Stream& stream, Word word) const {
  std::optional<support::UnshownCalls> unshown;
  if (writer_) unshown.emplace();  // streams of the host accept ordinary memory, but tools would report it as a mistake
  stream.wait_value(word, std::uint32_t{1}, WaitCondition::eq);
}

void SignalWords::end(Word word) noexcept {
  if (writer_) {
    const support::UnshownCalls unshown;
    try {
      writer_->write_value(word, std::uint32_t{1});
      return;
    } catch (...) {  // out of memory: store the value below instead, which the stream sees a little later
    }
  }
  std::atomic_ref(*word).store(1, std::memory_order_seq_cst);
}

// --- StepQueue --------------------------------------------------------------------------------------------------------

// A step of a graph. It owns its word.
struct StepQueue::CapturedStep {
  CapturedStep(SignalWords& all, Begin b) : words(all), word(all.take()), begin(std::move(b)) {}
  ~CapturedStep() { words.give_back(word); }
  CapturedStep(const CapturedStep&) = delete;
  CapturedStep& operator=(const CapturedStep&) = delete;

  SignalWords& words;
  const SignalWords::Word word;
  Begin begin;
};

StepQueue::StepQueue(Device& device) : words_(SignalWords::of(device)), last_end_(device.create_event()) {}

StepQueue::~StepQueue() {
  if (word_ != nullptr) words_.give_back(word_, std::move(last_end_));
}

void StepQueue::enqueue(Stream& stream, const CaptureState& capture, Begin begin) {
  const auto start = [&words = words_](SignalWords::Word word, Begin& step) {
    std::atomic_ref(*word).store(0, std::memory_order_seq_cst);
    step(StepEnd(words, word));
  };
  if (capture) {
    auto step = std::make_unique<CapturedStep>(words_, std::move(begin));
    const SignalWords::Word word = step->word;
    stream.launch_host_function([start, step = std::move(step)] { start(step->word, step->begin); });
    words_.await(stream, word);
    return;
  }
  if (word_ == nullptr) word_ = words_.take();
  if (last_stream_ != 0 && last_stream_ != stream.id()) stream.wait(*last_end_);
  stream.launch_host_function([start, word = word_, begin = std::move(begin)]() mutable { start(word, begin); });
  const SignalWords::Word word =
      // If the code below throws, the stream may not wait for the word. Then `word_` stays null and the word is never
      // reused, because the step still writes to it.
      std::exchange(word_, nullptr);
  words_.await(stream, word);
  stream.record(*last_end_);
  word_ = word;
  last_stream_ = stream.id();
}

// --- Communicators ----------------------------------------------------------------------------------------------------

bool EngineFailure::set(std::string_view cause, std::uint64_t late) noexcept {
  const std::lock_guard lock(mutex_);
  if (failed_.load(std::memory_order_relaxed)) return false;
  late_ = late;
  try {
    cause_ = cause;
  } catch (const std::bad_alloc&) {  // the failure has no text
  }
  failed_.store(true, std::memory_order_release);
  return true;
}

StepCommunicator::StepCommunicator(Device& device, int rank, int size, std::string library,
                                   std::chrono::milliseconds timeout, std::shared_ptr<EngineFailure> failure)
    : CommunicatorImpl(device, rank, size, std::move(library), timeout), failure_(std::move(failure)), steps_(device) {
  flight_recorder()->set_marks(true);
  for (const Feature needed : {Feature::memory_operations_in_capture, Feature::host_functions_in_capture}) {
    if (device.supports(needed)) continue;
    set_feature(CommunicatorFeature::capture, Support::absent,
                "it needs the device's feature '" + std::string(to_string(needed)) + "': " + device.feature(needed).reason);
    break;
  }
}

// The engine must not call an object whose destructor has begun.
void StepCommunicator::dispose() noexcept {
  failure_->on_failure({});
  CommunicatorImpl::dispose();
}

void StepCommunicator::do_check() {
  if (!failure_->has_failed()) return;
  failure_->late() != 0 ? fail_late(failure_->late()) : fail(failure_->cause());
}

void StepCommunicator::do_enqueue(std::span<const CollectiveCall> calls) {
  const auto enqueue = [](std::vector<CollectiveCall> step) {
    auto& rank = static_cast<StepCommunicator&>(*step[0].communicator);
    if (rank.failure_->has_failed()) rank.check();
    Stream& first = *step[0].stream;
    std::vector<Stream*> others;
    for (const CollectiveCall& call : step) {
      if (call.stream == &first || std::find(others.begin(), others.end(), call.stream) != others.end()) continue;
      others.push_back(call.stream);
      first.wait(*call.stream);
    }
    rank.enqueue_step(first, std::move(step));
    for (Stream* const other : others) other->wait(first);
  };
  if (calls.size() == 1) return enqueue({calls.begin(), calls.end()});
  // Calls in different captures, or outside captures, form different steps.
  std::vector<std::vector<CollectiveCall>> steps;
  for (const CollectiveCall& call : calls) {
    const auto fits = [&](const std::vector<CollectiveCall>& step) {
      return step[0].communicator == call.communicator && step[0].capture.id == call.capture.id;
    };
    const auto found = std::find_if(steps.begin(), steps.end(), fits);
    if (found != steps.end())
      found->push_back(call);
    else
      steps.push_back({call});
  }
  for (std::vector<CollectiveCall>& step : steps) enqueue(std::move(step));
}

void StepCommunicator::enqueue_step(Stream& stream, std::vector<CollectiveCall> calls) {
  const CaptureState capture = calls[0].capture;
  const std::uint64_t last = calls.back().number;
  steps_.enqueue(stream, capture, step_of(std::move(calls)));
  flight_recorder()->accept(last);
}

}  // namespace weir::collectives
