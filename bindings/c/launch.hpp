// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "bindings/c/call.hpp"
#include "weir/module.hpp"

/// Converts launch configurations and arguments, for launches and for changes of kernel nodes.
namespace weir::c {

LaunchConfig launch_config(const weir_launch_config* given);
/// Returns the sizes and kinds of the `count` arguments of a launch of `kernel`. If `sizes` is null, uses the sizes of the
/// kernel's parameters; throws if they are unknown. If `kinds` is null, all kinds are unknown.
std::vector<Parameter> parameters_of(const Kernel& kernel, const size_t* sizes, const weir_argument_kind* kinds,
                                     std::size_t count);

}  // namespace weir::c
