// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/host/kernel.hpp"

/// What a compiled module exports. The prelude that kernels are compiled with declares the same in its own words
/// (kernel_prelude.hpp): a change here is a change there, and of both numbers of the revision.
namespace weir::host {

struct KernelRecord {
  const char* name;
  RunBlocks run;
  const std::size_t* parameter_sizes;
  std::uint32_t parameter_count;
  std::uint32_t max_threads_per_block;  ///< what `__launch_bounds__` says, or 0
};

struct ModuleRecord {
  std::uint32_t revision;     ///< `module_revision`
  std::uint32_t record_size;  ///< sizeof(KernelRecord)
  const KernelRecord* const* first;
  const KernelRecord* const* last;  ///< one past the last
};

inline constexpr std::uint32_t module_revision = 1;
/// The symbol of the module's record, with the revision in it, so that it can be checked before anything is loaded.
inline constexpr const char* module_symbol = "weir_host_module_1";
inline constexpr const char* module_symbol_stem = "weir_host_module_";
/// The symbol of a string: the processor features that the code uses, in the words of /proc/cpuinfo, with spaces between.
inline constexpr const char* features_symbol = "weir_host_cpu_features";

}  // namespace weir::host
