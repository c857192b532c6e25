// SPDX-License-Identifier: Apache-2.0
#include "capture.hpp"

/// Forks and joins in a capture, checked by the graph's topology and by its effects.
namespace conformance::capture_forks_cases {

TEST_SUITE_BEGIN("capture forks");

// Captures a fork and join over two streams: 0 before 1 and 2, both before 3.
GraphPtr fork_and_join(Board& board, Stream& origin, Stream& forked, bool by_events) {
  const auto wait = [&](Stream& waiting, Stream& other) {
    by_events ? waiting.wait(*other.record()) : waiting.wait(other);
  };
  origin.begin_capture();
  board.set(origin, 0, 9);
  wait(forked, origin);
  board.move(forked, 1, 0);
  board.move(origin, 2, 0);
  wait(origin, forked);
  board.show(origin, {1, 2});
  return origin.end_capture();
}

CASE(Fork, "S36 S38 fork and join: the topology is the recorded dependencies, and both streams leave the capture") {
  for (const bool by_events : {true, false}) {
    Board fresh;  // its cells do not have the values of the first round
    const GraphPtr graph = fork_and_join(fresh, *s, *forked, by_events);
    CHECK_FALSE(s->is_capturing());
    CHECK_FALSE(forked->is_capturing());
    const Topology t = graph->topology();
    REQUIRE(t.nodes.size() == 5);
    CHECK(graph->node_count() == 5);
    CHECK(t.roots() == Values{0});
    CHECK(t.leaves() == Values{4});
    check_topology(t, {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {3, 4}}, {{1, 2}});
    CHECK_WORKS(*forked);
    run(graph, *s);
    CHECK(fresh.shown({1, 2}) == Values{9, 9});
  }
}

CASE(Fork, "S36 fork: what comes behind the fork on the origin is not waited for by the forked stream") {
  s->begin_capture();
  board.set(*s, 0, 1);              // 0
  const EventPtr fork = s->record();
  board.set(*s, 1, 1);              // 1
  forked->wait(*fork);
  board.set(*forked, 2, 1);              // 2
  s->wait(*forked);
  const Topology t = s->end_capture()->topology();
  REQUIRE(t.nodes.size() == 3);
  check_topology(t, {{0, 1}, {0, 2}}, {{1, 2}});
}

CASE(TwoStreams, "S36 fork: forks of forks, joined in turn") {
  const StreamPtr c = device().create_stream();
  if (!needs_capture(*a)) return;
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
  REQUIRE(t.nodes.size() == 7);
  check_topology(t, {{2, 4}, {3, 4}}, {{2, 3}});
  CHECK(t.roots() == Values{0});
  run(graph, *c);
  CHECK(board.shown({3, 4}) == Values{4, 4});
}

TEST_CASE("S36 S37 fork: a graph of many branches keeps every dependency between them, launch after launch") {
  constexpr std::size_t branches = 12, steps = 5, apart = 5;  // more branches than a device may have queues
  const std::vector<StreamPtr> streams = create_streams(branches);
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
    run(exec, *streams[0]);
    for (std::size_t b = 0; b < branches; ++b) {
      CHECK(board[cell(steps - 1, b)] == (b + apart * (steps - 1)) % branches + 1);
    }
    board.clear();
  }
}

CASE(Fork, "S36 fork: many siblings stay independent of each other") {
  constexpr std::uint32_t count = 6;
  const std::vector<StreamPtr> forks = create_streams(count);
  s->begin_capture();
  board.set(*s, 0, 8);
  for (const StreamPtr& f : forks) f->wait(*s);
  for (std::uint32_t i = 0; i < count; ++i) board.move(*forks[i], i + 1, 0);
  for (const StreamPtr& f : forks) s->wait(*f);
  board.set(*s, 20, 1);
  const Topology t = s->end_capture()->topology();
  REQUIRE(t.nodes.size() == count + 2);
  for (std::uint32_t i = 1; i <= count; ++i) {
    check_topology(t, {{0, i}, {i, count + 1}});
    for (std::uint32_t j = 1; j < i; ++j) check_topology(t, {}, {{i, j}});
  }
}

CASE(Fork, "S36 fork: a stream with work of its own may be drawn in, and that work is not captured") {
  if (!needs_capture(*s) || !needs_gate(*forked)) return;
  Gate gate(*forked);
  board.put(*forked, 5, 5);
  s->begin_capture();
  board.set(*s, 0, 1);
  forked->wait(*s);
  board.move(*forked, 1, 0);
  s->wait(*forked);
  board.show(*s, 1);
  const GraphPtr graph = s->end_capture();
  CHECK(graph->node_count() == 3);
  run(graph, *s);  // does not wait for what was enqueued on the held stream
  CHECK(board.shown({1, 5}) == Values{1, 0});
  gate.finish(*forked);
  CHECK(board[5] == 5);
}

CASE(Fork, "S36 join: a forked stream that was joined twice, and an empty fork, are joined") {
  const StreamPtr idle = device().create_stream();
  s->begin_capture();
  board.set(*s, 0, 1);
  forked->wait(*s);
  idle->wait(*s);
  board.set(*forked, 1, 1);
  s->wait(*forked);
  board.set(*forked, 2, 1);
  s->wait(*forked);
  s->wait(*idle);
  const GraphPtr graph = s->end_capture();
  CHECK(graph->node_count() == 3);
  CHECK_FALSE(idle->is_capturing());
  CHECK_WORKS(*idle);
}

CASE(Fork, "S21 S36 record: an event recorded in a capture is the fork's, and has no completion of its own") {
  const EventPtr event = device().create_event();
  s->begin_capture(CaptureMode::relaxed);
  board.set(*s, 0, 1);
  s->record(*event);
  CHECK_REFUSED(Errc::captured_event, event->is_complete());
  CHECK_REFUSED(Errc::captured_event, event->synchronize());
  forked->wait(*event);
  CHECK(forked->is_capturing());
  s->wait(*forked->record());
  CHECK(s->end_capture()->node_count() == 1);
  CHECK_REFUSED(Errc::captured_event, event->is_complete());
  CHECK_REFUSED(Errc::captured_event, forked->wait(*event));
  CHECK_FALSE(forked->is_capturing());
  forked->record(*event);  // recorded outside, it is an event like any other again
  event->synchronize();
  CHECK(event->is_complete());
}

}  // namespace conformance::capture_forks_cases
