// SPDX-License-Identifier: Apache-2.0
//
// How do I let a stream wait for a value in memory?
//
// `wait_value` (cuStreamWaitValue32) delays later work until the host, another stream or another device has written the
// value. Memory that the host writes must be pinned. On GPUs streams share hardware queues, and a waiting stream may
// block the one that would write: enqueue the write first, or let the host write.
#include <atomic>
#include <cstdint>
#include <weir/weir.hpp>

int main() {
  weir::Device& device = weir::default_device();
  if (!device.supports(weir::Feature::wait_value_32) || !device.supports(weir::Feature::wait_value_geq) ||
      !device.supports(weir::Feature::write_value_32)) {
    return 77;  // skipped
  }
  const auto stream = device.create_stream();
  const auto flags = device.allocate<std::uint32_t>(2, weir::MemoryKind::pinned);
  flags.host()[0] = flags.host()[1] = 0;

  stream->wait_value(&flags.data()[0], 1U, weir::WaitCondition::geq);  // goes on when flag 0 is 1 or more
  stream->write_value(&flags.data()[1], 7U);
  if (stream->is_complete()) return 1;
  std::atomic_ref(flags.host()[0]).store(1);  // the host lets it go
  stream->synchronize();
  return flags.host()[1] == 7 ? 0 : 1;
}
