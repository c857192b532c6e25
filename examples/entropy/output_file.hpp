// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "input_file.hpp"

namespace entropy {

/// A file that is written completely or not at all. The content is written to a new file in the same folder, which is then
/// renamed. After an early exit or with a full disk, the old file is unchanged.
class OutputFile {
 public:
  /// `path`: a regular file, a link to one, or an unused name. The constructor checks this, so that a wrong path is refused
  /// before any work. Throws `std::invalid_argument` if `path` is `input` under any name, a folder, a device, a pipe or a
  /// dangling link; `std::runtime_error` if its folder is missing or not writable.
  OutputFile(const std::filesystem::path& path, const InputFile& input);

  /// Replaces the file. If that fails, throws `std::runtime_error` with the reason, and the file is unchanged.
  void write(std::span<const std::byte> content) const;

 private:
  std::string path_;
  std::string target_;  // `path_` without symbolic links
  std::string folder_;
  mode_t mode_ = 0666;
};

}  // namespace entropy
