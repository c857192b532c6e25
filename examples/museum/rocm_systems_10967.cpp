// SPDX-License-Identifier: Apache-2.0
//
// ROCm/rocm-systems #10967: https://github.com/ROCm/rocm-systems/issues/10967
//
// Wrong: A test clears slots with hipMemset, and a stream writes values into them. hipMemset of device memory
// returns before it is done, on the default stream, and the stream is non-blocking and does not wait for that.
// Cost: Nightly tests failed with `0 == 0xdeadbeeffeedface`. The failures were mistaken for defects of one GPU, or
// of the tested code.
// Here: As in the test, with one slot of 32 bits.
// Race: Stream::fill writes, then Stream::write_value writes
// Shake: 10 of 20 seeds, pct 9; without it 0 of 20 runs
#include <cstdint>

#include "museum.hpp"

namespace {

void run(weir::Device& device, bool fixed) {
  const weir::StreamPtr stream = device.create_stream();
  const auto slot = device.allocate<std::uint32_t>(1);

  device.default_stream()->zero(slot);
  if (fixed) device.default_stream()->synchronize();
  stream->write_value(slot.data(), 0xdeadbeefU);
  device.synchronize();
  museum::expect(stream->read(slot), 0xdeadbeefU, "slot");
}

}  // namespace

int main(int argc, char** argv) { return museum::run(argc, argv, run); }
