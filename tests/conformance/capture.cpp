// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "capture.hpp"

/// Captures: modes, status, information, functions, threads, and captures that other code has begun.
namespace conformance::capture_cases {

TEST_SUITE_BEGIN("capture");

CASE(Capture, "S31 S33 S37 capture: in each mode, work is recorded and not done until the graph is launched") {
  for (const CaptureMode mode : all_modes) {
    INFO("mode ", std::string(weir::to_string(mode)));
    board.clear();
    CHECK(s->capture_status() == CaptureStatus::none);
    s->begin_capture(mode);
    CHECK(s->capture_status() == CaptureStatus::active);
    CHECK(s->is_capturing());
    board.put(*s, 0, 5);
    const GraphPtr graph = s->end_capture();
    CHECK(s->capture_status() == CaptureStatus::none);
    CHECK_FALSE(s->is_capturing());
    REQUIRE(graph);
    CHECK(&graph->device() == &device());
    CHECK(graph->native_handle() != nullptr);
    s->synchronize();
    CHECK(board[0] == 0);
    run(graph, *s);
    CHECK(board[0] == 5);
  }
}

CASE(Capture, "S31 capture: the mode is thread_local unless asked for: other threads may do as they like") {
  s->begin_capture();
  board.put(*s, 0, 3);
  on_another_thread([&] {
    (void)device().allocate<int>(64);
    const StreamPtr other = device().create_stream();
    if (!works(*other)) throw std::runtime_error("another thread's stream does not work");
    if (!other->record()->is_complete()) other->synchronize();
  });
  run(s->end_capture(), *s);
  CHECK(board[0] == 3);
}

CASE(CaptureAndOther, "S31 capture: streams that are not part of it go on working, on the capturing thread, too") {
  Board outside;
  s->begin_capture(CaptureMode::relaxed);
  board.put(*s, 0, 3);
  outside.put(*other, 0, 4);
  CHECK(other->capture_status() == CaptureStatus::none);
  other->synchronize();
  CHECK(outside[0] == 4);
  CHECK(other->is_complete());
  run(s->end_capture(), *s);
  CHECK(board[0] == 3);
}

CASE(Capture, "S32 capture: of a function, which gets the stream; in each mode and without naming one") {
  std::size_t cell = 0;
  const GraphPtr plain = s->capture([&](Stream& captured) {
    CHECK(&captured == s.get());
    CHECK(captured.is_capturing());
    board.put(captured, cell, 1);
  });
  run(plain, *s);
  CHECK(board[cell] == 1);
  for (const CaptureMode mode : all_modes) {
    ++cell;
    run(s->capture(mode, [&](Stream& captured) { board.put(captured, cell, 1); }), *s);
    CHECK(board[cell] == 1);
  }
}

CASE(Fork, "S32 capture: an exception of the function ends the capture, and the stream is usable again") {
  CHECK_THROWS_AS(s->capture([&](Stream& c) {
    board.put(c, 0, 1);
    throw Boom("in a captured function");
  }),
                  Boom);
  CHECK(s->capture_status() == CaptureStatus::none);
  CHECK_WORKS(*s);
  CHECK(board[0] == 0);

  // The function's error wins over the end's, which would be that a fork was not joined.
  CHECK_THROWS_AS(s->capture([&](Stream& c) {
    board.put(c, 0, 1);
    forked->wait(c);
    board.put(*forked, 1, 1);
    throw Boom("with an open fork");
  }),
                  Boom);
  CHECK(s->capture_status() == CaptureStatus::none);
  CHECK(forked->capture_status() == CaptureStatus::none);
  CHECK_WORKS(*s);
  CHECK_WORKS(*forked);
  CHECK(board[1] == 0);
  run(s->capture([&](Stream& c) { board.put(c, 0, 2); }), *s);
  CHECK(board[0] == 2);
}

CASE(Capture, "S32 S31 capture: a function that ends the capture itself gets the error of a second end") {
  CHECK_REFUSED(Errc::not_capturing, s->capture([](Stream& c) { (void)c.end_capture(); }));
}

CASE(Capture, "S31 S37 capture: an empty capture is a graph of no nodes that can be launched") {
  const GraphPtr graph = s->capture([](Stream&) {});
  REQUIRE(graph);
  CHECK(graph->node_count() == 0);
  CHECK(graph->topology().nodes.empty());
  CHECK(graph->topology().edges.empty());
  run(graph, *s);
}

CASE(Capture, "S31 capture: one stream captures again and again, each time anew") {
  for (std::uint32_t i = 1; i <= 20; ++i) {
    const GraphPtr graph = s->capture([&](Stream& c) { board.put(c, 0, i); });
    CHECK(graph->node_count() == 2);
    run(graph, *s);
    CHECK(board[0] == i);
  }
}

CASE(WithBoard, "S31 capture: work that was enqueued before goes on, and work after is not captured") {
  if (!needs_capture(*s) || !needs_gate(*s)) return;
  Gate gate(*s);
  board.put(*s, 0, 1);
  const GraphPtr graph = s->capture([&](Stream& c) { board.put(c, 1, 1); });
  board.put(*s, 2, 1);
  CHECK(graph->node_count() == 2);
  gate.finish(*s);
  CHECK(board.shown({0, 1, 2}) == Values{1, 0, 1});
}

CASE(Capture, "S33 S34 capture info: status, an id that names the capture, and the graph being built") {
  const weir::CaptureInfo idle = s->capture_info();
  CHECK(idle.status == CaptureStatus::none);
  CHECK(idle.id == 0);
  CHECK_FALSE(idle.graph);
  std::set<std::uint64_t> ids;
  for (int i = 0; i < 3; ++i) {
    s->begin_capture();
    board.put(*s, 0, 1);
    const weir::CaptureInfo info = s->capture_info();
    CHECK(info.status == CaptureStatus::active);
    CHECK(info.id != 0);
    CHECK(s->capture_info().id == info.id);
    ids.insert(info.id);
    if (info.graph) CHECK(info.graph->node_count() == 2);
    (void)s->end_capture();
    CHECK(s->capture_info().id == 0);
  }
  CHECK(ids.size() == 3);
}

CASE(Fork, "S33 S34 capture info: a fork shares the capture's id; a stream outside has none") {
  const StreamPtr outside = device().create_stream();
  s->begin_capture();
  board.set(*s, 0, 1);
  forked->wait(*s);
  CHECK(forked->capture_status() == CaptureStatus::active);
  CHECK(forked->capture_info().id == s->capture_info().id);
  CHECK(outside->capture_info().id == 0);
  CHECK(outside->capture_status() == CaptureStatus::none);
  board.set(*forked, 1, 1);
  s->wait(*forked);
  (void)s->end_capture();
}

TEST_CASE("S2 S31 capture: of a blocking stream, by itself") {
  const StreamPtr s = device().create_stream({.blocking = true});
  if (!needs_capture(*s)) return;
  Board board;
  run(s->capture([&](Stream& c) { board.put(c, 0, 2); }), *s);
  CHECK(board[0] == 2);
}

CASE(Capture, "S27 S31 capture: two threads capture at once, each its own stream") {
  constexpr int rounds = 20;
  std::atomic<int> good{0};
  in_parallel(4, [&](std::size_t t) {
    const StreamPtr mine = device().create_stream();
    for (int i = 0; i < rounds; ++i) {
      const GraphPtr graph = mine->capture([&](Stream& c) { board.put(c, t, 1); });
      if (graph->node_count() == 2) ++good;
    }
  });
  CHECK(good == 4 * rounds);
}

CASE(Capture, "S31 capture: one stream's work may be submitted to the capture by another thread") {
  s->begin_capture();
  board.set(*s, 0, 6);
  on_another_thread([&] { board.show(*s, 0); });
  const GraphPtr graph = s->end_capture();
  CHECK(graph->node_count() == 2);
  run(graph, *s);
  CHECK(board[0] == 6);
}

CASE(Capture, "S31 capture: in relaxed mode another thread may end what this one began") {
  s->begin_capture(CaptureMode::relaxed);
  board.put(*s, 0, 6);
  GraphPtr graph;
  on_another_thread([&] { graph = s->end_capture(); });
  REQUIRE(graph);
  CHECK_FALSE(s->is_capturing());
  run(graph, *s);
  CHECK(board[0] == 6);
}

CASE(WithBoard, "S35 external: work becomes part of a capture that other code began") {
  const StreamPtr theirs = device().create_stream();
  if (!needs_capture(*theirs)) return;
  const StreamPtr mine = device().wrap_stream(theirs->share_native_handle(), Ownership::borrow);
  theirs->begin_capture();
  board.set(*theirs, 0, 4);
  CHECK(mine->is_capturing());
  board.show(*mine, 0);
  const GraphPtr graph = theirs->end_capture();
  CHECK(graph->node_count() == 2);
  CHECK_FALSE(mine->is_capturing());
  run(graph, *theirs);
  CHECK(board[0] == 4);
}

}  // namespace conformance::capture_cases
