// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace entropy {

/// The file to be measured, open for reading at any offset by any number of threads.
class InputFile {
 public:
  /// Offsets, lengths and addresses of reads past the page cache are multiples of this.
  static constexpr std::size_t direct_alignment = 4096;

  /// `direct`: read past the page cache (O_DIRECT). Throws `std::runtime_error`, saying what is wrong and what would help,
  /// for a file that is missing, may not be read, is a directory, has no size of its own (a pipe), or is empty.
  InputFile(const std::filesystem::path& path, bool direct);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  std::uint64_t size() const noexcept { return size_; }
  /// The file's name without its folders.
  const std::string& name() const noexcept { return name_; }
  const std::string& path() const noexcept { return path_; }
  /// Whether `status` is this file's, under whatever name it was asked for.
  bool is(const struct stat& status) const noexcept { return status.st_dev == device_ && status.st_ino == node_; }

  /// Reads exactly `bytes` bytes from `offset`, which must be within the file. When reading directly, `to` and `offset` must
  /// be aligned, and `to` must have room for `bytes` rounded up to the alignment. Throws `std::runtime_error` on a read
  /// error, and if the file has become shorter.
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
