// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "weir/graph.hpp"

// Tests Topology, a graph's nodes and edges.

using weir::NodeKind;
using weir::Topology;

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
