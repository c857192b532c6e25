// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/plugin_loader.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>
#include <utility>

#include "core/base/environment.hpp"
#include "core/base/error_text.hpp"
#include "core/plugins/selection.hpp"
#include "weir/error.hpp"
#include "weir/plugin/plugin.hpp"
#include "weir/version.hpp"

// Implements plugin_loader.hpp with dlopen.
namespace weir::detail {
namespace {

constexpr const char* path_variable = "WEIR_PLUGIN_PATH";

// The absolute path of the file that this library was loaded from; empty if unknown. Determined when the library is loaded:
// if LD_LIBRARY_PATH is relative, the path is relative to the current folder at that moment.
char library_path[PATH_MAX];
const char* const found_library_path = [] {
  Dl_info info;
  const bool known = ::dladdr(library_path, &info) != 0 && info.dli_fname != nullptr;
  return known ? ::realpath(info.dli_fname, library_path) : nullptr;
}();

std::string error_text(int error) { return std::generic_category().message(error); }

constexpr std::string_view tool_prefix = "tool_";

[[noreturn]] void throw_unusable_plugin(std::string_view name, const std::string& path, std::string_view cause) {
  const bool is_tool = name.starts_with(tool_prefix);
  throw Error(Errc::plugin_incompatible, "Registry::open",
              is_tool ? fmt::format("tool {}", name.substr(tool_prefix.size())) : fmt::format("backend {}", name),
              fmt::format("the plugin {} cannot be used: {}", path, cause));
}

}  // namespace

std::vector<std::string> plugin_folders(const std::optional<std::string>& plugin_path) {
  std::vector<std::string> folders;
  const auto add = [&](std::string folder) {
    while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
    if (std::find(folders.begin(), folders.end(), folder) == folders.end()) folders.push_back(std::move(folder));
  };
  if (plugin_path) {
    for (const std::string_view folder :
         split_list(path_variable, *plugin_path, ':', "list absolute folders separated by single colons")) {
      if (!folder.starts_with('/')) {
        throw_invalid_environment(path_variable, *plugin_path,
                                  fmt::format("'{}' is not an absolute path; plugins are never searched relative to the "
                                              "current folder, so list paths that start with '/'",
                                              folder));
      }
      add(std::string(folder));
    }
  }
  if (found_library_path != nullptr) {
    const std::string own(found_library_path, std::string_view(found_library_path).rfind('/'));
    add(own);
    add(own + "/" WEIR_PLUGIN_FOLDER);
  }
  return folders;
}

std::string find_plugin(std::string_view name, std::span<const std::string> folders, std::vector<LoadAttempt>& attempts) {
  for (const std::string& folder : folders) {
    std::string path = fmt::format("{}/libweir_{}.so", folder, name);
    struct stat status;
    if (::stat(path.c_str(), &status) == 0) return path;
    const int error = errno;
    const bool no_folder = error == ENOENT && ::stat(folder.c_str(), &status) != 0 && errno == ENOENT;
    attempts.push_back({std::move(path), no_folder ? "no such folder" : error_text(error)});
  }
  return {};
}

PluginNote read_plugin_note(const std::string& path) {
  PluginNote note;
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    note.fault = "it is not a regular file; the plugin's file must have this name";
    return note;
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    note.fault = fmt::format("it cannot be read ({}); check its permissions", error_text(errno));
    return note;
  }
  std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
  file.read(bytes.data(), status.st_size);
  if (ElfW(Ehdr) header; bytes.starts_with(ELFMAG) && bytes.size() >= sizeof(header)) {
    // The table of sections is usually at the end of the file.
    std::memcpy(&header, bytes.data(), sizeof(header));
    if (header.e_shoff > bytes.size() || bytes.size() - header.e_shoff < header.e_shnum * sizeof(ElfW(Shdr))) {
      note.fault = fmt::format("it is truncated: it has {} bytes, but its ELF header describes more; copy or build it again",
                               bytes.size());
      return note;
    }
  }
  using namespace std::string_view_literals;
  constexpr std::string_view type_and_owner = "\1\0\0\0Weir\0\0\0\0"sv;  // 1, and the padded name
  const std::size_t at = bytes.find(type_and_owner);
  if (at == bytes.npos || bytes.size() - at < type_and_owner.size() + sizeof(note.revision)) {
    note.fault =
        "it is not a Weir plugin: it has no ELF note named \"Weir\" (neither have plugins for Weir before interface "
        "revision 6); build it with WEIR_PLUGIN from weir/plugin/plugin.hpp";
    return note;
  }
  std::memcpy(&note.revision, bytes.data() + at + type_and_owner.size(), sizeof(note.revision));
  const char* text = bytes.data() + at + type_and_owner.size() + sizeof(note.revision);
  for (std::string* const field : {&note.name, &note.version, &note.build}) {
    const char* const end = bytes.data() + bytes.size();  // where a null character is
    *field = std::string(text, ::strnlen(text, static_cast<std::size_t>(end - text)));
    text = std::min(end, text + field->size() + 1);
  }
  return note;
}

