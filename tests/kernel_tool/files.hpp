// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "tests/unit/subprocess.hpp"

/// A temporary folder with small files.
namespace weir::test {

class Files {
 public:
  std::filesystem::path write(const std::string& name, std::string_view text) const {
    const std::filesystem::path path = folder() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  std::filesystem::path folder() const { return std::filesystem::canonical(temporary_.path()); }

 private:
  TemporaryFolder temporary_;
};

}  // namespace weir::test
