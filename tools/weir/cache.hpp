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
  std::string backend;  ///< the backend whose folder contains the file
  std::string name;
  std::uint64_t size = 0;
};

/// The entries of the cache. Folders of other users are left out.
struct Cache {
  std::optional<std::string> folder;  ///< empty if no folder is usable
  std::vector<CacheFile> entries;
};

/// Throws `weir::Error` for a bad WEIR_CACHE_DIR.
Cache look_at_cache();

/// Returns the number and total size of each backend's entries.
std::string format_sizes(const Cache& cache);
/// Removes the entries. Running programs are not disturbed: loaded kernels stay loaded, and missing entries are compiled
/// again. `failures`: receives a text for each entry that could not be removed. Returns a summary for the user.
std::string clear_cache(const Cache& cache, std::vector<std::string>& failures);

}  // namespace weir::tool
