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

constexpr unsigned machine_amdgpu = 224;     // EM_AMDGPU
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

/// Reads the kernels' names and parameter sizes from a MessagePack document of the following form:
///
///   {"amdhsa.kernels": [{".name": text, ".args": [{".size": number, ".value_kind": text}, …]}, …]}
std::vector<gpu::ImageKernel> read_metadata(Bytes document) try {
  const auto* const begin = reinterpret_cast<const std::uint8_t*>(document.data());
  const Json metadata = Json::from_msgpack(begin, begin + document.size());
  std::vector<gpu::ImageKernel> kernels;
  for (const Json& kernel : metadata.at("amdhsa.kernels")) {
    gpu::ImageKernel& read = kernels.emplace_back();
    read.name = kernel.at(".name").get<std::string>();
    for (const Json& argument : kernel.value(".args", Json::array())) {
      // The list also contains hidden arguments, which the compiler adds after the kernel's own parameters.
      if (argument.value(".value_kind", "").starts_with("hidden_")) continue;
      read.parameter_sizes.push_back(argument.value(".size", std::size_t{0}));
    }
  }
  return kernels;
} catch (const Json::exception&) {
  return {};
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
