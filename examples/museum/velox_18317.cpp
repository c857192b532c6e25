// SPDX-License-Identifier: Apache-2.0
//
// velox #18317: https://github.com/facebookincubator/velox/pull/18317
//
// Wrong: An operator stores the keys that it has seen, from batch to batch. Each batch has its own stream, and
// nothing orders the streams: a batch may read the keys before the previous batch has added its own.
// Cost: Not reported. #16431, #16866, #18264 and #18337 fixed similar bugs in other operators.
// Here: All batches have the same keys. They are new in the first batch only.
// Race: kernel 'mark_distinct' reads and writes, then kernel 'mark_distinct' reads and writes
// Shake: 16 of 20 seeds, pct 14; without it 0 of 20 runs
#include <string>
#include <utility>
#include <vector>

#include "museum.hpp"

namespace {

constexpr unsigned n = 1 << 10;
constexpr int batches = 4;

constexpr const char* source = R"(
extern "C" __global__ void mark_distinct(unsigned n, int* seen, int* is_new) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  is_new[i] = seen[i] == 0;
  seen[i] = 1;
})";

void run(weir::Device& device, bool fixed) {
  const auto mark_distinct = device.compile(source)->kernel<void(unsigned, int*, int*)>("mark_distinct");
  const auto seen = device.allocate<int>(n);
  const auto setup = device.create_stream();
  setup->fill(seen, 0);
  setup->synchronize();

  std::vector<weir::StreamPtr> streams;
  std::vector<weir::Buffer<int>> is_new;
  for (int batch = 0; batch < batches; ++batch) {
    auto stream = device.create_stream();
    if (fixed && batch != 0) stream->wait(*streams.back());  // the stream that used the state last
    stream->launch(mark_distinct, weir::grid_for(n), n, seen, is_new.emplace_back(device.allocate<int>(n)));
    streams.push_back(std::move(stream));
  }
  device.synchronize();
  for (std::size_t batch = 0; batch < is_new.size(); ++batch) {
    museum::expect(streams[0]->read(is_new[batch]), batch == 0 ? 1 : 0, "batch " + std::to_string(batch));
  }
}

}  // namespace

int main(int argc, char** argv) { return museum::run(argc, argv, run); }
