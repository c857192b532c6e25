// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
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

/// The options that go with every step. Throws std::invalid_argument for options that the host's compiler cannot honour.
std::vector<std::string> compiler_flags(const Compiler& compiler, const CompileOptions& options);
/// The same for a source that is preprocessed already: without files to be included before it.
std::vector<std::string> flags_after_preprocessing(const std::vector<std::string>& flags);

}  // namespace weir::host
