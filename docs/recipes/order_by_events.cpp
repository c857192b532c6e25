// SPDX-License-Identifier: Apache-2.0
//
// How do I wait for a point in a stream, and not for all of it?
//
// An event marks the point where it was recorded. Streams wait for it without the host (cudaStreamWaitEvent), or the
// host waits with `synchronize`. Work after the event continues. To wait for all streams of a device, call
// `device.synchronize()` (cudaDeviceSynchronize).

#include <weir/weir.hpp>

int main() {
  weir::Device& device = weir::default_device();
  const auto stream = device.create_stream(), other = device.create_stream();
  const auto x = device.allocate<int>(1), y = device.allocate<int>(1);

  stream->fill(x, 1);
  const auto first = stream->record();  // a new event; record(*event) uses one again
  stream->fill(y, 2);
  other->wait(*first);  // x is written; y need not be
  other->fill(x, 3);
  first->synchronize();  // blocks the host until x was written
  const bool complete = first->is_complete();
  return complete && other->read(x).front() == 3 && stream->read(y).front() == 2 ? 0 : 1;
}
