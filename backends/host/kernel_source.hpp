// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "weir/module.hpp"

/// Kernel source on its way to the host's compiler: what stands before it, and what becomes of `__global__` and its like.
namespace weir::host {

/// The text that is preprocessed: the prelude, the options' macros, and the source under the name that its messages carry.
/// Throws std::invalid_argument for a macro or a name that cannot be written as a line.
std::string compose_unit(std::string_view source, const CompileOptions& options, int warp_size);

/// Source that Weir refuses before the compiler sees it. `what()` reads as a compiler's message: "kernel.cu:12: error: …".
class RefusedSource : public std::runtime_error {
 public:
  enum class Reason {
    wrong,              ///< no backend would take it
    needs_cooperation,  ///< it needs the feature `block_cooperation`, which is absent
    not_understood      ///< threads work together in a way that cannot be split
  };
  RefusedSource(const std::string& message, Reason why) : std::runtime_error(message), reason_(why) {}
  Reason reason() const noexcept { return reason_; }

 private:
  Reason reason_;
};

/// Counts changes of what rewriting makes of a source: modules that were kept by another revision are not used.
inline constexpr int rewriter_revision = 15;

struct RewrittenUnit {
  std::string text;
  /// Whether a multiplication may be fused with an addition. Not if the source uses __fmul_rn and its like.
  bool may_fuse;
};

/// Turns a preprocessed unit into C++ that any compiler takes: - Kernels become inline functions `weir_kernel_NAME` whose
/// first parameters are threadIdx, blockIdx, blockDim and gridDim,
///   so that the body sees constants of its own; behind each stands a record that the module exports.
/// - `__device__` and `__constant__` variables become visible symbols; the other keywords vanish. - Kernels whose threads
/// work together are split at the places where they meet (kernels/split.hpp), and get the block as their
///   first parameter instead.
/// - The launcher sets the thread-local variables threadIdx and its like only if something other than a kernel's own body
///   uses them, because that keeps the loop over threads from being vectorized.
/// Lines and columns of what the user wrote stay what the preprocessor made of them. Throws RefusedSource.
/// `cooperation`: whether threads of a block may work together.
/// `names`: instances of templates that get a record, too.
RewrittenUnit rewrite_kernels(std::string_view preprocessed, bool optimize, bool cooperation = true,
                              std::span<const std::string> names = {});

/// The lines of one file of a preprocessed unit, each in its place: what a compiler should show under that file's name, so
/// that its marks stand under the right words.
std::string lines_of(std::string_view preprocessed, std::string_view name);

}  // namespace weir::host
