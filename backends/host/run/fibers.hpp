// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/kernel_abi.hpp"

/// Runs the threads of a block as fibers. A worker runs the threads one after the other on one stack. If a thread waits, it
/// keeps this stack, and the next thread runs on another stack. So a kernel whose threads never wait runs as a plain loop.
namespace weir::host {

/// Implements LaunchServices::run_fibers. Throws std::bad_alloc if there is no memory for stacks.
void run_fibers(const BlockRange& range, const FiberKernel& kernel);
/// Implements LaunchServices::wait.
std::uint32_t wait_on_fiber(void* fibers, Wait& wait, std::uint32_t started);

}  // namespace weir::host
