// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "weir/module.hpp"

/// The system's C++ compiler: finding it, and the options that Weir passes to it.
namespace weir::host {

struct Compiler {
  std::string path;
  std::string version;      ///< first line of the compiler's version output
  std::string identity;     ///< a text that changes whenever the compiler changes
  bool is_gcc = false;      ///< if false, the compiler is treated as Clang
  bool reads_cuda = false;  ///< whether it is Clang 16 or later, whose CUDA front end can compile for the host's processor
  int major = 0;            ///< Clang's major version; 0 if unknown
  std::string pass = {};    ///< path of the work-group plugin for this compiler, or empty
};

/// Thrown if no compiler was found. `what()` lists the attempts and the remedy.
class NoCompiler : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The folder of the work-group plugins, such as weir_workgroup-19.so for Clang 19. It is the folder of the file that
/// contains this code; if that file is the Weir library itself, it is the library's plugin folder.
std::filesystem::path plugin_folder();

/// Returns the first of these that exists: the compiler in WEIR_HOST_CXX; the newest Clang on PATH (clang++-19, clang++) for
/// which `plugins` has a plugin; c++, g++ or clang++ on PATH. Only absolute folders of PATH count. Queries each compiler's
/// version once, and again if its file changes. Throws NoCompiler, or `invalid_environment` if WEIR_HOST_CXX is not an
/// absolute path.
Compiler find_compiler(const std::filesystem::path& plugins = plugin_folder());

/// Describes the compiler and its version, or why none was found, for BackendVersions::compiler. `found`: set to whether
/// there is one.
std::string describe_compiler(bool& found);

/// The path of the AddressSanitizer runtime that this compiler's output needs. If the compiler does not have the runtime,
/// only the file's name.
std::string address_sanitizer_of(const Compiler& compiler);

/// The options for every compilation step. `architecture`: a value of `-march=`, such as "x86-64-v3", or "native" for this
/// processor. Throws std::invalid_argument for a malformed architecture, and for an option of the user that this compiler
/// cannot honour.
std::vector<std::string> compiler_flags(const Compiler& compiler, std::string_view architecture,
                                        const CompileOptions& options);
/// The options for a source that the compiler reads as CUDA. They make all functions device code for this processor, and
/// keep the compiler from searching for NVIDIA's toolkit.
std::span<const char* const> cuda_flags() noexcept;
/// The options for a source that is already preprocessed: leaves out options that name files to be included before the
/// source.
std::vector<std::string> flags_after_preprocessing(const std::vector<std::string>& flags);

}  // namespace weir::host
