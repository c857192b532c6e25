// SPDX-License-Identifier: Apache-2.0
#include "collectives/store/connection.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <system_error>
#include <vector>

#include "collectives/addresses.hpp"
#include "collectives/from_first.hpp"
#include "collectives/store/client.hpp"
#include "collectives/store/server.hpp"
#include "collectives/store/wire.hpp"
#include "core/base/no_destructor.hpp"
#include "weir/error.hpp"
#include "weir/plugin/support.hpp"

namespace weir::store {
namespace {

constexpr std::uint16_t ports_tried = 16;

// FNV-1a: to tell runs apart, not to keep a secret.
std::uint64_t hash(std::string_view text) {
  std::uint64_t value = 0xcbf29ce484222325U;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return value;
}

// What rank 0 broadcasts where the environment has no address.
struct Invitation {
  std::uint16_t port = 0;
  std::uint64_t run = 0;
  std::array<char, 32> token{};
  std::array<std::array<char, 64>, 8> hosts{};  // numeric addresses of rank 0's machine
};

// Where the environment says that rank 0 listens, with the first of a few ports.
Address meeting_point(const LaunchEnvironment& launch) {
  if (launch.launcher == "Slurm") {
    const auto step = static_cast<std::uint16_t>(hash(launch.run_id) % 1000);
    return {launch.first_host, static_cast<std::uint16_t>(20000 + step * ports_tried % 12000)};
  }
  // The agent of torchrun, or the program's own store, has MASTER_PORT itself.
  const auto port = support::environment_number("MASTER_PORT", 0, 1, 65535 - ports_tried);
  return {launch.first_host, static_cast<std::uint16_t>(port + 1)};
}

struct Connection {
  std::unique_ptr<Server> server;
  std::shared_ptr<Client> client;
};
Connection& connection() {
  static detail::NoDestructor<Connection> instance;
  return *instance;
}

// The other ranks shall see whether this process ended in order. A process that is killed says nothing.
void at_exit(int status, void* made_in) {
  if (static_cast<pid_t>(reinterpret_cast<std::intptr_t>(made_in)) != ::getpid()) return;  // a child of fork
  const std::string sentence = status == EXIT_SUCCESS ? "" : fmt::format("ended with status {}", status);
  Connection& c = connection();
  const std::string who = c.client->name_of(0);
  c.client->end(sentence);
  if (c.server) c.server->end(sentence.empty() ? "" : who + " " + sentence);
}

// A child of fork must not keep the connections open when this process dies.
void in_child() {
  const Connection& c = connection();
  c.client->drop_in_child();
  if (c.server) c.server->drop_in_child();
}

}  // namespace

bool has_address(const LaunchEnvironment& launch) {
  if (launch.launcher == "Slurm") return !launch.first_host.empty() && !launch.run_id.empty();
  return !launch.first_host.empty() && support::environment("MASTER_PORT").has_value();
}

std::shared_ptr<collectives::Peers> connect(const LaunchEnvironment& launch, const Broadcast& broadcast,
                                            std::chrono::steady_clock::time_point deadline) try {
  Connection& c = connection();
  if (c.client) return make_peers(c.client, "world");
  Admission admission;
  const auto token = support::environment("WEIR_STORE_TOKEN");
  if (token && token->size() > max_token) {
    throw Error(Errc::invalid_environment, "Communicator::from_environment", "WEIR_STORE_TOKEN",
                fmt::format("it has {} bytes; use at most {}", token->size(), max_token));
  }
  std::vector<std::uint16_t> ports = {0};
  std::vector<std::string> hosts;
  const bool is_one_machine = launch.nodes == 1 || launch.first_host == "localhost" || launch.first_host == "127.0.0.1";
  if (!broadcast) {
    const Address point = meeting_point(launch);
    // The port tells runs apart that have no name, such as those of a shell.
    admission.run = hash(fmt::format("{} {} {}", launch.run_id, point.port, launch.ranks));
    admission.token = token.value_or(launch.run_id);
    ports.resize(ports_tried);
    std::iota(ports.begin(), ports.end(), point.port);
    hosts = {is_one_machine ? std::string("127.0.0.1") : point.host};
    if (launch.rank == 0) c.server = std::make_unique<Server>(admission, launch.ranks, ports, is_one_machine);
  } else {
    const auto admission_of = [&](const Invitation& i) {
      return Admission{i.run, token.value_or(std::string(i.token.data(), i.token.size()))};
    };
    const auto start = [&] {
      Invitation made;
      if (::getrandom(made.token.data(), made.token.size(), 0) != static_cast<ssize_t>(made.token.size()) ||
          ::getrandom(&made.run, sizeof(made.run), 0) != static_cast<ssize_t>(sizeof(made.run))) {
        throw Error(Errc::out_of_memory, "Communicator::from_environment", "getrandom", "the system gave no random bytes");
      }
      c.server = std::make_unique<Server>(admission_of(made), launch.ranks, ports, is_one_machine);
      made.port = c.server->port();
      const std::vector<std::string> own = collectives::own_addresses();
      for (std::size_t i = 0; i < std::min(own.size(), made.hosts.size()); ++i)
        own[i].copy(made.hosts[i].data(), made.hosts[i].size() - 1);
      return made;
    };
    const auto invitation = collectives::made_by_first(
        launch.rank, start, [&](auto& message) { broadcast(std::as_writable_bytes(std::span(&message, 1))); });
    if (!invitation) {
      throw Error(Errc::communicator_failed, "Communicator::from_environment", launch.launcher,
                  "rank 0 could not start the store; see its error");
    }
    admission = admission_of(*invitation);
    ports = {invitation->port};
    // Another machine may have something else on this port of its own loopback interface, which has another greeting.
    hosts = {"127.0.0.1"};
    for (const auto& host : invitation->hosts) {
      if (host[0] != '\0' && !is_one_machine) hosts.emplace_back(host.data());
    }
  }
  if (c.server) {
    ports = {c.server->port()};
    hosts = {"127.0.0.1"};
  }
  std::vector<Address> addresses;
  for (const std::string& host : hosts) {
    for (const std::uint16_t port : ports) addresses.push_back({host, port});
  }
  try {
    c.client = Client::connect(admission, addresses, launch.rank, launch.ranks, deadline);
  } catch (...) {
    c.server.reset();
    throw;
  }
  ::on_exit(at_exit, reinterpret_cast<void*>(static_cast<std::intptr_t>(::getpid())));
  ::pthread_atfork(nullptr, nullptr, in_child);
  return make_peers(c.client, "world");
} catch (const Error&) {
  throw;
} catch (const std::system_error& error) {
  throw Error(Errc::out_of_memory, "Communicator::from_environment", launch.launcher,
              fmt::format("the store's sockets and threads could not be made: {}; raise the limits on open files "
                          "(ulimit -n) and threads (ulimit -u, pids.max)",
                          error.what()));
}

}  // namespace weir::store
