// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "input_file.hpp"

namespace entropy {

/// A file that is written as a whole or not at all. The content goes to a new file in the same folder, which then takes the
/// name: a disk that is full, or a program that ends early, leaves what was there before.
class OutputFile {
 public:
  /// `path`: a regular file, a link to one, or a name that is free. Looks before any work is done. Throws
  /// `std::invalid_argument` if it is `input` under whatever name, a folder, a device, a pipe or a link to nothing;
  /// `std::runtime_error` if its folder is not there or may not be written to.
  OutputFile(const std::filesystem::path& path, const InputFile& input);

  /// Replaces the file. Throws `std::runtime_error` with the reason; the file is then what it was.
  void write(std::span<const std::byte> content) const;

 private:
  std::string path_;
  std::string target_;  // `path_` without links
  std::string folder_;
  mode_t mode_ = 0666;
};

}  // namespace entropy
