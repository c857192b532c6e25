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

/// Compiles one source for one architecture.
namespace weir::kernel_tool {

/// The source to compile, and how to compile it.
struct Request {
  std::filesystem::path source;
  std::string backend, architecture;
  std::vector<std::filesystem::path> include_folders;      ///< the bundle contains headers from these folders
  CompileOptions options;                                  ///< without headers and `extra`
  std::vector<std::pair<std::string, std::string>> extra;  ///< a backend and an option of its compiler
  std::string clang;                                       ///< Clang, for a GPU without its vendor's toolkit, or empty
  std::string compiler;                                    ///< the compiler to run; empty: the backend's default
};

/// Runs a compiler's command with this process's environment. Throws `weir::Error` if it cannot be started.
detail::ChildOutcome call_compiler(const std::vector<std::string>& command, const std::string& architecture);
/// Throws `weir::Error` with the compiler's output.
[[noreturn]] void fail_to_compile(const std::vector<std::string>& command, const std::string& architecture,
                                  const std::string& output);
/// Returns the definition of a variable with the addresses of these kernels. Compilers instantiate a template when its
/// address is taken.
std::string addresses_of(std::span<const std::string> kernels);
/// Returns the bytes of a file that a compiler wrote.
std::vector<std::byte> read_image(const std::string& path);

/// Compiles the source and returns the image. Throws `weir::Error` with the compiler's output after the first line; stores
/// its warnings in `log`.
std::vector<std::byte> compile(const Request& request, std::span<const Header> headers, std::string& log);

/// Compiles a kernel source for a GPU with Clang 16 or later, without the vendor's toolkit: PTX for "compute_90", a code
/// object for "gfx942". The source may use the same dialect as on the CPU backend, with the GPU's own memory and warps.
/// Functions of <math.h> that are not a single instruction come from CUDA's libdevice or ROCm's device libraries; without
/// these libraries they are an error. Throws `weir::Error`; Clang's warnings are put into `log`.
std::vector<std::byte> compile_with_clang(const Request& request, const std::string& clang, std::string& log);

}  // namespace weir::kernel_tool
