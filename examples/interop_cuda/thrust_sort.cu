// SPDX-License-Identifier: Apache-2.0

// Uses CUB and Thrust on a Weir stream. A sort and a sum are captured into a graph, after Weir's own fill and copy. A Thrust
// algorithm runs on the same stream outside the graph.

#include <thrust/execution_policy.h>
#include <thrust/reduce.h>

#include <algorithm>
#include <cub/cub.cuh>
#include <numeric>
#include <random>
#include <vector>

#include "check.hpp"
#include "weir/interop/cuda.hpp"

namespace {

constexpr int n = 1 << 20;

bool sort_and_sum() {
  weir::Device& device = weir::cuda::device(0);
  CHECK(cudaSetDevice(weir::cuda::device_number(device)));
  const weir::StreamPtr stream = device.create_stream();
  cudaStream_t const native = weir::cuda::stream(*stream);  // the only line needed for CUB and Thrust

  auto input = device.allocate<unsigned>(n, weir::MemoryKind::pinned), output = device.allocate<unsigned>(n, weir::MemoryKind::pinned);
  std::mt19937 random(1);
  for (unsigned& value : input.host()) value = random();
  auto keys = device.allocate<unsigned>(n), sorted = device.allocate<unsigned>(n);
  auto sum = device.allocate<unsigned long long>(1);

  // Without memory, CUB only returns the size that it needs.
  std::size_t sort_bytes = 0, sum_bytes = 0;
  CHECK(cub::DeviceRadixSort::SortKeys(nullptr, sort_bytes, keys.data(), sorted.data(), n, 0, 32, native));
  CHECK(cub::DeviceReduce::Sum(nullptr, sum_bytes, sorted.data(), sum.data(), n, native));
  auto scratch = device.allocate_bytes(std::max(sort_bytes, sum_bytes));

  const weir::GraphExecPtr steps = stream
                                       ->capture([&](weir::Stream& s) {
                                         s.copy(keys, input);
                                         s.fill(sorted, 0U);
                                         CHECK(cub::DeviceRadixSort::SortKeys(scratch->data(), sort_bytes, keys.data(),
                                                                              sorted.data(), n, 0, 32, native));
                                         CHECK(cub::DeviceReduce::Sum(scratch->data(), sum_bytes, sorted.data(), sum.data(), n,
                                                                      native));
                                         s.copy(output, sorted);
                                       })
                                       ->instantiate();
  for (int i = 0; i < 3; ++i) steps->launch(*stream);

  // Thrust runs on the same stream, after the launches of the graph.
  const unsigned largest = thrust::reduce(thrust::cuda::par.on(native), sorted.data(), sorted.data() + n, 0U,
                                          cuda::maximum<unsigned>());
  stream->synchronize();
  unsigned long long total = 0;
  device.copy(std::span(&total, 1), sum);

  std::vector<unsigned> expected(input.host().begin(), input.host().end());
  std::sort(expected.begin(), expected.end());
  const bool sorted_right = std::equal(expected.begin(), expected.end(), output.host().begin());
  const auto expected_sum = std::accumulate(expected.begin(), expected.end(), 0ULL);
  std::printf("CUB and Thrust on %s: %d keys sorted %s, sum %s, maximum %s\n", device.properties().name.c_str(), n,
              sorted_right ? "right" : "WRONG", total == expected_sum ? "right" : "WRONG",
              largest == expected.back() ? "right" : "WRONG");
  return sorted_right && total == expected_sum && largest == expected.back();
}

}  // namespace

int main() { return run_example(sort_and_sum); }
