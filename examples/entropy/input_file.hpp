// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace entropy {

/// The input file. Any number of threads can read it at any offset.
class InputFile {
 public:
  /// For direct reads, offsets, lengths and addresses must be multiples of this.
  static constexpr std::size_t direct_alignment = 4096;

  /// `direct`: bypass the page cache (O_DIRECT). Throws `std::runtime_error` with cause and remedy if the file is missing,
  /// unreadable, empty, a directory, or has no size (a pipe).
  InputFile(const std::filesystem::path& path, bool direct);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  std::uint64_t size() const noexcept { return size_; }
  /// Returns the file's name without its folders.
  const std::string& name() const noexcept { return name_; }
  const std::string& path() const noexcept { return path_; }
  /// Whether `status` describes this file, even if it was found under another name.
  bool is(const struct stat& status) const noexcept { return status.st_dev == device_ && status.st_ino == node_; }

  /// Reads exactly `bytes` bytes from `offset`; the range must be within the file. For direct reads, `to` and `offset` must
  /// be aligned, and `to` must have room for `bytes` rounded up to the alignment. Throws `std::runtime_error` if reading
  /// fails or the file has become shorter.
  void read(std::byte* to, std::size_t bytes, std::uint64_t offset) const;

 private:
  std::string path_;
  std::string name_;
  std::uint64_t size_ = 0;
  dev_t device_ = 0;
  ino_t node_ = 0;
  int descriptor_ = -1;
  bool direct_;
};

}  // namespace entropy
