// SPDX-License-Identifier: Apache-2.0
#include "input_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace entropy {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw std::runtime_error(fmt::format("'{}': {}", path, what));
}

}  // namespace

InputFile::InputFile(const std::filesystem::path& path, bool direct)
    : path_(path.string()), name_(path.filename().string()), direct_(direct) {
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | (direct ? O_DIRECT : 0));
  if (descriptor_ < 0) {
    const int error = errno;
    if (path_ == "-")
      fail(path_, "standard input is not read, since the size must be known; save its content to a file first");
    if (error == EINVAL && direct) fail(path_, "the file system cannot read past the page cache; leave out --direct");
    fail(path_, fmt::format("cannot be opened for reading: {}", std::strerror(error)));
  }
  try {
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0) fail(path_, fmt::format("cannot be examined: {}", std::strerror(errno)));
    device_ = status.st_dev;
    node_ = status.st_ino;
    if (S_ISDIR(status.st_mode)) fail(path_, "is a directory; name a file in it");
    // stat reports no size for a block device, so find its end by seeking.
    const off_t end = ::lseek(descriptor_, 0, SEEK_END);
    if (end < 0 || S_ISCHR(status.st_mode))
      fail(path_, "has no size of its own (a pipe or a device); save its content to a file first");
    if (end == 0) fail(path_, "is empty; there is nothing to measure");
    size_ = static_cast<std::uint64_t>(end);
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
  if (!direct) ::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_SEQUENTIAL);
}

InputFile::~InputFile() { ::close(descriptor_); }

void InputFile::read(std::byte* to, std::size_t bytes, std::uint64_t offset) const {
  std::size_t done = 0;
  while (done < bytes) {
    std::size_t wanted = bytes - done;
    if (direct_) wanted = (wanted + direct_alignment - 1) / direct_alignment * direct_alignment;
    const ssize_t got = ::pread(descriptor_, to + done, wanted, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(path_, fmt::format("reading at byte {} failed: {}", offset + done, std::strerror(errno)));
    if (got == 0)
      fail(path_, fmt::format("ended at byte {}, but was {} bytes long at the start: did another program change it?",
                              offset + done, size_));
    done += static_cast<std::size_t>(got);
  }
}

}  // namespace entropy
