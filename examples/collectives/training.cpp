// SPDX-License-Identifier: Apache-2.0
// A data-parallel training step. Each rank has a copy of the model and its own part of the data. The gradients of a layer
// are all-reduced while the backward kernel of the preceding layer runs. If the device supports it, the whole step is one
// captured graph. Usage: training [--no-graph] [LAYERS [PARAMETERS [STEPS]]], alone on all devices, or under mpirun. With
// --no-graph, operations are enqueued one by one. Then the `timeline` tool shows them; it would show a graph as one launch.
//
// The model is trivial, so that the correct result after any number of steps is known: layer l learns the mean of its
// targets, which differ from rank to rank.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "examples/collectives/ranks.hpp"

namespace {

constexpr const char* source = R"(
// The gradient of (weight - target)^2 / 2, where the target is the rank's own.
extern "C" __global__ void backward(float* gradients, const float* weights, float target, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) gradients[i] = weights[i] - target;
}
extern "C" __global__ void update(float* weights, const float* gradients, float rate, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) weights[i] -= rate * gradients[i];
}
)";

struct Rank {
  weir::CommunicatorPtr comm;
  weir::StreamPtr compute, communication;
  std::vector<weir::Buffer<float>> weights, gradients;
  weir::KernelPtr backward, update;
  weir::GraphExecPtr step;
};

constexpr float rate = 0.25F;

float target(int rank, std::size_t layer) { return static_cast<float>(rank) + 10.0F * static_cast<float>(layer); }

// Runs one step on all ranks of this process.
void train(std::vector<Rank>& ranks, int parameters) {
  const auto shape = weir::grid_for(static_cast<std::size_t>(parameters), 256);
  for (std::size_t layer = ranks[0].weights.size(); layer-- > 0;) {
    for (Rank& r : ranks) {
      r.compute->launch(r.backward, shape, r.gradients[layer], r.weights[layer], target(r.comm->rank(), layer), parameters);
      r.communication->wait(*r.compute);  // only for this layer's gradients; the next kernel can run meanwhile
    }
    weir::Communicator::group([&] {
      for (Rank& r : ranks) r.comm->all_reduce(r.gradients[layer], weir::Reduction::avg, *r.communication);
    });
    for (Rank& r : ranks) r.communication->launch(r.update, shape, r.weights[layer], r.gradients[layer], rate, parameters);
  }
  for (Rank& r : ranks) r.compute->wait(*r.communication);
}

}  // namespace

int main(int argc, char** argv) try {
  using namespace weir;
  const bool wants_graph = argc < 2 || std::strcmp(argv[1], "--no-graph") != 0;
  if (!wants_graph) {
    --argc;
    ++argv;
  }
  const std::size_t layers = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 8;
  const int parameters = argc > 2 ? std::atoi(argv[2]) : 100000, steps = argc > 3 ? std::atoi(argv[3]) : 20;
  if (layers == 0 || parameters <= 0 || steps <= 0 || argc > 4) {
    std::fprintf(stderr, "usage: training [--no-graph] [LAYERS [PARAMETERS [STEPS]]], each at least 1\n");
    return 2;
  }

  std::vector<Rank> ranks;
  for (const CommunicatorPtr& comm : make_ranks()) {
    Device& device = comm->device();
    const ModulePtr module = device.compile(source);
    Rank r{comm,
           device.create_stream(),
           device.create_stream({.priority = Priority::high}),
           {},
           {},
           module->untyped_kernel("backward"),
           module->untyped_kernel("update"),
           {}};
    for (std::size_t l = 0; l < layers; ++l) {
      r.weights.push_back(device.allocate<float>(static_cast<std::size_t>(parameters)));
      r.gradients.push_back(device.allocate<float>(static_cast<std::size_t>(parameters)));
      r.compute->zero(r.weights.back());
    }
    ranks.push_back(std::move(r));
  }
  train(ranks, parameters);  // the first step includes the setup of connections
  const bool captures = wants_graph && ranks[0].comm->device().supports(Feature::graph_capture) &&
                        ranks[0].comm->supports(CommunicatorFeature::capture);
  if (captures) {
    for (Rank& r : ranks) r.compute->begin_capture();
    train(ranks, parameters);
    for (Rank& r : ranks) r.step = r.compute->end_capture()->instantiate();
  }
  for (Rank& r : ranks) r.comm->synchronize(*r.compute);
  const auto begin = std::chrono::steady_clock::now();
  for (int s = 1; s < steps; ++s) {
    if (!captures) {
      train(ranks, parameters);
      continue;
    }
    for (Rank& r : ranks) r.step->launch(*r.compute);
    for (Rank& r : ranks) r.comm->watch(*r.compute);
  }
  for (Rank& r : ranks) r.comm->synchronize(*r.compute);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();

  const int n = ranks[0].comm->size();
  for (Rank& r : ranks) {
    for (std::size_t l = 0; l < layers; ++l) {
      const std::vector<float> weights = r.compute->read(r.weights[l]);
      const double mean = (n - 1) / 2.0 + 10.0 * static_cast<double>(l);
      const double should = mean * (1 - std::pow(1 - rate, steps));
      const auto wrong =
          std::find_if(weights.begin(), weights.end(), [&](float w) { return std::abs(w - should) > 1e-4 * (1 + should); });
      if (wrong == weights.end()) continue;
      std::fprintf(stderr, "rank %d, layer %zu: a weight is %g instead of %g\n", r.comm->rank(), l,
                   static_cast<double>(*wrong), should);
      return EXIT_FAILURE;
    }
  }
  if (ranks[0].comm->rank() == 0) {
    std::printf("%s: %d ranks, %zu layers of %d parameters, %s: %.3f ms a step\nevery weight is right\n",
                ranks[0].comm->library().c_str(), n, layers, parameters, captures ? "one graph" : "without a graph",
                seconds / std::max(1, steps - 1) * 1e3);
  }
  return EXIT_SUCCESS;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return EXIT_FAILURE;
}
