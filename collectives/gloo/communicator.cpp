// SPDX-License-Identifier: Apache-2.0
#include "collectives/gloo/communicator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "weir/device.hpp"
#include "weir/stream.hpp"

namespace weir::gloo {

Communicator::Communicator(const Library& library, Device& device, std::shared_ptr<Engine> engine)
    : weir::CommunicatorImpl(device, engine->rank(), engine->size(), library.label(), engine->timeout()),
      library_(library),
      engine_(std::move(engine)),
      steps_(device) {
  if (const std::string obstacle = collectives::capture_obstacle(device); !obstacle.empty())
    set_feature(CommunicatorFeature::capture, Support::absent, obstacle);
  flight_recorder()->set_marks(true);
  engine_->set_recorder(flight_recorder());
  engine_->on_failure().set([this] { do_check(); });
}

Communicator::~Communicator() { engine_->on_failure().set({}); }

void Communicator::do_enqueue(std::span<const CollectiveCall> calls) {
  for (std::vector<CollectiveCall>& step : collectives::by_rank(calls)) {
    Communicator& rank = static_cast<Communicator&>(*step[0].communicator);
    rank.check();
    const CaptureState capture = step[0].capture;
    collectives::StreamsOfStep streams(step);
    const std::uint64_t last = step.back().number;
    rank.steps_.enqueue(streams.first(), capture, [engine = rank.engine_, step = std::move(step)](collectives::StepEnd end) {
      engine->begin(step, end);
    });
    rank.flight_recorder()->accept(last);
    streams.go_on();
  }
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

void Communicator::do_check() {
  if (!engine_->has_failed()) return;
  engine_->late() != 0 ? fail_late(engine_->late()) : fail(engine_->cause());
}

void Communicator::do_abort() noexcept { engine_->fail("the communicator has failed"); }

}  // namespace weir::gloo
