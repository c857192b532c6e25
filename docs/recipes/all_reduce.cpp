// SPDX-License-Identifier: Apache-2.0
//
// How do I sum over several GPUs (all-reduce, NCCL, RCCL, MPI)?
//
// A `Communicator` is one rank of a group of devices: NCCL on NVIDIA, RCCL on AMD, MPI between processes on the CPU, all
// opened at run time. Here one thread calls for all devices of the process, so it puts the calls into a `group`. For many
// processes replace `from_devices` by `from_environment`: see [collectives](collectives.md).
#include <cstddef>
#include <vector>
#include <weir/weir.hpp>

int main() {
  weir::Backend& backend = weir::default_device().backend();
  std::vector<weir::Device*> devices;
  for (int i = 0; i < backend.device_count(); ++i) devices.push_back(&backend.device(i));
  std::vector<weir::CommunicatorPtr> ranks;
  try {
    ranks = weir::Communicator::from_devices(devices);
  } catch (const weir::Error& error) {
    if (error.errc() == weir::Errc::driver_not_found) return 77;  // NCCL or RCCL is not installed
    throw;
  }

  std::vector<weir::StreamPtr> streams;
  std::vector<weir::Buffer<float>> data;
  for (const auto& rank : ranks) {
    streams.push_back(rank->device().create_stream());
    data.push_back(rank->device().allocate<float>(1000));
    streams.back()->fill(data.back(), static_cast<float>(1 + rank->rank()));
  }
  weir::Communicator::group([&] {
    for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i]->all_reduce(data[i], weir::Reduction::sum, *streams[i]);
  });

  const auto n = static_cast<float>(ranks.size());
  bool right = true;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    ranks[i]->synchronize(*streams[i]);  // waits, and throws if a rank has failed
    right = right && streams[i]->read(data[i]) == std::vector<float>(1000, n * (n + 1) / 2);
  }
  return right ? 0 : 1;
}
