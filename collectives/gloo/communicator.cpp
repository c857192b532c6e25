// SPDX-License-Identifier: Apache-2.0
#include "collectives/gloo/communicator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>
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
}

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

// The ranks exchange their colors and keys. Then the ranks of each color meet through the peers.
std::vector<CommunicatorPtr> Communicator::do_split(std::span<const CommunicatorSplit> ranks) {
  const CommunicatorSplit& mine = ranks[0];  // each process has one rank
  const auto count = static_cast<std::size_t>(size());
  const StreamPtr stream = device().create_stream();
  const Buffer<std::int32_t> all = device().allocate<std::int32_t>(2 * count);
  const auto own = all.subspan(2 * static_cast<std::size_t>(rank()), 2);
  stream->fill(own.subspan(0, 1), mine.color);
  stream->fill(own.subspan(1, 1), mine.key);
  all_gather(own, all, *stream);
  synchronize(*stream);
  const std::vector<std::int32_t> found = stream->read(all);
  const int split = ++splits_;
  if (mine.color < 0) return {nullptr};
  std::vector<int> members;
  for (int other = 0; other < size(); ++other) {
    if (found[2 * static_cast<std::size_t>(other)] == mine.color) members.push_back(other);
  }
  std::stable_sort(members.begin(), members.end(), [&](int a, int b) {
    return found[2 * static_cast<std::size_t>(a) + 1] < found[2 * static_cast<std::size_t>(b) + 1];
  });
  const auto place = std::find(members.begin(), members.end(), rank());
  const auto engine = Engine::start(library_.device(), {.peers = *peers(),
                                                        .key = fmt::format("gloo split{}-color{}", split, mine.color),
                                                        .members = members,
                                                        .rank = static_cast<int>(place - members.begin()),
                                                        .timeout = timeout()});
  return {make_ptr<Communicator>(library_, device(), engine)};
}

void Communicator::do_check() {
  if (!engine_->has_failed()) return;
  engine_->late() != 0 ? fail_late(engine_->late()) : fail(engine_->cause());
}

void Communicator::do_abort() noexcept { engine_->fail("the communicator has failed"); }

}  // namespace weir::gloo
