// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <chrono>
#include <thread>

#include "weir/weir.hpp"

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
  CHECK_THROWS_WITH_AS(enclose(), doctest::Contains("has 1000 levels of graphs in it"), weir::Error);
  CHECK_THROWS_WITH_AS(stream->capture([&](weir::Stream& s) { exec->launch(s); }),
                       doctest::Contains("has 1000 levels of graphs in it"), weir::Error);
}
