// SPDX-License-Identifier: Apache-2.0
#include "collectives/gloo/communicator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "weir/device.hpp"

namespace weir::gloo {

Communicator::Communicator(const Library& library, Device& device, const std::shared_ptr<Engine>& engine)
    : StepCommunicator(device, engine->rank(), engine->size(), library.label(), engine->timeout(),
                       {engine, &engine->failure()}),
      library_(library),
      engine_(engine) {
  engine_->set_recorder(flight_recorder());
  follow_failure();
}

collectives::StepQueue::Begin Communicator::step_of(std::vector<CollectiveCall> calls) {
  return [engine = engine_, calls = std::move(calls)](collectives::StepEnd end) { engine->begin(calls, end); };
}

// The ranks of each color meet through the peers. Each process has one rank.
std::vector<CommunicatorPtr> Communicator::do_split(std::span<const CommunicatorSplit> ranks,
                                                    std::span<const std::vector<int>> members) {
  if (ranks[0].color < 0) return {nullptr};
  const auto place = std::find(members[0].begin(), members[0].end(), rank());
  const auto engine = Engine::start(library_.device(), {.peers = *peers(),
                                                        .key = fmt::format("gloo split{}-color{}", splits(), ranks[0].color),
                                                        .members = members[0],
                                                        .rank = static_cast<int>(place - members[0].begin()),
                                                        .timeout = timeout()});
  return {make_ptr<Communicator>(library_, device(), engine)};
}

void Communicator::do_abort() noexcept { engine_->fail("the communicator has failed"); }

}  // namespace weir::gloo
