// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collectives/peers.hpp"
#include "collectives/store/server.hpp"
#include "core/base/background_thread.hpp"

/// A rank's connection to the store, and the `Peers` that use it.
namespace weir::store {

/// A place where rank 0 may listen.
struct Address {
  std::string host;
  std::uint16_t port = 0;
};

class Client : public std::enable_shared_from_this<Client> {
 public:
  using Clock = std::chrono::steady_clock;
  struct Answer {
    bool good = false;
    std::string text;  // the value, or a sentence
  };
  /// Calls `call` once, with the failure of a group.
  struct Watch {
    std::string group;
    std::vector<int> ranks;      // empty: all
    std::recursive_mutex mutex;  // held during the call
    std::function<void(const std::string&)> call;
  };

  /// Tries the addresses in turn, until one is this run's store or the deadline is over. Then says who it is. Throws
  /// `communicator_failed` with the last obstacle.
  static std::shared_ptr<Client> connect(const Admission& admission, const std::vector<Address>& addresses, int rank,
                                         int ranks, Clock::time_point deadline);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// Waits at most 2 s for watches that are running, says goodbye, ends the connection and joins the threads. `sentence`:
  /// empty if this rank ends in order, else what the others are shown.
  void end(std::string_view sentence) noexcept;
  /// For a child that `fork` has just made: leaves the connection to the parent. Calls only what a signal handler may.
  void drop_in_child() noexcept;
  int rank() const noexcept { return rank_; }
  int ranks() const noexcept { return ranks_; }

  /// A rank keeps at most `max_of_rank` bytes: its oldest values are forgotten.
  void put(std::string_view key, std::string_view value);
  void forget(std::string_view key);
  /// nullopt: not by the deadline.
  std::optional<Answer> get(int rank, std::string_view key, Clock::time_point deadline);
  Answer meet(std::string_view group, std::span<const int> members, Clock::time_point deadline);
  void report(std::string_view group, std::string_view sentence);
  std::string name_of(int rank);
  bool is_dead(int rank) const;
  /// Why there is no store any more; "" while there is.
  std::string lost() const;
  /// Calls the watch at once if the group has failed already.
  void add(const std::shared_ptr<Watch>& watch);
  void remove(const std::shared_ptr<Watch>& watch) noexcept;

 private:
  struct Socket;
  Client(std::unique_ptr<Socket> socket, int rank, int ranks);
  void send(std::string_view frame);
  void write(std::string_view frame);
  void drop(std::string_view key);
  void read();
  void handle(std::string_view body);
  void lose(const std::string& why);
  std::string lost_text() const;
  std::string failure_of(const Watch& watch) const;
  void notify_watches();
  void call_watches();
  std::optional<Answer> wait_for(std::uint64_t request, Clock::time_point deadline);
  std::uint64_t new_request();

  const std::unique_ptr<Socket> socket_;
  const int rank_, ranks_;
  std::mutex writing_;                                    // held during writes; guards the next two members
  std::deque<std::pair<std::string, std::size_t>> kept_;  // the keys that the store has of this rank, with their bytes
  std::size_t kept_bytes_ = 0;
  detail::BackgroundThread reader_;
  detail::BackgroundThread caller_;  // its mutex guards the next member, and is locked after `mutex_`
  std::vector<std::pair<std::shared_ptr<Watch>, std::string>> calls_;  // of watches that the thread shall make

  mutable std::mutex mutex_;  // guards the members below
  std::condition_variable arrived_;
  std::uint64_t last_request_ = 0;
  std::map<std::uint64_t, std::optional<Answer>> requests_;
  std::map<int, std::string> dead_;            // ranks with their sentence
  std::map<std::string, std::string> failed_;  // groups with their sentence
  std::map<int, std::string> names_;
  std::string lost_;        // why there is no store any more
  bool has_ended_ = false;  // in order
  std::vector<std::shared_ptr<Watch>> watches_;
};

/// The peers of all ranks of a client, for a communicator with this name. Different communicators need different names.
std::shared_ptr<collectives::Peers> make_peers(std::shared_ptr<Client> client, std::string name);

}  // namespace weir::store
