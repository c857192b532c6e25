// SPDX-License-Identifier: Apache-2.0
#include "collectives/host/steps.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "core/immortal.hpp"
#include "weir/backend.hpp"
#include "weir/device.hpp"

namespace weir::collectives {
namespace {

constexpr std::size_t words_of_block = 64, word_distance = 64;  // bytes: words of two steps are on two cache lines

}  // namespace

// --- Words ------------------------------------------------------------------------------------------------------------

Words& Words::of(Device& device) {
  struct All {
    std::mutex mutex;
    std::map<const Device*, Words> of;
  };
  static detail::Immortal<All> immortal;
  All& all = *immortal;
  const std::lock_guard lock(all.mutex);
  return all.of.try_emplace(&device, device).first->second;
}

Words::Words(Device& device) : device_(device) {
  device.require({Feature::host_functions, Feature::wait_value_32, Feature::wait_value_geq});
  if (device.backend().name() == "host") writer_ = device.create_stream({.priority = Priority::high});
}

std::shared_ptr<void> Words::allocate() {
  constexpr std::size_t bytes = words_of_block * word_distance;
  if (writer_) {  // plain memory, which may also be allocated in a capture
    return {::operator new (bytes, std::align_val_t{word_distance}),
            [](void* memory) { ::operator delete (memory, std::align_val_t{word_distance}); }};
  }
  const AllocationPtr block = device_.allocate_bytes(bytes, MemoryKind::pinned);
  return {block->data(), [block](void*) {}};
}

Words::Word* Words::take_from(std::vector<Word*>& free) {
  std::unique_lock lock(mutex_);
  if (free.empty()) {
    lock.unlock();  // the driver may wait for work that only the end of another step lets go on
    std::shared_ptr<void> memory = allocate();
    lock.lock();
    auto* const block = static_cast<std::byte*>(memory.get());
    memory_.push_back(std::move(memory));
    free_.reserve(words_.size() + words_of_block);
    free_captured_.reserve(words_.size() + words_of_block);
    for (std::size_t i = 0; i < words_of_block; ++i) {
      auto* const address = reinterpret_cast<std::uint32_t*>(block + i * word_distance);
      *address = 0;
      free.push_back(&words_.emplace_back(Word{.address = address}));
    }
  }
  Word* const word = free.back();
  free.pop_back();
  return word;
}

Words::Word* Words::take() { return take_from(free_); }
Words::Word* Words::take_captured() { return take_from(free_captured_); }

void Words::give_back(Word& word) noexcept {
  const std::lock_guard lock(mutex_);
  free_.push_back(&word);  // there is room: see `take_from`
}

void Words::give_back_captured(Word& word) noexcept {
  const std::lock_guard lock(mutex_);
  free_captured_.push_back(&word);
}

void Words::write(const Word& word, std::uint32_t value) noexcept {
  if (writer_) {
    try {
      writer_->write_value(word.address, value);
      return;
    } catch (...) {  // without memory; the stream notices the store below somewhat later
    }
  }
  std::atomic_ref(*word.address).store(value, std::memory_order_seq_cst);
}

// --- Steps ------------------------------------------------------------------------------------------------------------

void StepEnd::operator()() noexcept {
  words_->write(*word_, value_);
  if (!captured_) words_->give_back(*word_);
}

// A step in a graph, which owns its word.
struct Steps::CapturedStep {
  CapturedStep(Words& all, Begin b) : words(all), word(*all.take_captured()), begin(std::move(b)) {}
  ~CapturedStep() { words.give_back_captured(word); }
  CapturedStep(const CapturedStep&) = delete;
  CapturedStep& operator=(const CapturedStep&) = delete;

  Words& words;
  Words::Word& word;
  Begin begin;
};

Steps::Steps(Device& device) : words_(Words::of(device)), last_end_(device.create_event()) {}

void Steps::enqueue(Stream& stream, const CaptureState& capture, Begin begin) {
  StepEnd end;
  end.words_ = &words_;
  if (capture) {
    auto step = std::make_unique<CapturedStep>(words_, std::move(begin));
    end.word_ = &step->word;
    end.value_ = 1;
    end.captured_ = true;
    std::uint32_t* const address = step->word.address;
    stream.launch_host_function([step = std::move(step), end] {
      std::atomic_ref(*step->word.address).store(0, std::memory_order_seq_cst);
      step->begin(end);
    });
    stream.wait_value(address, 1, WaitCondition::eq);
    return;
  }
  Words::Word& word = *words_.take();
  end.word_ = &word;
  end.value_ = ++word.last;
  std::uint32_t* const address = word.address;
  const std::uint32_t value = end.value_;
  try {
    if (last_stream_ != 0 && last_stream_ != stream.id()) stream.wait(*last_end_);
    stream.launch_host_function([begin = std::move(begin), end]() mutable { begin(end); });
  } catch (...) {
    words_.give_back(word);
    throw;
  }
  stream.wait_value(address, value, WaitCondition::geq);
  stream.record(*last_end_);
  last_stream_ = stream.id();
}

std::vector<std::vector<CollectiveCall>> by_stream(std::span<const CollectiveCall> calls) {
  std::vector<std::vector<CollectiveCall>> steps;
  for (const CollectiveCall& call : calls) {
    const auto fits = [&](const std::vector<CollectiveCall>& step) {
      return step[0].communicator == call.communicator && step[0].stream == call.stream;
    };
    const auto found = std::find_if(steps.begin(), steps.end(), fits);
    if (found != steps.end())
      found->push_back(call);
    else
      steps.push_back({call});
  }
  return steps;
}

std::string capture_obstacle(const Device& device) {
  for (const Feature needed : {Feature::memory_operations_in_capture, Feature::host_functions_in_capture}) {
    if (device.supports(needed)) continue;
    return "it needs the device's feature '" + std::string(to_string(needed)) + "': " + device.feature(needed).reason;
  }
  return {};
}

}  // namespace weir::collectives
