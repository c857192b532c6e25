// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "weir/module.hpp"

/// The system's C++ compiler: which one, and with which options.
namespace weir::host {

struct Compiler {
  std::string path;
  std::string version;   ///< the first line of what it says about itself
  std::string identity;  ///< changes when the compiler does
  bool is_gcc = false;   ///< else it is taken for Clang or kin
};

/// There is no compiler; `what()` names what was tried, and the remedy.
class NoCompiler : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// WEIR_HOST_CXX, or the first of c++, g++ and clang++ in the absolute folders of PATH. Asks a compiler for its version once, as
/// long as its file does not change. Throws NoCompiler; `invalid_environment` for a WEIR_HOST_CXX that is no absolute path.
Compiler find_compiler();

/// The environment that a compiler runs in: the C locale; a PATH of its own folder, this process's absolute folders and the
/// system's; and TMPDIR and the variables that say where headers and libraries lie. A process with raised privileges hands
/// on none of its own variables, since they are its caller's, who must not choose what runs with the raised ones.
std::vector<std::string> compiler_environment(const std::string& compiler);

/// The variables of this process, apart from PATH and TMPDIR, that `compiler_environment` hands on.
std::span<const char* const> search_variables() noexcept;

/// The options that go with every step, for the processors that `-march=` calls so: "x86-64-v3", or "native" for this one. Throws
/// std::invalid_argument for an architecture that is no such word, and for options that the host's compiler cannot honour.
std::vector<std::string> compiler_flags(const Compiler& compiler, std::string_view architecture, const CompileOptions& options);
/// The same for a source that is preprocessed already: without files to be included before it.
std::vector<std::string> flags_after_preprocessing(const std::vector<std::string>& flags);

}  // namespace weir::host
