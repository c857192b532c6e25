// SPDX-License-Identifier: Apache-2.0
#include "kernels/kernel_headers.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <string_view>
#include <system_error>

#include "kernels/bfloat16.hpp"
#include "kernels/cub.hpp"
#include "kernels/fiber_groups.hpp"
#include "kernels/fp8.hpp"
#include "kernels/half.hpp"
#include "kernels/math_constants.hpp"

namespace weir::host {
namespace {

struct EmbeddedHeader {
  const char* name;
  std::string_view text;
};

constexpr const char* built_in = "// Weir's prelude has what kernels use of it.\n";

constexpr std::string_view groups = kernels::fiber_groups_header;

constexpr EmbeddedHeader headers[] = {
    {"cuda_runtime.h", built_in},
    {"cuda_runtime_api.h", built_in},
    {"cuda.h", built_in},
    {"builtin_types.h", built_in},
    {"common_functions.h", built_in},
    {"crt/device_functions.h", built_in},
    {"crt/host_config.h", built_in},
    {"crt/host_defines.h", built_in},
    {"crt/math_functions.h", built_in},
    {"cuda_device_runtime_api.h", built_in},
    {"device_atomic_functions.h", built_in},
    {"device_functions.h", built_in},
    {"device_double_functions.h", built_in},
    {"device_launch_parameters.h", built_in},
    {"device_types.h", built_in},
    {"driver_types.h", built_in},
    {"host_config.h", built_in},
    {"host_defines.h", built_in},
    {"math_functions.h", built_in},
    {"sm_20_atomic_functions.h", built_in},
    {"sm_20_intrinsics.h", built_in},
    {"sm_30_intrinsics.h", built_in},
    {"sm_32_atomic_functions.h", built_in},
    {"sm_32_intrinsics.h", built_in},
    {"sm_60_atomic_functions.h", built_in},
    {"sm_61_intrinsics.h", built_in},
    {"vector_functions.h", built_in},
    {"vector_types.h", built_in},
    {"hip/hip_runtime.h", built_in},
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
