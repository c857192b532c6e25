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
