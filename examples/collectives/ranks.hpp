// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <vector>

#include "weir/weir.hpp"

/// Creates the ranks of this process. Without a launcher, each device of the backend is a rank. Under torchrun, mpirun or
/// srun, one device is a rank, and the other processes have the other ranks.
inline std::vector<weir::CommunicatorPtr> make_ranks(const weir::CommunicatorOptions& options = {
                                                         .timeout = std::chrono::seconds(60)}) {
  weir::Backend& backend = weir::Registry::instance().default_backend();
  const weir::LaunchEnvironment launch = weir::LaunchEnvironment::read();
  if (launch.launcher.empty()) {
    std::vector<weir::Device*> devices;
    for (int i = 0; i < backend.device_count(); ++i) devices.push_back(&backend.device(i));
    return weir::Communicator::from_devices(devices, options);
  }
  weir::Device& device = backend.device(launch.local_rank % backend.device_count());
  return {weir::Communicator::from_environment(device, options)};
}
