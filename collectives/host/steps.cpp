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

// --- Groups -----------------------------------------------------------------------------------------------------------

std::vector<std::vector<CollectiveCall>> by_rank(std::span<const CollectiveCall> calls) {
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
  return steps;
}

StreamsOfStep::StreamsOfStep(std::span<const CollectiveCall> calls) : first_(*calls[0].stream) {
  for (const CollectiveCall& call : calls.subspan(1)) {
    if (call.stream == &first_ || std::find(others_.begin(), others_.end(), call.stream) != others_.end()) continue;
    others_.push_back(call.stream);
    first_.wait(*call.stream);
  }
}

void StreamsOfStep::go_on() {
  for (Stream* const other : others_) other->wait(first_);
}

std::string capture_obstacle(const Device& device) {
  for (const Feature needed : {Feature::memory_operations_in_capture, Feature::host_functions_in_capture}) {
    if (device.supports(needed)) continue;
    return "it needs the device's feature '" + std::string(to_string(needed)) + "': " + device.feature(needed).reason;
  }
  return {};
}

}  // namespace weir::collectives
