// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "collectives/peers.hpp"
#include "core/runtime/thread_state.hpp"
#include "weir/device.hpp"
#include "weir/plugin/communicator.hpp"
#include "weir/stream.hpp"

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
    const Communicator& first = *ranks[0].communicator;
    const auto is_same = [&](const CommunicatorSplit& other) { return other.communicator->rank_ == rank->rank_; };
    if (rank->library_ != first.library_ || rank->size_ != first.size_ ||
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
  std::vector<CommunicatorPtr> parts = ranks[0].communicator->impl().do_split(ranks);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    CommunicatorImpl& old = ranks[i].communicator->impl();
    ++old.splits_;
    if (parts[i]) parts[i]->impl().set_name(fmt::format("{}.split{}-color{}", old.name_, old.splits_, ranks[i].color));
  }
  if (ranks[0].communicator->impl().peers()) give_peers(ranks, parts);
  return parts;
}

// Finds out which ranks are in the new communicators, and connects these as the old ones are connected.
void Communicator::give_peers(std::span<const CommunicatorSplit> ranks, std::span<const CommunicatorPtr> parts) {
  std::vector<StreamPtr> streams(parts.size());
  std::vector<Buffer<std::int32_t>> members(parts.size());
  group([&] {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!parts[i]) continue;
      streams[i] = parts[i]->device().create_stream();
      members[i] = parts[i]->device().allocate<std::int32_t>(parts[i]->parts());
      const auto mine = members[i].subspan(static_cast<std::size_t>(parts[i]->rank()), 1);
      streams[i]->fill(mine, ranks[i].communicator->rank());
      parts[i]->all_gather(mine, members[i], *streams[i]);
    }
  });
  for (std::size_t i = 0; i < parts.size(); ++i) {
    CommunicatorImpl& old = ranks[i].communicator->impl();
    if (!parts[i]) continue;
    const std::vector<std::int32_t> found = streams[i]->read(members[i]);
    parts[i]->check();
    parts[i]->impl().set_peers(old.peers()->group(found, parts[i]->impl().name_));
  }
}

}  // namespace weir
