// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weir::gpu {

/// CUdevResource (CUDA 12.4) and hipDevResource (HIP 7.14), which have the same layout.
struct DeviceResource {
  int type;  // CU_DEV_RESOURCE_TYPE_SM 1
  unsigned char padding[92];
  unsigned count, least, alignment, rest[9];
};
inline constexpr int resource_compute_units = 1;

}  // namespace weir::gpu
