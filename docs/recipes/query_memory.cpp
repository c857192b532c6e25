// SPDX-License-Identifier: Apache-2.0
//
// How do I ask how much memory is free?
//
// `memory_info` is cudaMemGetInfo: bytes, at this moment. Other processes also allocate, so allocate and catch
// `out_of_memory` rather than rely on it.
#include <cstdio>
#include <weir/weir.hpp>

int main() {
  weir::Device& device = weir::default_device();
  const weir::MemoryInfo memory = device.memory_info();
  std::printf("%zu of %zu MiB are free\n", memory.free >> 20U, memory.total >> 20U);
  return memory.total > 0 && memory.free <= memory.total ? 0 : 1;
}
