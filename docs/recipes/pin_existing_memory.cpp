// SPDX-License-Identifier: Apache-2.0
//
// How do I pin memory that I have already?
//
// `register_host` (cudaHostRegister) pins it in place, until the registration's last owner is gone. The memory must
// outlive the registration.
#include <vector>
#include <weir/weir.hpp>

int main() {
  weir::Device& device = weir::default_device();
  if (!device.supports(weir::Feature::host_registration)) return 77;  // skipped
  const auto stream = device.create_stream();
  std::vector<float> data(100000, 2.0F);
  const auto pinned = device.register_host(data);
  const auto x = device.allocate<float>(data.size());
  stream->copy(x, data);  // asynchronous: the memory is pinned
  stream->synchronize();
  return stream->read(x) == data ? 0 : 1;
}
