// SPDX-License-Identifier: Apache-2.0
#include "capture.hpp"

/// Graphs: topology, instantiation, launch and relaunch, upload, update, clone, text.
namespace conformance::graphs_cases {

TEST_SUITE_BEGIN("graphs");

struct HoldableCapture : TwoStreams {
  bool is_possible() { return needs_capture(*a) && needs_gate(*a); }
};

CASE(OneStream, "S37 launch: a hundred times, each run after the one before, on the capturing stream and on others") {
  const StreamPtr other = device().create_stream(), blocking = device().create_stream({.blocking = true});
  if (!needs_capture(*s)) return;
  // A shift register: each run moves the values one cell on, so what arrives tells how many runs there were, in what order.
  constexpr std::size_t runs = 100;
  Board board(device(), 2 * runs + 4);
  for (std::size_t i = 0; i < runs; ++i) board.set(*s, i, static_cast<std::uint32_t>(i + 1));
  s->synchronize();
  const GraphExecPtr exec = s->capture([&](Stream& c) {
                               c.copy(Span(board.cell(runs + 2).data(), runs + 1), Span(board.cell(0).data(), runs + 1));
                               c.copy(Span(board.cell(1).data(), runs + 1), Span(board.cell(runs + 2).data(), runs + 1));
                               board.set(c, 0, 0);
                             })->instantiate();
  for (std::size_t i = 0; i < runs; ++i) exec->launch(i % 3 == 0 ? *s : i % 3 == 1 ? *other : *blocking);
  for (const StreamPtr& x : {s, other, blocking}) x->synchronize();
  CHECK(board.read(*s, runs) == 1);      // the first cell's value, moved once by each run
  CHECK(board.read(*s, runs - 1) == 0);  // behind it come the zeros
  CHECK(board.read(*s, runs + 1) == 2);
}

CASE(WithBoard, "S37 launch: runs in the order of the stream that it is launched on") {
  if (!needs_capture(*s) || !needs_gate(*s)) return;
  const GraphExecPtr exec = s->capture([&](Stream& c) { board.move(c, 1, 0); })->instantiate();
  Gate gate(*s);
  board.set(*s, 0, 4);
  exec->launch(*s);
  board.set(*s, 0, 5);
  board.show(*s, 1);
  check_held_until(*s, board, 1, 4, [&] { gate.open(); });
}

CASE(TwoStreams, "S22 S37 launch: events before and behind it order it against other streams") {
  const StreamPtr c = device().create_stream();
  if (!needs_capture(*a) || !needs_gate(*a)) return;
  const GraphExecPtr exec = b->capture([&](Stream& s) { board.move(s, 1, 0); })->instantiate();
  gate.hold(*a);
  board.set(*a, 0, 6);
  b->wait(*a);
  exec->launch(*b);
  c->wait(*b->record());
  board.show(*c, 1);
  check_held_until(*c, board, 1, 6, [&] { gate.open(); });
}

CASE(HoldableCapture, "S37 launch: runs of one executable follow one another, on whatever streams they are launched") {
  const GraphExecPtr exec = b->capture([&](Stream& c) { board.put(c, 0, 1); })->instantiate();
  gate.hold(*a);
  exec->launch(*a);
  exec->launch(*b);
  check_held_until(*b, board, 0, 1, [&] { gate.open(); });
}

CASE(HoldableCapture, "S37 launch: of two executables of one graph is independent") {
  const GraphPtr graph = b->capture([&](Stream& c) { board.put(c, 0, 1); });
  const GraphExecPtr first = graph->instantiate(), second = graph->instantiate();
  gate.hold(*a);
  first->launch(*a);
  run(second, *b);
  CHECK(board[0] == 1);
  gate.finish(*a);
}

CASE(WithBoard, "S37 instantiate: the graph may be dropped afterwards, and the executable while it runs") {
  if (!needs_capture(*s) || !needs_gate(*s)) return;
  GraphPtr graph = s->capture([&](Stream& c) { board.put(c, 0, 1); });
  GraphExecPtr exec = graph->instantiate();
  graph.reset();
  Gate gate(*s);
  exec->launch(*s);
  exec.reset();
  gate.finish(*s);
  CHECK(board[0] == 1);
}

CASE(Capture, "S37 instantiate: what it says of itself") {
  const GraphPtr graph = s->capture([](Stream&) {});
  const GraphExecPtr exec = graph->instantiate();
  CHECK(&graph->device() == &device());
  CHECK(&exec->device() == &device());
  CHECK(exec->native_handle() != nullptr);
  CHECK(graph->describe().find(device().describe()) != std::string::npos);
  CHECK(exec->describe().find(device().describe()) != std::string::npos);
}

CASE(CaptureAndOther, "S37 upload: does beforehand what a first launch would have to, and changes nothing else") {
  const GraphExecPtr exec = s->capture([&](Stream& c) { board.put(c, 0, 3); })->instantiate();
  if (!needs(*s, {Feature::graph_upload}, [&] { exec->upload(*s); })) return;
  exec->upload(*s);
  s->synchronize();
  CHECK(board[0] == 0);
  run(exec, *other);
  CHECK(board[0] == 3);
  exec->upload(*other);
  exec->upload(*other);
  other->synchronize();

  s->begin_capture();
  board.set(*s, 1, 1);
  CHECK_REFUSED(Errc::capture_unsupported, exec->upload(*s));
  CHECK(s->end_capture()->node_count() == 1);
}

CASE(Capture, "S37 update: launches from then on use the new parameters") {
  const auto captured = [&](std::uint32_t value, std::size_t to) {
    return s->capture([&](Stream& c) {
      board.set(c, 0, value);
      board.move(c, to, 0);
      board.show(c, to);
    });
  };
  const GraphExecPtr exec = captured(1, 1)->instantiate();
  GraphPtr same_shape = captured(2, 5);
  if (!needs(*s, {Feature::graph_update}, [&] { exec->update(*same_shape); })) {
    run(exec, *s);
    CHECK(board[1] == 1);
    return;
  }
  run(exec, *s);
  CHECK(board.shown({1, 5}) == Values{1, 0});
  board.clear();
  exec->update(*same_shape);
  same_shape.reset();
  run(exec, *s);
  CHECK(board.shown({1, 5}) == Values{0, 2});
}

CASE(Fork, "S37 update: with another topology fails, and the executable is unchanged") {
  const GraphExecPtr exec = s->capture([&](Stream& c) { board.put(c, 0, 1); })->instantiate();
  const GraphPtr longer = s->capture([&](Stream& c) {
    board.put(c, 0, 2);
    board.put(c, 1, 2);
  });
  const GraphPtr other_kinds = s->capture([&](Stream& c) {
    board.move(c, 1, 0);
    board.set(c, 0, 2);
  });
  const GraphPtr parallel = s->capture([&](Stream& c) {
    forked->wait(c);
    board.set(c, 0, 2);
    board.show(*forked, 1);
    c.wait(*forked);
  });
  const GraphPtr empty = s->capture([](Stream&) {});
  if (!needs(*s, {Feature::graph_update}, [&] { exec->update(*longer); })) return;
  for (const GraphPtr& wrong : {longer, other_kinds, parallel, empty}) {
    CHECK_REFUSED(Errc::graph_update_failed, exec->update(*wrong));
    board.clear();
    run(exec, *s);
    CHECK(board.shown({0, 1}) == Values{1, 0});
  }
}

CASE(Capture, "S38 clone: an independent copy") {
  GraphPtr graph = s->capture([&](Stream& c) { board.put(c, 0, 1); });
  if (!needs(*s, {Feature::graph_clone}, [&] { (void)graph->clone(); })) return;
  const GraphPtr copy = graph->clone();
  REQUIRE(copy);
  CHECK(copy->native_handle() != graph->native_handle());
  CHECK(copy->topology().nodes == graph->topology().nodes);
  CHECK(copy->topology().edges == graph->topology().edges);
  if (device().supports(Feature::capture_into_graph)) {
    s->resume_capture(graph);
    board.put(*s, 1, 1);
    graph = s->end_capture();
    CHECK(graph->node_count() == 4);
    CHECK(copy->node_count() == 2);
  }
  graph.reset();
  run(copy, *s);
  CHECK(board.shown({0, 1}) == Values{1, 0});
}

CASE(Capture, "S38 topology: nodes in the order of their capture, with their kinds; edges that are the stream's order") {
  std::vector<NodeKind> expected = {NodeKind::fill, NodeKind::copy, NodeKind::copy, NodeKind::fill};
  const bool host = captures_host_functions();
  if (host) expected.push_back(NodeKind::host_function);
  expected.push_back(NodeKind::copy);
  const GraphPtr graph = s->capture([&](Stream& c) {
    board.set(c, 0, 1);
    board.move(c, 1, 0);
    board.show(c, 1);
    board.set(c, 2, 1);
    if (host) c.launch_host_function([] {});
    board.show(c, 2);
  });
  const Topology t = graph->topology();
  INFO(to_text(t));
  CHECK(t.nodes == expected);
  CHECK(t.count(NodeKind::fill) == 2);
  CHECK(t.count(NodeKind::kernel) == 0);
  REQUIRE(t.edges.size() == expected.size() - 1);
  for (std::uint32_t i = 0; i + 1 < expected.size(); ++i) {
    CHECK(std::count(t.edges.begin(), t.edges.end(), std::pair(i, i + 1)) == 1);
    CHECK(t.reaches(0, i + 1));
    CHECK_FALSE(t.reaches(i + 1, 0));
  }
  CHECK(t.roots() == Values{0});
  CHECK(t.leaves() == Values{static_cast<std::uint32_t>(expected.size() - 1)});
}

CASE(Capture, "S38 dot: the graph in Graphviz's language, with its nodes and edges") {
  const GraphPtr graph = s->capture([&](Stream& c) {
    board.put(c, 0, 1);
    board.put(c, 1, 1);
  });
  if (!needs(*s, {Feature::graph_debug_dot}, [&] { (void)graph->debug_dot(); })) return;
  const std::string dot = graph->debug_dot();
  CHECK(dot.find("digraph") != std::string::npos);
  std::size_t edges = 0;
  for (std::size_t at = dot.find("->"); at != std::string::npos; at = dot.find("->", at + 2)) ++edges;
  CHECK(edges == 3);
  CHECK(std::count(dot.begin(), dot.end(), '{') == std::count(dot.begin(), dot.end(), '}'));
  CHECK(std::count(dot.begin(), dot.end(), '{') >= 1);
}

}  // namespace conformance::graphs_cases
