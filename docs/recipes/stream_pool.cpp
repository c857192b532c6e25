// SPDX-License-Identifier: Apache-2.0
//
// How do I borrow a stream for a while instead of making a new one?
//
// A `StreamPool` makes its streams on demand and leases them. A lease is exclusive, and the stream returns to the pool
// when the lease ends. `PoolSharing::round_robin` leases the same streams to several users at a time, like PyTorch's
// pool.

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
