// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/kernel_abi.hpp"

/// Threads of a block as fibers. A worker runs the threads of a block one after the other. A thread that waits stays on its
/// stack, and the next thread runs on another stack. So a kernel whose threads never wait is a plain loop.
namespace weir::host {

/// LaunchServices::run_fibers. Throws std::bad_alloc without memory for stacks.
void run_fibers(const BlockRange& range, const FiberKernel& kernel);
/// LaunchServices::wait.
std::uint32_t wait_on_fiber(void* fibers, Wait& wait, std::uint32_t started);

}  // namespace weir::host
