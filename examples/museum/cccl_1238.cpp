// SPDX-License-Identifier: Apache-2.0
//
// cccl #1238: https://github.com/NVIDIA/cccl/pull/1238
//
// Wrong: `stream_ref::wait` called cudaStreamQuery, which returns whether the work is done, instead of
// cudaStreamSynchronize, which waits until it is.
// Cost: Not reported. The function's test did not check that the work was complete.
// Here: The host reads what a slow stream copies. (The stream sleeps so that it is not done by chance.)
// Race: Stream::copy writes, then Buffer::host reads and writes
// Shake: 20 of 20 seeds, pct 20; without it 20 of 20 runs
#include <chrono>
#include <thread>

#include "museum.hpp"

namespace {

void broken_wait(weir::Stream& stream) { (void)stream.is_complete(); }

void fixed_wait(weir::Stream& stream) { stream.synchronize(); }

void run(weir::Device& device, bool fixed) {
  constexpr std::size_t n = 1 << 12;
  const auto stream = device.create_stream();
  const auto x = device.allocate<int>(n), result = device.allocate<int>(n, weir::MemoryKind::pinned);
  for (int& value : result.host()) value = 0;

  stream->fill(x, 1);
  stream->launch_host_function([] { std::this_thread::sleep_for(std::chrono::milliseconds(50)); });
  stream->copy(result, x);
  (fixed ? fixed_wait : broken_wait)(*stream);
  museum::expect(result.host(), 1, "result");
}

}  // namespace

int main(int argc, char** argv) { return museum::run(argc, argv, run); }
