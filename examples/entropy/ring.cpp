// SPDX-License-Identifier: Apache-2.0
#include "ring.hpp"

#include <algorithm>
#include <atomic>
#include <vector>

namespace entropy {
namespace {

/// Uses numbers in pinned memory, which both the host and the device write and wait for.
class ValueRing final : public Ring {
 public:
  ValueRing(weir::Device& device, std::size_t slots)
      : words_(device.allocate<std::uint32_t>(2 * slots * stride, weir::MemoryKind::pinned)), begun_(slots) {
    ValueRing::restart();
  }

  std::string_view means() const noexcept override { return "write and wait values"; }

  void set_filled(std::size_t slot, std::uint32_t round) override { store(filled_word(slot), round); }
  bool is_drained(std::size_t slot, std::uint32_t round) const override {
    const std::uint32_t reached = std::atomic_ref(*drained_word(slot)).load(std::memory_order_acquire);
    return reached >= round;
  }

  // A round may be submitted as soon as a reader may fill the slot, not earlier. So at most one submitted round has not
  // begun. Then a wait for equality is enough, which every device with wait values supports, and one store releases the
  // stream.
  bool may_submit(std::size_t slot, std::uint32_t round) const override { return is_drained(slot, round - 1); }
  void begin_round(weir::Stream& stream, std::size_t slot, std::uint32_t round) override {
    begun_[slot] = round;
    stream.wait_value(filled_word(slot), round, weir::WaitCondition::eq);
  }
  void end_round(weir::Stream& stream, std::size_t slot, std::uint32_t round) override {
    stream.write_value(drained_word(slot), round);
  }

  void release() noexcept override {
    for (std::size_t slot = 0; slot < begun_.size(); ++slot) store(filled_word(slot), begun_[slot]);
  }
  void restart() override { std::ranges::fill(words_.host(), 0U); }

 private:
  // Each word has its own cache line.
  static constexpr std::size_t stride = 64 / sizeof(std::uint32_t);
  std::uint32_t* filled_word(std::size_t slot) const { return words_.data() + 2 * slot * stride; }
  std::uint32_t* drained_word(std::size_t slot) const { return words_.data() + (2 * slot + 1) * stride; }
  static void store(std::uint32_t* word, std::uint32_t round) {
    std::atomic_ref(*word).store(round, std::memory_order_release);
  }

  weir::Buffer<std::uint32_t> words_;
  std::vector<std::uint32_t> begun_;
};

class EventRing final : public Ring {
 public:
  EventRing(weir::Device& device, std::size_t slots) : slots_(slots) {
    for (Slot& slot : slots_) slot.drained = device.create_event();
  }

  std::string_view means() const noexcept override { return "events"; }

  void set_filled(std::size_t slot, std::uint32_t round) override {
    slots_[slot].filled.store(round, std::memory_order_release);
  }
  bool is_drained(std::size_t slot, std::uint32_t round) const override {
    // Before the round is submitted, the event belongs to the previous round.
    return round == 0 ||
           (slots_[slot].submitted.load(std::memory_order_acquire) >= round && slots_[slot].drained->is_complete());
  }

  bool may_submit(std::size_t slot, std::uint32_t round) const override {
    return slots_[slot].filled.load(std::memory_order_acquire) >= round;
  }
  void begin_round(weir::Stream&, std::size_t, std::uint32_t) override {}
  void end_round(weir::Stream& stream, std::size_t slot, std::uint32_t round) override {
    stream.record(*slots_[slot].drained);
    slots_[slot].submitted.store(round, std::memory_order_release);
  }

  void release() noexcept override {}
  void restart() override {
    for (Slot& slot : slots_) slot.filled = slot.submitted = 0;
  }

 private:
  struct alignas(64) Slot {
    std::atomic<std::uint32_t> filled{0};
    std::atomic<std::uint32_t> submitted{0};
    weir::EventPtr drained;
  };
  std::vector<Slot> slots_;
};

}  // namespace

std::unique_ptr<Ring> Ring::make(weir::Device& device, std::size_t slots) {
  if (device.supports(weir::Feature::wait_value_32) && device.supports(weir::Feature::write_value_32)) {
    return std::make_unique<ValueRing>(device, slots);
  }
  return std::make_unique<EventRing>(device, slots);
}

}  // namespace entropy
