// SPDX-License-Identifier: Apache-2.0
#include "backends/hip/code_object.hpp"

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace weir::hip {
namespace {

using Bytes = std::span<const std::byte>;
using Json = nlohmann::json;

constexpr unsigned machine_amdgpu = 224;    // EM_AMDGPU
constexpr std::uint32_t note_metadata = 32;  // NT_AMDGPU_METADATA

/// Returns the bytes from `offset` on, or nothing if they are not all within the image.
std::optional<Bytes> part(Bytes bytes, std::uint64_t offset, std::uint64_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset) return std::nullopt;
  return bytes.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
}

template <class T>
std::optional<T> read(Bytes bytes, std::uint64_t offset) {
  const auto there = part(bytes, offset, sizeof(T));
  if (!there) return std::nullopt;
  T value;
  std::memcpy(&value, there->data(), sizeof(T));
  return value;
}

std::string_view text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

/// Reads the kernels' names and parameter sizes from a MessagePack document of the following form. Everything else in the
/// document is skipped:
///
///   {"amdhsa.kernels": [{".name": text, ".args": [{".size": number, ".value_kind": text}, …]}, …]}
class MetadataReader final : public Json::json_sax_t {
 public:
  std::vector<gpu::ImageKernel> kernels;

  bool start_object(std::size_t) override {
    if (is_in({"amdhsa.kernels"})) kernels.emplace_back();
    if (is_in({"amdhsa.kernels", ".args"})) {
      size_ = 0;
      is_hidden_ = false;
    }
    return push(Level::Kind::object);
  }
  bool end_object() override {
    levels_.pop_back();
    // The list also contains hidden arguments, which the compiler adds after the kernel's own parameters. They are skipped.
    if (is_in({"amdhsa.kernels", ".args"}) && !is_hidden_) kernels.back().parameter_sizes.push_back(size_);
    return true;
  }
  bool start_array(std::size_t) override { return push(Level::Kind::array); }
  bool end_array() override {
    levels_.pop_back();
    return true;
  }
  bool key(std::string& name) override {
    levels_.back().key = name;
    return true;
  }
  bool string(std::string& value) override {
    if (is_at({"amdhsa.kernels", ".name"})) kernels.back().name = value;
    if (is_at({"amdhsa.kernels", ".args", ".value_kind"})) is_hidden_ = value.starts_with("hidden_");
    return true;
  }
  bool number_unsigned(std::uint64_t value) override {
    if (is_at({"amdhsa.kernels", ".args", ".size"})) size_ = value;
    return true;
  }
  bool number_integer(std::int64_t value) override { return number_unsigned(static_cast<std::uint64_t>(value)); }
  bool number_float(double, const std::string&) override { return true; }
  bool boolean(bool) override { return true; }
  bool null() override { return true; }
  bool binary(Json::binary_t&) override { return true; }
  bool parse_error(std::size_t, const std::string&, const Json::exception&) override { return false; }

 private:
  struct Level {
    enum class Kind : unsigned char { object, array } kind;
    std::string key;
  };
  static constexpr std::size_t deepest = 16;  // maximum nesting, because the reader is recursive

  bool push(Level::Kind kind) {
    levels_.push_back({kind, {}});
    return levels_.size() <= deepest;
  }
  /// Whether the current value is at the path of these keys. Each key but the last must have an array as its value.
  bool is_at(std::initializer_list<std::string_view> keys) const {
    if (levels_.size() != keys.size() * 2 - 1) return false;
    std::size_t i = 0;
    for (const std::string_view key : keys) {
      if (levels_[i].kind != Level::Kind::object || levels_[i].key != key) return false;
      if (i + 1 < levels_.size() && levels_[i + 1].kind != Level::Kind::array) return false;
      i += 2;
    }
    return true;
  }
  /// Whether the current value is within an array at the path of these keys.
  bool is_in(std::initializer_list<std::string_view> keys) const {
    if (levels_.size() != keys.size() * 2 || levels_.back().kind != Level::Kind::array) return false;
    std::size_t i = 0;
    for (const std::string_view key : keys) {
      if (levels_[i].kind != Level::Kind::object || levels_[i].key != key || levels_[i + 1].kind != Level::Kind::array)
        return false;
      i += 2;
    }
    return true;
  }

  std::vector<Level> levels_;
  std::size_t size_ = 0;
  bool is_hidden_ = false;
};

std::vector<gpu::ImageKernel> read_metadata(Bytes document) {
  MetadataReader reader;
  const auto* const begin = reinterpret_cast<const std::uint8_t*>(document.data());
  if (!Json::sax_parse(begin, begin + document.size(), &reader, Json::input_format_t::msgpack)) return {};
  return std::move(reader.kernels);
}

std::vector<gpu::ImageKernel> read_notes(Bytes notes) {
  const auto padded = [](std::uint64_t size) { return (size + 3) / 4 * 4; };
  for (std::uint64_t at = 0;;) {
    const auto header = read<Elf64_Nhdr>(notes, at);
    if (!header) return {};
    const auto name = part(notes, at + sizeof(Elf64_Nhdr), header->n_namesz);
    const auto content = part(notes, at + sizeof(Elf64_Nhdr) + padded(header->n_namesz), header->n_descsz);
    if (!name || !content) return {};
    if (header->n_type == note_metadata && text_of(*name) == std::string_view("AMDGPU", 7)) return read_metadata(*content);
    at += sizeof(Elf64_Nhdr) + padded(header->n_namesz) + padded(header->n_descsz);
  }
}

std::vector<gpu::ImageKernel> read_code_object(Bytes image) {
  const auto header = read<Elf64_Ehdr>(image, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
      header->e_ident[EI_DATA] != ELFDATA2LSB || header->e_machine != machine_amdgpu) {
    return {};
  }
  for (unsigned i = 0; i < header->e_phnum; ++i) {
    const auto segment = read<Elf64_Phdr>(image, header->e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment) return {};
    const auto notes = segment->p_type == PT_NOTE ? part(image, segment->p_offset, segment->p_filesz) : std::nullopt;
    if (!notes) continue;
    if (auto kernels = read_notes(*notes); !kernels.empty()) return kernels;
  }
  return {};
}

std::string_view base_of(std::string_view architecture) { return architecture.substr(0, architecture.find(':')); }

// Returns the code object for `architecture` from a Clang bundle. The bundle's header has a magic number, the number of
// entries, and for each entry its offset, its size, and its target: "hipv4-amdgcn-amd-amdhsa--gfx90a".
Bytes entry_of_bundle(Bytes image, std::string_view architecture) {
  constexpr std::string_view magic = "__CLANG_OFFLOAD_BUNDLE__";
  if (!text_of(image).starts_with(magic)) return image;
  std::uint64_t at = magic.size();
  const auto count = read<std::uint64_t>(image, at);
  at += sizeof(std::uint64_t);
  for (std::uint64_t i = 0; count && i < *count; ++i) {
    const auto offset = read<std::uint64_t>(image, at), size = read<std::uint64_t>(image, at + 8),
               length = read<std::uint64_t>(image, at + 16);
    const auto name = length ? part(image, at + 24, *length) : std::nullopt;
    if (!name) return {};
    const std::string_view target = text_of(*name);
    const std::size_t dashes = target.rfind("--");
    if (target.starts_with("hip") && dashes != std::string_view::npos &&
        base_of(target.substr(dashes + 2)) == base_of(architecture)) {
      return part(image, *offset, *size).value_or(Bytes{});
    }
    at += 24 + *length;
  }
  return {};
}

}  // namespace

std::vector<gpu::ImageKernel> kernels_of(std::span<const std::byte> image, std::string_view architecture) {
  return read_code_object(entry_of_bundle(image, architecture));
}

}  // namespace weir::hip
