// SPDX-License-Identifier: Apache-2.0
#include "collectives/host/steps.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>
#include <utility>

#include "weir/backend.hpp"
#include "weir/device.hpp"

namespace weir::collectives {
namespace {

constexpr std::size_t words_of_block = 64, word_distance = 64;  // bytes: words of two steps are on two cache lines

}  // namespace

// A step in a graph, which owns its word.
struct Steps::CapturedStep {
  CapturedStep(Ptr<Steps> s, std::uint32_t w, Begin b) : steps(std::move(s)), word(w), begin(std::move(b)) {}
  ~CapturedStep() { steps->give_back(steps->free_captured_, word); }
  CapturedStep(const CapturedStep&) = delete;
  CapturedStep& operator=(const CapturedStep&) = delete;

  Ptr<Steps> steps;
  std::uint32_t word;
  Begin begin;
};

void StepEnd::operator()() noexcept {
  const Ptr<Steps> steps = std::move(steps_);
  steps->end(word_, value_, captured_);
}

Steps::Steps(Device& device) : device_(device), is_host_(device.backend().name() == "host") {
  device.require({Feature::host_functions, Feature::wait_value_32, Feature::wait_value_geq});
  if (is_host_) writer_ = device.create_stream({.priority = Priority::high});
  last_end_ = device.create_event();
}

std::byte* Steps::allocate_words() {
  constexpr std::size_t bytes = words_of_block * word_distance;
  if (is_host_) {  // plain memory, which may also be allocated in a capture
    std::shared_ptr<void> block(::operator new (bytes, std::align_val_t{word_distance}),
                                [](void* memory) { ::operator delete (memory, std::align_val_t{word_distance}); });
    memory_.push_back(std::move(block));
  } else {
    const AllocationPtr block = device_.allocate_bytes(bytes, MemoryKind::pinned);
    memory_.emplace_back(block->data(), [block](void*) {});
  }
  return static_cast<std::byte*>(memory_.back().get());
}

std::uint32_t Steps::take(std::vector<std::uint32_t>& free) {
  const std::lock_guard lock(mutex_);
  if (free.empty()) {
    std::byte* const block = allocate_words();
    free_.reserve(words_.size() + words_of_block);
    free_captured_.reserve(words_.size() + words_of_block);
    words_.reserve(words_.size() + words_of_block);
    for (std::size_t i = 0; i < words_of_block; ++i) {
      auto* const address = reinterpret_cast<std::uint32_t*>(block + i * word_distance);
      *address = 0;
      free.push_back(static_cast<std::uint32_t>(words_.size()));
      words_.push_back({address});
    }
  }
  const std::uint32_t word = free.back();
  free.pop_back();
  return word;
}

void Steps::give_back(std::vector<std::uint32_t>& free, std::uint32_t word) noexcept {
  const std::lock_guard lock(mutex_);
  free.push_back(word);  // there is room: see `take`
}

void Steps::enqueue(Stream& stream, const CaptureState& capture, Begin begin) {
  StepEnd end;
  end.steps_ = Ptr<Steps>(this);
  end.captured_ = static_cast<bool>(capture);
  if (capture) {
    end.word_ = take(free_captured_);
    end.value_ = 1;
    auto step = std::make_unique<CapturedStep>(end.steps_, end.word_, std::move(begin));
    std::uint32_t* const address = [&] {
      const std::lock_guard lock(mutex_);
      return words_[step->word].address;
    }();
    stream.launch_host_function([step = std::move(step), address] {
      std::atomic_ref(*address).store(0, std::memory_order_seq_cst);
      StepEnd launched;
      launched.steps_ = step->steps;
      launched.word_ = step->word;
      launched.value_ = 1;
      launched.captured_ = true;
      step->begin(std::move(launched));
    });
    stream.wait_value(address, 1, WaitCondition::eq);
    return;
  }
  end.word_ = take(free_);
  std::uint32_t* address = nullptr;
  {
    const std::lock_guard lock(mutex_);
    Word& word = words_[end.word_];
    address = word.address;
    end.value_ = ++word.last;
  }
  const std::uint32_t value = end.value_;
  const std::uint32_t word = end.word_;
  try {
    if (last_stream_ != 0 && last_stream_ != stream.id()) stream.wait(*last_end_);
    stream.launch_host_function([begin = std::move(begin), end = std::move(end)]() mutable { begin(std::move(end)); });
  } catch (...) {
    give_back(free_, word);
    throw;
  }
  stream.wait_value(address, value, WaitCondition::geq);
  stream.record(*last_end_);
  last_stream_ = stream.id();
}

void Steps::end(std::uint32_t word, std::uint32_t value, bool captured) noexcept {
  std::uint32_t* address = nullptr;
  {
    const std::lock_guard lock(mutex_);
    address = words_[word].address;
  }
  bool written = false;
  if (writer_) {
    try {
      writer_->write_value(address, value);
      written = true;
    } catch (...) {  // without memory; the stream notices the store below somewhat later
    }
  }
  if (!written) std::atomic_ref(*address).store(value, std::memory_order_seq_cst);
  if (!captured) give_back(free_, word);
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
