// SPDX-License-Identifier: Apache-2.0
#include "output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace entropy {
namespace {

// Writes the file and closes it, even on failure. Some file systems report a full disk only on close.
bool write_all(int file, std::span<const std::byte> content, mode_t mode) {
  bool good = ::fchmod(file, mode) == 0;
  while (good && !content.empty()) {
    const ssize_t written = ::write(file, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    good = written > 0;
    if (good) content = content.subspan(static_cast<std::size_t>(written));
  }
  const int error = errno;
  if (::close(file) != 0) return false;
  errno = error;
  return good;
}

}  // namespace

OutputFile::OutputFile(const std::filesystem::path& path, const InputFile& input) : path_(path.string()), target_(path_) {
  const auto refuse = [this](const char* cause) {
    throw std::invalid_argument(fmt::format("'{}' {}; give another name", path_, cause));
  };
  struct stat status {};
  if (::stat(path_.c_str(), &status) == 0) {
    if (input.is(status)) refuse("is the file that is measured, and would be overwritten");
    if (!S_ISREG(status.st_mode)) refuse("is a folder, a device or a pipe, and a picture can replace regular files only");
    if (::access(path_.c_str(), W_OK) != 0) {
      throw std::runtime_error(fmt::format("'{}' cannot be written: {}", path_, std::strerror(errno)));
    }
    target_ = std::filesystem::canonical(path).string();
    mode_ = status.st_mode & 07777U;
  } else if (::lstat(path_.c_str(), &status) == 0) {
    refuse("is a link to nothing");
  } else {
    const mode_t mask = ::umask(0);
    ::umask(mask);
    mode_ &= ~mask;
  }
  folder_ = std::filesystem::path(target_).parent_path().string();
  if (folder_.empty()) folder_ = ".";
  if (::access(folder_.c_str(), W_OK | X_OK) != 0) {
    throw std::runtime_error(fmt::format("'{}' cannot be written: {}: {}", path_, folder_, std::strerror(errno)));
  }
}

void OutputFile::write(std::span<const std::byte> content) const {
  std::string aside = folder_ + "/.entropy-XXXXXX";
  const int file = ::mkostemp(aside.data(), O_CLOEXEC);
  const bool made = file >= 0;
  if (made && write_all(file, content, mode_) && std::rename(aside.c_str(), target_.c_str()) == 0) return;
  const int error = errno;
  if (made) ::unlink(aside.c_str());
  throw std::runtime_error(fmt::format("'{}' cannot be written: {}", path_, std::strerror(error)));
}

}  // namespace entropy
