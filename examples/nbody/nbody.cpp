// SPDX-License-Identifier: Apache-2.0
//
// Simulates bodies that attract each other, with kernels that were compiled ahead of time for NVIDIA, AMD and the CPU.
// nbody.cu is CUDA C++. CMake embeds the compiled images in this program, and the device loads the one that fits.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "weir/weir.hpp"

namespace {

struct alignas(16) Float4 {  // the kernels' float4
  float x, y, z, w;
};

struct Options {
  int bodies = 4096;
  int steps = 100;
  bool verify = false;
};

constexpr float softening = 0.05F, dt = 0.001F;
constexpr std::uint32_t block = 256;  // equal to TILE in CMakeLists.txt

// Returns a ball of bodies at rest.
std::vector<Float4> make_bodies(int n) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> place(-1.0F, 1.0F);
  std::vector<Float4> bodies;
  while (bodies.size() < static_cast<std::size_t>(n)) {
    const Float4 body{place(random), place(random), place(random), 1.0F / static_cast<float>(n)};
    if (body.x * body.x + body.y * body.y + body.z * body.z <= 1.0F) bodies.push_back(body);
  }
  return bodies;
}

// Repeats the simulation in double precision on one thread. Returns the greatest distance of a body between both results.
double compare(const std::vector<Float4>& begin, const std::vector<Float4>& end, int steps) {
  struct Body {
    double x, y, z, mass, vx, vy, vz;
  };
  std::vector<Body> bodies;
  for (const Float4& b : begin) bodies.push_back({b.x, b.y, b.z, b.w, 0, 0, 0});
  for (int step = 0; step < steps; ++step) {
    for (Body& own : bodies) {
      double ax = 0, ay = 0, az = 0;
      for (const Body& other : bodies) {
        const double dx = other.x - own.x, dy = other.y - own.y, dz = other.z - own.z;
        const double square = dx * dx + dy * dy + dz * dz + double{softening} * softening;
        const double pull = other.mass / (square * std::sqrt(square));
        ax += dx * pull, ay += dy * pull, az += dz * pull;
      }
      own.vx += dt * ax, own.vy += dt * ay, own.vz += dt * az;
    }
    for (Body& own : bodies) own.x += dt * own.vx, own.y += dt * own.vy, own.z += dt * own.vz;
  }
  double greatest = 0;
  for (std::size_t i = 0; i < end.size(); ++i) {
    greatest = std::max(greatest, std::hypot(bodies[i].x - end[i].x, bodies[i].y - end[i].y, bodies[i].z - end[i].z));
  }
  return greatest;
}

int simulate(const Options& options) {
  const int n = options.bodies;
  const std::vector<Float4> begin = make_bodies(n);
  std::vector<Float4> end(begin.size());

  weir::Device& device = weir::default_device();
  const auto module = device.load(weir_kernels(nbody));
  const auto accelerate = module->untyped_kernel("accelerate"), move = module->untyped_kernel("move"),
             measure = module->untyped_kernel("measure");
  const auto stream = device.create_stream();
  const auto bodies = device.allocate<Float4>(begin.size()), velocities = device.allocate<Float4>(begin.size());
  const auto energies = device.allocate<double>(2);

  const weir::LaunchConfig grid = weir::grid_for(begin.size(), block);
  weir::LaunchConfig summing = grid;
  summing.shared_memory_bytes = block * sizeof(double);
  const auto measure_into = [&](std::size_t i) {
    stream->launch(measure, summing, n, bodies, velocities, softening, energies.subspan(i, 1));
  };

  device.copy(bodies, begin);
  device.copy(velocities, std::vector<Float4>(begin.size()));
  device.copy(energies, std::vector<double>(2));
  measure_into(0);
  stream->synchronize();
  const auto started = std::chrono::steady_clock::now();
  for (int step = 0; step < options.steps; ++step) {
    stream->launch(accelerate, grid, n, bodies, velocities, softening, dt);
    stream->launch(move, grid, n, bodies, velocities, dt);
  }
  stream->synchronize();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
  measure_into(1);
  std::vector<double> energy(2);
  stream->copy(energy, energies);
  stream->copy(end, bodies);
  stream->synchronize();

  // By convention, each pair of bodies counts as 20 floating-point operations.
  const double drift = std::abs((energy[1] - energy[0]) / energy[0]);
  std::printf("%d bodies, %d steps on %s (%s): %.1f GFLOP/s, energy %.6f, changed by %.1e\n", n, options.steps,
              device.describe().c_str(), device.properties().name.c_str(), 20e-9 * n * n * options.steps / took.count(),
              energy[1], drift);
  if (drift > 1e-3) {
    std::printf("wrong: the energy is not conserved\n");
    return 1;
  }
  if (options.verify) {
    const double difference = compare(begin, end, options.steps);
    std::printf("%s: no body is further than %.1e from where double precision puts it\n",
                difference < 1e-4 ? "verified" : "wrong", difference);
    if (difference >= 1e-4) return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  Options options;
  CLI::App app("Bodies that attract each other, on the best device there is (WEIR_BACKEND decides).", "nbody");
  app.add_option("--bodies", options.bodies, "How many bodies there are")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--steps", options.steps, "How many steps they take")->check(CLI::Range(1, 1000000))->capture_default_str();
  app.add_flag("--verify", options.verify, "Compare with the same in double precision, on one thread");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return simulate(options);
} catch (const std::exception& error) {
  std::printf("%s\n", error.what());
  return 1;
}
