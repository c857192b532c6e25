// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace weir::test {

/// The arguments for launches of random programs. Blocks have at most this many threads.
inline constexpr unsigned program_block_threads = 256;
inline constexpr unsigned program_inputs = 256;  ///< elements of `in`
inline constexpr unsigned program_sums = 64;     ///< elements of `sums`
struct ProgramConfig {
  unsigned first;
  unsigned long long second;
  unsigned short parts[3];
};

/// A C++ program with kernels `k0`, `k1`, …, each
///
///     extern "C" __global__ void k0(unsigned* out, unsigned* sums, const unsigned* in, unsigned n,
///                                  Config config);
///
/// Every thread writes out[its number in the grid]; `sums` collects results of atomics, and starts from zeros. A program is
/// well defined, whatever the order in which threads run, and valid for NVRTC: barriers stand where all threads of a block
/// come, warp operations name the lanes that come, arithmetic is unsigned. What it draws on is C++, not what some front end
/// of ours knows: references by alias, trait, template and decltype, overloads, conversions, lambdas, equal names in several
/// namespaces, default arguments that read the thread, attributes, macros, recursion, calls through pointers and tables,
/// atomics, unions, bit-fields, objects by value, and numbers of all sizes.
///
/// The same seed gives the same text. Those with an odd seed also have what the work-group pass leaves to fibers: recursion,
/// calls through pointers, atomics and meetings of lanes in loops that lanes leave one by one.
std::string random_program(std::uint64_t seed, unsigned kernels);

}  // namespace weir::test
