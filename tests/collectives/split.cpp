// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tests/collectives/ranks.hpp"

// Compares the parts of a communicator with a model.

namespace collectives_test {
namespace {

using weir::CommunicatorPtr;
using weir::CommunicatorSplit;

void expect(bool is_so, const weir::Communicator& communicator, const std::string& what) {
  if (!is_so) fail("split: " + communicator.describe() + ": " + what);
}

// Even and odd ranks in descending order; the last rank of many takes part in none.
CommunicatorSplit place_of(weir::Communicator& communicator) {
  const int rank = communicator.rank();
  return {&communicator, communicator.size() > 2 && rank == communicator.size() - 1 ? -7 : rank % 2, -rank};
}

}  // namespace

void check_split(Ranks& ranks) {
  std::vector<CommunicatorSplit> calls;
  for (const Rank& rank : ranks.mine) calls.push_back(place_of(*rank.communicator));
  const std::vector<CommunicatorPtr> parts = calls.size() == 1
                                                 ? std::vector{calls[0].communicator->split(calls[0].color, calls[0].key)}
                                                 : weir::Communicator::split(calls);
  std::vector<weir::Buffer<int>> sums(parts.size());
  weir::Communicator::group([&] {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!parts[i]) continue;
      sums[i] = parts[i]->device().allocate<int>(5);
      ranks.mine[i].stream->fill(sums[i], ranks.mine[i].number() + 1);
      parts[i]->all_reduce(sums[i], weir::Reduction::sum, *ranks.mine[i].stream);
    }
  });
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Rank& old = ranks.mine[i];
    std::vector<int> members;  // in their order
    for (int rank = ranks.size - 1; rank >= 0; --rank) {
      if (rank % 2 == old.number() % 2 && !(ranks.size > 2 && rank == ranks.size - 1)) members.push_back(rank);
    }
    const auto mine = std::find(members.begin(), members.end(), old.number());
    expect((parts[i] == nullptr) == (mine == members.end()), *old.communicator, "it is null, or should be");
    if (!parts[i]) continue;
    expect(parts[i]->rank() == mine - members.begin(), *parts[i], "the rank should be another one");
    expect(parts[i]->size() == static_cast<int>(members.size()), *parts[i], "the size should be another one");
    int sum = 0;
    for (const int rank : members) sum += rank + 1;
    expect(old.stream->read(sums[i]) == std::vector(5, sum), *parts[i], "the sum should be " + std::to_string(sum));
  }
  // A part is split, after the whole has gone on working.
  std::vector<CommunicatorSplit> singles;
  for (const CommunicatorPtr& part : parts) {
    if (part && parts.size() == 1) singles.push_back({part.get(), part->rank(), 0});
  }
  for (const CommunicatorSplit& single : singles) {
    const CommunicatorPtr alone = single.communicator->split(single.color, single.key);
    expect(alone->size() == 1 && alone->rank() == 0, *alone, "it should be alone");
  }
}

}  // namespace collectives_test
