// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/host/compile/kernel_scan.hpp"
#include "backends/host/compile/messages.hpp"
#include "weir/module.hpp"

/// Kernel source for the host's compiler: adds the text before and after it.
namespace weir::host {

/// How the threads of a block run on the host.
enum class Tier : std::uint8_t {
  fibers,    ///< each thread is a fiber; one that waits keeps its stack (backends/host/run/fibers.hpp)
  lockstep,  ///< like `fibers`, and the lanes of a warp synchronize at each volatile access as well
  groups     ///< the threads run in loops that the work-group pass makes (kernels/workgroup); only for `FrontEnd::cuda`
};

/// Returns the text to be preprocessed: the prelude, the macros in the options, and the source, under the name that messages
/// use. The text is the same for `fibers` and `lockstep`. Throws std::invalid_argument for a macro or a name that does not
/// fit into one line.
std::string compose_unit(std::string_view source, const CompileOptions& options, int warp_size, Tier tier,
                         FrontEnd front_end);

/// Whether the user's part of a preprocessed unit contains `volatile`, even as a part of a word. If so, the lanes of a warp
/// may rely on lockstep.
bool mentions_volatile(std::string_view preprocessed);

/// Change it if a source is transformed differently: modules cached by another revision are not used.
inline constexpr int unit_revision = 22;

struct CompilableUnit {
  std::string text;
  /// Whether the compiler may fuse multiplications with additions. False if the source uses __fmul_rn or similar functions.
  bool may_fuse;
};

/// Completes a preprocessed unit for compilation, which preprocesses the result once more. Defines CUDA's keywords, and
/// appends a record of each kernel, which the module exports. `cooperation`: whether the threads of a block can wait for
/// each other. `names`: template instances that get a record as well. Throws RefusedSource.
CompilableUnit complete_unit(std::string_view preprocessed, Tier tier, FrontEnd front_end, bool cooperation = true,
                             std::span<const std::string> names = {});

/// An assembly file that places all the variables `symbols` at the block's dynamic shared memory.
std::string define_dynamic_memory(std::span<const std::string> symbols);

/// The tokens of a line of one file in a preprocessed unit, which is tokenized once for all of its messages.
std::vector<PlacedToken> tokens_at(const kernels::TokenizedSource& source, std::string_view name, std::size_t line);

}  // namespace weir::host
