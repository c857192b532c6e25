// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <deque>

#include "tests/kernels/corpus.hpp"

/// Tests kernels in the style of Rodinia.
namespace weir::test::rodinia_test {
namespace {

const ModulePtr& module() { return corpus("rodinia"); }

TEST_SUITE_BEGIN("any warp width");

TEST_CASE("rodinia: the cheapest path through a grid, in steps of several rows") {
  constexpr int columns = 300, rows = 21, steps = 10;
  const auto wall = random_ints(columns * rows, 1, 0, 9);
  const auto w = upload(wall);
  auto now = upload(std::vector<int>(wall.begin(), wall.begin() + columns)), next = upload(std::vector<int>(columns));
  for (int t = 1; t < rows; t += steps) {
    launch(module()->untyped_kernel("dynproc_kernel"),
           {.grid = {(columns + 64 - 2 * steps - 1) / (64 - 2 * steps)}, .block = {64}}, steps, w, now, next, columns, rows,
           t, steps);
    std::swap(now, next);
  }
  std::vector<int> expected(wall.begin(), wall.begin() + columns);
  for (int r = 1; r < rows; ++r) {
    const auto before = expected;
    for (int c = 0; c < columns; ++c) {
      const auto i = static_cast<std::size_t>(c);
      expected[i] = std::min({before[i], before[c > 0 ? i - 1 : i], before[c < columns - 1 ? i + 1 : i]}) +
                    wall[static_cast<std::size_t>(r * columns + c)];
    }
  }
  CHECK(download(now) == expected);
}

TEST_CASE("rodinia: Needleman and Wunsch") {
  constexpr int n = 64, columns = n + 1, penalty = 10, blocks = n / 16;
  const auto reference = random_ints(columns * columns, 4, -4, 11);
  std::vector<int> expected(columns * columns);
  for (int i = 1; i <= n; ++i)
    expected[static_cast<std::size_t>(i)] = expected[static_cast<std::size_t>(i * columns)] = -i * penalty;
  const auto matrix = upload(expected), r = upload(reference);
  for (int y = 1; y <= n; ++y) {
    for (int x = 1; x <= n; ++x) {
      const auto i = static_cast<std::size_t>(y * columns + x);
      expected[i] =
          std::max({expected[i - columns - 1] + reference[i], expected[i - 1] - penalty, expected[i - columns] - penalty});
    }
  }
  for (int diagonal = 0; diagonal < 2 * blocks - 1; ++diagonal) {
    const int first = std::max(0, diagonal - blocks + 1), last = std::min(diagonal, blocks - 1);
    launch(module()->untyped_kernel("needle_cuda_shared"),
           {.grid = {static_cast<unsigned>(last - first + 1)}, .block = {16}}, r, matrix, columns, penalty, diagonal, first);
  }
  CHECK(download(matrix) == expected);
}

TEST_CASE("rodinia: breadth first") {
  struct Node {
    int first, count;
  };
  constexpr int n = 500;
  const auto degree = random_ints(n, 7, 0, 6);
  std::vector<Node> nodes;
  std::vector<int> edges;
  for (int i = 0; i < n; ++i) {
    nodes.push_back({static_cast<int>(edges.size()), degree[static_cast<std::size_t>(i)]});
    const auto ends = random_ints(6, static_cast<unsigned>(1000 + i), 0, n - 1);
    edges.insert(edges.end(), ends.begin(), ends.begin() + degree[static_cast<std::size_t>(i)]);
  }
  std::vector<int> cost(n, -1);
  cost[0] = 0;
  std::vector<std::uint8_t> first(n);
  first[0] = 1;
  const auto g = upload(nodes);
  const auto e = upload(edges), c = upload(cost);
  const auto mask = upload(first), updating = upload(std::vector<std::uint8_t>(n)), visited = upload(first),
             more = upload(std::vector<std::uint8_t>(1));
  do {
    more.data()[0] = 0;
    launch(module()->untyped_kernel("bfs_kernel"), {.grid = {4}, .block = {128}}, g, e, mask, updating, visited, c, n);
    launch(module()->untyped_kernel("bfs_kernel2"), {.grid = {4}, .block = {128}}, mask, updating, visited, more, n);
  } while (more.data()[0] != 0);
  std::deque<int> queue{0};
  while (!queue.empty()) {
    const auto i = static_cast<std::size_t>(queue.front());
    queue.pop_front();
    for (int k = 0; k < nodes[i].count; ++k) {
      const int to = edges[static_cast<std::size_t>(nodes[i].first + k)];
      if (cost[static_cast<std::size_t>(to)] >= 0) continue;
      cost[static_cast<std::size_t>(to)] = cost[i] + 1;
      queue.push_back(to);
    }
  }
  CHECK(download(c) == cost);
}

TEST_CASE("rodinia: a layer of a network") {
  constexpr int hidden = 16, blocks = 4;
  const auto input = random_floats(blocks * 16 + 1, 8), weight = random_floats((blocks * 16 + 1) * (hidden + 1), 9);
  const auto sums = upload(std::vector<float>(blocks * hidden)), w = upload(weight);
  launch(module()->untyped_kernel("bpnn_layerforward_CUDA"), {.grid = {1, blocks}, .block = {16, 16}}, upload(input), w,
         sums, hidden);
  std::vector<double> expected(blocks * hidden);
  for (std::size_t b = 0; b < blocks; ++b) {
    for (std::size_t j = 0; j < hidden; ++j) {
      for (std::size_t i = 0; i < 16; ++i)
        expected[b * hidden + j] += at(input, b * 16 + i + 1) * at(weight, (b * 16 + i + 1) * (hidden + 1) + j + 1);
    }
  }
  CHECK(difference(download(sums), expected) < 1e-5);
}

TEST_CASE("rodinia: diffusion of an image, and particles of neighbouring boxes") {
  constexpr int rows = 40, columns = 30;
  const auto image = random_floats(rows * columns, 12, 1, 2);
  std::vector<int> north, south, east, west;
  for (int i = 0; i < rows; ++i) {
    north.push_back(std::max(i - 1, 0));
    south.push_back(std::min(i + 1, rows - 1));
  }
  for (int j = 0; j < columns; ++j) {
    west.push_back(std::max(j - 1, 0));
    east.push_back(std::min(j + 1, columns - 1));
  }
  const auto dn = upload(std::vector<float>(rows * columns)), c = upload(std::vector<float>(rows * columns));
  launch(module()->untyped_kernel("srad"), {.grid = {10}, .block = {128}}, 1.0F, rows, columns, upload(north), upload(south),
         upload(east), upload(west), dn, 0.05F, c, upload(image));
  std::vector<double> expected(rows * columns);
  for (int j = 0; j < columns; ++j) {
    for (int i = 0; i < rows; ++i) {
      const auto v = [&](int r, int k) { return at(image, static_cast<std::size_t>(r + rows * k)); };
      const double mine = v(i, j), n = v(north[static_cast<std::size_t>(i)], j) - mine,
                   s = v(south[static_cast<std::size_t>(i)], j) - mine;
      const double w = v(i, west[static_cast<std::size_t>(j)]) - mine, e = v(i, east[static_cast<std::size_t>(j)]) - mine;
      const double g2 = (n * n + s * s + w * w + e * e) / (mine * mine), l = (n + s + w + e) / mine;
      const double q = (0.5 * g2 - l * l / 16) / std::pow(1 + 0.25 * l, 2);
      expected[static_cast<std::size_t>(i + rows * j)] = std::clamp(1 / (1 + (q - 0.05) / (0.05 * 1.05)), 0.0, 1.0);
    }
  }
  CHECK(difference(download(c), expected) < 1e-4);

  struct Four {
    float v, x, y, z;
  };
  constexpr std::size_t boxes = 3, particles = 40;
  const auto numbers = random_floats(boxes * particles * 4, 13, 0.1F, 1.0F), charge = random_floats(boxes * particles, 14);
  std::vector<Four> rv;
  for (std::size_t i = 0; i < boxes * particles; ++i)
    rv.push_back({numbers[4 * i], numbers[4 * i + 1], numbers[4 * i + 2], numbers[4 * i + 3]});
  const auto force = upload(std::vector<Four>(rv.size()));
  launch(module()->untyped_kernel("lava_md"), {.grid = {4}, .block = {32}}, static_cast<int>(boxes), 0.5F, upload(rv),
         upload(charge), force);
  for (std::size_t i = 0; i < rv.size(); ++i) {
    double v = 0, x = 0;
    for (std::size_t j = 0; j < rv.size(); ++j) {
      if (std::max(i / particles, j / particles) - std::min(i / particles, j / particles) > 1) continue;
      const auto d = [](float f) { return static_cast<double>(f); };
      const double r2 =
          d(rv[i].v) + d(rv[j].v) - (d(rv[i].x) * d(rv[j].x) + d(rv[i].y) * d(rv[j].y) + d(rv[i].z) * d(rv[j].z));
      const double e = std::exp(-0.5 * r2);
      v += at(charge, j) * e;
      x += at(charge, j) * 2 * e * (d(rv[i].x) - d(rv[j].x));
    }
    CHECK(std::fabs(static_cast<double>(force.data()[i].v) - v) < 1e-3);
    CHECK(std::fabs(static_cast<double>(force.data()[i].x) - x) < 1e-3);
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace weir::test::rodinia_test
