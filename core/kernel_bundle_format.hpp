// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

/// The bytes of a bundle of kernels, as docs/bundle-format.md describes them: a header, then records one behind the other.
namespace weir::detail {

static_assert(std::endian::native == std::endian::little, "the numbers of a bundle are little-endian");

inline constexpr std::string_view bundle_magic = "\x89WEIRKB\n";
inline constexpr std::uint32_t bundle_version = 1;

struct BundleHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t reserved;  ///< 0
  std::uint64_t size;      ///< of the whole bundle, this header included: a multiple of `bundle_alignment`
  std::uint64_t reserved_too;
};

/// Stands before a record's name and its data. Both are followed by zeros up to a multiple of `bundle_alignment`.
struct BundleRecord {
  char kind[4];
  std::uint32_t name_size;
  std::uint64_t data_size;
};

inline constexpr std::size_t bundle_alignment = 16;
static_assert(sizeof(BundleHeader) % bundle_alignment == 0 && sizeof(BundleRecord) % bundle_alignment == 0);

/// Kinds of records; others are passed over.
namespace record {
inline constexpr std::string_view image = "imag";      ///< name: backend, space, architecture; data: code
inline constexpr std::string_view source = "srce";     ///< name: of the file; data: its text, or empty if it is not carried
inline constexpr std::string_view header = "head";     ///< name: as it stands in #include; data: the text
inline constexpr std::string_view define = "macr";     ///< name: the macro; data: its value
inline constexpr std::string_view option = "opti";     ///< name: backend; data: an option of its compiler's
inline constexpr std::string_view kernel = "inst";     ///< name: one of CompileOptions::kernels
inline constexpr std::string_view standard = "stdc";   ///< data: "14", "17" or "20"
inline constexpr std::string_view fast_math = "fast";
inline constexpr std::string_view debug = "debg";
}  // namespace record

/// Puts a bundle together.
class BundleWriter {
 public:
  void add(std::string_view kind, std::string_view name, std::span<const std::byte> data) {
    BundleRecord head{{}, static_cast<std::uint32_t>(name.size()), data.size()};
    std::memcpy(head.kind, kind.data(), sizeof(head.kind));
    append(&head, sizeof(head));
    append(name.data(), name.size());
    append(data.data(), data.size());
  }
  void add(std::string_view kind, std::string_view name, std::string_view data) {
    add(kind, name, std::as_bytes(std::span(data.data(), data.size())));
  }

  std::vector<std::byte> bundle() const {
    BundleHeader head{{}, bundle_version, 0, sizeof(BundleHeader) + records_.size(), 0};
    std::memcpy(head.magic, bundle_magic.data(), sizeof(head.magic));
    std::vector<std::byte> bytes(head.size);
    std::memcpy(bytes.data(), &head, sizeof(head));
    if (!records_.empty()) std::memcpy(bytes.data() + sizeof(head), records_.data(), records_.size());
    return bytes;
  }

 private:
  void append(const void* from, std::size_t size) {
    const auto* const begin = static_cast<const std::byte*>(from);
    records_.insert(records_.end(), begin, begin + size);
    records_.resize((records_.size() + bundle_alignment - 1) / bundle_alignment * bundle_alignment);
  }

  std::vector<std::byte> records_;
};

}  // namespace weir::detail
