// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "weir/weir.hpp"

/// Creates the ranks of this process, for each way in which it can be started.
namespace collectives_test {

struct Options {
  std::string from = "devices";  ///< devices, environment, mpi, or file=PATH
  std::string backend;           ///< empty: the default backend
  std::string library;
  int devices = 0;  ///< number of devices in one process; 0: all
  std::chrono::milliseconds timeout{60000};
  bool full = false;   ///< test all sizes with all types
  int programs = 20;   ///< number of random programs
  bool graphs = true;  ///< use graphs in them
  unsigned seed = 1;
  int dies = -1;  ///< this rank is killed during the run; the others must report that
};

struct Rank {
  weir::CommunicatorPtr communicator;
  weir::StreamPtr stream, other;
  int number() const { return communicator->rank(); }
  weir::Device& device() const { return communicator->device(); }
};

struct Ranks {
  std::vector<Rank> mine;
  int size = 0;
};

Ranks make_ranks(const Options& options);

/// Ends the process with status 1.
[[noreturn]] void fail(const std::string& what);

/// Compares all operations with a sequential model, for all types, reductions and sizes.
long check_operations(Ranks& ranks, bool full);
/// Runs a random program of collectives, kernels, copies and graphs, and compares it with a sequential model.
void run_random_program(Ranks& ranks, unsigned seed, bool graphs);
/// Splits the communicator, and the new ones once more, and compares their ranks and an operation with a model.
void check_split(Ranks& ranks);
/// Destroys the communicators while their work is pending. The work must still be done.
void check_going(Ranks& ranks);
/// Kills one rank. The others must fail within the timeout.
void check_death(Ranks& ranks, const Options& options);

}  // namespace collectives_test
