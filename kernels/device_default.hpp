// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace weir::host {

/// Between these two lines Clang compiles every function that has neither attribute as `__host__ __device__`.
inline constexpr std::string_view both_begin = "#pragma clang force_cuda_host_device begin\n";
inline constexpr std::string_view both_end = "#pragma clang force_cuda_host_device end\n";

/// Prepares a preprocessed source for Clang's CUDA: functions that are marked neither `__host__` nor `__device__` become
/// device code, as with NVRTC's option --device-as-default-execution-space. Functions in system headers, which the line
/// markers identify, stay unchanged.
std::string with_device_as_default(std::string_view preprocessed);

}  // namespace weir::host
