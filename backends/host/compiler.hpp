// SPDX-License-Identifier: Apache-2.0
#pragma once

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
  std::string version;   ///< the first line of its version output
  std::string identity;  ///< changes when the compiler does
  bool is_gcc = false;   ///< else it is treated like Clang
};

/// There is no compiler. `what()` has the attempts and the remedy.
class NoCompiler : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// WEIR_HOST_CXX, or the first of c++, g++ and clang++ in the absolute folders of PATH. Asks a compiler for its version
/// once, and again if its file changes. Throws NoCompiler; `invalid_environment` if WEIR_HOST_CXX is no absolute path.
Compiler find_compiler();

/// The environment of a compiler: the C locale; a PATH of its own folder, this process's absolute folders and the system's;
/// TMPDIR; and the variables for headers and libraries. A process with raised privileges passes on none of its own
/// variables, since its caller chose them.
std::vector<std::string> compiler_environment(const std::string& compiler);

/// The variables of this process that `compiler_environment` passes on, except PATH and TMPDIR.
std::span<const char* const> search_variables() noexcept;

/// The options that go with every step, for the processors that `-march=` calls so: "x86-64-v3", or "native" for this one.
/// Throws std::invalid_argument for an architecture that is no such word, and for options that the host's compiler cannot
/// honour.
std::vector<std::string> compiler_flags(const Compiler& compiler, std::string_view architecture,
                                        const CompileOptions& options);
/// The same for a preprocessed source: without files that are included before it.
std::vector<std::string> flags_after_preprocessing(const std::vector<std::string>& flags);

}  // namespace weir::host
