// SPDX-License-Identifier: Apache-2.0
//
// How do I choose a device by its name, its UUID or its number?
//
// By number: `weir::device("cuda:1")` in the program, or `WEIR_BACKEND=cuda WEIR_DEVICE=1` in the environment. By
// anything else: compare the properties of each device. A UUID or a PCI address means the same card, even if
// `CUDA_VISIBLE_DEVICES` changes the numbers.
#include <cstdio>
#include <string_view>
#include <weir/weir.hpp>

// The first device whose name contains `text`, or whose UUID or PCI address it is; null if there is none.
weir::Device* find_device(std::string_view text) {
  for (weir::Device* device : weir::devices()) {
    const weir::DeviceProperties& is = device->properties();
    if (is.uuid == text || is.pci_bus_id == text || is.name.find(text) != std::string_view::npos) return device;
  }
  return nullptr;
}

int main() {
  weir::Device& wanted = weir::default_device();
  const weir::Device* found = find_device(wanted.properties().name);
  if (found == nullptr) return 1;
  std::printf("%s is %s\n", found->properties().name.c_str(), found->describe().c_str());
  return found->backend().name() == wanted.backend().name() && find_device("no such device") == nullptr ? 0 : 1;
}
