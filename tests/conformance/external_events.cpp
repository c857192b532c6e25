// SPDX-License-Identifier: Apache-2.0
#include "capture.hpp"

/// Events as nodes of graphs: order between graphs and other work, and time inside a graph.
namespace conformance {
namespace {

TEST_SUITE_BEGIN("external events");

TEST_CASE_FIXTURE(WithOther, "S25 external events: recorded by each launch, and waited for outside the graph") {
  const EventPtr event = device().create_event();
  if (!needs_in_capture(*s, Feature::external_events, [&] { s->record_external(*event); })) return;
  const GraphPtr graph = s->capture([&](Stream& c) {
    board.set(c, 0, 5);
    c.record_external(*event);
    board.show(c, 1);
  });
  CHECK(graph->topology().count(NodeKind::event_record) == 1);
  CHECK(graph->node_count() == 3);
  graph->instantiate()->launch(*s);
  other->wait(*event);
  board.move(*other, 2, 0);
  CHECK(board.read(*other, 2) == 5);
  event->synchronize();
  CHECK(event->is_complete());
  s->synchronize();
}

TEST_CASE_FIXTURE(WithOther, "S25 external events: a launch behind held work does not record before its turn") {
  const EventPtr event = device().create_event();
  if (!needs_in_capture(*s, Feature::external_events, [&] { s->record_external(*event); }) || !needs_gate(*s)) return;
  const GraphExecPtr exec = s->capture([&](Stream& c) {
                               board.move(c, 1, 0);
                               c.record_external(*event);
                             })->instantiate();
  Gate gate(*s);
  board.set(*s, 0, 8);
  exec->launch(*s);
  other->wait(*event);
  board.show(*other, 1);
  check_held_until(*other, board, 1, 8, [&] {
    CHECK_FALSE(event->is_complete());
    gate.open();
  });
}

TEST_CASE("S25 external events: of two graphs that record one event, a wait is for the one that was launched before it") {
  const StreamPtr held = device().create_stream();
  const StreamPtr free = device().create_stream();
  const StreamPtr waiting = device().create_stream();
  const EventPtr event = device().create_event();
  if (!needs_in_capture(*held, Feature::external_events, [&] { held->record_external(*event); }) || !needs_gate(*held))
    return;
  Board board;
  const auto recording = [&](Stream& s, std::size_t cell) {
    return s.capture([&](Stream& c) {
              board.set(c, cell, 7);
              c.record_external(*event);
            })->instantiate();
  };
  const GraphExecPtr first = recording(*held, 0), second = recording(*free, 1);
  Gate gate(*held);
  first->launch(*held);
  waiting->wait(*event);
  board.show(*waiting, 0);
  run(second, *free);
  check_held_until(*waiting, board, 0, 7, [&] { gate.open(); });
}

TEST_CASE_FIXTURE(WithBoard, "S25 external events: a graph waits for work outside it, at each launch") {
  const StreamPtr outside = device().create_stream();
  const EventPtr event = device().create_event();
  if (!needs_in_capture(*s, Feature::external_events, [&] { s->wait_external(*event); }) || !needs_gate(*s)) return;
  outside->record(*event);
  const GraphPtr graph = s->capture([&](Stream& c) {
    c.wait_external(*event);
    board.move(c, 1, 0);
    board.show(c, 1);
  });
  CHECK(graph->topology().count(NodeKind::event_wait) == 1);
  const GraphExecPtr exec = graph->instantiate();
  for (std::uint32_t round = 1; round <= 3; ++round) {
    Gate gate(*outside);
    board.set(*outside, 0, round);
    outside->record(*event);
    exec->launch(*s);
    settle();
    CHECK_FALSE(s->is_complete());
    CHECK(board[1] == round - 1);
    gate.finish(*s);
    CHECK(board[1] == round);
  }
}

TEST_CASE_FIXTURE(TwoStreams, "S25 external events: one graph orders another") {
  std::vector<EventPtr> kept;
  const EventPtr event = fresh_event(kept);
  if (!needs_in_capture(*a, Feature::external_events, [&] { a->record_external(*event); }) || !needs_gate(*a)) return;
  const GraphExecPtr first = a->capture([&](Stream& c) {
                                board.move(c, 1, 0);
                                c.record_external(*event);
                              })->instantiate();
  const GraphExecPtr second = b->capture([&](Stream& c) {
                                 c.wait_external(*event);
                                 board.move(c, 2, 1);
                                 board.show(c, 2);
                               })->instantiate();
  gate.hold(*a);
  board.set(*a, 0, 6);
  first->launch(*a);
  second->launch(*b);
  check_held_until(*b, board, 2, 6, [&] { gate.open(); });
}

TEST_CASE_FIXTURE(WithBoard, "S22 S25 external events: a wait for one that was never recorded does nothing") {
  std::vector<EventPtr> kept;
  const EventPtr event = fresh_event(kept);
  if (!needs_in_capture(*s, Feature::external_events, [&] { s->wait_external(*event); })) return;
  const GraphPtr graph = s->capture([&](Stream& c) {
    c.wait_external(*event);
    board.put(c, 0, 2);
  });
  run(graph, *s);
  CHECK(board[0] == 2);
}

TEST_CASE_FIXTURE(
    WithOther, "S25 external events: one that only a graph records may be waited for by a graph that was captured before") {
  std::vector<EventPtr> kept;
  const EventPtr event = fresh_event(kept);
  if (!needs_in_capture(*s, Feature::external_events, [&] { s->record_external(*event); })) return;
  const GraphExecPtr waiting = other->capture([&](Stream& c) {
                                  c.wait_external(*event);
                                  board.move(c, 1, 0);
                                  board.show(c, 1);
                                })->instantiate();
  const GraphExecPtr recording = s->capture([&](Stream& c) {
                                    board.set(c, 0, 3);
                                    c.record_external(*event);
                                  })->instantiate();
  recording->launch(*s);
  run(waiting, *other);
  CHECK(board[1] == 3);
}

TEST_CASE_FIXTURE(WithBoard, "S25 S26 external events: time is measured inside a graph") {
  const EventPtr untimed = device().create_event();
  if (!needs_in_capture(*s, Feature::external_events, [&] { s->record_external(*untimed); })) return;
  if (!needs(*s, {Feature::event_timing}, [&] { (void)s->record({.timing = true}); })) return;
  const EventPtr start = device().create_event({.timing = true});
  const EventPtr end = device().create_event({.timing = true});
  const GraphExecPtr exec = s->capture([&](Stream& c) {
                               c.record_external(*start);
                               for (std::size_t i = 0; i < 16; ++i) board.set(c, i, 1);
                               c.record_external(*end);
                             })->instantiate();
  for (int i = 0; i < 3; ++i) {
    run(exec, *s);
    CHECK(end->elapsed_since(*start).count() > 0.0);
  }
}

TEST_CASE_FIXTURE(OneStream, "S25 external events: only inside a capture") {
  const EventPtr event = device().create_event();
  if (!needs(*s, {Feature::external_events}, [&] { s->record_external(*event); })) return;
  CHECK_REFUSED(Errc::not_capturing, s->record_external(*event));
  CHECK_REFUSED(Errc::not_capturing, s->wait_external(*event));
  CHECK_FALSE(event->is_recorded());
  CHECK_WORKS(*s);
}

TEST_SUITE_END();

}  // namespace
}  // namespace conformance
