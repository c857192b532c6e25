// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/file_descriptor.hpp"

/// A cache of compiled code. The key is a hash of all inputs of a compilation. Entries are on disk, or in memory if there is
/// no usable folder.
namespace weir::cache {

using detail::FileDescriptor;

/// A hash of a compilation's inputs: 128 bits of XXH3.
struct CacheKey {
  std::array<std::uint8_t, 16> bytes{};
  std::string hex() const;
  friend auto operator<=>(const CacheKey&, const CacheKey&) = default;
};

/// Computes a key from a list of parts. The lengths are hashed as well, so that different lists never hash the same bytes.
class CacheKeyBuilder {
 public:
  CacheKeyBuilder();
  ~CacheKeyBuilder();
  CacheKeyBuilder(const CacheKeyBuilder&) = delete;
  CacheKeyBuilder& operator=(const CacheKeyBuilder&) = delete;
  CacheKeyBuilder& add(std::string_view part) noexcept;
  CacheKey key() const noexcept;

 private:
  void* state_;
};

using Bytes = std::vector<std::byte>;

/// Whether a file of this name may be an entry.
bool is_entry_name(std::string_view name) noexcept;
/// Whether these bytes begin as an entry does.
bool is_cache_entry(std::span<const std::byte> bytes) noexcept;
/// Returns the content of an entry's file, and sets `key` to its key. `flaw`: set to a description of any damage; otherwise
/// empty.
std::span<const std::byte> content_of_entry(std::span<const std::byte> entry, CacheKey& key, std::string& flaw);

/// Returns the folder: WEIR_CACHE_DIR, or XDG_CACHE_HOME/weir, or HOME/.cache/weir if the folder HOME exists. Returns
/// nothing if none applies, or if the folder of the last two belongs to another user. Throws `invalid_environment`.
std::optional<std::string> default_cache_folder();

/// Any number of threads and processes may use one folder at once, because each entry is written under another name and then
/// renamed. Damaged entries are removed and never used. The folder holds at most `capacity` bytes; the least recently used
/// entries are removed first.
class KernelCache {
 public:
  static constexpr std::uint64_t default_capacity = std::uint64_t{256} << 20U;

  /// Stores entries in the folder `backend` ("cuda") of `folder`, and creates it if possible. The cache loads code from this
  /// folder, so it uses it only if it belongs to this user alone. Without a usable folder, entries are kept in memory, and a
  /// warning is logged.
  KernelCache(std::optional<std::string> folder, std::string_view backend, std::uint64_t capacity = default_capacity);

  std::optional<Bytes> find(const CacheKey& key);
  /// Stores an entry. A full folder is not an error.
  void store(const CacheKey& key, std::span<const std::byte> content);

 private:
  bool open_folder();
  std::optional<Bytes> read_entry(const std::string& name) const;
  bool write_entry(const CacheKey& key, const std::string& name, std::span<const std::byte> content);
  void trim();
  void warn_once(const std::string& cause);

  std::string path_;
  FileDescriptor folder_;  // the folder that was checked; stays valid if that folder is renamed
  std::uint64_t capacity_;
  std::mutex mutex_;
  bool warned_ = false;
  std::map<CacheKey, Bytes> memory_;
};

}  // namespace weir::cache
