// SPDX-License-Identifier: Apache-2.0
//
// How do I overlap copies with kernels?
//
// With two streams and two sets of buffers (double buffering): while one part is computed, the next one is copied. The
// host's memory must be pinned, or the copies hold up the host. Within one stream everything stays in order, so a set is not
// used again too early.
#include <array>
#include <numeric>
#include <weir/weir.hpp>

constexpr const char* source = R"(
extern "C" __global__ void twice(unsigned int n, int* x) {
  const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= 2;
})";

int main() {
  weir::Device& device = weir::default_device();
  const auto twice = device.compile(source)->kernel("twice");
  const unsigned int part = 1 << 16, parts = 8;
  const auto data = device.allocate<int>(part * parts, weir::MemoryKind::pinned);
  std::iota(data.host().begin(), data.host().end(), 0);

  struct Set {
    weir::StreamPtr stream;
    weir::Buffer<int> x;
  };
  const std::array<Set, 2> sets = {Set{device.create_stream(), device.allocate<int>(part)},
                                   Set{device.create_stream(), device.allocate<int>(part)}};
  for (unsigned int i = 0; i < parts; ++i) {
    const Set& set = sets[i % 2];
    set.stream->copy(set.x, data.subspan(i * part, part));
    set.stream->launch(twice, weir::grid_for(part), part, set.x);
    set.stream->copy(data.subspan(i * part, part), set.x);
  }
  for (const Set& set : sets) set.stream->synchronize();
  for (unsigned int i = 0; i < part * parts; ++i) {
    if (data.host()[i] != static_cast<int>(2 * i)) return 1;
  }
  return 0;
}
