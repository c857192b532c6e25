// SPDX-License-Identifier: Apache-2.0
#include "backends/hip/device_node.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "weir/plugin/support.hpp"

namespace weir::hip {

std::string why_no_device(const char* node) {
  const int file = ::open(node, O_RDWR | O_CLOEXEC);
  if (file < 0) {
    const int error = errno;
    if (error == ENOENT) {
      return std::string(node) +
             " is missing: the kernel driver amdgpu is not loaded, or its devices were not passed to the container "
             "(--device=/dev/kfd --device=/dev/dri)";
    }
    return std::string(node) + " cannot be opened (" + std::generic_category().message(error) +
           "): add the user to the groups 'render' and 'video'";
  }
  ::close(file);
  std::string set;
  for (const char* const name :
       {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"}) {
    if (const auto value = support::environment(name)) set += (set.empty() ? "" : ", ") + (name + ("=" + *value));
  }
  return set.empty() ? std::string(node) +
                           " can be opened, so the kernel driver is loaded: check whether rocminfo lists a GPU, and whether "
                           "this release of ROCm supports it"
                     : "devices may be hidden: " + set;
}

}  // namespace weir::hip
