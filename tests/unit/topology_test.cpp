// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <ctime>
#include <random>

#include "weir/graph.hpp"

// Tests Topology, a graph's nodes and edges.

using weir::NodeKind;
using weir::Topology;

TEST_CASE("topology: a question about a long chain takes time in proportion to its length") {
  constexpr std::uint32_t length = 100'000;
  Topology chain;
  chain.nodes.assign(length, NodeKind::empty);
  for (std::uint32_t i = 0; i + 1 < length; ++i) chain.edges.emplace_back(i, i + 1);
  std::shuffle(chain.edges.begin(), chain.edges.end(), std::mt19937(1));
  const std::clock_t begin = std::clock();
  CHECK(chain.reaches(0, length - 1));
  CHECK_FALSE(chain.reaches(length - 1, 0));
  CHECK_FALSE(chain.reaches(1, 0));
  // Of the processor's time, milliseconds. With a look at all edges for each node it would be 20 seconds.
  CHECK(std::clock() - begin < 4 * CLOCKS_PER_SEC);
}

TEST_CASE("topology: which node reaches which") {
  // 0 → 1 → 3, 0 → 2 → 3, and 4 by itself
  Topology diamond;
  diamond.nodes.assign(5, NodeKind::empty);
  diamond.edges = {{2, 3}, {0, 1}, {1, 3}, {0, 2}};
  for (std::uint32_t from = 0; from < 5; ++from) {
    for (std::uint32_t to = 0; to < 5; ++to) {
      CAPTURE(from);
      CAPTURE(to);
      CHECK(diamond.reaches(from, to) == ((from == 0 && to >= 1 && to <= 3) || ((from == 1 || from == 2) && to == 3)));
    }
  }
  CHECK_FALSE(diamond.reaches(5, 0));
  CHECK_FALSE(diamond.reaches(0, 5));
  CHECK_FALSE(Topology().reaches(0, 0));
}
