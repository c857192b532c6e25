// SPDX-License-Identifier: Apache-2.0
//
// uGDS #20: https://github.com/ScaleX-IO/uGDS/pull/20
//
// Wrong: A test clears a buffer with cudaMemset, and the SSD writes into it without the host in between
// (peer-to-peer DMA). hipMemset returns before the buffer is clear, and the SSD's write is on no stream that would
// wait for it.
// Cost: 10 of 20 functional tests failed on an MI210, and passed on an A100.
// Here: A stream that waits for no other stream plays the SSD's DMA engine.
// Race: Stream::fill writes, then Stream::copy writes
// Shake: 9 of 20 seeds, pct 9; without it 1 of 20 runs
#include "museum.hpp"

namespace {

constexpr unsigned n = 1 << 16;

class Drive {
 public:
  explicit Drive(weir::Device& device)
      : dma_(device.create_stream()), blocks_(device.allocate<int>(n, weir::MemoryKind::pinned)) {
    for (int& block : blocks_.host()) block = 7;
  }

  /// Reads into `destination`, and returns when the data is there.
  void read(const weir::Buffer<int>& destination) {
    dma_->copy(destination, blocks_);
    dma_->synchronize();
  }

 private:
  weir::StreamPtr dma_;
  weir::Buffer<int> blocks_;
};

void run(weir::Device& device, bool fixed) {
  Drive drive(device);
  const auto buffer = device.allocate<int>(n);
  const weir::StreamPtr stream = device.default_stream();

  stream->fill(buffer, 0);
  if (fixed) device.synchronize();
  drive.read(buffer);
  museum::expect(stream->read(buffer), 7, "buffer");
}

}  // namespace

int main(int argc, char** argv) { return museum::run(argc, argv, run); }
