// SPDX-License-Identifier: Apache-2.0
//
// NCCL #1976: https://github.com/NVIDIA/nccl/issues/1976
//
// Wrong: A communicator with `blocking=0` starts its kernels on a thread of its own. A caller passes
// cudaStreamPerThread, which on that thread is another stream. So the collective runs on a stream that the caller
// never sees, with no order to the caller's earlier and later work.
// Cost: Corrupted data; and a thread and a stream for each call.
// Here: A group of one rank. Without NCCL, a copy replaces the collective, because the sum over one rank is a copy.
// Race: Stream::fill writes, then Communicator::all_reduce reads
// Shake: 20 of 20 seeds, pct 20; without it 5 of 20 runs
#include <array>
#include <thread>

#include "museum.hpp"

namespace {

constexpr unsigned n = 4096;

/// Returns null if the device's library of collectives is missing.
weir::CommunicatorPtr make_rank(weir::Device& device) try {
  const std::array devices{&device};
  return weir::Communicator::from_devices(devices).at(0);
} catch (const weir::Error&) {
  return nullptr;
}

void run(weir::Device& device, bool fixed) {
  const weir::CommunicatorPtr rank = make_rank(device);
  const auto send = device.allocate<float>(n), receive = device.allocate<float>(n);
  const weir::StreamPtr stream = fixed ? device.create_stream() : device.per_thread_stream();

  stream->fill(receive, 0.0F);
  stream->fill(send, 1.0F);
  std::thread communicator([&] {
    const weir::StreamPtr passed = fixed ? stream : device.per_thread_stream();
    if (rank) {
      rank->all_reduce(send, receive, weir::Reduction::sum, passed);
    } else {
      passed->copy(receive, send);
    }
  });
  communicator.join();
  museum::expect(stream->read(receive), 1.0F, "sum");
}

}  // namespace

int main(int argc, char** argv) { return museum::run(argc, argv, run); }
