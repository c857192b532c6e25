// SPDX-License-Identifier: Apache-2.0
#include "backends/cache/kernel_cache.hpp"

#define XXH_INLINE_ALL
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <new>
#include <system_error>
#include <utility>

#include "weir/plugin/support.hpp"

namespace weir::cache {
namespace {

constexpr std::string_view entry_suffix = ".module";
constexpr std::string_view unfinished_prefix = "new-";
constexpr std::time_t unfinished_lifetime =
    3600;  // age in seconds at which another process's unfinished entry counts as abandoned

struct EntryHeader {
  char magic[8] = {'W', 'E', 'I', 'R', 'K', 'E', 'R', 'N'};
  std::uint32_t version = 1;
  std::uint32_t header_size = sizeof(EntryHeader);
  std::uint64_t content_size = 0;
  std::array<std::uint8_t, 16> key{};
  std::array<std::uint8_t, 16> content_hash{};
};
static_assert(sizeof(EntryHeader) == 56);

std::array<std::uint8_t, 16> to_bytes(XXH128_hash_t hash) noexcept {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, hash);
  std::array<std::uint8_t, 16> bytes{};
  std::memcpy(bytes.data(), canonical.digest, bytes.size());
  return bytes;
}

std::array<std::uint8_t, 16> hash_of(std::span<const std::byte> content) noexcept {
  return to_bytes(XXH3_128bits(content.data(), content.size()));
}

std::string error_text(int error) { return std::generic_category().message(error); }

/// Whether the folder exists. If so, sets `owner` to its owner.
bool find_owner(const std::string& folder, ::uid_t& owner) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return false;
  owner = status.st_uid;
  return true;
}

/// Creates the folder and its parents, with the mode that the XDG specification requires.
void make_folders(const std::filesystem::path& path) {
  if (::mkdir(path.c_str(), 0700) == 0 || errno != ENOENT || !path.has_relative_path()) return;
  make_folders(path.parent_path());
  ::mkdir(path.c_str(), 0700);
}

}  // namespace

std::optional<std::string> default_cache_folder() {
  if (auto chosen = support::environment_path("WEIR_CACHE_DIR")) return chosen;
  // With sudo -E these variables belong to another user, who could not use a folder that root creates. So the owner is
  // checked.
  ::uid_t owner = 0;
  // The XDG specification requires to ignore a relative XDG_CACHE_HOME, and to create the folder if it is missing.
  const auto xdg = support::environment("XDG_CACHE_HOME");
  if (xdg && xdg->starts_with('/')) {
    if (find_owner(*xdg, owner) && owner != ::geteuid()) return std::nullopt;
    return *xdg + "/weir";
  }
  // Users without a home, such as services, have a HOME that does not exist. That folder is not created.
  const auto home = support::environment("HOME");
  if (home && home->starts_with('/') && find_owner(*home, owner) && owner == ::geteuid()) return *home + "/.cache/weir";
  return std::nullopt;
}

std::string CacheKey::hex() const {
  std::string text;
  for (std::uint8_t byte : bytes) fmt::format_to(std::back_inserter(text), "{:02x}", byte);
  return text;
}

CacheKeyBuilder::CacheKeyBuilder() : state_(XXH3_createState()) {
  if (state_ == nullptr) throw std::bad_alloc();
  XXH3_128bits_reset(static_cast<XXH3_state_t*>(state_));
}

CacheKeyBuilder::~CacheKeyBuilder() { XXH3_freeState(static_cast<XXH3_state_t*>(state_)); }

CacheKeyBuilder& CacheKeyBuilder::add(std::string_view part) noexcept {
  const std::uint64_t size = part.size();
  XXH3_128bits_update(static_cast<XXH3_state_t*>(state_), &size, sizeof(size));
  XXH3_128bits_update(static_cast<XXH3_state_t*>(state_), part.data(), part.size());
  return *this;
}

CacheKey CacheKeyBuilder::key() const noexcept {
  return {to_bytes(XXH3_128bits_digest(static_cast<const XXH3_state_t*>(state_)))};
}

bool is_entry_name(std::string_view name) noexcept {
  constexpr std::size_t digits = 2 * sizeof(CacheKey::bytes);
  return name.size() == digits + entry_suffix.size() && name.ends_with(entry_suffix) &&
         name.find_first_not_of("0123456789abcdef") == digits;
}

bool is_cache_entry(std::span<const std::byte> bytes) noexcept {
  const EntryHeader header;
  return bytes.size() >= sizeof(header.magic) && std::memcmp(bytes.data(), header.magic, sizeof(header.magic)) == 0;
}

std::span<const std::byte> content_of_entry(std::span<const std::byte> entry, CacheKey& key, std::string& flaw) {
  const EntryHeader expected;
  EntryHeader header;
  if (!is_cache_entry(entry) || entry.size() < sizeof(header)) {
    flaw = "is not an entry of this cache";
    return {};
  }
  std::memcpy(&header, entry.data(), sizeof(header));
  const auto content = entry.subspan(sizeof(header));
  if (header.version != expected.version || header.header_size != expected.header_size) {
    flaw = "was written by another release of Weir";
  } else if (content.size() != header.content_size) {
    flaw = fmt::format("has {} bytes but should have {}", content.size(), header.content_size);
  } else if (hash_of(content) != header.content_hash) {
    flaw = "is damaged";
  }
  key.bytes = header.key;
  return content;
}

