// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "headers.hpp"
#include "weir/module.hpp"

namespace weir::kernel_tool {

/// What is to be compiled, and how.
struct Request {
  std::filesystem::path source;
  std::string backend, architecture;
  std::vector<std::filesystem::path> include_folders;      ///< whose headers the bundle carries
  CompileOptions options;                                  ///< without headers and `extra`
  std::vector<std::pair<std::string, std::string>> extra;  ///< a backend, and an option of its compiler's
  std::string compiler;                                    ///< a program that compiles, or empty for the backend's own way
};

/// The image. Throws `weir::Error` with what the compiler said behind the first line; its warnings are put into `log`.
std::vector<std::byte> compile(const Request& request, std::span<const Header> headers, std::string& log);

}  // namespace weir::kernel_tool
