// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "weir/plugin/communicator.hpp"

/// The libraries of collectives: NCCL, RCCL and MPI by plugins, the host's own in the library.
namespace weir::collectives {

/// The host's own, for devices of one process.
CommunicatorLibrary& host_library();

/// Opens the library of that name, once: "nccl", "rccl", "mpi" or "host". Throws `invalid_argument` for another name;
/// `plugin_not_found`, `plugin_incompatible`, `driver_not_found`, `driver_too_old`.
CommunicatorLibrary& open_library(std::string_view name, const char* operation);

}  // namespace weir::collectives
