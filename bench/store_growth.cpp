// SPDX-License-Identifier: Apache-2.0
// How the store of Communicator::from_environment grows with the number of ranks: store_growth RANKS…. The ranks are threads
// of a second process, with connections of their own and no library of collectives.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <latch>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "collectives/store/client.hpp"

namespace {

using namespace weir::store;
using Clock = std::chrono::steady_clock;
using std::chrono::seconds;

const Admission admission{.run = 1, .token = "growth"};

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

long resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::strtol(line.c_str() + 6, nullptr, 10);
  }
  return 0;
}

struct Times {
  double connect, meet, id, death;
};

Times run_ranks(int ranks, std::uint16_t port) {
  Times times{};
  std::vector<std::shared_ptr<Client>> clients(static_cast<std::size_t>(ranks));
  std::vector<std::shared_ptr<weir::collectives::Peers>> peers(clients.size());
  const auto each = [&](auto&& call) {
    const auto begin = Clock::now();
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank) threads.emplace_back([&, rank] { call(rank, static_cast<std::size_t>(rank)); });
    for (std::thread& thread : threads) thread.join();
    return milliseconds_since(begin);
  };
  const auto deadline = Clock::now() + seconds(120);
  times.connect = each([&](int rank, std::size_t i) {
    clients[i] = Client::connect(admission, {{"127.0.0.1", port}}, rank, ranks, deadline);
    peers[i] = make_peers(clients[i], "world");
  });
  times.meet = each([&](int, std::size_t i) { peers[i]->meet({}, deadline); });
  times.id = each([&](int rank, std::size_t i) {
    if (rank == 0) peers[i]->publish("id", std::string(128, 'i'));
    if (!peers[i]->value_of(0, "id", deadline)) std::abort();
  });
  std::latch heard(ranks - 1);
  for (int rank = 1; rank < ranks; ++rank)
    peers[static_cast<std::size_t>(rank)]->watch([&](const std::string&) { heard.count_down(); });
  const auto begin = Clock::now();
  clients[0]->end("died");
  heard.wait();
  times.death = milliseconds_since(begin);
  return times;
}

}  // namespace

int main(int argc, char** argv) {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  std::printf(
      "| ranks | all connected, ms | met, ms | id read by all, ms | death known to all, ms | messages of a rank | memory, "
      "KiB |\n");
  std::printf("|---|---|---|---|---|---|---|\n");
  for (int i = 1; i < argc; ++i) {
    const int ranks = std::atoi(argv[i]);
    int to_child[2], to_parent[2];
    if (::pipe(to_child) != 0 || ::pipe(to_parent) != 0) return 1;
    if (const pid_t child = ::fork(); child == 0) {
      std::uint16_t port = 0;
      if (::read(to_child[0], &port, sizeof(port)) != sizeof(port)) return 1;
      const Times times = run_ranks(ranks, port);
      if (::write(to_parent[1], &times, sizeof(times)) != sizeof(times)) return 1;
      ::_exit(0);
    } else {
      const long before = resident_kib();
      Server server(admission, ranks, std::vector<std::uint16_t>{0}, true);
      const std::uint16_t port = server.port();
      Times t{};
      if (::write(to_child[1], &port, sizeof(port)) != sizeof(port)) return 1;
      if (::read(to_parent[0], &t, sizeof(t)) != sizeof(t)) return 1;
      const Server::Counts counts = server.counts();
      std::printf("| %d | %.0f | %.1f | %.1f | %.1f | %.1f | %ld |\n", ranks, t.connect, t.meet, t.id, t.death,
                  static_cast<double>(counts.received + counts.sent) / ranks, resident_kib() - before);
      std::fflush(stdout);
      ::waitpid(child, nullptr, 0);
    }
    for (const int file : {to_child[0], to_child[1], to_parent[0], to_parent[1]}) ::close(file);
  }
}
