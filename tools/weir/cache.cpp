// SPDX-License-Identifier: Apache-2.0
#include "cache.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "backends/cache/kernel_cache.hpp"
#include "core/base/file_descriptor.hpp"
#include "layout.hpp"

namespace weir::tool {
namespace {

using detail::FileDescriptor;

constexpr const char* folders_of_backends[] = {"cuda", "hip", "host"};

// Opens a backend's folder under the same conditions as the cache: it must not be a symbolic link, and must belong to this
// user.
FileDescriptor open_folder(const std::string& folder, const char* backend) {
  FileDescriptor opened(::open((folder + "/" + backend).c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!opened || ::fstat(opened.number(), &status) != 0 || status.st_uid != ::geteuid()) opened.close();
  return opened;
}

// Checks that a file belongs to this user, and has the name and the first bytes of a cache entry. Other files are never
// removed.
bool find_entry(const FileDescriptor& folder, const char* name, CacheFile& entry) {
  if (!cache::is_entry_name(name)) return false;
  const FileDescriptor file(::openat(folder.number(), name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != ::geteuid())
    return false;
  std::array<std::byte, 8> begin{};
  if (!file.read(begin.data(), begin.size()) || !cache::is_cache_entry(begin)) return false;
  entry.name = name;
  entry.size = static_cast<std::uint64_t>(status.st_size);
  return true;
}

std::string count_of(std::size_t count) { return fmt::format("{} {}", count, count == 1 ? "entry" : "entries"); }

}  // namespace

Cache look_at_cache() {
  Cache all;
  all.folder = cache::default_cache_folder();
  for (const char* const backend : folders_of_backends) {
    if (!all.folder) break;
    const FileDescriptor folder = open_folder(*all.folder, backend);
    const std::unique_ptr<DIR, int (*)(DIR*)> listing(folder ? ::fdopendir(::dup(folder.number())) : nullptr, ::closedir);
    while (const dirent* const item = listing ? ::readdir(listing.get()) : nullptr) {
      CacheFile entry{backend, {}};
      if (find_entry(folder, item->d_name, entry)) all.entries.push_back(std::move(entry));
    }
  }
  return all;
}

std::string format_sizes(const Cache& cache) {
  if (!cache.folder) return "no folder: compiled kernels are kept only in memory (WEIR_CACHE_DIR sets the folder)\n";
  std::map<std::string, std::pair<std::size_t, std::uint64_t>> of;
  for (const CacheFile& entry : cache.entries) {
    ++of[entry.backend].first;
    of[entry.backend].second += entry.size;
  }
  std::string out = fmt::format("folder  {}\n", *cache.folder);
  for (const char* const backend : folders_of_backends) {
    const auto& [count, size] = of[backend];
    out += fmt::format("{:<8}{} of at most {}, {}\n", backend, format_bytes(size),
                       format_bytes(cache::KernelCache::default_capacity), count_of(count));
  }
  return out;
}

std::string clear_cache(const Cache& cache, std::vector<std::string>& failures) {
  std::size_t removed = 0;
  std::uint64_t freed = 0;
  for (const CacheFile& entry : cache.entries) {
    const FileDescriptor folder = open_folder(*cache.folder, entry.backend.c_str());
    CacheFile same;
    if (!find_entry(folder, entry.name.c_str(), same)) continue;  // another process has removed or replaced the file
    if (::unlinkat(folder.number(), entry.name.c_str(), 0) == 0) {
      ++removed;
      freed += entry.size;
    } else if (errno != ENOENT) {
      failures.push_back(fmt::format("{}/{}/{}: {}", *cache.folder, entry.backend, entry.name, std::strerror(errno)));
    }
  }
  return fmt::format("removed {}, freed {}\n", count_of(removed), format_bytes(freed));
}

}  // namespace weir::tool
