// SPDX-License-Identifier: Apache-2.0
#include "backends/host/compile/elf_image.hpp"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <utility>

// This library's own ELF header; the linker defines the symbol.
extern "C" const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

namespace weir::host {
namespace {

using Header = ElfW(Ehdr);
using Segment = ElfW(Phdr);
using Section = ElfW(Shdr);
using Symbol = ElfW(Sym);

template <class T>
T read(std::span<const std::byte> bytes, std::uint64_t offset, const char* what) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) {
    throw BadImage(fmt::format("it is truncated: {} should be at byte {}, but it has {} bytes", what, offset, bytes.size()));
  }
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

// Calls `use(symbol, name)` for each symbol in all sections of type `section_type`.
template <class Use>
void for_each_symbol(std::span<const std::byte> bytes, unsigned section_type, Use&& use) {
  const auto header = read<Header>(bytes, 0, "the ELF header");
  const auto section_at = [&](std::uint64_t i) {
    return read<Section>(bytes, header.e_shoff + i * sizeof(Section), "a section header");
  };
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    const Section section = section_at(i);
    if (section.sh_type != section_type) continue;
    const Section strings = section_at(section.sh_link);
    for (std::uint64_t at = 0; at + sizeof(Symbol) <= section.sh_size; at += sizeof(Symbol)) {
      const auto symbol = read<Symbol>(bytes, section.sh_offset + at, "a symbol");
      const std::uint64_t begin = strings.sh_offset + symbol.st_name;
      read<char>(bytes, begin, "a symbol's name");
      const char* const name = reinterpret_cast<const char*>(bytes.data()) + begin;
      use(symbol, std::string(name, ::strnlen(name, bytes.size() - begin)));
    }
  }
}

}  // namespace

ElfImage::ElfImage(std::span<const std::byte> bytes) : bytes_(bytes) {
  if (bytes.size() < SELFMAG || std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0) {
    throw BadImage("it is not an ELF file; pass the bytes of a shared object that Device::compile made on this backend");
  }
  const auto header = read<Header>(bytes_, 0, "the ELF header");
  // Compares the class (32 or 64 bits) and the byte order, which follow the magic number.
  if (header.e_machine != __ehdr_start.e_machine ||
      std::memcmp(header.e_ident + EI_CLASS, __ehdr_start.e_ident + EI_CLASS, 2) != 0) {
    constexpr unsigned amdgpu = 224;  // EM_AMDGPU
    throw BadImage(header.e_machine == EM_CUDA ? "it is for an NVIDIA GPU"
                   : header.e_machine == amdgpu
                       ? "it is for an AMD GPU"
                       : fmt::format("it is for another processor (ELF machine {})", header.e_machine));
  }
  if (header.e_type != ET_DYN) throw BadImage("it is an ELF file, but not a shared object");
  if (header.e_phentsize != sizeof(Segment) || header.e_shentsize != sizeof(Section)) {
    throw BadImage("its ELF header is damaged");
  }
  read_segments();
  read_symbols();
}

void ElfImage::read_segments() {
  const auto header = read<Header>(bytes_, 0, "the ELF header");
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    const auto segment = read<Segment>(bytes_, header.e_phoff + i * sizeof(Segment), "a program header");
    if (segment.p_type == PT_LOAD) loaded_size_ = std::max<std::size_t>(loaded_size_, segment.p_vaddr + segment.p_memsz);
  }
}

void ElfImage::read_symbols() {
  for_each_symbol(bytes_, SHT_DYNSYM, [&](const Symbol& symbol, std::string name) {
    if (symbol.st_shndx == SHN_UNDEF || (symbol.st_info & 0xF) != STT_OBJECT) return;
    variables_.push_back({std::move(name), symbol.st_value, symbol.st_size});
  });
}

std::vector<ThreadVariable> thread_variables(std::span<const std::byte> object) {
  std::vector<ThreadVariable> variables;
  for_each_symbol(object, SHT_SYMTAB, [&](const Symbol& symbol, std::string name) {
    if ((symbol.st_info & 0xF) == STT_TLS)
      variables.push_back({std::move(name), symbol.st_shndx != SHN_UNDEF, symbol.st_size});
  });
  return variables;
}

const ElfImage::Variable* ElfImage::find(std::string_view name) const noexcept {
  const auto found = std::find_if(variables_.begin(), variables_.end(), [&](const Variable& v) { return v.name == name; });
  return found == variables_.end() ? nullptr : &*found;
}

std::string_view ElfImage::string(const Variable& variable) const {
  const auto header = read<Header>(bytes_, 0, "the ELF header");
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    const auto segment = read<Segment>(bytes_, header.e_phoff + i * sizeof(Segment), "a program header");
    if (segment.p_type != PT_LOAD || variable.address < segment.p_vaddr) continue;
    const std::uint64_t offset = variable.address - segment.p_vaddr, at = segment.p_offset + offset;
    if (offset > segment.p_filesz || segment.p_filesz - offset < variable.size) continue;
    if (at > bytes_.size() || bytes_.size() - at < variable.size) continue;
    const char* const text = reinterpret_cast<const char*>(bytes_.data()) + at;
    return {text, ::strnlen(text, variable.size)};
  }
  return {};
}

}  // namespace weir::host
