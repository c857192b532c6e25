// SPDX-License-Identifier: Apache-2.0
#include "backends/host/run/launch_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "backends/host/run/kernel.hpp"
#include "backends/host/run/module.hpp"
#include "weir/error.hpp"
#include "weir/plugin/support.hpp"

namespace weir::host {
namespace {

constexpr std::size_t most_bytes = std::size_t{2} << 30U;

struct RecordedMemory {
  std::mutex mutex;
  std::map<std::byte*, std::size_t> sizes;
};

RecordedMemory& recorded_memory() {
  static auto& all = *new RecordedMemory;  // never destroyed, because destructors of static objects may free memory
  return all;
}

bool same_bytes(const std::byte* a, const std::byte* b, std::size_t size) noexcept { return std::memcmp(a, b, size) == 0; }

std::unique_ptr<std::byte[]> copy_of(const std::byte* memory, std::size_t size) {
  std::unique_ptr<std::byte[]> copy(new std::byte[size]);
  std::memcpy(copy.get(), memory, size);
  return copy;
}

// Writes only bytes that differ, because a variable may be constant and so not writable.
void assign(std::byte* to, const std::byte* from, std::size_t size) noexcept {
  constexpr std::size_t page = 4096;
  for (std::size_t at = 0; at < size; at += page) {
    const std::size_t length = std::min(page, size - at);
    if (!same_bytes(to + at, from + at, length)) std::memcpy(to + at, from + at, length);
  }
}

std::string word(const std::byte* at, std::size_t size) {
  std::uint32_t bits = 0;
  float number = 0;
  std::memcpy(&bits, at, size);
  if (size != sizeof(bits)) return fmt::format("{:#x}", bits);
  std::memcpy(&number, &bits, sizeof(number));
  return fmt::format("{:#010x} ({} as an int, {} as a float)", bits, static_cast<std::int32_t>(bits), number);
}

}  // namespace

bool checks_launches() {
  static const bool checks = [] {
    constexpr const char* variable = "WEIR_HOST_CHECK";
    const auto way = support::environment(variable);
    if (way && *way != "fibers") {
      throw Error(Errc::invalid_environment, fmt::format("reading {}='{}'", variable, *way), "",
                  "set it to 'fibers', so that each launch on the host also runs on fibers and the results are compared, or "
                  "unset it");
    }
    return way.has_value();
  }();
  return checks;
}

void record_memory(void* memory, std::size_t bytes) {
  if (!checks_launches()) return;
  const std::lock_guard lock(recorded_memory().mutex);
  recorded_memory().sizes[static_cast<std::byte*>(memory)] = bytes;
}

void forget_memory(void* memory) noexcept {
  if (!checks_launches()) return;
  const std::lock_guard lock(recorded_memory().mutex);
  recorded_memory().sizes.erase(static_cast<std::byte*>(memory));
}

LaunchCheck::LaunchCheck(const HostKernel& kernel, const HostKernel& reference) : lock_(recorded_memory().mutex) {
  for (const auto& [memory, size] : recorded_memory().sizes) saved_.push_back({{}, memory, size});
  const auto others = static_cast<const HostModule&>(*reference.module()).variables();
  for (const HostModule::Variable& variable : static_cast<const HostModule&>(*kernel.module()).variables()) {
    const auto other = std::find_if(others.begin(), others.end(), [&](const auto& o) {
      return o.name == variable.name && o.memory.size() == variable.memory.size();
    });
    if (other == others.end()) continue;
    assign(other->memory.data(), variable.memory.data(), variable.memory.size());
    saved_.push_back({variable.name, variable.memory.data(), variable.memory.size(), other->memory.data()});
  }
  std::size_t total = 0;
  for (const Saved& saved : saved_) total += saved.size;
  is_possible_ = total <= most_bytes;
  if (!is_possible_) {
    support::log(support::LogLevel::warn, fmt::format("WEIR_HOST_CHECK: a launch of '{}' is not checked: {} MiB of memory "
                                                      "are allocated, but at most {} MiB are compared",
                                                      kernel.name(), total >> 20U, most_bytes >> 20U));
    saved_.clear();
  }
  for (Saved& saved : saved_) saved.before = copy_of(saved.memory, saved.size);
}

void LaunchCheck::begin_second_run() {
  for (Saved& saved : saved_) {
    if (same_bytes(saved.memory, saved.before.get(), saved.size)) continue;
    saved.after = copy_of(saved.memory, saved.size);
    assign(saved.memory, saved.before.get(), saved.size);
  }
}

std::string LaunchCheck::difference(std::span<const void* const> arguments,
                                    std::span<const Parameter> parameters) const {
  for (const Saved& saved : saved_) {
    const std::byte* const expected = saved.expected();
    if (same_bytes(expected, saved.memory, saved.size)) continue;
    const auto first =
        static_cast<std::size_t>(std::mismatch(expected, expected + saved.size, saved.memory).first - expected);
    const std::size_t at = first / sizeof(std::uint32_t) * sizeof(std::uint32_t);
    std::string place = fmt::format("the memory of {} bytes at {}, byte {}", saved.size, fmt::ptr(saved.memory), at);
    if (!saved.variable.empty()) place = fmt::format("the variable '{}', byte {}", saved.variable, at);
    const std::byte* nearest = nullptr;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const std::byte* pointer = nullptr;
      if (parameters[i].size != sizeof(pointer)) continue;
      std::memcpy(&pointer, arguments[i], sizeof(pointer));
      if (pointer < saved.memory || pointer > saved.memory + at || (nearest != nullptr && pointer <= nearest)) continue;
      nearest = pointer;
      place = fmt::format("the memory of argument {}, byte {}", i, saved.memory + at - pointer);
    }
    const std::size_t size = std::min(sizeof(std::uint32_t), saved.size - at);
    return fmt::format("{} has {}, but on fibers {}", place, word(saved.memory + at, size), word(expected + at, size));
  }
  return {};
}

}  // namespace weir::host
