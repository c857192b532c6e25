// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "backends/host/compile/kernel_scan.hpp"
#include "weir/module.hpp"

/// Kernel source on its way to the host's compiler: what stands before it and behind it.
namespace weir::host {

/// How the threads of a block run.
enum class Tier : std::uint8_t {
  fibers,    ///< a thread that waits is left on its stack (backends/host/run/fibers.hpp)
  lockstep,  ///< as `fibers`; the lanes of a warp are also level at each volatile access
  groups     ///< loops over threads, which the work-group pass makes (kernels/workgroup). For `FrontEnd::cuda`
};

/// The text that is preprocessed: the prelude, the options' macros, and the source under the name that its messages carry.
/// It is the same for `fibers` and `lockstep`. Throws std::invalid_argument for a macro or a name that cannot be written as
/// a line.
std::string compose_unit(std::string_view source, const CompileOptions& options, int warp_size, Tier tier,
                         FrontEnd front_end);

/// Whether the user's part of a preprocessed unit says `volatile`, in any word: then a warp's threads may rely on running in
/// step.
bool mentions_volatile(std::string_view preprocessed);

/// Counts changes of what becomes of a source: modules that were kept by another revision are not used.
inline constexpr int unit_revision = 21;

struct CompilableUnit {
  std::string text;
  /// Whether a multiplication may be fused with an addition. Not if the source uses __fmul_rn and its like.
  bool may_fuse;
};

/// What is compiled of a preprocessed unit, which is preprocessed once more: CUDA's keywords are defined, and behind the
/// source stands a record of each kernel, which the module exports. `cooperation`: whether threads of a block may work
/// together. `names`: instances of templates that get a record, too. Throws RefusedSource.
CompilableUnit complete_unit(std::string_view preprocessed, Tier tier, FrontEnd front_end, bool cooperation = true,
                             std::span<const std::string> names = {});

/// An assembly file that gives the variables `symbols` the block's dynamic shared memory, whose place they all are.
std::string define_dynamic_memory(std::span<const std::string> symbols);

/// The lines of one file of a preprocessed unit, each in its place: what a compiler should show under that file's name, so
/// that its marks stand under the right words.
std::string lines_of(std::string_view preprocessed, std::string_view name);

}  // namespace weir::host
