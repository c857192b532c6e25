// SPDX-License-Identifier: Apache-2.0
#include "core/base/library.hpp"

#include <dlfcn.h>
#include <link.h>

// Implements library.hpp with dlopen.
namespace weir::detail {

std::optional<Library> Library::open(std::span<const std::string> names, std::vector<LoadAttempt>& attempts) {
  for (const std::string& name : names) {
    // RTLD_NOW: a missing symbol must be reported here, not at its first use. RTLD_LOCAL: libraries of two vendors may
    // export the same names, and neither may use symbols of the other. RTLD_NODELETE: threads, handles and objects with
    // virtual functions may live until the process ends.
    void* const handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle == nullptr) {
      const char* const message = ::dlerror();
      attempts.push_back({name, message != nullptr ? message : "the loader gave no reason"});
      continue;
    }
    std::string path = name;
    const link_map* map = nullptr;
    if (::dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr && map->l_name != nullptr && *map->l_name != '\0') {
      path = map->l_name;
    }
    attempts.push_back({name, "opened"});
    return Library(handle, std::move(path));
  }
  return std::nullopt;
}

void* Library::find(const char* symbol) const noexcept { return ::dlsym(handle_, symbol); }

std::string loaded_library(std::string_view name) {
  struct Search {
    std::string_view name;
    std::string path;
  } search{name, {}};
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto& wanted = *static_cast<Search*>(data);
        const std::string_view path = info->dlpi_name != nullptr ? info->dlpi_name : "";
        if (!path.substr(path.rfind('/') + 1).starts_with(wanted.name)) return 0;
        wanted.path = path;
        return 1;
      },
      &search);
  return search.path;
}

std::string list_attempts(std::span<const LoadAttempt> attempts) {
  std::string text;
  for (const LoadAttempt& attempt : attempts) {
    text += text.empty() ? "" : ", ";
    // Do not print the name twice: the loader's message may begin with it.
    text += attempt.outcome.starts_with(attempt.path) ? attempt.outcome : attempt.path + " (" + attempt.outcome + ")";
  }
  return text;
}

}  // namespace weir::detail
