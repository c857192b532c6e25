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
             " is missing: the kernel's amdgpu driver is not loaded, or, in a container, its devices were not "
             "passed on (--device=/dev/kfd --device=/dev/dri)";
    }
    return std::string(node) + " may not be opened (" + std::generic_category().message(error) +
           "): let the user be in the groups 'render' and 'video'";
  }
  ::close(file);
  std::string set;
  for (const char* const name :
       {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"}) {
    if (const auto value = support::environment(name)) set += (set.empty() ? "" : ", ") + (name + ("=" + *value));
  }
  return set.empty() ? std::string(node) +
                           " can be opened, so the kernel's driver is there: see whether rocminfo lists a GPU, and "
                           "whether this release of ROCm supports it"
                     : "devices may be hidden: " + set;
}

}  // namespace weir::hip
