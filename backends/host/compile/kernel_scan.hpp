// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/lexer.hpp"

/// Finds a source's kernels, so that each gets a record (`write_records`), and constructs that compilers need rewritten. It
/// does not interpret kernels: the compiler reads the same text, and a record of something that does not exist is a compile
/// error.
namespace weir::host {

/// The compiler front end that reads a kernel's source.
enum class FrontEnd : std::uint8_t {
  cpp,  ///< any compiler, as C++
  cuda  ///< Clang's CUDA front end, which distinguishes device code
};

/// Source that Weir refuses before the compiler sees it. `what()` reads as a compiler's message: "kernel.cu:12: error: …".
class RefusedSource : public std::runtime_error {
 public:
  enum class Reason : std::uint8_t {
    wrong,             ///< no backend would accept it
    needs_cooperation  ///< it needs the feature `block_cooperation`, which is absent
  };
  RefusedSource(const std::string& message, Reason why) : std::runtime_error(message), reason_(why) {}
  Reason reason() const noexcept { return reason_; }

 private:
  Reason reason_;
};

/// A definition of a `__global__` function, or `template __global__ void blur<float>(const float*);`.
struct ScannedKernel {
  enum class Kind : std::uint8_t { function, primary_template, instance };
  Kind kind;
  std::string scope;       ///< the enclosing named namespaces: "image::filters::"
  std::string name;        ///< without them: "k", "blur<float, 3>"
  bool c_linkage;          ///< its name is then not qualified
  std::string bounds;      ///< the first argument of `__launch_bounds__`, or empty
  std::string parameters;  ///< for a template: "<class T, int n>"
  kernels::Token at;
};

/// A piece of the text to be replaced, without line ends, so that line numbers stay the same.
struct Edit {
  std::uint32_t begin;
  std::uint32_t end;
  std::string text;
};

struct KernelScan {
  std::vector<ScannedKernel> kernels;
  std::vector<Edit> edits;
  bool may_fuse = true;  ///< false if the source uses __fmul_rn or similar functions
};

/// The prefix of kernels' names in C++, because the C library may have functions with those names.
inline constexpr std::string_view cpp_kernel_prefix = "weir_kernel_";

/// `cooperation`: whether threads of a block may cooperate. Throws RefusedSource.
KernelScan scan_kernels(const kernels::TokenizedSource& source, FrontEnd front_end, bool cooperation);

}  // namespace weir::host
