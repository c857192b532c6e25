// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <vector>

#include "core/base/file_descriptor.hpp"
#include "weir/error.hpp"

/// Reads a file that other users cannot have changed.
namespace weir::detail {

/// Reads a file whose code will be loaded. Calls `fail(code, cause)`, which must throw, unless it is a regular file of
/// at most `limit` bytes that only this user or root can write. `what`: the kind of the file for the error ("a graph").
template <class Fail>
std::vector<std::byte> read_private_file(const std::string& file, std::uint64_t limit, const char* what,
                                         const Fail& fail) {
  // Without O_NONBLOCK, opening a FIFO would block until another process writes to it.
  const FileDescriptor in(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!in || ::fstat(in.number(), &status) != 0)
    fail(Errc::backend_failure, "'" + file + "' cannot be read: " + std::generic_category().message(errno));
  if (!S_ISREG(status.st_mode)) fail(Errc::invalid_image, "'" + file + "' is not a regular file");
  if ((status.st_uid != ::geteuid() && status.st_uid != 0) || (status.st_mode & 022U) != 0) {
    fail(Errc::invalid_image, fmt::format("'{}' can be changed by others (owner {}, mode {:o}), so code is not loaded from "
                                          "it; use a file of your own, with mode 600",
                                          file, status.st_uid, status.st_mode & 07777U));
  }
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size > limit) fail(Errc::invalid_image, fmt::format("'{}' has {} bytes; {} has at most {}", file, size, what, limit));
  std::vector<std::byte> bytes(size);
  if (!in.read(bytes.data(), bytes.size())) fail(Errc::backend_failure, "'" + file + "' cannot be read completely");
  return bytes;
}

}  // namespace weir::detail
