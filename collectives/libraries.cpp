// SPDX-License-Identifier: Apache-2.0
#include "collectives/libraries.hpp"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/no_destructor.hpp"
#include "core/plugins/built_in.hpp"
#include "core/plugins/plugin_loader.hpp"
#include "weir/plugin/support.hpp"

namespace weir::collectives {
namespace {

CommunicatorLibrary* open_plugin(const std::string& name, const char* operation) {
  const std::string object = "library " + name;
  if (!detail::can_load_plugins()) {
    throw Error(Errc::plugin_not_found, operation, object,
                "this Weir is a static library, which cannot load plugins; use the shared library");
  }
  const std::string plugin = "comm_" + name;
  std::vector<LoadAttempt> attempts;
  const auto folders = detail::plugin_folders(support::environment("WEIR_PLUGIN_PATH"));
  const std::string path = detail::find_plugin(plugin, folders, attempts);
  if (path.empty()) {
    throw Error(
        Errc::plugin_not_found, operation, object,
        fmt::format("the plugin libweir_{}.so was not found; install it, or set WEIR_PLUGIN_PATH to its folder; tried {}",
                    plugin, detail::list_attempts(attempts)));
  }
  detail::PluginNote note;
  const detail::Library library = detail::load_plugin(plugin, path, note, attempts);
  const auto open = library.find_as<CommunicatorLibrary* (*)()>("weir_open_communicator_library");
  if (open == nullptr) {
    throw Error(Errc::plugin_incompatible, operation, object,
                fmt::format("the plugin {} does not export weir_open_communicator_library; build it again", path));
  }
  try {
    return open();
  } catch (const Error& error) {
    throw Error(error.errc(), operation, object, error.detail(), error.native());
  }
}

struct Opened {
  std::mutex mutex;  // held while a library is opened, so that other threads wait until it is open
  std::map<std::string, CommunicatorLibrary*, std::less<>> libraries;
};

}  // namespace

CommunicatorLibrary& open_library(std::string_view name, const char* operation) {
  if (name == "host") return host_library();
  if (name != "nccl" && name != "rccl" && name != "mpi" && name != "gloo") {
    throw Error(Errc::invalid_argument, operation, fmt::format("library '{}'", name),
                "this is not a library of collectives; the libraries are nccl, rccl, host, mpi and gloo");
  }
  static detail::NoDestructor<Opened> opened;
  const std::lock_guard lock((*opened).mutex);
  auto& libraries = (*opened).libraries;
  if (const auto found = libraries.find(name); found != libraries.end()) return *found->second;
  const std::string key(name);
  CommunicatorLibrary* const library = open_plugin(key, operation);
  libraries.emplace(key, library);
  return *library;
}

}  // namespace weir::collectives
