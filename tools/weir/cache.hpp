// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

/// `weir cache`: what was compiled and is kept for the next process.
namespace weir::tool {

struct CacheFile {
  std::string backend;  ///< whose folder it is in
  std::string name;
  std::uint64_t size = 0;
  std::time_t used = 0;  ///< when a program last loaded or wrote it
};

/// Folders that are another user's are left out.
struct Cache {
  std::optional<std::string> folder;  ///< nothing where no folder can be used
  std::vector<CacheFile> entries;     ///< by backend and then by when they were used, the latest first
  std::size_t others = 0;             ///< files beside them that are no entries of Weir's
};

/// Throws `weir::Error` for a bad WEIR_CACHE_DIR.
Cache look_at_cache();

/// A line for each entry; and for each backend the number and the size of its entries.
std::string format_entries(const Cache& cache);
std::string format_sizes(const Cache& cache);

/// Removes the entries that no program has used for `days` days, or all. Programs that run meanwhile lose nothing: what they
/// have loaded stays, and what they look for and do not find they compile. `failures`: a text for each that is still there.
/// Returns what was done, for people.
std::string clear_cache(const Cache& cache, std::optional<unsigned> days, std::vector<std::string>& failures);

}  // namespace weir::tool
