// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/plugin_note.hpp"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <span>
#include <string_view>
#include <system_error>
#include <vector>

// Reads a plugin's note from its ELF file.

// This library's own ELF header; the linker defines the symbol.
extern "C" const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

namespace weir::detail {
namespace {

using Header = ElfW(Ehdr);
using Segment = ElfW(Phdr);
using NoteHeader = ElfW(Nhdr);
using Bytes = std::span<const char>;

constexpr std::size_t greatest_segment = 65536;  // the maximum size of a segment of notes in bytes; usual ones have some
                                                 // hundred bytes
constexpr std::uint32_t plugin_note_type = 1;
constexpr std::string_view note_name("Weir", 5);

void read(std::ifstream& file, std::uint64_t offset, void* to, std::size_t size, const char* what) {
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(static_cast<char*>(to), static_cast<std::streamsize>(size));
  if (!file)
    throw NoPluginNote(fmt::format("it is truncated: {} should be at byte {}; copy or build it again", what, offset));
}

template <class T>
T read(std::ifstream& file, std::uint64_t offset, const char* what) {
  T value;
  read(file, offset, &value, sizeof(value), what);
  return value;
}

// Removes a null-terminated string from the front of `bytes` and returns it; "" if there is no null character.
std::string take_string(Bytes& bytes) {
  const void* const end = bytes.empty() ? nullptr : std::memchr(bytes.data(), 0, bytes.size());
  if (end == nullptr) {
    bytes = {};
    return {};
  }
  std::string text(bytes.data(), static_cast<const char*>(end));
  bytes = bytes.subspan(text.size() + 1);
  return text;
}

// Searches a segment of notes for Weir's note and stores it in `found`. Returns false if the note is missing.
bool find_note(Bytes notes, std::size_t alignment, PluginNote& found) {
  const auto padded = [alignment](std::uint64_t size) { return (size + alignment - 1) / alignment * alignment; };
  while (notes.size() >= sizeof(NoteHeader)) {
    NoteHeader header;
    std::memcpy(&header, notes.data(), sizeof(header));
    const std::uint64_t content_at = padded(sizeof(header) + std::uint64_t{header.n_namesz});
    if (content_at > notes.size() || header.n_descsz > notes.size() - content_at) {
      throw NoPluginNote("its notes are damaged; copy or build it again");
    }
    const std::string_view name(notes.data() + sizeof(header), header.n_namesz);
    Bytes content = notes.subspan(content_at, header.n_descsz);
    if (name == note_name && header.n_type == plugin_note_type && content.size() >= sizeof(found.revision)) {
      std::memcpy(&found.revision, content.data(), sizeof(found.revision));
      content = content.subspan(sizeof(found.revision));
      found.name = take_string(content);
      found.version = take_string(content);
      found.build = take_string(content);
      return true;
    }
    notes = notes.subspan(std::min<std::uint64_t>(notes.size(), padded(content_at + header.n_descsz)));
  }
  return false;
}

}  // namespace

PluginNote read_plugin_note(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    throw NoPluginNote("it is not a regular file; the plugin's file must have this name");
  }
  // Checks that a range which the loader would map is within the file: accessing a mapped page past the end of a file raises
  // SIGBUS.
  const auto check_end = [size = static_cast<std::uint64_t>(status.st_size)](std::uint64_t offset, std::uint64_t length) {
    if (offset > size || length > size - offset) {
      throw NoPluginNote(
          fmt::format("it is truncated: it has {} bytes, but its ELF headers describe more; copy or build it again", size));
    }
  };
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw NoPluginNote(fmt::format("it cannot be read ({}); check its permissions", std::generic_category().message(errno)));
  const auto header = read<Header>(file, 0, "the ELF header");
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    throw NoPluginNote(
        "it is not an ELF file, so it is not a Weir plugin; build a plugin with WEIR_PLUGIN from weir/plugin/plugin.hpp");
  }
  // Compares the class (32 or 64 bits) and the byte order, which follow the magic number.
  if (std::memcmp(header.e_ident + EI_CLASS, __ehdr_start.e_ident + EI_CLASS, 2) != 0 ||
      header.e_machine != __ehdr_start.e_machine) {
    throw NoPluginNote(
        fmt::format("it is for another processor (ELF machine {}, but this Weir's is {}); build it for this processor",
                    header.e_machine, __ehdr_start.e_machine));
  }
  if (header.e_type != ET_DYN) throw NoPluginNote("it is an ELF file, but not a shared object; link it with -shared");
  if (header.e_phentsize != sizeof(Segment)) throw NoPluginNote("its ELF header is damaged; copy or build it again");
  // The loader ignores the section headers, but they are usually at the end of the file, so this check detects a truncated
  // file.
  if (header.e_shoff != 0) check_end(header.e_shoff, std::uint64_t{header.e_shnum} * header.e_shentsize);

  PluginNote found;
  bool has_note = false;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    const auto segment = read<Segment>(file, header.e_phoff + i * sizeof(Segment), "a program header");
    if (segment.p_type == PT_LOAD) check_end(segment.p_offset, segment.p_filesz);
    if (segment.p_type != PT_NOTE || has_note) continue;
    if (segment.p_filesz > greatest_segment) throw NoPluginNote("its notes are damaged; copy or build it again");
    std::vector<char> notes(segment.p_filesz);
    read(file, segment.p_offset, notes.data(), notes.size(), "a segment of notes");
    has_note = find_note(notes, segment.p_align == 8 ? 8 : 4, found);
  }
  if (has_note) return found;
  throw NoPluginNote(
      "it is not a Weir plugin: it has no ELF note named \"Weir\" (neither have plugins for Weir before interface revision "
      "6); build it with WEIR_PLUGIN from weir/plugin/plugin.hpp");
}

}  // namespace weir::detail
