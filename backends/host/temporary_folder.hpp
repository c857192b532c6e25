// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "weir/backend_support.hpp"

namespace weir::host {

/// A new private folder in TMPDIR or /tmp. It is removed with its content when the object is destroyed.
class TemporaryFolder {
 public:
  /// Throws std::system_error, which names the place.
  TemporaryFolder() {
    std::string parent = support::environment("TMPDIR").value_or("/tmp");
    if (!parent.starts_with('/')) parent = "/tmp";
    path_ = parent + "/weir-XXXXXX";
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

}  // namespace weir::host
