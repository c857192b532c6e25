// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace weir::host {

/// What stands between them is host and device code for Clang's CUDA, unless it says otherwise.
inline constexpr std::string_view both_begin = "#pragma clang force_cuda_host_device begin\n";
inline constexpr std::string_view both_end = "#pragma clang force_cuda_host_device end\n";

/// A preprocessed unit for Clang's CUDA, in which functions that say neither `__host__` nor `__device__` are device code, as
/// the option --device-as-default-execution-space makes them for NVRTC: all but those of the system's headers, of which the
/// markers of lines tell.
std::string with_device_as_default(std::string_view preprocessed);

}  // namespace weir::host
