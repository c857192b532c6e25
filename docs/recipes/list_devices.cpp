// SPDX-License-Identifier: Apache-2.0
//
// How do I list the devices?
//
// `probe_all` opens every backend that Weir comes with, and so finds the GPUs of the machine. For one that cannot be used,
// the result has no backend but a reason. `architecture` tells the compute capability, as `sm_90`, or AMD's name, as
// `gfx942`.
#include <cstdio>
#include <weir/weir.hpp>

int main() {
  int devices = 0;
  for (const weir::BackendInfo& info : weir::Registry::instance().probe_all()) {
    if (info.backend == nullptr) continue;
    for (int i = 0; i < info.backend->device_count(); ++i, ++devices) {
      const weir::Device& device = info.backend->device(i);
      const weir::DeviceProperties& is = device.properties();
      std::printf("%s: %s, %s, %d multiprocessors, %zu MiB\n", device.describe().c_str(), is.name.c_str(),
                  is.architecture.c_str(), is.multiprocessor_count, is.total_memory >> 20U);
    }
  }
  return devices > 0 ? 0 : 1;
}
