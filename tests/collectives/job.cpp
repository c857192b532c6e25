// SPDX-License-Identifier: Apache-2.0
// One rank of a job that a launcher starts: job BACKEND TIMEOUT_MS STEP…. Each rank performs the steps and prints what each
// gave, after how many milliseconds. A step such as kill=2 concerns rank 2 alone.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "weir/weir.hpp"

namespace {

std::vector<int> numbers(const std::string& list) {
  std::vector<int> result;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    result.push_back(std::stoi(list.substr(at, end - at)));
    at = end + 1;
  }
  return result;
}

}  // namespace

int main(int argc, char** argv) try {
  using namespace weir;
  using Clock = std::chrono::steady_clock;
  if (argc < 3) return 2;
  const LaunchEnvironment launch = LaunchEnvironment::read();
  Backend& backend = Registry::instance().open(argv[1]);
  Device& device = backend.device(launch.local_rank % backend.device_count());
  const CommunicatorOptions options{.timeout = std::chrono::milliseconds(std::stoi(argv[2]))};
  const StreamPtr stream = device.create_stream();
  const Buffer<float> data = device.allocate<float>(1000);
  CommunicatorPtr comm;
  std::string argument;
  const auto is_me = [&] { return std::stoi(argument) == launch.rank; };
  const auto sleep = [&] {  // RANK:MILLISECONDS
    if (is_me()) std::this_thread::sleep_for(std::chrono::milliseconds(std::stoi(argument.substr(argument.find(':') + 1))));
  };
  const std::map<std::string, std::function<void()>> steps = {
      {"make", [&] { comm = Communicator::from_environment(device, options); }},
      {"describe", [&] { std::printf("%s\n", (comm->describe() + ", " + launch.launcher).c_str()); }},
      {"all_reduce",
       [&] {
         stream->fill(data, 1.0F);
         comm->all_reduce(data, Reduction::sum, *stream);
         comm->synchronize(*stream);
         const float sum = stream->read(data)[999];
         if (sum != static_cast<float>(comm->size())) throw std::runtime_error("the sum is " + std::to_string(sum));
       }},
      {"enqueue_but",  // RANK, which enqueues nothing
       [&] {
         if (!is_me()) comm->all_reduce(data, Reduction::sum, *stream);
       }},
      {"check", [&] { comm->check(); }},
      {"all_reduce_but",  // RANK, which goes on
       [&] {
         if (is_me()) return;
         comm->all_reduce(data, Reduction::sum, *stream);
         comm->synchronize(*stream);
       }},
      {"split_but",  // RANK, which does not call it
       [&] {
         if (!is_me()) comm = comm->split(0, -launch.rank);
       }},
      {"or_broadcast",  // RANK, which broadcasts instead
       [&] {
         if (is_me())
           comm->broadcast(data, 0, *stream);
         else
           comm->all_reduce(data, Reduction::sum, *stream);
         comm->synchronize(*stream);
       }},
      {"kill",
       [&] {
         if (is_me()) ::raise(SIGKILL);
       }},
      {"throw",
       [&] {
         if (is_me()) throw std::runtime_error("thrown on purpose");
       }},
      {"stop",  // RANK:SECONDS
       [&] {
         if (!is_me()) return;
         const std::string command =
             "sleep " + argument.substr(argument.find(':') + 1) + "; kill -CONT " + std::to_string(::getpid());
         if (::fork() == 0) {
           ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
           ::_exit(1);
         }
         ::raise(SIGSTOP);
       }},
      {"sleep", sleep},
      {"abort",
       [&] {
         if (is_me()) comm->abort();
       }},
      {"abort_waiting",  // RANK, whose own operation waits then
       [&] {
         if (!is_me()) return;
         comm->all_reduce(data, Reduction::sum, *stream);
         std::this_thread::sleep_for(std::chrono::milliseconds(300));
         comm->abort();
         comm->synchronize(*stream);
       }},
      {"rebuild",
       [&] {
         const std::vector<int> members = argument.empty() ? comm->survivors() : numbers(argument);
         const int own = comm->rank();
         if (std::find(members.begin(), members.end(), own) != members.end()) comm = comm->rebuild(members, options);
       }},
      {"rank", [&] { std::printf("rank %d is %s\n", launch.rank, comm->describe().c_str()); }},
  };
  for (int i = 3; i < argc; ++i) {
    const std::string word = argv[i], step = word.substr(0, word.find('='));
    argument = word.find('=') == std::string::npos ? "" : word.substr(word.find('=') + 1);
    const auto begin = Clock::now();
    std::string result = "ok";
    try {
      steps.at(step)();
    } catch (const Error& error) {
      result = std::string(to_string(error.errc())) + " | " + error.what();
    }
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin).count();
    // In one piece, since all ranks write to one output.
    std::printf("%s",
                ("rank " + std::to_string(launch.rank) + " " + word + " [" + std::to_string(took) + " ms]: " + result + "\n")
                    .c_str());
    std::fflush(stdout);
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
