// SPDX-License-Identifier: Apache-2.0
#include "collectives/peers.hpp"

#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>

#include "weir/error.hpp"

namespace weir::collectives {
namespace {

// What the ranks of a group share.
struct Board {
  explicit Board(std::vector<std::string> all) : names(std::move(all)), ranks(names.size()) {}

  struct Rank {
    std::map<std::string, std::string, std::less<>> values;
    std::string failure;     // for this rank: the first one of another rank
    std::mutex in_callback;  // locked before `mutex`; held while `on_failure` runs
    std::function<void(const std::string&)> on_failure;
  };

  const std::vector<std::string> names;
  std::mutex mutex;  // guards values, failures and groups
  std::condition_variable published;
  std::vector<Rank> ranks;
  std::map<std::string, std::shared_ptr<Board>, std::less<>> groups;  // by name
};

class ProcessPeers final : public Peers {
 public:
  ProcessPeers(std::shared_ptr<Board> board, int rank) : board_(std::move(board)), rank_(static_cast<std::size_t>(rank)) {}

  void publish(std::string_view key, std::string_view value) override {
    const std::lock_guard lock(board_->mutex);
    board_->ranks[rank_].values.insert_or_assign(std::string(key), std::string(value));
    board_->published.notify_all();
  }
  void forget(std::string_view key) override {
    const std::lock_guard lock(board_->mutex);
    auto& values = board_->ranks[rank_].values;
    if (const auto found = values.find(key); found != values.end()) values.erase(found);
  }
  std::optional<std::string> value_of(int rank, std::string_view key, Clock::time_point deadline) override {
    std::unique_lock lock(board_->mutex);
    const auto& values = board_->ranks[static_cast<std::size_t>(rank)].values;
    if (!board_->published.wait_until(lock, deadline, [&] { return values.contains(key); })) return std::nullopt;
    return values.find(key)->second;
  }
  std::string name_of(int rank) override { return board_->names[static_cast<std::size_t>(rank)]; }

  std::shared_ptr<Peers> group(std::span<const int> members, std::string_view name) override {
    const std::lock_guard lock(board_->mutex);
    std::vector<std::string> names;
    int mine = 0;
    for (const int member : members) {
      if (static_cast<std::size_t>(member) == rank_) mine = static_cast<int>(names.size());
      names.push_back(board_->names[static_cast<std::size_t>(member)]);
    }
    std::shared_ptr<Board>& board = board_->groups[std::string(name)];
    if (!board) board = std::make_shared<Board>(std::move(names));
    return std::make_shared<ProcessPeers>(board, mine);
  }
  bool can_meet() const noexcept override { return false; }
  std::uint64_t meet(std::span<const int>, Clock::time_point) override {
    throw Error(Errc::unsupported, "Communicator::rebuild", board_->names[rank_],
                "the ranks of one process do not meet again; make new communicators with from_devices");
  }

  void announce(std::string_view cause) noexcept override try {
    const std::string sentence = board_->names[rank_] + " has failed: " + std::string(cause);
    for (std::size_t rank = 0; rank < board_->ranks.size(); ++rank) {
      if (rank == rank_) continue;
      Board::Rank& other = board_->ranks[rank];
      {
        const std::lock_guard lock(board_->mutex);
        if (!other.failure.empty()) continue;
        other.failure = sentence;
      }
      const std::lock_guard lock(other.in_callback);
      if (const auto on_failure = std::exchange(other.on_failure, {})) on_failure(sentence);
    }
  } catch (...) {  // out of memory: the other ranks find out when their own operations fail
  }
  void watch(std::function<void(const std::string&)> on_failure) override {
    Board::Rank& mine = board_->ranks[rank_];
    const std::lock_guard lock(mine.in_callback);
    mine.on_failure = std::move(on_failure);
    std::string failure;
    {
      const std::lock_guard values(board_->mutex);
      failure = mine.failure;
    }
    if (failure.empty()) return;
    if (const auto report = std::exchange(mine.on_failure, {})) report(failure);
  }

 private:
  const std::shared_ptr<Board> board_;
  const std::size_t rank_;
};

}  // namespace

std::vector<std::shared_ptr<Peers>> make_process_peers(std::vector<std::string> names) {
  const auto ranks = static_cast<int>(names.size());
  const auto board = std::make_shared<Board>(std::move(names));
  std::vector<std::shared_ptr<Peers>> all;
  for (int rank = 0; rank < ranks; ++rank) all.push_back(std::make_shared<ProcessPeers>(board, rank));
  return all;
}

}  // namespace weir::collectives
