// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dirent.h>

#include <memory>
#include <string>
#include <vector>

/// Lists a folder without std::filesystem.
namespace weir::detail {

/// Returns the names of a folder's entries; none if the folder cannot be read. Does not use
/// `std::filesystem::directory_iterator`, because libstdc++ terminates the process in it if memory is exhausted.
inline std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  const auto close = [](DIR* listing) { ::closedir(listing); };
  const std::unique_ptr<DIR, decltype(close)> listing(::opendir(folder.c_str()), close);
  while (const dirent* const entry = listing ? ::readdir(listing.get()) : nullptr) names.emplace_back(entry->d_name);
  return names;
}

}  // namespace weir::detail
