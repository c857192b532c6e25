// SPDX-License-Identifier: Apache-2.0
//
// How do I get a stream now and then without making a new one?
//
// A `StreamPool` makes its streams when they are first needed and lends them. A lease is exclusive, and goes back at its
// end. `PoolSharing::round_robin` lends the same streams to several at a time, as PyTorch's pool does.

#include <weir/weir.hpp>

int main() {
  weir::Device& device = weir::default_device();
  weir::StreamPool pool(device, {.max_streams = 2});
  const auto x = device.allocate<int>(1000);
  for (int i = 1; i <= 10; ++i) {
    const weir::StreamLease lease = pool.lease();  // throws pool_exhausted; try_lease gives nothing instead
    lease->fill(x, i);
    lease->synchronize();
  }
  const auto first = pool.lease(), second = pool.lease();
  return pool.size() == 2 && !pool.try_lease() && first->read(x).front() == 10 ? 0 : 1;
}
