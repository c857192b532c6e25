// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "collectives/peers.hpp"
#include "weir/launch_environment.hpp"

/// This process's connection to the store of its job.
namespace weir::store {

/// Copies bytes of rank 0 to all ranks; all must call it. For launchers that give no address: MPI does it.
using Broadcast = std::function<void(std::span<std::byte>)>;

/// Whether the environment says where rank 0 can be reached, so that no broadcast is needed.
bool has_address(const LaunchEnvironment& launch);

/// Returns the peers of all ranks of the job. The first call connects, and on rank 0 starts the store; both live until the
/// process ends. `broadcast`: empty if `has_address`. Throws `communicator_failed` if the store is not reached by the
/// deadline, and `invalid_environment`. One thread at a time.
std::shared_ptr<collectives::Peers> connect(const LaunchEnvironment& launch, const Broadcast& broadcast,
                                            std::chrono::steady_clock::time_point deadline);

}  // namespace weir::store
