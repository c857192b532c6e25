// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "collectives/peers.hpp"

/// The ranks of one process as each other's peers.
namespace weir::collectives {

/// Makes the peers of each rank. `names`: of the ranks, for messages.
std::vector<std::shared_ptr<Peers>> make_process_peers(std::vector<std::string> names);

}  // namespace weir::collectives
