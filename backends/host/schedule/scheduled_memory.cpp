// SPDX-License-Identifier: Apache-2.0
#include "backends/host/schedule/scheduled_memory.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "backends/host/schedule/scheduled_run.hpp"
#include "core/base/no_destructor.hpp"

namespace weir::host {
namespace {

constexpr int never_written = 0xc0, pool_pattern = 0xcf, freed = 0xdd;

struct WatchedMemory {
  struct Entry {
    std::size_t bytes;
    std::uint64_t number;  // number of the allocation, the same in each run; 0 for a pool
    Watch watch;
  };
  std::mutex mutex;
  std::map<void*, Entry> entries;
  std::uint64_t last_number = 0;
  const pid_t process = ::getpid();

  static WatchedMemory& instance() {
    static detail::NoDestructor<WatchedMemory> watched;
    return *watched;
  }
};

bool is_scheduled() noexcept { return ScheduledRun::instance() != nullptr; }
bool has_notes() noexcept { return is_scheduled() && ScheduledRun::instance()->order().has_notes(); }

/// Writes the final content of some memory to the notes.
void write_memory(const void* memory, std::size_t bytes, const std::string& name) {
  if (!has_notes()) return;
  ScheduledRun::instance()->order().write_note(
      fmt::format("memory {} {} {:016x}", name, bytes, hash_of(static_cast<const std::byte*>(memory), bytes)));
}

/// At exit: writes the content of the memory that the program has not freed.
void write_remaining_memory() {
  WatchedMemory& watched = WatchedMemory::instance();
  if (watched.process != ::getpid()) return;  // a forked child does not have the threads that run work
  const bool has_ended = ScheduledRun::instance()->run_all();
  const std::lock_guard lock(watched.mutex);
  for (const auto& [memory, entry] : watched.entries) {
    if (entry.number != 0) write_memory(memory, entry.bytes, std::to_string(entry.number));
  }
  if (has_ended) ScheduledRun::instance()->order().write_note("end");
}

}  // namespace

__attribute__((no_sanitize("address", "thread"))) std::uint64_t hash_of(const std::byte* memory,
                                                                        std::size_t bytes) noexcept {
  constexpr std::uint64_t factor = 0x9e3779b97f4a7c15U;
  std::uint64_t hash = bytes, word = 0;
  for (; bytes >= sizeof word; bytes -= sizeof word, memory += sizeof word) {
    __builtin_memcpy(&word, memory, sizeof word);
    hash = ((hash ^ word) * factor) ^ (hash >> 29U);
  }
  for (; bytes != 0; --bytes) hash = (hash ^ static_cast<std::uint64_t>(*memory++)) * factor;
  return hash;
}

std::uint64_t hash_of_all() {
  WatchedMemory& watched = WatchedMemory::instance();
  const std::lock_guard lock(watched.mutex);
  std::uint64_t hash = 0;  // a sum, because the order is by address and so differs between runs
  for (const auto& [memory, entry] : watched.entries)
    hash += hash_of(static_cast<const std::byte*>(memory), entry.bytes) * (2 * entry.number + 1);
  return hash;
}

void watch_memory(void* memory, std::size_t bytes, Watch watch) {
  if (!is_scheduled()) return;
  WatchedMemory& watched = WatchedMemory::instance();
  const std::lock_guard lock(watched.mutex);
  const std::uint64_t number = watch == Watch::pool ? 0 : ++watched.last_number;
  if (number == 1 && has_notes()) std::atexit(write_remaining_memory);
  if (watch == Watch::owned) std::memset(memory, never_written + static_cast<int>(number % 15), bytes);
  if (watch == Watch::pool) std::memset(memory, pool_pattern, bytes);
  watched.entries[memory] = {bytes, number, watch};
}

void unwatch_memory(void* memory) noexcept {
  if (!is_scheduled()) return;
  WatchedMemory& watched = WatchedMemory::instance();
  const std::lock_guard lock(watched.mutex);
  const auto found = watched.entries.extract(memory);
  if (found.empty()) return;
  const auto [bytes, number, watch] = found.mapped();
  if (watch == Watch::pool) return;
  write_memory(memory, bytes, std::to_string(number));
  if (watch == Watch::owned) std::memset(memory, freed, bytes);
}

void mark_freed(void* memory, std::size_t bytes, const std::string& name) noexcept {
  write_memory(memory, bytes, name);
  std::memset(memory, freed, bytes);
}

}  // namespace weir::host
