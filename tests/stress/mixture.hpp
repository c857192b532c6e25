// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

/// Many threads create, use, share and drop all kinds of objects, as fast as they can. This finds races between objects that
/// tests with one thread or one kind of object miss. Each thread knows the correct content of its memory and checks it.
namespace stress {

struct MixtureOptions {
  double seconds = 10;
  std::uint64_t seed = 1;
  std::uint32_t threads = 12;
  std::string only;  ///< names of the cases to run, separated by commas; empty for all
};

/// Runs until the time is over. The first error or wrong value ends the process through `fail`, and so does a thread without
/// progress for a minute. Returns a line with the number of operations.
std::string run_mixture(const MixtureOptions& options);

/// Returns the names of all cases, for the usage text.
std::string mixture_cases();

}  // namespace stress
