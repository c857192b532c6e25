// SPDX-License-Identifier: Apache-2.0
#include "capture.hpp"

/// Events as nodes of graphs: order between graphs and other work, and time inside a graph.
namespace conformance::external_events_cases {

TEST_SUITE_BEGIN("external events");

/// Two streams, and an event that was never recorded.
struct External : WithOther {
  std::vector<EventPtr> kept;
  const EventPtr event = fresh_event(kept);

  bool is_possible() {
    return needs_in_capture(*s, Feature::external_events, [&] { s->record_external(*event); });
  }
};

CASE(External, "S25 external events: recorded by each launch, and waited for outside the graph") {
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
}

CASE(External, "S25 external events: a launch behind held work does not record before its turn") {
  if (!needs_gate(*s)) return;
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

CASE(External,
     "S25 external events: of two graphs that record one event, a wait is for the one that was launched before it") {
  const StreamPtr waiting = device().create_stream();
  if (!needs_gate(*s)) return;
  const auto recording = [&](Stream& on, std::size_t cell) {
    return on.capture([&](Stream& c) {
              board.set(c, cell, 7);
              c.record_external(*event);
            })->instantiate();
  };
  const GraphExecPtr first = recording(*s, 0), second = recording(*other, 1);
  Gate gate(*s);
  first->launch(*s);
  waiting->wait(*event);
  board.show(*waiting, 0);
  run(second, *other);
  check_held_until(*waiting, board, 0, 7, [&] { gate.open(); });
}

CASE(External, "S25 external events: a graph waits for work outside it, at each launch") {
  if (!needs_gate(*s)) return;
  other->record(*event);
  const GraphPtr graph = s->capture([&](Stream& c) {
    c.wait_external(*event);
    board.move(c, 1, 0);
    board.show(c, 1);
  });
  CHECK(graph->topology().count(NodeKind::event_wait) == 1);
  const GraphExecPtr exec = graph->instantiate();
  for (std::uint32_t round = 1; round <= 3; ++round) {
    Gate gate(*other);
    board.set(*other, 0, round);
    other->record(*event);
    exec->launch(*s);
    settle();
    CHECK_FALSE(s->is_complete());
    CHECK(board[1] == round - 1);
    gate.finish(*s);
    CHECK(board[1] == round);
  }
}

CASE(External, "S25 external events: one graph orders another") {
  if (!needs_gate(*s)) return;
  const GraphExecPtr first = s->capture([&](Stream& c) {
                                board.move(c, 1, 0);
                                c.record_external(*event);
                              })->instantiate();
  const GraphExecPtr second = other->capture([&](Stream& c) {
                                 c.wait_external(*event);
                                 board.move(c, 2, 1);
                                 board.show(c, 2);
                               })->instantiate();
  Gate gate(*s);
  board.set(*s, 0, 6);
  first->launch(*s);
  second->launch(*other);
  check_held_until(*other, board, 2, 6, [&] { gate.open(); });
}

CASE(External, "S22 S25 external events: a wait for one that was never recorded does nothing") {
  const GraphPtr graph = s->capture([&](Stream& c) {
    c.wait_external(*event);
    board.put(c, 0, 2);
  });
  run(graph, *s);
  CHECK(board[0] == 2);
}

CASE(External, "S25 external events: one that only a graph records may be waited for by a graph that was captured before") {
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

CASE(External, "S25 S26 external events: time is measured inside a graph") {
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

CASE(OneStream, "S25 external events: only inside a capture") {
  const EventPtr event = device().create_event();
  if (!needs(*s, {Feature::external_events}, [&] { s->record_external(*event); })) return;
  CHECK_REFUSED(Errc::not_capturing, s->record_external(*event));
  CHECK_REFUSED(Errc::not_capturing, s->wait_external(*event));
  CHECK_FALSE(event->is_recorded());
}

}  // namespace conformance::external_events_cases
