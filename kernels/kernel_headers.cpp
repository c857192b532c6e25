// SPDX-License-Identifier: Apache-2.0
#include "kernels/kernel_headers.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <string_view>
#include <system_error>

#include "kernels/bfloat16.hpp"
#include "kernels/cub.hpp"
#include "kernels/fp8.hpp"
#include "kernels/groups.hpp"
#include "kernels/half.hpp"
#include "kernels/math_constants.hpp"

namespace weir::host {
namespace {

struct EmbeddedHeader {
  const char* name;
  std::string_view text;
};

constexpr std::string_view groups = kernels::groups_text;

// Headers of which the prelude has what kernels use.
constexpr const char* built_in[] = {
    "cuda_runtime.h", "cuda_runtime_api.h", "cuda.h", "builtin_types.h", "common_functions.h", "crt/device_functions.h",
    "crt/host_config.h", "crt/host_defines.h", "crt/math_functions.h", "cuda_device_runtime_api.h",
    "device_atomic_functions.h", "device_functions.h", "device_double_functions.h", "device_launch_parameters.h",
    "device_types.h", "driver_types.h", "host_config.h", "host_defines.h", "math_functions.h", "sm_20_atomic_functions.h",
    "sm_20_intrinsics.h", "sm_30_intrinsics.h", "sm_32_atomic_functions.h", "sm_32_intrinsics.h",
    "sm_60_atomic_functions.h", "sm_61_intrinsics.h", "vector_functions.h", "vector_types.h", "hip/hip_runtime.h",
};

constexpr EmbeddedHeader headers[] = {
    {"math_constants.h", kernels::math_constants_header},
    {"cuda_fp16.h", kernels::half_header},
    {"cuda_fp16.hpp", kernels::half_header},
    {"hip/hip_fp16.h", kernels::half_header},
    {"cuda_bf16.h", kernels::bfloat16_header},
    {"cuda_bf16.hpp", kernels::bfloat16_header},
    {"hip/hip_bf16.h", kernels::bfloat16_header},
    {"cuda_fp8.h", kernels::fp8_header},
    {"cooperative_groups.h", groups},
    {"cooperative_groups/reduce.h", groups},
    {"cooperative_groups/scan.h", groups},
    {"hip/hip_cooperative_groups.h", groups},
};

constexpr const char* refused[] = {
    "cooperative_groups/memcpy_async.h",
    "crt/mma.h",
    "cuComplex.h",
    "cuda_awbarrier.h",
    "cuda_awbarrier_primitives.h",
    "cuda_fp4.h",
    "cuda_fp6.h",
    "cuda_pipeline.h",
    "cuda_pipeline_primitives.h",
    "curand_kernel.h",
    "mma.h",
};

void write(const std::filesystem::path& file, std::string_view text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream out(file, std::ios::binary);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  out.close();
  if (!out) throw std::system_error(errno, std::generic_category(), "writing " + file.string());
}

}  // namespace

std::span<const char* const> refused_headers() { return refused; }

void write_kernel_headers(const std::filesystem::path& folder, std::span<const std::string> searched) {
  for (const char* const name : built_in) write(folder / name, "// Weir's prelude has what kernels use of it.\n");
  for (const EmbeddedHeader& header : headers) write(folder / header.name, header.text);
  for (const auto& [name, text] : kernels::cub_files) write(folder / name, text);
  const auto is_found = [&](const char* name) {
    const auto has = [name](const std::filesystem::path& in) {
      std::error_code error;
      return std::filesystem::exists(in / name, error);
    };
    return has("/usr/include") || has("/usr/local/include") || std::any_of(searched.begin(), searched.end(), has);
  };
  for (const char* const name : refused) {
    if (is_found(name)) write(folder / name, std::string("#error ").append(refused_header_error).append("\n"));
  }
}

}  // namespace weir::host
