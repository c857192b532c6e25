// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/src/signal_words.hpp"

#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "weir/error.hpp"
#include "weir/memory.hpp"

namespace weir::python {
namespace {

struct Pools {
  std::mutex mutex;
  std::map<std::pair<const Device*, bool>, std::vector<std::uint32_t*>> unused;
};

/// Never destroyed, because driver threads may run after main.
Pools& pools() {
  static Pools* const all = new Pools;
  return *all;
}

bool can_wait(const Device& device, bool captured) {
  if (!device.supports(Feature::wait_value_32)) return false;
  return !captured || (device.supports(Feature::write_value_32) && device.supports(Feature::memory_operations_in_capture));
}

}  // namespace

std::uint32_t* borrow_word(Device& device, bool captured) noexcept try {
  if (!can_wait(device, captured)) return nullptr;
  Pools& all = pools();
  std::unique_lock lock(all.mutex);
  std::vector<std::uint32_t*>& unused = all.unused[{&device, captured}];
  if (unused.empty()) {
    // Allocating calls the driver. The host-function thread takes this lock, and must not wait for the driver.
    lock.unlock();
    constexpr std::size_t count = 1024;
    // Never freed, because words are used until the process ends.
    auto* const first = static_cast<std::uint32_t*>(
        device.allocate_bytes(count * sizeof(std::uint32_t), MemoryKind::pinned).detach()->data());
    std::memset(first, 0, count * sizeof(std::uint32_t));
    lock.lock();
    for (std::size_t i = 0; i < count; i += 2) unused.push_back(first + i);
  }
  std::uint32_t* const word = unused.back();
  unused.pop_back();
  return word;
} catch (const std::exception&) {
  return nullptr;  // for example, an open capture may forbid the allocation
}

void give_back_word(Device& device, bool captured, std::uint32_t* word) noexcept {
  Pools& all = pools();
  const std::lock_guard lock(all.mutex);
  all.unused[{&device, captured}].push_back(word);
}

}  // namespace weir::python
