// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <utility>

/// `FileDescriptor`: the owner of an open file.
namespace weir::detail {

/// Owns a file descriptor, or none. The destructor closes it.
class FileDescriptor {
 public:
  explicit FileDescriptor(int number = -1) noexcept : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this != &other) {
      close();
      number_ = other.release();
    }
    return *this;
  }
  ~FileDescriptor() { close(); }

  explicit operator bool() const noexcept { return number_ >= 0; }
  int number() const noexcept { return number_; }
  int release() noexcept { return std::exchange(number_, -1); }
  bool close() noexcept { return number_ < 0 || ::close(release()) == 0; }

  /// Reads exactly `size` bytes. Returns false on an error or at the end of the file.
  bool read(void* to, std::size_t size) const noexcept {
    return transfer(size, [&](std::size_t done) { return ::read(number_, static_cast<char*>(to) + done, size - done); });
  }
  bool write(const void* from, std::size_t size) const noexcept {
    return transfer(size,
                    [&](std::size_t done) { return ::write(number_, static_cast<const char*>(from) + done, size - done); });
  }

 private:
  template <class Step>
  static bool transfer(std::size_t size, Step step) noexcept {
    for (std::size_t done = 0; done < size;) {
      const ssize_t moved = step(done);
      if (moved < 0 && errno == EINTR) continue;
      if (moved <= 0) return false;
      done += static_cast<std::size_t>(moved);
    }
    return true;
  }

  int number_;
};

}  // namespace weir::detail
