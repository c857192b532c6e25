// SPDX-License-Identifier: Apache-2.0
//
// How do I copy to the device and back?
//
// Both sides of a copy are containers, arrays, spans or buffers of one element type and one length. Weir finds the
// direction from the addresses, like cudaMemcpyDefault. `copy` returns before the copy is done, so the host's side must
// live until then. `read` copies to the host and waits.
#include <vector>
#include <weir/weir.hpp>

int main() {
  weir::Device& device = weir::default_device();
  const auto stream = device.create_stream();
  const std::vector<int> input = {1, 2, 3, 4};
  std::vector<int> output(4);
  const auto x = device.allocate<int>(4), y = device.allocate<int>(4);

  stream->copy(x, input);   // host to device
  stream->copy(y, x);       // device to device, in the same order
  stream->copy(output, y);  // device to host
  stream->synchronize();
  return output == input && stream->read(x) == input ? 0 : 1;
}
