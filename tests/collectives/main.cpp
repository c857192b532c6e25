// SPDX-License-Identifier: Apache-2.0
// Compares collectives with a sequential model. The ranks are all devices of this process, or one device in each of several
// processes, started by mpirun, srun, torchrun or a shell loop.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/collectives/ranks.hpp"

namespace collectives_test {

void fail(const std::string& what) {
  std::fprintf(stderr, "process %d: %s\n", static_cast<int>(::getpid()), what.c_str());
  std::fflush(nullptr);
  std::_Exit(EXIT_FAILURE);
}

Ranks make_ranks(const Options& options) {
  weir::Registry& registry = weir::Registry::instance();
  weir::Backend& backend = options.backend.empty() ? registry.default_backend() : registry.open(options.backend);
  const weir::CommunicatorOptions how{.library = options.library, .timeout = options.timeout};
  const weir::LaunchEnvironment launch = weir::LaunchEnvironment::read();
  std::vector<weir::CommunicatorPtr> communicators;
  if (options.from == "devices") {
    std::vector<weir::Device*> devices;
    const int count = options.devices != 0 ? options.devices : backend.device_count();
    for (int i = 0; i < count; ++i) devices.push_back(&backend.device(i));
    communicators = weir::Communicator::from_devices(devices, how);
  } else {
    weir::Device& device = backend.device(launch.local_rank % backend.device_count());
    if (options.from == "environment") {
      communicators.push_back(weir::Communicator::from_environment(device, how));
    } else if (options.from == "mpi") {
      communicators.push_back(weir::Communicator::from_mpi(device, {}, how));
    } else {
      fail("from= takes devices, environment or mpi");
    }
  }
  Ranks ranks;
  for (weir::CommunicatorPtr& communicator : communicators) {
    weir::Device& device = communicator->device();
    ranks.size = communicator->size();
    ranks.mine.push_back({std::move(communicator), device.create_stream(), device.create_stream()});
  }
  return ranks;
}

}  // namespace collectives_test

int main(int argc, char** argv) {
  using namespace collectives_test;
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const std::size_t split = argument.find('=');
    const std::string_view key = argument.substr(0, split);
    const std::string value(split == std::string_view::npos ? "" : argument.substr(split + 1));
    if (key == "from")
      options.from = value;
    else if (key == "backend")
      options.backend = value;
    else if (key == "library")
      options.library = value;
    else if (key == "devices")
      options.devices = std::stoi(value);
    else if (key == "timeout")
      options.timeout = std::chrono::milliseconds(std::stoi(value));
    else if (key == "full")
      options.full = true;
    else if (key == "programs")
      options.programs = std::stoi(value);
    else if (key == "graphs")
      options.graphs = value != "0";
    else if (key == "seed")
      options.seed = static_cast<unsigned>(std::stoul(value));
    else if (key == "dies")
      options.dies = std::stoi(value);
    else
      fail("unknown option " + std::string(argument));
  }
  try {
    Ranks ranks = make_ranks(options);
    const weir::Communicator& first = *ranks.mine.front().communicator;
    if (options.dies >= 0) {
      check_death(ranks, options);
      std::printf("rank %d noticed\n", first.rank());
      std::fflush(nullptr);
      std::_Exit(EXIT_SUCCESS);  // without MPI_Finalize, which would wait for the dead rank
    }
    const long checks = check_operations(ranks, options.full);
    for (int i = 0; i < options.programs; ++i)
      run_random_program(ranks, options.seed + static_cast<unsigned>(i), options.graphs);
    check_split(ranks);
    if (first.rank() == 0) {
      std::printf("%s, %d ranks, %zu here: %ld operations and %d random programs are right\n", first.library().c_str(),
                  ranks.size, ranks.mine.size(), checks, options.programs);
      std::fflush(stdout);
    }
    check_going(ranks);
  } catch (const std::exception& error) {
    fail(error.what());
  }
  return EXIT_SUCCESS;
}
