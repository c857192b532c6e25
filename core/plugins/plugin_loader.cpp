// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/plugin_loader.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "core/base/environment.hpp"
#include "core/base/error_text.hpp"
#include "core/base/near_match.hpp"
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

void* load_plugin(std::string_view name, const std::string& path, PluginNote& note, std::vector<LoadAttempt>& attempts) {
  std::string fault;
  try {
    note = read_plugin_note(path);
    fault = handshake_fault(note, name);
  } catch (const NoPluginNote& error) {
    fault = error.what();
  }
  if (!fault.empty()) {
    attempts.push_back({path, fault});
    throw_unusable_plugin(name, path, fault);
  }
  // RTLD_NOW: a missing symbol must be reported here, not at its first use. RTLD_LOCAL: libraries of two vendors must not
  // use symbols of each other. RTLD_NODELETE: objects with virtual functions of the plugin may live until the process ends.
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    const char* const message = ::dlerror();
    attempts.push_back({path, message != nullptr ? message : "the loader gave no reason"});
    throw_unusable_plugin(
        name, path,
        fmt::format("the loader reports \"{}\"; install the missing library, or build the plugin for this machine",
                    attempts.back().outcome));
  }
  return library;
}

Plugin open_plugin(std::string_view name, const std::string& path, std::vector<LoadAttempt>& attempts) {
  PluginNote note;
  void* const library = load_plugin(name, path, note, attempts);
  const auto create = reinterpret_cast<Backend* (*)(PluginContext&)>(::dlsym(library, "weir_create_backend"));
  if (create == nullptr) {
    attempts.push_back({path, "does not export weir_create_backend"});
    throw_unusable_plugin(name, path,
                          "it does not export weir_create_backend; define it with WEIR_PLUGIN from weir/plugin/plugin.hpp");
  }
  attempts.push_back({path, "opened"});
  return {std::move(note.version), create,
          reinterpret_cast<void (*)(ImageCompilation&)>(::dlsym(library, "weir_compile_image"))};
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
    constexpr std::string_view own[] = {"race", "timeline", "ranges", "validate", "record", "faults", "shake"};
    const bool is_own = std::find(std::begin(own), std::end(own), name) != std::end(own);
    const std::string_view meant = is_own ? "" : nearest_name(name, own);
    throw Error(
        Errc::plugin_not_found, "reading WEIR_TOOLS", object,
        fmt::format("its library libweir_tool_{}.so was not found{}; {}{}", printable(name),
                    meant.empty() ? "" : fmt::format(" (did you mean '{}'?)", meant),
                    is_own
                        ? "build Weir with -DWEIR_BUILD_TOOLS=ON, which is off if Weir is part of another project (Conan: "
                          "the option tools; vcpkg: the feature tools), or set WEIR_PLUGIN_PATH to the folder of its tools"
                        : fmt::format("Weir's own tools are {}; for another tool, set WEIR_PLUGIN_PATH to its folder",
                                      fmt::join(own, ", ")),
                    tried));
  }
  PluginNote note;
  void* const library = load_plugin(file_name, path, note, attempts);
  const auto create = reinterpret_cast<Tool* (*)()>(::dlsym(library, "weir_create_tool"));
  if (create == nullptr) {
    throw_unusable_plugin(file_name, path,
                          "it does not export weir_create_tool; define it with WEIR_TOOL from weir/plugin/tool.hpp");
  }
  Tool* const tool = create();
  if (tool == nullptr) throw_unusable_plugin(file_name, path, "its factory returned no tool; report this to its author");
  return tool;
}

std::string handshake_fault(const PluginNote& note, std::string_view name) {
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
