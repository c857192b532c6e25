// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

/// The store: a server on rank 0 that keeps the ranks' values, brings ranks together, and reports the end of each rank.
namespace weir::store {

/// What admits a client.
struct Admission {
  std::uint64_t run = 0;  ///< a hash of the run's name; not secret
  std::string token;      ///< at most `max_token` bytes
};

/// How this process is named: "host node7, pid 81".
std::string own_name();

class Server {
 public:
  /// Listens on the first free of `ports` (0: any), and serves on a thread of its own. `only_here`: on the loopback
  /// interface alone. Throws `communicator_failed` if no port is free.
  Server(const Admission& admission, int ranks, std::span<const std::uint16_t> ports, bool only_here);
  /// Closes all connections.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::uint16_t port() const noexcept;
  /// Reports to all clients that rank 0 ends, and waits for at most a second until that is sent. `sentence`: empty if it
  /// ends in order.
  void end(const std::string& sentence) noexcept;

  /// For a child that `fork` has just made: leaves the connections to the parent. Calls only what a signal handler may.
  void drop_in_child() noexcept;

  struct Counts {
    std::uint64_t received = 0, sent = 0;  ///< frames
  };
  /// For measurements.
  Counts counts() const;

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace weir::store