KernelCache::KernelCache(std::optional<std::string> folder, std::string_view backend, std::uint64_t capacity)
    : capacity_(capacity) {
  if (!folder) {
    warn_once("WEIR_CACHE_DIR is not set, and neither XDG_CACHE_HOME nor HOME is a folder of this user");
    return;
  }
  path_ = *folder + "/" + std::string(backend);
  if (!open_folder()) folder_.close();
}

bool KernelCache::open_folder() {
  make_folders(std::filesystem::path(path_).parent_path());
  if (::mkdir(path_.c_str(), 0700) != 0 && errno != EEXIST) {
    warn_once(fmt::format("{} cannot be created: {}", path_, error_text(errno)));
    return false;
  }
  folder_ = FileDescriptor(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!folder_ || ::fstat(folder_.number(), &status) != 0) {
    warn_once(fmt::format("{} cannot be opened as a folder: {}", path_, error_text(errno)));
    return false;
  }
  if (status.st_uid != ::geteuid() || (status.st_mode & 077U) != 0) {
    warn_once(fmt::format(
        "{} is accessible to other users (owner {}, mode {:o}), so code is not loaded from it; set mode 700, or remove it",
        path_, status.st_uid, status.st_mode & 07777U));
    return false;
  }
  return true;
}

void KernelCache::warn_once(const std::string& cause) {
  if (std::exchange(warned_, true)) return;
  support::log(
      support::LogLevel::warn,
      fmt::format("compiled kernels are kept only in memory, not for later processes: {} (WEIR_CACHE_DIR sets the folder)",
                  cause));
}

std::optional<Bytes> KernelCache::find(const CacheKey& key) {
  const std::lock_guard lock(mutex_);
  if (const auto found = memory_.find(key); found != memory_.end()) return found->second;
  if (!folder_) return std::nullopt;
  const std::string name = key.hex() + std::string(entry_suffix);
  return read_entry(name);
}

std::optional<Bytes> KernelCache::read_entry(const std::string& name) const {
  // O_NONBLOCK: if the file is a FIFO, opening it must not wait for a writer.
  const FileDescriptor file(::openat(folder_.number(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  const auto size = static_cast<std::uint64_t>(status.st_size);
  Bytes entry(size <= capacity_ ? size : 0);
  const bool read = file.read(entry.data(), entry.size());
  CacheKey key;
  std::string flaw = read ? "" : "cannot be read";
  if (size > capacity_) flaw = fmt::format("has {} bytes, more than the limit of the whole cache", size);
  const auto content = flaw.empty() ? content_of_entry(entry, key, flaw) : std::span<const std::byte>();
  if (flaw.empty() && key.hex() != name.substr(0, 32)) flaw = "has this name but is another entry";
  if (!flaw.empty()) {
    support::log(support::LogLevel::warn, fmt::format("{}/{} {}; it is compiled again", path_, name, flaw));
    ::unlinkat(folder_.number(), name.c_str(), 0);
    return std::nullopt;
  }
  ::futimens(file.number(), nullptr);  // sets the time of last use, for `trim`
  return Bytes(content.begin(), content.end());
}

void KernelCache::store(const CacheKey& key, std::span<const std::byte> content) {
  const std::lock_guard lock(mutex_);
  if (folder_ && write_entry(key, key.hex() + std::string(entry_suffix), content)) return trim();
  memory_.emplace(key, Bytes(content.begin(), content.end()));
}

bool KernelCache::write_entry(const CacheKey& key, const std::string& name, std::span<const std::byte> content) {
  static std::atomic<std::uint64_t> entries{0};
  EntryHeader header;
  header.content_size = content.size();
  header.key = key.bytes;
  header.content_hash = hash_of(content);
  const std::string unfinished = fmt::format("{}{}-{}", unfinished_prefix, ::getpid(), ++entries);
  FileDescriptor file(::openat(folder_.number(), unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  const bool written = file && file.write(&header, sizeof(header)) && file.write(content.data(), content.size()) &&
                       file.close() && ::renameat(folder_.number(), unfinished.c_str(), folder_.number(), name.c_str()) == 0;
  if (!written) {
    warn_once(fmt::format("writing to {} failed: {}", path_, error_text(errno)));
    ::unlinkat(folder_.number(), unfinished.c_str(), 0);
  }
  return written;
}

void KernelCache::trim() {
  struct Entry {
    std::string name;
    std::time_t used;
    std::uint64_t size;
  };
  const int copy = ::openat(folder_.number(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const listing = copy >= 0 ? ::fdopendir(copy) : nullptr;
  if (listing == nullptr) {
    if (copy >= 0) ::close(copy);
    return;
  }
  std::vector<Entry> entries;
  std::uint64_t total = 0;
  const std::time_t now = std::time(nullptr);
  while (const dirent* const item = ::readdir(listing)) {
    const std::string_view name = item->d_name;
    struct stat status {};
    if (::fstatat(folder_.number(), item->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode)) continue;
    if (name.starts_with(unfinished_prefix) && status.st_mtime + unfinished_lifetime < now) {
      ::unlinkat(folder_.number(), item->d_name, 0);
    } else if (name.ends_with(entry_suffix)) {
      entries.push_back({item->d_name, status.st_mtime, static_cast<std::uint64_t>(status.st_size)});
      total += entries.back().size;
    }
  }
  ::closedir(listing);
  if (total <= capacity_) return;
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  // Removes entries until the cache is three quarters full, so that the next new entries cause no removal.
  for (const Entry& entry : entries) {
    if (total <= capacity_ / 4 * 3) break;
    ::unlinkat(folder_.number(), entry.name.c_str(), 0);
    total -= entry.size;
  }
}

}  // namespace weir::cache
