// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "weir/module.hpp"

/// The system's C++ compiler and its options.
namespace weir::host {

struct Compiler {
  std::string path;
  std::string version;      ///< first line of its version output
  std::string identity;     ///< changes when the compiler does
  bool is_gcc = false;      ///< otherwise it is treated like Clang
  bool reads_cuda = false;  ///< Clang from 16 on, whose CUDA front end can compile for the host's processor
  int major = 0;            ///< for Clang; 0 if unknown
  std::string pass = {};    ///< the plugin that forms work-groups with this compiler, or empty
};

/// No compiler was found. `what()` contains the attempts and the remedy.
class NoCompiler : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The folder of the plugins, such as weir_workgroup-19.so for Clang 19: the folder of the file that contains this code or,
/// if that is the library itself, the library's plugin folder.
std::filesystem::path plugin_folder();

/// Returns the compiler in WEIR_HOST_CXX; or the newest Clang in the absolute folders of PATH (clang++-19, clang++) that has
/// a plugin in `plugins`; or the first of c++, g++ and clang++ there. Queries each compiler's version once, and again if its
/// file changes. Throws NoCompiler; `invalid_environment` if WEIR_HOST_CXX is not an absolute path.
Compiler find_compiler(const std::filesystem::path& plugins = plugin_folder());

/// The compiler and its version, or why none was found: for BackendVersions::compiler. `found`: set to whether one was.
std::string describe_compiler(bool& found);

/// The path of the AddressSanitizer runtime for this compiler's output; only its name if the compiler lacks it.
std::string address_sanitizer_of(const Compiler& compiler);

/// The options for every step. `architecture` is a value of `-march=`: "x86-64-v3", or "native" for this processor. Throws
/// std::invalid_argument for a malformed architecture, and for options that the host's compiler cannot honour.
std::vector<std::string> compiler_flags(const Compiler& compiler, std::string_view architecture,
                                        const CompileOptions& options);
/// The options for a source that the compiler reads as CUDA. All of it becomes device code for this processor, and the
/// compiler does not search for NVIDIA's toolkit.
std::span<const char* const> cuda_flags() noexcept;
/// The same for a preprocessed source: without options for files that are included before it.
std::vector<std::string> flags_after_preprocessing(const std::vector<std::string>& flags);

}  // namespace weir::host
