// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <unistd.h>

#include <random>

#include "tests/collectives/ranks.hpp"

// Random programs with collectives, compared with a sequential model.

namespace collectives_test {
namespace {

constexpr std::size_t buffers = 4;

// One step of a program: the same on all ranks. Numbers are without sign and wrap around, so results are exact.
struct Step {
  enum Kind { kernel, copy, fill, all_reduce, broadcast, all_to_all, ring, barrier, kinds } kind;
  std::size_t from, to;
  std::uint32_t number;
  bool on_other_stream;
};
using Program = std::vector<Step>;

Program make_steps(std::mt19937& random, std::size_t count) {
  Program steps;
  for (std::size_t i = 0; i < count; ++i) {
    Step step{static_cast<Step::Kind>(random() % Step::kinds), random() % buffers, random() % buffers,
              static_cast<std::uint32_t>(random() % 1000), random() % 3 == 0};
    if (step.from == step.to && step.kind != Step::all_reduce) step.to = (step.from + 1) % buffers;
    steps.push_back(step);
  }
  return steps;
}

// --- The model --------------------------------------------------------------------------------------------------------

using Memory = std::vector<std::vector<std::uint32_t>>;  // of one rank: its buffers

void model(const Program& steps, std::vector<Memory>& ranks) {
  const std::size_t n = ranks.size();
  for (const Step& s : steps) {
    const std::vector<Memory> before = ranks;
    for (std::size_t r = 0; r < n; ++r) {
      std::vector<std::uint32_t>& to = ranks[r][s.to];
      const std::size_t size = to.size();
      for (std::size_t i = 0; i < size; ++i) {
        switch (s.kind) {
          case Step::kernel: to[i] = to[i] * 3U + before[r][s.from][i] + s.number + static_cast<std::uint32_t>(r); break;
          case Step::copy: to[i] = before[r][s.from][i]; break;
          case Step::fill: to[i] = s.number; break;
          case Step::all_reduce:
            to[i] = 0;
            for (std::size_t q = 0; q < n; ++q) to[i] += before[q][s.from][i];
            break;
          case Step::broadcast: to[i] = before[s.number % n][s.to][i]; break;
          case Step::all_to_all: {
            const std::size_t part = size / n;
            to[i] = before[i / part][s.from][r * part + i % part];
            break;
          }
          case Step::ring: to[i] = before[(r + n - 1) % n][s.from][i]; break;
          case Step::barrier:
          case Step::kinds: break;
        }
      }
    }
  }
}

// --- The program ------------------------------------------------------------------------------------------------------

struct RankState {
  const Rank* rank;
  std::vector<weir::Buffer<std::uint32_t>> buffers;
  weir::KernelPtr kernel;
  weir::Stream* last = nullptr;
};

void submit(const Step& s, std::vector<RankState>& states, int size) {
  for (RankState& state : states) {
    // Both streams see the steps in the program's order.
    weir::Stream& stream = s.on_other_stream ? *state.rank->other : *state.rank->stream;
    if (state.last != nullptr && state.last != &stream) stream.wait(*state.last);
    state.last = &stream;
    const auto& from = state.buffers[s.from];
    const auto& to = state.buffers[s.to];
    switch (s.kind) {
      case Step::kernel:
        stream.launch(state.kernel, weir::LaunchConfig{static_cast<unsigned>((to.size() + 127) / 128), 128}, to, from,
                      s.number + static_cast<std::uint32_t>(state.rank->number()), static_cast<std::uint32_t>(to.size()));
        break;
      case Step::copy: stream.copy(to, from); break;
      case Step::fill: stream.fill(to, s.number); break;
      default: break;
    }
  }
  weir::Communicator::group([&] {
    for (RankState& state : states) {
      weir::Communicator& comm = *state.rank->communicator;
      weir::Stream& stream = *state.last;
      const auto& from = state.buffers[s.from];
      const auto& to = state.buffers[s.to];
      switch (s.kind) {
        case Step::all_reduce: comm.all_reduce(from, to, weir::Reduction::sum, stream); break;
        case Step::broadcast: comm.broadcast(to, static_cast<int>(s.number) % size, stream); break;
        case Step::all_to_all: comm.all_to_all(from, to, stream); break;
        case Step::ring:
          comm.send(from, (comm.rank() + 1) % size, stream);
          comm.receive(to, (comm.rank() + size - 1) % size, stream);
          break;
        case Step::barrier: comm.barrier(stream); break;
        default: break;
      }
    }
  });
}

}  // namespace

void run_random_program(Ranks& ranks, unsigned seed, bool graphs) {
  std::mt19937 random(seed);
  const auto n = static_cast<std::size_t>(ranks.size);
  const std::size_t length = n * (1 + random() % 3000);
  const Program eager = make_steps(random, 12), captured = make_steps(random, 10), last = make_steps(random, 6);
  const int launches = 1 + static_cast<int>(random() % 3);

  std::vector<Memory> wanted(n, Memory(buffers, std::vector<std::uint32_t>(length)));
  for (std::size_t r = 0; r < n; ++r) {
    for (std::size_t b = 0; b < buffers; ++b) {
      for (std::size_t i = 0; i < length; ++i) wanted[r][b][i] = static_cast<std::uint32_t>(r * 1000 + b * 100 + i);
    }
  }
  std::vector<RankState> states;
  for (const Rank& rank : ranks.mine) {
    RankState state{&rank, {}, {}};
    for (std::size_t b = 0; b < buffers; ++b) {
      state.buffers.push_back(rank.device().allocate<std::uint32_t>(length));
      rank.device().copy(state.buffers.back(), wanted[static_cast<std::size_t>(rank.number())][b]);
    }
    state.last = rank.stream.get();
    state.kernel =
        rank.device()
            .compile(R"(extern "C" __global__ void mix(unsigned* to, const unsigned* from, unsigned number, unsigned n) {
                         const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
                         if (i < n) to[i] = to[i] * 3u + from[i] + number;
                       })")
            ->untyped_kernel("mix");
    states.push_back(std::move(state));
  }

