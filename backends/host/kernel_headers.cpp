// SPDX-License-Identifier: Apache-2.0
#include "backends/host/kernel_headers.hpp"

#include <cerrno>
#include <fstream>
#include <string_view>
#include <system_error>

#include "kernels/bfloat16.hpp"
#include "kernels/groups.hpp"
#include "kernels/half.hpp"
#include "kernels/math_constants.hpp"

namespace weir::host {
namespace {

struct Header {
  const char* name;
  std::string_view text;
};

constexpr const char* built_in = "// Weir's prelude has what kernels use of it.\n";

constexpr Header headers[] = {
    {"cuda_runtime.h", built_in},
    {"cuda_runtime_api.h", built_in},
    {"cuda.h", built_in},
    {"builtin_types.h", built_in},
    {"device_atomic_functions.h", built_in},
    {"device_functions.h", built_in},
    {"device_launch_parameters.h", built_in},
    {"math_functions.h", built_in},
    {"sm_20_atomic_functions.h", built_in},
    {"sm_30_intrinsics.h", built_in},
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
    {"cooperative_groups.h", kernels::groups_header},
    {"cooperative_groups/reduce.h", kernels::groups_header},
    {"cooperative_groups/scan.h", kernels::groups_header},
    {"hip/hip_cooperative_groups.h", kernels::groups_header},
};

}  // namespace

void write_kernel_headers(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder / "hip");
  std::filesystem::create_directories(folder / "cooperative_groups");
  for (const Header& header : headers) {
    std::ofstream file(folder / header.name, std::ios::binary);
    file.write(header.text.data(), static_cast<std::streamsize>(header.text.size()));
    file.close();
    if (!file) throw std::system_error(errno, std::generic_category(), "writing " + (folder / header.name).string());
  }
}

}  // namespace weir::host
