// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "collectives/agreement.hpp"
#include "collectives/peers.hpp"
#include "core/runtime/thread_state.hpp"
#include "weir/device.hpp"
#include "weir/plugin/communicator.hpp"

namespace weir {

CommunicatorPtr Communicator::split(int color, int key) {
  const CommunicatorSplit mine{this, color, key};
  return split(std::span(&mine, 1)).front();
}

std::vector<CommunicatorPtr> Communicator::split(std::span<const CommunicatorSplit> ranks) {
  const char* const operation = "Communicator::split";
  detail::enter(operation);
  const auto throw_error = [&](Errc code, const Communicator* communicator, std::string_view cause) {
    throw Error(code, operation, communicator != nullptr ? communicator->describe() : "", cause);
  };
  if (ranks.empty()) throw_error(Errc::invalid_argument, nullptr, "the list of ranks is empty; pass at least one");
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    Communicator* const rank = ranks[i].communicator;
    if (rank == nullptr) throw_error(Errc::invalid_argument, nullptr, fmt::format("communicator {} is null", i));
    Communicator& first = *ranks[0].communicator;
    const auto is_same = [&](const CommunicatorSplit& other) { return other.communicator->rank_ == rank->rank_; };
    // Without peers, ranks of one process may have counted their communicators differently.
    const bool has_name = rank->impl().peers() || rank->library_.starts_with("host ");
    if (rank->library_ != first.library_ || rank->size_ != first.size_ ||
        (has_name && rank->impl().name_ != first.impl().name_) ||
        std::any_of(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(i), is_same)) {
      throw_error(Errc::invalid_argument, rank, "the list must contain different ranks of one communicator");
    }
    if (rank->impl().has_failed()) rank->impl().throw_failure(operation);
    if (!rank->supports(CommunicatorFeature::split))
      throw_error(Errc::unsupported, rank, rank->feature(CommunicatorFeature::split).reason);
  }
  if (is_grouping())
    throw_error(Errc::unsupported, ranks[0].communicator,
                "a group cannot contain a split; call it before or after the group");
  const bool has_peers = ranks[0].communicator->impl().peers() != nullptr;
  for (const CommunicatorSplit& rank : ranks) ++rank.communicator->impl().splits_;  // also of a split that fails
  const auto members = has_peers ? CommunicatorImpl::members_of_parts(ranks) : std::vector<std::vector<int>>();
  std::vector<CommunicatorPtr> parts = ranks[0].communicator->impl().do_split(ranks, members);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    CommunicatorImpl& old = ranks[i].communicator->impl();
    if (!parts[i]) continue;
    parts[i]->impl().set_name(fmt::format("{}.split{}-color{}", old.name_, old.splits_, ranks[i].color));
    if (has_peers) parts[i]->impl().set_peers(old.peers()->group(members[i], parts[i]->impl().name_));
  }
  return parts;
}

// Exchanges colors and keys, and returns the members of each rank's part in their order. Rank 0 gathers all, so that each
// rank sends and reads one value.
std::vector<std::vector<int>> CommunicatorImpl::members_of_parts(std::span<const CommunicatorSplit> ranks) {
  struct Place {
    int color, key;
  };
  using Clock = collectives::Peers::Clock;
  const auto of = [](const CommunicatorSplit& rank) -> CommunicatorImpl& { return rank.communicator->impl(); };
  const int number = of(ranks[0]).splits_;
  const std::string key = fmt::format("split{}", number), key_of_all = key + "-all";
  const auto size = static_cast<std::size_t>(ranks[0].communicator->size());
  // Waits for a value of `rank`. If it does not come, the communicator fails, with the name of a rank that has not called.
  const auto await = [&](CommunicatorImpl& c, int rank, const std::string& which) -> std::string {
    const auto deadline = c.timeout_.count() != 0 ? Clock::now() + c.timeout_ : Clock::time_point::max();
    const auto has_failed = [&] { return c.has_failed(); };
    const auto peers = c.peers();
    std::string obstacle;
    if (auto value = collectives::await_value(*peers, rank, which, deadline, has_failed, obstacle)) return std::move(*value);
    for (int other = 0; obstacle.empty() && !has_failed() && other < c.size(); ++other) {
      if (peers->value_of(other, key, Clock::now() + std::chrono::milliseconds(100))) continue;
      obstacle = fmt::format("{} has not called split within {} ms", peers->name_of(other), c.timeout_.count());
    }
    if (!has_failed()) c.is_explained_ = true;
    c.fail(obstacle.empty() ? fmt::format("split has not ended within {} ms", c.timeout_.count()) : obstacle);
    c.throw_failure("Communicator::split");
  };
  for (const CommunicatorSplit& rank : ranks) {
    const Place mine{rank.color, rank.key};
    of(rank).peers()->publish(key, {reinterpret_cast<const char*>(&mine), sizeof(mine)});
  }
  for (const CommunicatorSplit& rank : ranks) {
    if (rank.communicator->rank() != 0) continue;
    std::string all;
    for (int other = 0; other < rank.communicator->size(); ++other) all += await(of(rank), other, key);
    of(rank).peers()->publish(key_of_all, all);
    of(rank).peers()->forget(fmt::format("split{}-all", number - 1));  // all have read it, since they have called this split
  }
  std::vector<std::vector<int>> members(ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    std::vector<Place> places(size);
    const std::string all = await(of(ranks[i]), 0, key_of_all);
    of(ranks[i]).peers()->forget(key);  // rank 0 has read it
    if (ranks[i].color < 0) continue;
    std::memcpy(places.data(), all.data(), std::min(all.size(), size * sizeof(Place)));
    for (std::size_t rank = 0; rank < size; ++rank) {
      if (places[rank].color == ranks[i].color) members[i].push_back(static_cast<int>(rank));
    }
    std::stable_sort(members[i].begin(), members[i].end(), [&](int a, int b) {
      return places[static_cast<std::size_t>(a)].key < places[static_cast<std::size_t>(b)].key;
    });
  }
  return members;
}

}  // namespace weir
