// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "bindings/c/call.hpp"
#include "weir/module.hpp"

/// Arguments of kernel launches and of changes to kernel nodes.
namespace weir::c {

LaunchConfig launch_config(const weir_launch_config* given);
/// The `count` arguments of a launch of that kernel, of these sizes and kinds. Without sizes, those of the kernel's
/// parameters. Without kinds, any may be an address.
std::vector<Parameter> parameters_of(const Kernel& kernel, const size_t* sizes, const weir_argument_kind* kinds,
                                     std::size_t count);

}  // namespace weir::c
