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

/// Stores a backend's compiled code under the hash of all its inputs: on disk, or in memory without a usable folder.
namespace weir::cache {

using detail::FileDescriptor;

/// 128 bits of XXH3.
struct CacheKey {
  std::array<std::uint8_t, 16> bytes{};
  std::string hex() const;
  friend auto operator<=>(const CacheKey&, const CacheKey&) = default;
};

/// Hashes a list of parts, including their lengths, so that different lists never give the same bytes.
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

/// Whether an entry's file may have this name.
bool is_entry_name(std::string_view name) noexcept;
/// Whether these bytes begin like an entry's file.
bool is_cache_entry(std::span<const std::byte> bytes) noexcept;
/// Returns the content of an entry's file and sets its key. Sets `flaw` to the damage found, or leaves it empty.
std::span<const std::byte> content_of_entry(std::span<const std::byte> entry, CacheKey& key, std::string& flaw);

/// WEIR_CACHE_DIR, or XDG_CACHE_HOME/weir, or HOME/.cache/weir if the folder HOME exists; nothing if the folder of the last
/// two belongs to another user. Throws `invalid_environment`.
std::optional<std::string> default_cache_folder();

/// Any number of threads and processes may share a folder, since entries are renamed into place. Damaged entries are removed
/// and never used. The folder holds at most `capacity` bytes; the least recently used entries are removed first.
class KernelCache {
 public:
  static constexpr std::uint64_t default_capacity = std::uint64_t{256} << 20U;

  /// Stores entries in the folder `backend` ("cuda") of `folder`, which is created if possible. Since code is loaded from
  /// it, it is used only if it belongs to this user alone. If there is no usable folder, entries are kept in memory and a
  /// warning is logged.
  KernelCache(std::optional<std::string> folder, std::string_view backend, std::uint64_t capacity = default_capacity);

  std::optional<Bytes> find(const CacheKey& key);
  /// A full folder is no error.
  void store(const CacheKey& key, std::span<const std::byte> content);

 private:
  bool open_folder();
  std::optional<Bytes> read_entry(const std::string& name) const;
  bool write_entry(const CacheKey& key, const std::string& name, std::span<const std::byte> content);
  void trim();
  void warn_once(const std::string& cause);

  std::string path_;
  FileDescriptor folder_;  // of the folder that was checked, even if it is renamed
  std::uint64_t capacity_;
  std::mutex mutex_;
  bool warned_ = false;
  std::map<CacheKey, Bytes> memory_;
};

}  // namespace weir::cache
