// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

/// Memory under WEIR_SCHEDULE: what nobody has written, and what was freed, holds a pattern, so that a read of it shows. And
/// what `weir race --witness` compares. Without the variable all this does nothing.
namespace weir::host {

enum class Watch : std::uint8_t {
  owned,       ///< new memory, freed by `free_aligned`; what it holds in the end is noted
  registered,  ///< of the program's own
  pool,        ///< new memory of a pool, whose parts are noted when they are freed
};

/// From now on the memory is looked at. If it is new, it is filled: with 0xc0 to 0xce, by turns, so that it also shows which
/// memory was read; of a pool with 0xcf.
void watch_memory(void* memory, std::size_t bytes, Watch watch);
/// It ends. Nobody may read what was owned: it is filled with 0xdd.
void unwatch_memory(void* memory) noexcept;
/// Part of a pool's memory is freed. `name`: the same in each run.
void mark_freed(void* memory, std::size_t bytes, const std::string& name) noexcept;

std::uint64_t hash_of(const std::byte* memory, std::size_t bytes) noexcept;
/// Of all that is looked at now, wherever it lies.
std::uint64_t hash_of_all();

}  // namespace weir::host
