// SPDX-License-Identifier: Apache-2.0
// Solves the heat equation in a box, which is cut into slabs along z, one for each rank. In each step, neighbours exchange
// their outer planes while the inner planes are computed. Usage: heat [SIDE [STEPS [one]]], alone on all devices, or under
// mpirun. With "one", all work runs on one stream, so that nothing overlaps.
//
// Each rank has SIDE planes of SIDE x SIDE cells, whatever the number of ranks (weak scaling).
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "examples/collectives/ranks.hpp"

namespace {

// Computes some planes of a slab, one for each block along z. `from` begins one plane before `to` and ends one plane after
// it.
constexpr const char* source = R"(
extern "C" __global__ void step(float* to, const float* from, int side) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= side) return;
  const long plane = (long)side * side, cell = blockIdx.z * plane + (long)y * side + x, i = cell + plane;
  // The walls in x and y keep their heat in.
  const float left = x > 0 ? from[i - 1] : from[i], right = x < side - 1 ? from[i + 1] : from[i];
  const float below = y > 0 ? from[i - side] : from[i], above = y < side - 1 ? from[i + side] : from[i];
  to[cell] = from[i] + 0.1f * (left + right + below + above + from[i - plane] + from[i + plane] - 6.0f * from[i]);
}
)";

struct Slab {
  weir::CommunicatorPtr comm;
  weir::StreamPtr inner, outer;
  weir::Buffer<float> now, next;
  weir::KernelPtr kernel;
};

// The heat is a wave along z, whose amplitude falls by the same factor in each step. So the correct value of each cell is
// known.
double wave(int plane, int planes) { return std::cos(2 * 3.14159265358979 * plane / planes); }

}  // namespace

int main(int argc, char** argv) try {
  using namespace weir;
  const int side = argc > 1 ? std::atoi(argv[1]) : 48, steps = argc > 2 ? std::atoi(argv[2]) : 100;
  const bool overlaps = argc <= 3;
  if (side < 1 || steps < 1 || argc > 4) {
    std::fprintf(stderr, "usage: heat [SIDE [STEPS [one]]], SIDE and STEPS at least 1\n");
    return 2;
  }
  const auto plane = static_cast<std::size_t>(side) * static_cast<std::size_t>(side);
  const auto planes = static_cast<std::size_t>(side);

  std::vector<Slab> slabs;
  for (const CommunicatorPtr& comm : make_ranks()) {
    Device& device = comm->device();
    const StreamPtr outer = device.create_stream({.priority = Priority::high});
    Slab slab{comm,
              overlaps ? device.create_stream() : outer,
              outer,
              device.allocate<float>((planes + 2) * plane),
              device.allocate<float>((planes + 2) * plane),
              device.compile(source)->untyped_kernel("step")};
    std::vector<float> first((planes + 2) * plane);
    for (std::size_t z = 0; z < planes + 2; ++z) {
      const int global = comm->rank() * side + static_cast<int>(z) - 1;
      for (std::size_t i = 0; i < plane; ++i) first[z * plane + i] = static_cast<float>(wave(global, comm->size() * side));
    }
    device.copy(slab.now, first);
    slabs.push_back(std::move(slab));
  }
  const int ranks = slabs[0].comm->size();

  // Computes planes [first, last) of a slab. The first and the last plane of a slab are copies of the neighbours' planes.
  const auto launch = [&](Slab& slab, Stream& stream, std::size_t first, std::size_t last) {
    if (first >= last) return;
    const auto across = static_cast<unsigned>((side + 127) / 128);
    stream.launch(slab.kernel, {{across, static_cast<unsigned>(side), static_cast<unsigned>(last - first)}, 128},
                  accesses::writes(slab.next.subspan(first * plane, (last - first) * plane)),
                  accesses::reads(slab.now.subspan((first - 1) * plane, (last - first + 2) * plane)), side);
  };
  auto begin = std::chrono::steady_clock::now();
  for (int s = 0; s < steps; ++s) {
    if (s == 1) {  // the first step includes the setup of connections
      for (Slab& slab : slabs) slab.comm->synchronize(*slab.outer);
      begin = std::chrono::steady_clock::now();
    }
    for (Slab& slab : slabs) {
      slab.outer->wait(*slab.inner);  // both streams start after the whole previous step
      slab.inner->wait(*slab.outer);
      launch(slab, *slab.inner, 2, planes);  // during the exchange: planes that need no neighbour
    }
    Communicator::group([&] {
      for (Slab& slab : slabs) {
        const int up = (slab.comm->rank() + 1) % ranks, down = (slab.comm->rank() + ranks - 1) % ranks;
        slab.comm->send(slab.now.subspan(planes * plane, plane), up, *slab.outer);
        slab.comm->receive(slab.now.subspan(0, plane), down, *slab.outer);
        slab.comm->send(slab.now.subspan(plane, plane), down, *slab.outer);
        slab.comm->receive(slab.now.subspan((planes + 1) * plane, plane), up, *slab.outer);
      }
    });
    for (Slab& slab : slabs) {
      launch(slab, *slab.outer, 1, 2);
      launch(slab, *slab.outer, std::max<std::size_t>(2, planes), planes + 1);
      std::swap(slab.now, slab.next);
    }
  }
  for (Slab& slab : slabs) {
    slab.inner->wait(*slab.outer);
    slab.comm->synchronize(*slab.inner);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();

  const int all = ranks * side;
  const double factor = std::pow(1 - 0.2 * (1 - std::cos(2 * 3.14159265358979 / all)), steps);
  double worst = 0;
  for (Slab& slab : slabs) {
    const std::vector<float> found = slab.inner->read(slab.now);
    for (std::size_t z = 1; z <= planes; ++z) {
      for (std::size_t i = 0; i < plane; ++i) {
        const double should = factor * wave(slab.comm->rank() * side + static_cast<int>(z) - 1, all);
        worst = std::max(worst, std::abs(found[z * plane + i] - should));
      }
    }
    if (slab.comm->rank() == 0) {
      std::printf("%s: %d ranks x %d^3 cells, %d steps: %.3f ms a step\n", slab.comm->library().c_str(), ranks, side, steps,
                  seconds / std::max(1, steps - 1) * 1e3);
    }
  }
  if (worst > 1e-4) {
    std::fprintf(stderr, "the greatest error is %g\n", worst);
    return EXIT_FAILURE;
  }
  if (slabs[0].comm->rank() == 0) std::printf("every cell is right (error below 1e-4)\n");
  return EXIT_SUCCESS;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return EXIT_FAILURE;
}
