// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

/// `weir cache`: compiled kernels that are stored for later processes.
namespace weir::tool {

struct CacheFile {
  std::string backend;  ///< the file is in this backend's folder
  std::string name;
  std::uint64_t size = 0;
  std::time_t used = 0;  ///< when a program last loaded or wrote it
};

/// The entries of the cache. Folders of other users are left out.
struct Cache {
  std::optional<std::string> folder;  ///< empty if no folder can be used
  std::vector<CacheFile> entries;     ///< by backend, then by last use, the latest first
  std::size_t others = 0;             ///< other files in these folders
};

/// Throws `weir::Error` for a bad WEIR_CACHE_DIR.
Cache look_at_cache();

/// Returns a line for each entry, and for each backend the number and total size of its entries.
std::string format_entries(const Cache& cache);
std::string format_sizes(const Cache& cache);

/// Removes the entries that no program has used for `days` days, or all entries. Running programs are not disturbed: loaded
/// kernels stay loaded, and missing entries are compiled again. `failures`: receives a text for each entry that could not be
/// removed. Returns a summary for the user.
std::string clear_cache(const Cache& cache, std::optional<unsigned> days, std::vector<std::string>& failures);

}  // namespace weir::tool
