// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

/// Many threads that create, use, share and drop everything there is, as fast as they can: hazards between objects that one
/// thread, or one kind of object, does not show. Each thread knows what its part of the memory must hold, and looks.
namespace stress {

struct MixtureOptions {
  double seconds = 10;
  std::uint64_t seed = 1;
  std::uint32_t threads = 12;
  std::string only;  ///< the names of the only cases, separated by commas; empty for all
};

/// Runs until the time is over. The first error or wrong value ends the process through `fail`; so does a thread that has
/// not come on for a minute. Returns a line that says what was done.
std::string run_mixture(const MixtureOptions& options);

/// The names of all cases, for the usage.
std::string mixture_cases();

}  // namespace stress
