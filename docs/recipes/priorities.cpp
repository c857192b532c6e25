// SPDX-License-Identifier: Apache-2.0
//
// How do I give a stream a priority?
//
// With a level, which every device accepts, or a number in the device's range. A lower number is more urgent, as the
// vendors define it. A number out of range is an error; CUDA would clamp it silently.
#include <cstdio>
#include <weir/weir.hpp>

int main() {
  weir::Device& device = weir::default_device();
  const auto urgent = device.create_stream({.priority = weir::Priority::high});
  const auto idle = device.create_stream({.priority = weir::Priority::low});
  const weir::PriorityRange range = device.priority_range();
  std::printf("from %d (least) to %d (greatest)\n", range.least, range.greatest);
  const auto by_number = device.create_stream({.priority = range.greatest});
  try {
    (void)device.create_stream({.priority = range.greatest - 1});
  } catch (const weir::Error&) {
    return urgent->priority() <= idle->priority() && by_number->priority() == urgent->priority() ? 0 : 1;
  }
  return 1;
}
