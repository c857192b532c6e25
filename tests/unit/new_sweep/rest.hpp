// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

#include "weir/device.hpp"

/// The checks after each run of a sweep: the log, and the memory that is left.
namespace sweep {

/// What the library logs: into a file in memory, since each run logs what its host function throws on purpose.
class Log {
 public:
  Log() : file_(::memfd_create("log", 0)) { ::dup2(file_, STDERR_FILENO); }

  /// Whether a line with that word was logged since the last call of `clear`.
  bool says(const char* word) const { return text().find(word) != std::string::npos; }
  /// Returns all lines that were logged since then.
  std::string text() const {
    std::string text(static_cast<std::size_t>(::lseek(file_, 0, SEEK_END)), '\0');
    const ssize_t size = ::pread(file_, text.data(), text.size(), 0);
    text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return text;
  }
  void clear() {
    if (::ftruncate(file_, 0) == 0) ::lseek(file_, 0, SEEK_SET);
  }

 private:
  const int file_;
};

/// What `count` says once nothing changes any longer: the library's threads let go of the last work in their own time.
template <class Count>
std::int64_t at_rest(weir::Device& device, Count&& count) {
  device.synchronize();
  std::int64_t seen = count();
  for (int unchanged = 0; unchanged < 5;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const std::int64_t now = count();
    unchanged = now == seen ? unchanged + 1 : 0;
    seen = now;
  }
  return seen;
}

}  // namespace sweep
