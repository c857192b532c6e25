// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/lexer.hpp"

/// Finds the kernels of a source, for which records are written (`write_records`), and the constructs that must be rewritten
/// for compilers. It does not check the kernels: the compiler reads the same text, and a record of a kernel that does not
/// exist is a compile error.
namespace weir::host {

/// The compiler front end that reads a kernel's source.
enum class FrontEnd : std::uint8_t {
  cpp,  ///< as plain C++, with any compiler
  cuda  ///< as CUDA, with Clang, which distinguishes device code
};

/// Thrown for a source that Weir refuses before the compiler reads it. `what()` has the form of a compiler's message:
/// "kernel.cu:12: error: …".
class RefusedSource : public std::runtime_error {
 public:
  enum class Reason : std::uint8_t {
    wrong,             ///< the source is wrong on every backend
    needs_cooperation  ///< the source needs the feature `block_cooperation`, which is absent
  };
  RefusedSource(const std::string& message, Reason why) : std::runtime_error(message), reason_(why) {}
  Reason reason() const noexcept { return reason_; }

 private:
  Reason reason_;
};

/// A kernel in the source: the definition of a `__global__` function, or an explicit instance such as `template __global__
/// void blur<float>(const float*);`.
struct ScannedKernel {
  enum class Kind : std::uint8_t { function, primary_template, instance };
  Kind kind;
  std::string scope;       ///< the named namespaces around the kernel: "image::filters::"
  std::string name;        ///< the name without the namespaces: "k", "blur<float, 3>"
  bool c_linkage;          ///< has C linkage, so the symbol does not include the namespaces
  std::string bounds;      ///< the first argument of `__launch_bounds__`; empty if there is none
  std::string parameters;  ///< for a template, its parameter list: "<class T, int n>"
  kernels::Token at;
};

/// A piece of the text and its replacement. Neither contains a line end, so line numbers do not change.
struct Edit {
  std::uint32_t begin;
  std::uint32_t end;
  std::string text;
};

struct KernelScan {
  std::vector<ScannedKernel> kernels;
  std::vector<Edit> edits;
  /// Whether multiplications may be fused with additions; false if the source uses __fmul_rn or similar functions.
  bool may_fuse = true;
};

/// Prefix of kernel names where the source is compiled as C++, because the C library may have functions with the same names.
inline constexpr std::string_view cpp_kernel_prefix = "weir_kernel_";

/// Scans a source. `cooperation`: whether the threads of a block can wait for each other. Throws RefusedSource.
KernelScan scan_kernels(const kernels::TokenizedSource& source, FrontEnd front_end, bool cooperation);

}  // namespace weir::host
