// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "core/base/directory.hpp"
#include "weir/plugin/support.hpp"

/// `TemporaryFolder`: a private folder that is removed with its object.
namespace weir::detail {

/// A new private folder in TMPDIR or /tmp. The destructor removes it with its content. If the process is killed before, the
/// constructor of a later object, in any process of this user, removes the folder. While this object lives, it locks the
/// folder (flock) so that no other process removes it.
class TemporaryFolder {
 public:
  /// Creates the folder. Throws std::system_error, with the parent folder.
  TemporaryFolder() {
    std::string parent = support::environment("TMPDIR").value_or("/tmp");
    if (!parent.starts_with('/')) parent = "/tmp";
    remove_abandoned(parent);
    path_ = parent + "/" + prefix + "XXXXXX";
    if (::mkdtemp(path_.data()) == nullptr) {
      throw std::system_error(errno, std::generic_category(), "making a temporary folder in " + parent + " (see TMPDIR)");
    }
    lock_ = lock(path_);
  }
  TemporaryFolder(TemporaryFolder&& other) noexcept
      : path_(std::exchange(other.path_, {})), lock_(std::exchange(other.lock_, -1)) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
    if (lock_ >= 0) ::close(lock_);
  }

  const std::string& path() const noexcept { return path_; }

 private:
  static constexpr const char* prefix = "weir-tmp-";
  static constexpr std::time_t least_age = 600;  // in seconds; a younger folder may be one that its creator has not locked
                                                 // yet

  /// Opens the folder and locks it. Returns the descriptor that holds the lock; -1 if another process holds it.
  static int lock(const std::string& folder) noexcept {
    const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (descriptor < 0 || ::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return descriptor;
    ::close(descriptor);
    return -1;
  }

  /// Removes old folders of this user that no process has locked.
  static void remove_abandoned(const std::string& parent) {
    for (const std::string& name : names_in(parent)) {
      struct stat status {};
      const std::string path = parent + "/" + name;
      if (!name.starts_with(prefix) || ::lstat(path.c_str(), &status) != 0 ||
          !S_ISDIR(status.st_mode) || status.st_uid != ::geteuid() || status.st_mtime > std::time(nullptr) - least_age)
        continue;
      const int abandoned = lock(path);
      if (abandoned < 0) continue;
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
      ::close(abandoned);
    }
  }

  std::string path_;
  int lock_ = -1;
};

}  // namespace weir::detail
