// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>

#include "backends/cache/kernel_cache.hpp"
#include "commands.hpp"
#include "core/base/file_descriptor.hpp"
#include "layout.hpp"

namespace weir::tool {
namespace {

using detail::FileDescriptor;

// Opens a backend's folder under the same conditions as the cache: it must not be a symbolic link, and must belong to this
// user.
FileDescriptor open_folder(const std::string& folder, const char* backend) {
  FileDescriptor opened(::open((folder + "/" + backend).c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!opened || ::fstat(opened.number(), &status) != 0 || status.st_uid != ::geteuid()) opened.close();
  return opened;
}

// Returns the size of a file that belongs to this user, and has the name and the first bytes of a cache entry.
std::optional<std::uint64_t> entry_size(const FileDescriptor& folder, const char* name) {
  if (!cache::is_entry_name(name)) return std::nullopt;
  const FileDescriptor file(::openat(folder.number(), name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  std::array<std::byte, 8> begin{};
  if (!file || ::fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != ::geteuid() ||
      !file.read(begin.data(), begin.size()) || !cache::is_cache_entry(begin))
    return std::nullopt;
  return static_cast<std::uint64_t>(status.st_size);
}

std::string count_of(std::size_t count) { return fmt::format("{} {}", count, count == 1 ? "entry" : "entries"); }

}  // namespace

std::string list_cache(bool clears, std::vector<std::string>& failures) {
  const std::optional<std::string> all = cache::default_cache_folder();
  if (!all) return "no folder: compiled kernels are kept only in memory (WEIR_CACHE_DIR sets the folder)\n";
  std::string out = fmt::format("folder  {}\n", *all);
  std::size_t removed = 0;
  std::uint64_t freed = 0;
  for (const char* const backend : {"cuda", "hip", "host"}) {
    const FileDescriptor folder = open_folder(*all, backend);
    const std::unique_ptr<DIR, int (*)(DIR*)> listing(folder ? ::fdopendir(::dup(folder.number())) : nullptr, ::closedir);
    std::size_t count = 0;
    std::uint64_t size = 0;
    while (const dirent* const item = listing ? ::readdir(listing.get()) : nullptr) {
      const std::optional<std::uint64_t> bytes = entry_size(folder, item->d_name);
      if (!bytes) continue;
      ++count;
      size += *bytes;
      if (!clears) continue;
      if (::unlinkat(folder.number(), item->d_name, 0) == 0) {
        ++removed;
        freed += *bytes;
      } else if (errno != ENOENT) {
        failures.push_back(fmt::format("{}/{}/{}: {}", *all, backend, item->d_name, std::strerror(errno)));
      }
    }
    out += fmt::format("{:<8}{} of at most {}, {}\n", backend, format_bytes(size),
                       format_bytes(cache::KernelCache::default_capacity), count_of(count));
  }
  return clears ? fmt::format("removed {}, freed {}\n", count_of(removed), format_bytes(freed)) : out;
}

}  // namespace weir::tool
