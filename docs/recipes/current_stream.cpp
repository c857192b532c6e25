// SPDX-License-Identifier: Apache-2.0
//
// How do I hand a stream down to code that takes none?
//
// `StreamScope` makes a stream the current one of its device on this thread, as `torch.cuda.stream(s)` and `with
// cupy_stream:` do. `current_stream` reads it. Weir itself does not use it.

#include <weir/weir.hpp>

void clear(const weir::Buffer<int>& x) { weir::current_stream(x.allocation()->device())->zero(x); }

int main() {
  weir::Device& device = weir::default_device();
  const auto stream = device.create_stream();
  const auto x = device.allocate<int>(1000);
  stream->fill(x, 1);
  {
    const weir::StreamScope scope(stream);
    clear(x);  // on `stream`
    if (weir::current_stream(device) != stream) return 1;
  }
  return stream->read(x).front() == 0 && weir::current_stream(device) == device.default_stream() ? 0 : 1;
}