Library load_plugin(std::string_view name, const std::string& path, PluginNote& note, std::vector<LoadAttempt>& attempts) {
  note = read_plugin_note(path);
  if (const std::string fault = handshake_fault(note, name); !fault.empty()) {
    attempts.push_back({path, fault});
    throw_unusable_plugin(name, path, fault);
  }
  const std::optional<Library> library = Library::open({&path, 1}, attempts);
  if (!library) {
    throw_unusable_plugin(
        name, path,
        fmt::format("the loader reports \"{}\"; install the missing library, or build the plugin for this machine",
                    attempts.back().outcome));
  }
  return *library;
}

Plugin open_plugin(std::string_view name, const std::string& path, std::vector<LoadAttempt>& attempts) {
  PluginNote note;
  const Library library = load_plugin(name, path, note, attempts);
  const auto create = library.find_as<Backend* (*)(PluginContext&)>("weir_create_backend");
  if (create == nullptr) {
    attempts.push_back({path, "does not export weir_create_backend"});
    throw_unusable_plugin(name, path,
                          "it does not export weir_create_backend; define it with WEIR_PLUGIN from weir/plugin/plugin.hpp");
  }
  return {std::move(note.version), create, library.find_as<void (*)(ImageCompilation&)>("weir_compile_image")};
}

Tool* open_tool(std::string_view name, std::span<const std::string> folders) {
  const std::string object = fmt::format("tool {}", name);
  std::vector<LoadAttempt> attempts;
  const std::string file_name = fmt::format("{}{}", tool_prefix, name);
  if (!is_backend_name(file_name)) {
    throw Error(Errc::plugin_not_found, "reading WEIR_TOOLS", object,
                fmt::format("'{}' is not a valid name of a tool; names consist of a-z, 0-9 and _", printable(name)));
  }
  const std::string path = find_plugin(file_name, folders, attempts);
  if (path.empty()) {
    std::string tried;
    for (const LoadAttempt& attempt : attempts)
      tried += fmt::format("{}{}", tried.empty() ? "; tried " : ", ", attempt.path);
    throw Error(Errc::plugin_not_found, "reading WEIR_TOOLS", object,
                fmt::format("its library libweir_tool_{}.so was not found; Weir's own tools are race, timeline, ranges, "
                            "validate, record, faults and shake, which -DWEIR_BUILD_TOOLS=ON builds (Conan: the option "
                            "tools; vcpkg: the feature tools); for another, set WEIR_PLUGIN_PATH to its folder{}",
                            name, tried));
  }
  PluginNote note;
  const Library library = load_plugin(file_name, path, note, attempts);
  const auto create = library.find_as<Tool* (*)()>("weir_create_tool");
  if (create == nullptr) {
    throw_unusable_plugin(file_name, path,
                          "it does not export weir_create_tool; define it with WEIR_TOOL from weir/plugin/tool.hpp");
  }
  Tool* const tool = create();
  if (tool == nullptr) throw_unusable_plugin(file_name, path, "its factory returned no tool; report this to its author");
  return tool;
}

std::string handshake_fault(const PluginNote& note, std::string_view name) {
  if (!note.fault.empty()) return note.fault;
  const char* const rebuild = "build the plugin with the headers and options of this Weir";
  if (note.revision != plugin_revision) {
    return fmt::format("it was built for plugin revision {}, but Weir {} has revision {}; {}", note.revision, version(),
                       plugin_revision, rebuild);
  }
  if (note.name.empty() || note.version.empty() || note.build.empty()) {
    return "its note lacks the name, the version or the build; define it with WEIR_PLUGIN from weir/plugin/plugin.hpp";
  }
  const std::string build = std::string(plugin_sanitizer) + plugin_fingerprint.data();
  if (note.build != build) {
    return fmt::format("it was built with '{}', but this Weir with '{}'; {}", printable(note.build), build, rebuild);
  }
  if (name != note.name) {
    return fmt::format("its note has the name '{}', but its file the name '{}'; rename the file to the name of the backend",
                       printable(note.name), name);
  }
  return {};
}

}  // namespace weir::detail
