// SPDX-License-Identifier: Apache-2.0
//
// How do I handle running out of memory?
//
// `allocate` throws `out_of_memory` and nothing has changed. Free something, or use a smaller part, and try again.
#include <cstdio>
#include <weir/weir.hpp>

int main() {
  weir::Device& device = weir::default_device();
  std::size_t count = std::size_t{1} << 50U;  // more than there is
  weir::Buffer<char> x;
  while (x.empty() && count > 1) {
    try {
      x = device.allocate<char>(count);
    } catch (const weir::Error& error) {
      if (error.errc() != weir::Errc::out_of_memory) throw;
      count = count > (std::size_t{1} << 24U) ? std::size_t{1} << 20U : count / 2;
    }
  }
  std::printf("%zu bytes\n", x.size());
  return x.size() == std::size_t{1} << 20U ? 0 : 1;
}
