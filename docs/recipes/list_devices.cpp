// SPDX-License-Identifier: Apache-2.0
//
// How do I list the devices?
//
// `devices` opens every backend that Weir comes with, and so finds the GPUs of the machine; `Registry::probe_all` gives the
// reason for each that cannot be used. `architecture` is the compute capability, as `sm_90`, or AMD's name, as `gfx942`.
#include <cstdio>
#include <weir/weir.hpp>

int main() {
  const auto devices = weir::devices();
  for (const weir::Device* device : devices) {
    const weir::DeviceProperties& is = device->properties();
    std::printf("%s: %s, %s, %d multiprocessors, %zu MiB\n", device->describe().c_str(), is.name.c_str(),
                is.architecture.c_str(), is.multiprocessor_count, is.total_memory >> 20U);
  }
  return devices.empty() ? 1 : 0;
}
