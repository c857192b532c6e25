// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace entropy {

/// The input file, open for reading at any offset from any number of threads.
class InputFile {
 public:
  /// Direct reads need offsets, lengths and addresses that are multiples of this.
  static constexpr std::size_t direct_alignment = 4096;

  /// `direct`: bypass the page cache (O_DIRECT). Throws `std::runtime_error` with cause and remedy if the file is missing,
  /// unreadable, a directory, without a size of its own (a pipe), or empty.
  InputFile(const std::filesystem::path& path, bool direct);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  std::uint64_t size() const noexcept { return size_; }
  /// The file's name without its folders.
  const std::string& name() const noexcept { return name_; }
  const std::string& path() const noexcept { return path_; }
  /// Whether `status` describes this file, under any name.
  bool is(const struct stat& status) const noexcept { return status.st_dev == device_ && status.st_ino == node_; }

  /// Reads exactly `bytes` bytes from `offset`; the range must be within the file. For direct reads, `to` and `offset` must
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
