// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "weir/plugin/support.hpp"

/// `TemporaryFolder`: a private folder that is removed with its object.
namespace weir::detail {

/// A new private folder in TMPDIR or /tmp. The destructor removes it with its content.
class TemporaryFolder {
 public:
  /// Creates the folder. Throws std::system_error, with the parent folder.
  TemporaryFolder() {
    std::string parent = support::environment("TMPDIR").value_or("/tmp");
    if (!parent.starts_with('/')) parent = "/tmp";
    path_ = parent + "/weir-tmp-XXXXXX";
    if (::mkdtemp(path_.data()) == nullptr) {
      throw std::system_error(errno, std::generic_category(), "making a temporary folder in " + parent + " (see TMPDIR)");
    }
  }
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

}  // namespace weir::detail
