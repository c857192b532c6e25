// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace weir::host {

/// Clang compiles functions between these two lines as `__host__ __device__`, unless they are marked otherwise.
inline constexpr std::string_view both_begin = "#pragma clang force_cuda_host_device begin\n";
inline constexpr std::string_view both_end = "#pragma clang force_cuda_host_device end\n";

/// Prepares a preprocessed source for Clang's CUDA: functions marked neither `__host__` nor `__device__` become device code,
/// as with NVRTC's option --device-as-default-execution-space. Functions of system headers, which the line markers identify,
/// are left unchanged.
std::string with_device_as_default(std::string_view preprocessed);

}  // namespace weir::host
