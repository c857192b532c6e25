// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "weir/plugin/communicator.hpp"

/// Finds the libraries of collectives: NCCL, RCCL, MPI and Gloo are plugins, and the host's own library is part of Weir.
namespace weir::collectives {

/// Returns the host backend's own library, for devices of one process.
CommunicatorLibrary& host_library();

/// Returns the library "nccl", "rccl", "mpi", "gloo" or "host"; the first call opens it. Throws `invalid_argument` for
/// another name, and `plugin_not_found`, `plugin_incompatible`, `driver_not_found` or `driver_too_old` if it cannot be
/// opened.
CommunicatorLibrary& open_library(std::string_view name, const char* operation);

}  // namespace weir::collectives
