// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "bindings/c/call.hpp"
#include "weir/module.hpp"

/// What launches and changes of kernels in graphs take.
namespace weir::c {

LaunchConfig launch_config(const weir_launch_config* given);
/// The sizes of a kernel's parameters, to stand for those of its `count` arguments.
std::span<const std::size_t> parameter_sizes(const Kernel& kernel, std::size_t count);

}  // namespace weir::c
