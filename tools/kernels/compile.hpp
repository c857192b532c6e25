// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/child_process.hpp"
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
  std::string clang;                                       ///< Clang, for a GPU without its vendor's toolkit, or empty
  std::string compiler;                                    ///< a program that compiles, or empty for the backend's own way
};

/// Runs a compiler's command with this process's environment. Throws `weir::Error` if it cannot be started.
detail::ChildOutcome call_compiler(const std::vector<std::string>& command, const std::string& architecture);
/// Throws `weir::Error` with what the compiler said.
[[noreturn]] void fail_to_compile(const std::vector<std::string>& command, const std::string& architecture,
                                  const std::string& output);
/// The definition of a variable that has the addresses of these kernels: compilers make an instance of a template where its
/// address is taken.
std::string addresses_of(std::span<const std::string> kernels);
/// The bytes of a file that a compiler wrote.
std::vector<std::byte> read_image(const std::string& path);

/// The image. Throws `weir::Error` with what the compiler said behind the first line; its warnings are put into `log`.
std::vector<std::byte> compile(const Request& request, std::span<const Header> headers, std::string& log);

}  // namespace weir::kernel_tool
