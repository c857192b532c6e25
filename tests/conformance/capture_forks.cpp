// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "capture.hpp"

/// Forks and joins in a capture, checked by the graph's topology and by its effects.
namespace conformance {
namespace {

TEST_SUITE_BEGIN("capture forks");

// Captures a fork and join over two streams: 0 before 1 and 2, both before 3.
GraphPtr fork_and_join(Board& board, Stream& origin, Stream& forked, bool by_events) {
  origin.begin_capture();
  board.set(origin, 0, 9);
  if (by_events) {
    forked.wait(*origin.record());
  } else {
    forked.wait(origin);
  }
  board.move(forked, 1, 0);
  board.move(origin, 2, 0);
  if (by_events) {
    origin.wait(*forked.record());
  } else {
    origin.wait(forked);
  }
  board.show(origin, 1);
  board.show(origin, 2);
  return origin.end_capture();
}

TEST_CASE("S36 S38 fork and join: the topology is the recorded dependencies, and both streams leave the capture") {
  const StreamPtr origin = device().create_stream();
  const StreamPtr forked = device().create_stream();
  if (!needs_capture(*origin)) return;
  for (const bool by_events : {true, false}) {
    Board board;
    const GraphPtr graph = fork_and_join(board, *origin, *forked, by_events);
    CHECK_FALSE(origin->is_capturing());
    CHECK_FALSE(forked->is_capturing());
    const Topology t = graph->topology();
    INFO(to_text(t));
    REQUIRE(t.nodes.size() == 5);
    CHECK(graph->node_count() == 5);
    CHECK(t.roots() == std::vector<std::uint32_t>{0});
    CHECK(t.leaves() == std::vector<std::uint32_t>{4});
    CHECK(t.reaches(0, 1));
    CHECK(t.reaches(0, 2));
    CHECK_FALSE(t.reaches(1, 2));
    CHECK_FALSE(t.reaches(2, 1));
    CHECK(t.reaches(1, 3));
    CHECK(t.reaches(2, 3));
    CHECK(t.reaches(3, 4));
    CHECK_WORKS(*forked);
    run(graph, *origin);
    CHECK(board[1] == 9);
    CHECK(board[2] == 9);
  }
}

TEST_CASE("S36 fork: what comes behind the fork on the origin is not waited for by the forked stream") {
  const StreamPtr origin = device().create_stream();
  const StreamPtr forked = device().create_stream();
  if (!needs_capture(*origin)) return;
  Board board;
  origin->begin_capture();
  board.set(*origin, 0, 1);              // 0
  const EventPtr fork = origin->record();
  board.set(*origin, 1, 1);              // 1
  forked->wait(*fork);
  board.set(*forked, 2, 1);              // 2
  origin->wait(*forked);
  const Topology t = origin->end_capture()->topology();
  INFO(to_text(t));
  REQUIRE(t.nodes.size() == 3);
  CHECK(t.reaches(0, 1));
  CHECK(t.reaches(0, 2));
  CHECK_FALSE(t.reaches(1, 2));
}

TEST_CASE("S36 fork: forks of forks, joined in turn") {
  const StreamPtr a = device().create_stream();
  const StreamPtr b = device().create_stream();
  const StreamPtr c = device().create_stream();
  if (!needs_capture(*a)) return;
  Board board;
  a->begin_capture();
  board.set(*a, 0, 4);      // 0
  b->wait(*a);
  board.move(*b, 1, 0);     // 1
  c->wait(*b);
  board.move(*c, 2, 1);     // 2
  board.move(*b, 3, 1);     // 3
  b->wait(*c);
  board.move(*b, 4, 2);     // 4
  a->wait(*b);
  board.show(*a, 3);        // 5
  board.show(*a, 4);        // 6
  const GraphPtr graph = a->end_capture();
  for (const StreamPtr& s : {a, b, c}) CHECK_FALSE(s->is_capturing());
  const Topology t = graph->topology();
  INFO(to_text(t));
  REQUIRE(t.nodes.size() == 7);
  CHECK_FALSE(t.reaches(2, 3));
  CHECK_FALSE(t.reaches(3, 2));
  CHECK(t.reaches(2, 4));
  CHECK(t.reaches(3, 4));
  CHECK(t.roots() == std::vector<std::uint32_t>{0});
  run(graph, *c);
  CHECK(board[3] == 4);
  CHECK(board[4] == 4);
}

TEST_CASE("S36 S37 fork: a graph of many branches keeps every dependency between them, launch after launch") {
  constexpr std::size_t branches = 12, steps = 5, apart = 5;  // more branches than a device may have queues
  std::vector<StreamPtr> streams;
  for (std::size_t b = 0; b < branches; ++b) streams.push_back(device().create_stream());
  if (!needs_capture(*streams[0])) return;
  Board board;
  const auto cell = [](std::size_t step, std::size_t branch) { return step * branches + branch % branches; };
  const GraphPtr graph = streams[0]->capture([&](Stream& origin) {
    for (std::size_t b = 1; b < branches; ++b) streams[b]->wait(origin);
    for (std::size_t b = 0; b < branches; ++b) board.set(*streams[b], cell(0, b), static_cast<std::uint32_t>(b + 1));
    for (std::size_t step = 1; step < steps; ++step) {
      std::vector<EventPtr> before;
      for (const StreamPtr& s : streams) before.push_back(s->record());
      for (std::size_t b = 0; b < branches; ++b) {
        streams[b]->wait(*before[(b + apart) % branches]);
        board.move(*streams[b], cell(step, b), cell(step - 1, b + apart));
      }
    }
    for (std::size_t b = 0; b < branches; ++b) board.show(*streams[b], cell(steps - 1, b));
    for (std::size_t b = 1; b < branches; ++b) origin.wait(*streams[b]);
  });
  CHECK(graph->node_count() == branches * (steps + 1));
  const GraphExecPtr exec = graph->instantiate();
  for (int launch = 0; launch < 20; ++launch) {
    for (std::size_t i = 0; i < branches * steps; ++i) board.set(*streams[0], i, 0);
    exec->launch(*streams[0]);
    streams[0]->synchronize();
    for (std::size_t b = 0; b < branches; ++b) {
      CHECK(board[cell(steps - 1, b)] == (b + apart * (steps - 1)) % branches + 1);
    }
    board.clear();
  }
}

TEST_CASE("S36 fork: many siblings stay independent of each other") {
  constexpr std::uint32_t count = 6;
  const StreamPtr origin = device().create_stream();
  if (!needs_capture(*origin)) return;
  std::vector<StreamPtr> forks;
  for (std::uint32_t i = 0; i < count; ++i) forks.push_back(device().create_stream());
  Board board;
  origin->begin_capture();
  board.set(*origin, 0, 8);
  for (const StreamPtr& f : forks) f->wait(*origin);
  for (std::uint32_t i = 0; i < count; ++i) board.move(*forks[i], i + 1, 0);
  for (const StreamPtr& f : forks) origin->wait(*f);
  board.set(*origin, 20, 1);
  const GraphPtr graph = origin->end_capture();
  const Topology t = graph->topology();
  INFO(to_text(t));
  REQUIRE(t.nodes.size() == count + 2);
  for (std::uint32_t i = 1; i <= count; ++i) {
    for (std::uint32_t j = 1; j <= count; ++j) {
      if (i != j) CHECK_FALSE(t.reaches(i, j));
    }
    CHECK(t.reaches(0, i));
    CHECK(t.reaches(i, count + 1));
  }
}

TEST_CASE("S36 fork: a stream with work of its own may be drawn in, and that work is not captured") {
  const StreamPtr origin = device().create_stream();
  const StreamPtr busy = device().create_stream();
  if (!needs_capture(*origin) || !needs_gate(*busy)) return;
  Board board;
  Gate gate;
  gate.hold(*busy);
  board.put(*busy, 5, 5);
  origin->begin_capture();
  board.set(*origin, 0, 1);
  busy->wait(*origin);
  board.move(*busy, 1, 0);
  origin->wait(*busy);
  board.show(*origin, 1);
  const GraphPtr graph = origin->end_capture();
  CHECK(graph->node_count() == 3);
  run(graph, *origin);  // does not wait for what was enqueued on the held stream
  CHECK(board[1] == 1);
  CHECK(board[5] == 0);
  gate.open();
  busy->synchronize();
  CHECK(board[5] == 5);
}

TEST_CASE("S36 join: a forked stream that was joined twice, and an empty fork, are joined") {
  const StreamPtr origin = device().create_stream();
  const StreamPtr forked = device().create_stream();
  const StreamPtr idle = device().create_stream();
  if (!needs_capture(*origin)) return;
  Board board;
  origin->begin_capture();
  board.set(*origin, 0, 1);
  forked->wait(*origin);
  idle->wait(*origin);
  board.set(*forked, 1, 1);
  origin->wait(*forked);
  board.set(*forked, 2, 1);
  origin->wait(*forked);
  origin->wait(*idle);
  const GraphPtr graph = origin->end_capture();
  CHECK(graph->node_count() == 3);
  CHECK_FALSE(idle->is_capturing());
  CHECK_WORKS(*idle);
}

TEST_CASE("S21 S36 record: an event recorded in a capture is the fork's, and has no completion of its own") {
  const StreamPtr origin = device().create_stream();
  const StreamPtr forked = device().create_stream();
  if (!needs_capture(*origin)) return;
  Board board;
  const EventPtr event = device().create_event();
  origin->begin_capture(CaptureMode::relaxed);
  board.set(*origin, 0, 1);
  origin->record(*event);
  CHECK_REFUSED(Errc::captured_event, event->is_complete());
  CHECK_REFUSED(Errc::captured_event, event->synchronize());
  forked->wait(*event);
  CHECK(forked->is_capturing());
  origin->wait(*forked->record());
  CHECK(origin->end_capture()->node_count() == 1);
  CHECK_REFUSED(Errc::captured_event, event->is_complete());
  CHECK_REFUSED(Errc::captured_event, forked->wait(*event));
  CHECK_FALSE(forked->is_capturing());
  forked->record(*event);  // recorded outside, it is an event like any other again
  event->synchronize();
  CHECK(event->is_complete());
  CHECK_WORKS(*origin);
}

TEST_SUITE_END();

}  // namespace
}  // namespace conformance
