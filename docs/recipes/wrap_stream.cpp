// SPDX-License-Identifier: Apache-2.0
//
// How do I use a stream that other code made?
//
// `wrap_stream` takes the vendor's handle (cudaStream_t, hipStream_t): PyTorch's, RAPIDS', your own. Weir never destroys
// a borrowed one; it holds `keep_alive` until the wrapper is closed and its stream-ordered memory is freed. The typed
// forms are `weir::cuda::wrap` and `weir::hip::wrap`. In this program another `Stream` plays the part of the other
// code's.
#include <memory>
#include <weir/weir.hpp>

int main() {
  weir::Device& device = weir::default_device();
  const auto theirs = std::make_shared<weir::StreamPtr>(device.create_stream());
  void* const handle = (*theirs)->share_native_handle();

  const auto ours = device.wrap_stream(handle, weir::Ownership::borrow, theirs);  // keeps `theirs` alive
  const auto x = device.allocate<int>(1000);
  (*theirs)->fill(x, 1);
  ours->fill(x, 2);  // behind it: they are one stream
  return *ours == **theirs && ours->read(x).front() == 2 ? 0 : 1;
}
