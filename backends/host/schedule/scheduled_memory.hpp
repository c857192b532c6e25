// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

/// Memory under WEIR_SCHEDULE. Memory that is new or was freed is filled with a pattern, so that a program that reads it
/// gives visibly wrong results. This file also collects the memory contents that `weir race --witness` compares. If the
/// variable is not set, these functions do nothing.
namespace weir::host {

enum class Watch : std::uint8_t {
  owned,       ///< new memory that `free_aligned` frees; its final content is recorded
  registered,  ///< memory of the program
  pool,        ///< new memory of a pool; parts of it are recorded when they are freed
};

/// Starts to watch memory. If the memory is new, fills it: with the bytes 0xc0 to 0xce in turn, so that a wrong result also
/// shows which memory was read; memory of a pool with 0xcf.
void watch_memory(void* memory, std::size_t bytes, Watch watch);
/// Stops watching memory. If it is `owned`, fills it with 0xdd, because nothing may read it from now on.
void unwatch_memory(void* memory) noexcept;
/// Records that a part of a pool's memory is freed. `name`: a name for that part that is the same in each run.
void mark_freed(void* memory, std::size_t bytes, const std::string& name) noexcept;

std::uint64_t hash_of(const std::byte* memory, std::size_t bytes) noexcept;
/// Returns a hash of the contents of all watched memory, which does not depend on addresses.
std::uint64_t hash_of_all();

}  // namespace weir::host
