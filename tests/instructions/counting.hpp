// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The part of the program that runs in callgrind.
namespace weir::test {

/// How often an operation runs while it is counted.
inline constexpr int counted_runs = 10;

/// Runs each operation of weir-bench-cuda `counted_runs` times, through Weir and on the driver itself, with a dump of
/// callgrind's counters behind each, named "OPERATION|weir" or "OPERATION|raw". Prints "OPERATION|SIDE|N" for the N calls to
/// the driver. Returns an exit status.
int run_counted(const char* filter);

}  // namespace weir::test