  for (const Step& s : eager) submit(s, states, ranks.size);
  model(eager, wanted);

  const weir::Communicator& first = *ranks.mine.front().communicator;
  if (graphs && first.device().supports(weir::Feature::graph_capture) &&
      first.supports(weir::CommunicatorFeature::capture)) {
    for (RankState& state : states) {
      if (state.last != state.rank->stream.get()) state.rank->stream->wait(*state.last);
      state.last = state.rank->stream.get();
      state.rank->stream->begin_capture();
    }
    for (const Step& s : captured) submit(s, states, ranks.size);
    std::vector<weir::GraphExecPtr> launched;
    for (RankState& state : states) {
      if (state.last != state.rank->stream.get()) state.rank->stream->wait(*state.last);
      state.last = state.rank->stream.get();
      launched.push_back(state.rank->stream->end_capture()->instantiate());
    }
    for (int i = 0; i < launches; ++i) {
      for (std::size_t r = 0; r < states.size(); ++r) launched[r]->launch(*states[r].rank->stream);
      model(captured, wanted);
    }
    for (const Step& s : last) submit(s, states, ranks.size);
    model(last, wanted);
    for (RankState& state : states) state.last->synchronize();  // before the graphs go
  }

  for (RankState& state : states) {
    for (std::size_t b = 0; b < buffers; ++b) {
      const auto found = state.last->read(state.buffers[b]);
      state.rank->communicator->check();
      const auto& should = wanted[static_cast<std::size_t>(state.rank->number())][b];
      for (std::size_t i = 0; i < length; ++i) {
        if (found[i] != should[i]) {
          fail("seed " + std::to_string(seed) + ": rank " + std::to_string(state.rank->number()) + " buffer " +
               std::to_string(b) + " element " + std::to_string(i) + " of " + std::to_string(length) + " is " +
               std::to_string(found[i]) + " instead of " + std::to_string(should[i]));
        }
      }
    }
  }
}

void check_going(Ranks& ranks) {
  constexpr std::size_t count = 1 << 18;
  std::vector<weir::Buffer<int>> data;
  for (const Rank& rank : ranks.mine) {
    data.push_back(rank.device().allocate<int>(count));
    rank.stream->fill(data.back(), rank.number());
  }
  for (int i = 0; i < 10; ++i) {
    weir::Communicator::group([&] {
      for (std::size_t r = 0; r < data.size(); ++r) {
        ranks.mine[r].communicator->all_reduce(data[r], weir::Reduction::max, *ranks.mine[r].stream);
      }
    });
  }
  for (Rank& rank : ranks.mine) rank.communicator.reset();
  for (std::size_t r = 0; r < data.size(); ++r) {
    for (const int value : ranks.mine[r].stream->read(data[r])) {
      if (value != ranks.size - 1) fail("the work of a communicator that was destroyed is wrong");
    }
  }
}

void check_death(Ranks& ranks, const Options& options) {
  const Rank& rank = ranks.mine.front();
  weir::Communicator& comm = *rank.communicator;
  const auto data = rank.device().allocate<float>(1 << 20);
  rank.stream->fill(data, 1.0F);
  for (int i = 0; i < 20; ++i) comm.all_reduce(data, weir::Reduction::max, *rank.stream);
  comm.synchronize(*rank.stream);
  if (rank.number() == options.dies) {  // with work under way
    for (int i = 0; i < 2; ++i) comm.all_reduce(data, weir::Reduction::max, *rank.stream);
    ::raise(SIGKILL);
  }
  const auto begin = std::chrono::steady_clock::now();
  try {
    for (int i = 0; i < 5; ++i) comm.all_reduce(data, weir::Reduction::max, *rank.stream);
    comm.synchronize(*rank.stream);
    fail("a rank was killed, and rank " + std::to_string(rank.number()) + " did not notice");
  } catch (const weir::Error& error) {
    if (error.errc() != weir::Errc::communicator_failed) fail(std::string("another error than expected: ") + error.what());
    std::printf("rank %d after %.1f s: %s\n", rank.number(),
                std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), error.what());
  }
  // The process lives: the device works.
  rank.stream->fill(data, 2.0F);
  if (rank.stream->read(data)[12345] != 2.0F) fail("the device does not work after the communicator has failed");
  if (std::chrono::steady_clock::now() - begin > 3 * options.timeout + std::chrono::seconds(2)) fail("it took too long");
}

}  // namespace collectives_test
