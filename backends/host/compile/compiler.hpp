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
  std::string version;      ///< the first line of its version output
  std::string identity;     ///< changes when the compiler does
  bool is_gcc = false;      ///< else it is treated like Clang
  bool reads_cuda = false;  ///< Clang from 16 on, whose front end for CUDA can make code for the host's processor
  int major = 0;            ///< of Clang; 0 if it does not say
  std::string pass = {};    ///< the plugin that forms work-groups with this compiler, or empty
};

/// There is no compiler. `what()` has the attempts and the remedy.
class NoCompiler : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Where the plugins lie, weir_workgroup-19.so for Clang 19: in the folder of the file that this code is in; or, if that is
/// the library itself, in the library's folder of plugins.
std::filesystem::path plugin_folder();

/// WEIR_HOST_CXX; or the newest Clang in the absolute folders of PATH (clang++-19, clang++) that has a plugin in `plugins`;
/// or the first of c++, g++ and clang++ there. Asks a compiler for its version once, and again if its file changes. Throws
/// NoCompiler; `invalid_environment` if WEIR_HOST_CXX is no absolute path.
Compiler find_compiler(const std::filesystem::path& plugins = plugin_folder());

/// The compiler and its version, or why there is none: for BackendVersions::compiler. `found`: whether there is one.
std::string describe_compiler(bool& found);

/// The path of AddressSanitizer's runtime for what the compiler makes; only its name where the compiler does not have it.
std::string address_sanitizer_of(const Compiler& compiler);

/// The options that go with every step, for the processors that `-march=` calls so: "x86-64-v3", or "native" for this one.
/// Throws std::invalid_argument for an architecture that is no such word, and for options that the host's compiler cannot
/// honour.
std::vector<std::string> compiler_flags(const Compiler& compiler, std::string_view architecture,
                                        const CompileOptions& options);
/// The options for a source that the compiler reads as CUDA. All of it is device code for this processor, and no toolkit of
/// NVIDIA's is looked for.
std::span<const char* const> cuda_flags() noexcept;
/// The same for a preprocessed source: without files that are included before it.
std::vector<std::string> flags_after_preprocessing(const std::vector<std::string>& flags);

}  // namespace weir::host
