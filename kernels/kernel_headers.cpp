// SPDX-License-Identifier: Apache-2.0
#include "kernels/kernel_headers.hpp"

#include <cerrno>
#include <fstream>
#include <string_view>
#include <system_error>

#include "kernels/bfloat16.hpp"
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

// The error is a single line. If the compiler found a toolkit's own file instead, it would report an error for each line of
// that file.
constexpr const char* absent =
    "#error Weir has nothing of this header for the CPU: put what needs it behind #ifndef __WEIR_HOST__\n";

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
    {"cooperative_groups/memcpy_async.h", absent},
    {"crt/mma.h", absent},
    {"cuComplex.h", absent},
    {"cuda_awbarrier.h", absent},
    {"cuda_awbarrier_primitives.h", absent},
    {"cuda_fp4.h", absent},
    {"cuda_fp6.h", absent},
    {"cuda_pipeline.h", absent},
    {"cuda_pipeline_primitives.h", absent},
    {"curand_kernel.h", absent},
    {"mma.h", absent},
};

}  // namespace

void write_kernel_headers(const std::filesystem::path& folder) {
  for (const char* const part : {"cooperative_groups", "crt", "hip"}) std::filesystem::create_directories(folder / part);
  for (const EmbeddedHeader& header : headers) {
    std::ofstream file(folder / header.name, std::ios::binary);
    file.write(header.text.data(), static_cast<std::streamsize>(header.text.size()));
    file.close();
    if (!file) throw std::system_error(errno, std::generic_category(), "writing " + (folder / header.name).string());
  }
}

}  // namespace weir::host
