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

#include "backends/cache/file_descriptor.hpp"

/// What a backend has compiled, kept under the hash of all that went into it: on disk, for the next process, or in memory where
/// no folder can be used.
namespace weir::cache {

/// 128 bits of XXH3.
struct CacheKey {
  std::array<std::uint8_t, 16> bytes{};
  std::string hex() const;
  friend auto operator<=>(const CacheKey&, const CacheKey&) = default;
};

/// Builds a key of parts. The parts' lengths are hashed, too, so that no two lists of parts read alike.
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

/// Whether these bytes begin as an entry's file does.
bool is_cache_entry(std::span<const std::byte> bytes) noexcept;
/// What was stored in an entry's file, and the key that it is kept under. `flaw` says what is wrong with it; it is left empty if
/// nothing is.
std::span<const std::byte> content_of_entry(std::span<const std::byte> entry, CacheKey& key, std::string& flaw);

/// WEIR_CACHE_DIR, or XDG_CACHE_HOME/weir, or HOME/.cache/weir if the folder HOME is there; else nothing. Throws
/// `invalid_environment`.
std::optional<std::string> default_cache_folder();

/// Any number of threads and processes may share a folder: entries appear whole, by renaming. An entry that is cut short or
/// changed is dropped and never used. The folder holds at most `capacity` bytes; what was not used for longest goes first.
class KernelCache {
 public:
  static constexpr std::uint64_t default_capacity = std::uint64_t{256} << 20U;

  /// Keeps entries in the folder `backend` ("cuda") of `folder`, which is made if it can be. It is not used unless it belongs to
  /// this user alone: code is loaded from it. Without a folder, or with one that cannot be used, entries are kept in memory, and
  /// one warning tells.
  KernelCache(std::optional<std::string> folder, std::string_view backend, std::uint64_t capacity = default_capacity);

  std::optional<Bytes> find(const CacheKey& key);
  /// Never throws for a folder that takes no more.
  void store(const CacheKey& key, std::span<const std::byte> content);

 private:
  bool open_folder();
  std::optional<Bytes> read_entry(const std::string& name) const;
  bool write_entry(const CacheKey& key, const std::string& name, std::span<const std::byte> content);
  void trim();
  void warn_once(const std::string& cause);

  std::string path_;
  FileDescriptor folder_;  // of the folder that was checked, which stays the same whatever is renamed
  std::uint64_t capacity_;
  std::mutex mutex_;
  bool warned_ = false;
  std::map<CacheKey, Bytes> memory_;
};

}  // namespace weir::cache
