// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Reads and writes the bytes of a kernel bundle, which docs/bundle-format.md describes: a header, followed by records.
/// Graph files use the same header and records (core/saved/graph_file_format.hpp).
namespace weir::detail {

static_assert(std::endian::native == std::endian::little, "the numbers of a bundle are little-endian");

inline constexpr std::string_view bundle_magic = "\x89WEIRKB\n";
inline constexpr std::uint32_t bundle_version = 1;

struct BundleHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t reserved;  ///< 0
  std::uint64_t size;      ///< the size of the whole bundle, including this header; a multiple of `bundle_alignment`
  std::uint64_t check;     ///< 0 in a bundle; a checksum in a graph file
};

/// The header of a record. The record's name and data follow, each padded with zeros to a multiple of `bundle_alignment`.
struct BundleRecord {
  char kind[4];
  std::uint32_t name_size;
  std::uint64_t data_size;
};

inline constexpr std::size_t bundle_alignment = 16;
static_assert(sizeof(BundleHeader) % bundle_alignment == 0 && sizeof(BundleRecord) % bundle_alignment == 0);

/// The kinds of records. Readers skip records of other kinds.
namespace record {
inline constexpr std::string_view image = "imag";      ///< name: "BACKEND ARCHITECTURE"; data: the code
inline constexpr std::string_view source = "srce";     ///< name: the file's name; data: its text; empty if the bundle does
                                                       ///< not contain it
inline constexpr std::string_view header = "head";     ///< name: the name in #include; data: the header's text
inline constexpr std::string_view define = "macr";     ///< name: the macro; data: its value
inline constexpr std::string_view option = "opti";     ///< name: the backend; data: an option for its compiler
inline constexpr std::string_view kernel = "inst";     ///< name: an element of CompileOptions::kernels
inline constexpr std::string_view standard = "stdc";   ///< data: "14", "17" or "20"
inline constexpr std::string_view fast_math = "fast";
inline constexpr std::string_view debug = "debg";
}  // namespace record

/// Builds the bytes of a bundle from records.
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

  std::vector<std::byte> bundle() const { return with_header(bundle_magic, bundle_version, 0); }
  std::vector<std::byte> with_header(std::string_view magic, std::uint32_t version, std::uint64_t check) const {
    BundleHeader head{{}, version, 0, sizeof(BundleHeader) + records_.size(), check};
    std::memcpy(head.magic, magic.data(), sizeof(head.magic));
    std::vector<std::byte> bytes(head.size);
    std::memcpy(bytes.data(), &head, sizeof(head));
    if (!records_.empty()) std::memcpy(bytes.data() + sizeof(head), records_.data(), records_.size());
    return bytes;
  }
  std::span<const std::byte> records() const noexcept { return records_; }

 private:
  void append(const void* from, std::size_t size) {
    const auto* const begin = static_cast<const std::byte*>(from);
    records_.insert(records_.end(), begin, begin + size);
    records_.resize((records_.size() + bundle_alignment - 1) / bundle_alignment * bundle_alignment);
  }

  std::vector<std::byte> records_;
};

inline std::string_view text_of(std::span<const std::byte> bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Reads records one after another. Checks all sizes, so it never reads outside the given bytes.
class BundleReader {
 public:
  /// A function that throws the error for invalid bytes. `flaw`: what is invalid.
  using Throw = void(std::span<const std::byte> bytes, const std::string& flaw);

  /// Checks the header; calls `throw_error`, which must throw, if it is invalid. `none`: the message if the bytes do not
  /// begin with `magic`.
  BundleReader(std::span<const std::byte> bytes, std::string_view magic, std::uint32_t version, const char* none,
               Throw* throw_error)
      : bytes_(bytes), throw_error_(throw_error) {
    if (bytes.size() < sizeof(BundleHeader) || text_of(bytes.first(magic.size())) != magic) throw_error(bytes, none);
    std::memcpy(&header, bytes.data(), sizeof(header));
    if (header.version != version) {
      throw_error(bytes, "it has version " + std::to_string(header.version) +
                             " of the format, but this Weir reads version " + std::to_string(version) +
                             "; create it with the Weir that the program is linked to");
    }
    if (header.reserved != 0) throw_error(bytes, "it is damaged: bytes 12 to 15 of its header are not 0");
    if (header.size != bytes.size() || header.size % bundle_alignment != 0)
      throw_error(bytes, "it is damaged: its header declares a size of " + std::to_string(header.size) + " bytes");
    at_ = sizeof(header);
  }

  bool at_end() const noexcept { return at_ == bytes_.size(); }

  void next() {
    // Reads the next record into the members below. Call it only if not `at_end`. There is then a whole record header,
    // because the size and all positions are multiples of the alignment.
    BundleRecord head;
    std::memcpy(&head, take(sizeof(head), "a record's header").data(), sizeof(head));
    kind.assign(head.kind, sizeof(head.kind));
    name = text_of(take(head.name_size, "a record's name"));
    data = take(head.data_size, "a record's data");
  }

  BundleHeader header;
  std::string kind;
  std::string_view name;
  std::span<const std::byte> data;

 private:
  std::span<const std::byte> take(std::uint64_t size, const char* what) {
    if (size > bytes_.size() - at_) {
      throw_error_(bytes_, std::string("it is damaged: ") + what + " of " + std::to_string(size) + " bytes at " +
                               std::to_string(at_) + " is not within the file");
    }
    const auto taken = bytes_.subspan(at_, size);
    at_ += (size + bundle_alignment - 1) / bundle_alignment * bundle_alignment;
    return taken;
  }

  std::span<const std::byte> bytes_;
  Throw* throw_error_;
  std::size_t at_ = 0;
};

}  // namespace weir::detail
