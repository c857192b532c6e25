// SPDX-License-Identifier: Apache-2.0
//
// How do I use several devices (multiple GPUs)?
//
// Each device has its own streams, memory and modules. There is no current device to set: every object belongs to a
// device. Enqueue on all devices first and wait afterwards, so that they work at the same time.
#include <vector>
#include <weir/weir.hpp>

int main() {
  const weir::Backend& backend = weir::default_device().backend();
  const int n = 1000;
  struct Part {
    weir::StreamPtr stream;
    weir::Buffer<float> x;
  };
  std::vector<Part> parts;
  for (int i = 0; i < backend.device_count(); ++i) {
    weir::Device& device = backend.device(i);
    parts.push_back({device.create_stream(), device.allocate<float>(n)});
    parts.back().stream->fill(parts.back().x, static_cast<float>(i));
  }
  for (int i = 0; i < backend.device_count(); ++i) {
    const Part& part = parts[static_cast<std::size_t>(i)];
    if (part.stream->read(part.x) != std::vector<float>(n, static_cast<float>(i))) return 1;
  }
  return 0;
}
