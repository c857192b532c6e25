// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "weir/weir.hpp"

// Tests graphs of the host backend.

TEST_CASE("graphs on host: the executable goes right behind its launch, and the last of its nodes ends on a worker") {
  weir::Device& host = weir::device("host:0");
  const weir::StreamPtr stream = host.create_stream(), forked = host.create_stream();
  const auto x = host.allocate<float>(64, weir::MemoryKind::pinned);
  const auto y = host.allocate<float>(64, weir::MemoryKind::pinned);
  for (int i = 0; i < 20; ++i) {
    weir::GraphPtr graph = stream->capture([&](weir::Stream& s) {
      forked->wait(s);
      forked->launch_host_function([] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); });
      forked->fill(y, 3.0F);
      s.fill(x, 2.0F);
      s.wait(*forked);
    });
    weir::GraphExecPtr exec = graph->instantiate();
    graph.reset();
    exec->launch(*stream);
    exec.reset();
    stream->synchronize();
    CHECK(x.host()[63] == 2.0F);
    CHECK(y.host()[63] == 3.0F);
  }
}

TEST_CASE("graphs on host: a thousand levels of child graphs run, and one more is refused") {
  const weir::StreamPtr stream = weir::device("host:0").create_stream();
  int calls = 0;
  weir::GraphPtr graph = stream->capture([&](weir::Stream& s) { s.launch_host_function([&calls] { ++calls; }); });
  const auto enclose = [&] { return stream->capture([&](weir::Stream& s) { s.add_child_graph(*graph); }); };
  for (int level = 0; level < 1000; ++level) graph = enclose();
  const weir::GraphExecPtr exec = graph->instantiate();
  exec->launch(*stream);
  stream->synchronize();
  CHECK(calls == 1);
  CHECK_THROWS_WITH_AS(enclose(), doctest::Contains("has 1000 levels of nested graphs"), weir::Error);
  CHECK_THROWS_WITH_AS(stream->capture([&](weir::Stream& s) { exec->launch(s); }),
                       doctest::Contains("has 1000 levels of nested graphs"), weir::Error);
}

TEST_CASE("graphs on host: a node's copy never grows beyond what was captured, and a refused list changes nothing") {
  const weir::StreamPtr stream = weir::device("host:0").create_stream();
  const auto from = weir::device("host:0").allocate<float>(16), to = weir::device("host:0").allocate<float>(16);
  stream->fill(from, 1.0F);
  stream->fill(to, 0.0F);
  const weir::GraphExecPtr exec =
      stream->capture([&](weir::Stream& s) { s.copy(to.first(8), from.first(8)); })->instantiate();
  const weir::GraphNode node{0};
  weir::GraphChanges changes;
  changes.copy(node, to.last(4), from.first(4));
  changes.copy(node, to, from);
  CHECK_THROWS_WITH_AS(exec->apply(changes),
                       doctest::Contains("node 0 was captured as a copy of 32 bytes, but the change is a copy of 64"),
                       weir::Error);
  exec->launch(*stream);
  CHECK(stream->read(to) == std::vector<float>{1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0});
  changes.clear();
  changes.copy(node, to.last(4), from.first(4));
  exec->apply(changes);
  changes.clear();
  changes.copy(node, to.last(8), from.first(8));  // as many as were captured
  exec->apply(changes);
  exec->launch(*stream);
  CHECK(stream->read(to) == std::vector<float>(16, 1.0F));
}

TEST_CASE("graphs on host: what a body of a conditional node may not hold is refused in the name of the call") {
  const weir::StreamPtr stream = weir::device("host:0").create_stream();
  const auto condition = weir::device("host:0").allocate<std::uint32_t>(1);
  const auto write = [&](weir::Stream& body) { body.write_value(condition.data(), 0U); };
  CHECK_THROWS_WITH_AS(stream->capture([&](weir::Stream& s) { s.capture_while(condition.data(), write); }),
                       doctest::Contains("Stream::capture_while on "), weir::Error);
  CHECK_THROWS_WITH_AS(stream->capture([&](weir::Stream& s) { s.capture_if(condition.data(), write); }),
                       doctest::Contains("Stream::capture_if on "), weir::Error);
}
