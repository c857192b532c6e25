// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "weir/weir.hpp"

/// The ranks that this process has, however it was started.
namespace collectives_test {

struct Options {
  std::string from = "devices";  ///< devices, mpi, or file=PATH
  std::string backend;           ///< empty: the default one
  std::string library;
  int devices = 0;  ///< of one process; 0: all
  std::chrono::milliseconds timeout{60000};
  bool full = false;   ///< all sizes with all types
  int programs = 20;   ///< random programs
  bool graphs = true;  ///< with graphs in them
  unsigned seed = 1;
  int dies = -1;  ///< this rank is killed in the middle; the others must notice
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

/// All operations with all types, reductions and sizes, compared with a sequential model.
long check_operations(Ranks& ranks, bool full);
/// A random program of collectives, kernels, copies and graphs, compared with a sequential model.
void run_random_program(Ranks& ranks, unsigned seed, bool graphs);
/// The communicators are destroyed while their work is under way, which is done all the same.
void check_going(Ranks& ranks);
/// One rank is killed; the others fail within the timeout.
void check_death(Ranks& ranks, const Options& options);

}  // namespace collectives_test
