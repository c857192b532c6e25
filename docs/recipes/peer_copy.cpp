// SPDX-License-Identifier: Apache-2.0
//
// How do I copy from one device to another?
//
// `copy_peer` (cudaMemcpyPeerAsync) copies from device to device, directly if the GPUs can, else across the host. A
// stream of one device may wait for a stream of the other. `enable_peer_access` lets kernels of one address the memory
// of the other.
#include <vector>
#include <weir/weir.hpp>

int main() {
  const weir::Backend& backend = weir::default_device().backend();
  if (backend.device_count() < 2) return 77;  // skipped
  weir::Device &first = backend.device(0), &second = backend.device(1);
  const auto from = first.create_stream(), to = second.create_stream();
  const auto x = first.allocate<int>(1000), y = second.allocate<int>(1000);

  from->fill(x, 42);
  to->wait(*from);
  to->copy_peer(y.data(), second, x.data(), first, x.size_bytes());
  if (second.can_access_peer(first)) second.enable_peer_access(first);
  return to->read(y) == std::vector<int>(1000, 42) ? 0 : 1;
}
