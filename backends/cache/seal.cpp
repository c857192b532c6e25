// SPDX-License-Identifier: Apache-2.0
#include "backends/cache/seal.hpp"

#include <cstring>
#include <string_view>

#include "backends/cache/kernel_cache.hpp"

namespace weir::cache {
namespace {

constexpr std::string_view magic = "\x89WEIRKH\n";

CacheKey image_hash(std::span<const std::byte> bytes) {
  return CacheKeyBuilder().add({reinterpret_cast<const char*>(bytes.data()), bytes.size()}).key();
}

}  // namespace

void seal(std::vector<std::byte>& image) {
  const CacheKey hash = image_hash(image);
  const auto append = [&](const auto& bytes) {
    const std::span<const std::byte> more = std::as_bytes(std::span(bytes));
    image.insert(image.end(), more.begin(), more.end());
  };
  append(hash.bytes);
  append(magic);
}

const char* flaw_of_seal(std::span<const std::byte> image) {
  CacheKey hash;
  const std::size_t size = hash.bytes.size() + magic.size();
  if (image.size() < size || std::memcmp(&*image.last(magic.size()).begin(), magic.data(), magic.size()) != 0)
    return "the hash at its end is missing: it is truncated, damaged, or made by another release of Weir";
  std::memcpy(hash.bytes.data(), &*image.last(size).begin(), hash.bytes.size());
  return image_hash(image.first(image.size() - size)) == hash ? nullptr : "it is damaged: its hash is wrong";
}

}  // namespace weir::cache
