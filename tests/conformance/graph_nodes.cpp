// SPDX-License-Identifier: Apache-2.0
#include "capture.hpp"

/// Further kinds of nodes: child graphs, conditional nodes, memory operations. Also pausing and resuming a capture, and
/// objects that are dropped while a capture is open.
namespace conformance::graph_nodes_cases {

TEST_SUITE_BEGIN("graph nodes");

// --- Child graphs -----------------------------------------------------------------------------------------------------

CASE(WithBoard, "S41 child graph: added to a capture as one node, a copy of the graph as it was") {
  const GraphPtr probe = device().supports(Feature::graph_capture) ? s->capture([](Stream&) {}) : nullptr;
  if (!needs_in_capture(*s, Feature::graph_child_nodes, [&] { s->add_child_graph(*probe); })) return;
  GraphPtr child = s->capture([&](Stream& c) {
    board.move(c, 1, 0);
    board.move(c, 2, 1);
  });
  const GraphPtr parent = s->capture([&](Stream& c) {
    board.set(c, 0, 7);
    c.add_child_graph(*child);
    board.show(c, 2);
  });
  child.reset();
  CHECK(parent->topology().nodes == std::vector<NodeKind>{NodeKind::fill, NodeKind::child_graph, NodeKind::copy});
  check_topology(parent->topology(), {{0, 1}, {1, 2}});
  run(parent, *s);
  CHECK(board[2] == 7);
}

CASE(WithBoard, "S37 S41 child graph: an executable that is launched on a capturing stream becomes one") {
  GraphExecPtr exec;
  if (device().supports(Feature::graph_capture)) exec = s->capture([&](Stream& c) { board.put(c, 0, 3); })->instantiate();
  if (!needs_in_capture(*s, Feature::graph_child_nodes, [&] { exec->launch(*s); })) return;
  const GraphPtr graph = s->capture([&](Stream& c) {
    exec->launch(c);
    exec->launch(c);
  });
  CHECK(graph->topology().nodes == std::vector<NodeKind>{NodeKind::child_graph, NodeKind::child_graph});
  CHECK(board[0] == 0);
  exec.reset();
  run(graph, *s);
  CHECK(board[0] == 3);
}

CASE(Capture, "S41 child graph: only inside a capture") {
  const GraphPtr graph = s->capture([](Stream&) {});
  if (!needs(*s, {Feature::graph_child_nodes}, [&] { s->add_child_graph(*graph); })) return;
  CHECK_REFUSED(Errc::not_capturing, s->add_child_graph(*graph));
}

// --- Pausing and resuming ---------------------------------------------------------------------------------------------

CASE(Fork, "S41 resume: goes on capturing behind the graph's leaves; the end returns that graph") {
  const GraphPtr graph = s->capture([&](Stream& c) {
    board.set(c, 0, 4);
    forked->wait(c);
    board.move(*forked, 1, 0);
    board.move(c, 2, 0);
    c.wait(*forked);
  });
  if (!needs(*s, {Feature::capture_into_graph}, [&] { s->resume_capture(graph); })) return;
  CHECK(graph->topology().leaves().size() == 2);
  for (const CaptureMode mode : all_modes) {
    s->resume_capture(graph, mode);
    CHECK(s->is_capturing());
    board.show(*s, 1);
    CHECK(s->end_capture() == graph);
  }
  const Topology t = graph->topology();
  REQUIRE(t.nodes.size() == 6);
  check_topology(t, {{1, 3}, {2, 3}});
  CHECK(t.leaves() == Values{5});
  run(graph, *s);
  CHECK(board[1] == 4);
}

CASE(CaptureAndOther, "S41 resume: work between the pause and the resumption is done at once and not captured") {
  s->begin_capture();
  board.put(*s, 0, 1);
  const GraphPtr paused = s->end_capture();
  if (!needs(*s, {Feature::capture_into_graph}, [&] { s->resume_capture(paused); })) return;
  board.set(*s, 1, 2);
  CHECK(board.read(*s, 1) == 2);
  CHECK(board[0] == 0);
  other->resume_capture(paused);  // another stream of the device may go on
  board.put(*other, 2, 3);
  const GraphPtr graph = other->end_capture();
  CHECK(graph->node_count() == 4);
  board.clear();
  run(graph, *s);
  CHECK(board.shown({0, 1, 2}) == Values{1, 0, 3});
}

CASE(CaptureAndOther, "S41 resume: until its end nothing else uses the graph, and the capture goes on") {
  const GraphPtr graph = s->capture([&](Stream& c) { board.put(c, 0, 1); });
  if (!needs(*s, {Feature::capture_into_graph}, [&] { s->resume_capture(graph); })) return;
  const GraphExecPtr exec = graph->instantiate();
  s->resume_capture(graph);
  CHECK_REFUSED(Errc::capture_unsupported, graph->instantiate());
  CHECK_REFUSED(Errc::capture_unsupported, other->resume_capture(graph));
  if (device().supports(Feature::graph_clone)) CHECK_REFUSED(Errc::capture_unsupported, graph->clone());
  if (device().supports(Feature::graph_update)) CHECK_REFUSED(Errc::capture_unsupported, exec->update(*graph));
  if (device().supports(Feature::graph_child_nodes)) {
    CHECK_REFUSED(Errc::capture_unsupported, s->add_child_graph(*graph));
    other->begin_capture(CaptureMode::relaxed);
    CHECK_REFUSED(Errc::capture_unsupported, other->add_child_graph(*graph));
    CHECK(other->end_capture()->node_count() == 0);
  }
  CHECK_FALSE(other->is_capturing());
  board.put(*s, 1, 2);
  CHECK(s->end_capture() == graph);
  run(graph, *s);
  CHECK(board.shown({0, 1}) == Values{1, 2});
}

CASE(Fork, "S41 resume: its misuse") {
  const GraphPtr graph = s->capture([&](Stream& c) { board.put(c, 0, 1); });
  if (!needs(*s, {Feature::capture_into_graph}, [&] { s->resume_capture(graph); })) return;
  CHECK_REFUSED(Errc::invalid_argument, s->resume_capture(nullptr));
  s->begin_capture();
  CHECK_REFUSED(Errc::already_capturing, s->resume_capture(graph));
  CHECK(s->end_capture()->node_count() == 0);
  CHECK_REFUSED(Errc::capture_unsupported, device().default_stream()->resume_capture(graph));
  // A resumed capture that fails leaves the stream usable.
  s->resume_capture(graph);
  forked->wait(*s);
  board.set(*forked, 1, 1);
  CHECK_REFUSED(Errc::capture_unjoined, s->end_capture());
}

// --- Conditional nodes ------------------------------------------------------------------------------------------------

struct Conditional : Capture {
  std::uint32_t* const condition = board.cell(0).data();

  bool is_possible() {
    return needs_in_capture(*s, Feature::graph_conditional_nodes, [&] { s->capture_if(condition, [](Stream&) {}); });
  }
};

CASE(Conditional, "S41 conditional: the body runs if the value is not zero when the node is reached") {
  const auto body = [&](Stream& b) { board.move(b, 2, 1); };
  const GraphPtr graph = s->capture([&](Stream& c) {
    board.set(c, 2, 9);
    board.set(c, 1, 5);
    c.capture_if(condition, body);
    board.show(c, 2);
  });
  const GraphExecPtr exec = graph->instantiate();
  for (const std::uint32_t value : {0U, 1U, 0U, 0x80000000U}) {
    board.set(*s, 0, value);
    run(exec, *s);
    CHECK(board[2] == (value != 0 ? 5 : 9));
  }
}

CASE(Conditional, "S41 conditional: the value is read behind the work before the node") {
  const auto body = [&](Stream& b) { board.set(b, 2, 1); };
  const GraphPtr graph = s->capture([&](Stream& c) {
    board.set(c, 0, 1);
    c.capture_if(condition, body);
    board.set(c, 0, 0);
    board.show(c, 2);
  });
  run(graph, *s);
  CHECK(board[2] == 1);
}

CASE(Conditional, "S41 conditional: a loop runs its body for as long as the value is not zero") {
  // The condition is the head of a queue of ones that the body moves on; a tally of ones grows by one cell with each round.
  constexpr std::size_t queue = 0, tally = 16, spare = 32, length = 8;
  const auto cells = [&](std::size_t first, std::size_t count) { return Span(board.cell(first).data(), count); };
  const auto body = [&](Stream& b) {
    b.copy(cells(spare, length), cells(queue + 1, length));
    b.copy(cells(queue, length), cells(spare, length));
    b.copy(cells(spare, length), cells(tally, length));
    b.copy(cells(tally + 1, length), cells(spare, length));
  };
  const GraphExecPtr exec = s->capture([&](Stream& c) { c.capture_while(condition, body); })->instantiate();
  for (const std::size_t rounds : {std::size_t{3}, std::size_t{0}, std::size_t{5}}) {
    for (std::size_t i = 0; i < 12; ++i) board.set(*s, queue + i, i < rounds ? 1 : 0);
    for (std::size_t i = 0; i < 12; ++i) board.set(*s, tally + i, i == 0 ? 1 : 0);
    exec->launch(*s);
    for (std::size_t i = 0; i < length; ++i) CHECK(board.read(*s, tally + i) == (i <= rounds ? 1U : 0U));
  }
}

CASE(Conditional, "S13 S41 conditional: a loop on an urgent stream is ended by a stream that is less so") {
  const StreamPtr urgent = device().create_stream({.priority = weir::Priority::high});
  const StreamPtr other = device().create_stream({.priority = weir::Priority::low});
  const auto body = [&](Stream& b) { board.set(b, 1, 5); };
  const GraphExecPtr exec = urgent->capture([&](Stream& c) { c.capture_while(condition, body); })->instantiate();
  board.set(*urgent, 0, 1);
  other->wait(*urgent);
  exec->launch(*urgent);
  board.set(*other, 2, 1);  // made before, so that nothing but the order of streams is in the way
  other->synchronize();
  // As a value, where there are such: that is a signal, and a fill would be a race.
  device().supports(Feature::write_value_32) ? other->write_value(condition, 0U) : board.set(*other, 0, 0);
  urgent->synchronize();
  CHECK(board.read(*urgent, 1) == 5);
}

CASE(Conditional, "S41 conditional: bodies hold what drivers run there, and refuse the rest") {
  const EventPtr event = device().create_event();
  const auto check_refused = [&](auto&& what) {
    (void)s->capture([&](Stream& c) { CHECK_REFUSED(Errc::capture_unsupported, c.capture_if(condition, what)); });
  };
  if (captures_host_functions()) check_refused([](Stream& b) { b.launch_host_function([] {}); });
  if (device().supports(Feature::external_events)) check_refused([&](Stream& b) { b.record_external(*event); });
  if (device().supports(Feature::graph_memory_nodes)) check_refused([](Stream& b) { (void)b.allocate_async<int>(16); });
  if (device().supports(Feature::memory_operations_in_capture)) {
    check_refused([&](Stream& b) { b.write_value(board.cell(1).data(), 1U); });
  }
}

CASE(Conditional, "S41 conditional: its misuse; an exception of the body leaves the stream usable") {
  CHECK_REFUSED(Errc::not_capturing, s->capture_if(condition, [](Stream&) {}));
  CHECK_REFUSED(Errc::not_capturing, s->capture_while(condition, [](Stream&) {}));
  s->begin_capture();
  CHECK_REFUSED(Errc::invalid_argument, s->capture_if(nullptr, [](Stream&) {}));
  const auto* const odd = reinterpret_cast<const std::uint32_t*>(reinterpret_cast<const char*>(condition) + 2);
  CHECK_REFUSED(Errc::invalid_argument, s->capture_while(odd, [](Stream&) {}));
  CHECK_REFUSED(Errc::invalid_argument, s->capture_if(condition, nullptr));
  CHECK(s->capture_status() == CaptureStatus::active);
  CHECK(s->end_capture()->node_count() == 0);
  CHECK_THROWS_AS(s->capture([&](Stream& c) { c.capture_if(condition, [](Stream&) { throw Boom("in a body"); }); }), Boom);
}

// --- Memory operations as nodes ---------------------------------------------------------------------------------------

CASE(WithBoard, "S39 S45 S46 S47 memory operations: nodes of the graph, done at each launch") {
  const Word32 word, other, gate;
  if (!needs(*s, {Feature::write_value_32}, [&] { s->write_value(word.address(), 1U); })) return;
  if (!needs(*s, {Feature::wait_value_32}, [&] { s->wait_value(word.address(), 1U, WaitCondition::eq); })) return;
  if (!needs_in_capture(*s, Feature::memory_operations_in_capture, [&] { s->write_value(word.address(), 1U); })) return;
  const bool batches = device().supports(Feature::batch_memory_operations);
  const std::array<MemoryOperation, 2> operations = {MemoryOperation::write(other.address(), 2),
                                                     MemoryOperation::wait(other.address(), 2, WaitCondition::eq)};
  const GraphPtr graph = s->capture([&](Stream& c) {
    c.write_value(word.address(), 1U);
    c.wait_value(gate.address(), 1U, WaitCondition::eq);
    if (batches) c.batch_memory_operations(operations);
    board.put(c, 0, 1);
  });
  CHECK(word.load() == 0);
  CHECK(graph->topology().count(NodeKind::memory_operations) == (batches ? 3 : 2));
  const GraphExecPtr exec = graph->instantiate();
  for (int round = 0; round < 3; ++round) {
    word.store(0);
    other.store(0);
    gate.store(0);
    board.clear();
    exec->launch(*s);
    CHECK(eventually([&] { return word.load() == 1; }));
    check_held_until(*s, board, 0, 1, [&] { gate.store(1); });
    CHECK(other.load() == (batches ? 2 : 0));
  }
}

// --- Dropped while a capture is open ----------------------------------------------------------------------------------

CASE(Capture, "S40 drop: memory, graphs, modules and pools that go during a capture do not kill it") {
  for (const CaptureMode mode : all_modes) {
    INFO("mode ", std::string(weir::to_string(mode)));
    board.clear();
    auto plain = device().allocate<int>(1000);
    auto pinned = device().allocate<int>(1000, MemoryKind::pinned);
    Buffer<int> managed, ordered;
    if (device().supports(Feature::managed_memory)) managed = device().allocate<int>(1000, MemoryKind::managed);
    StreamPtr maker = device().create_stream();
    if (device().supports(Feature::async_allocation)) ordered = maker->allocate_async<int>(1000);
    GraphPtr graph = s->capture([&](Stream& c) { board.put(c, 1, 1); });
    GraphExecPtr exec = graph->instantiate();
    weir::MemoryPoolPtr pool;
    if (device().supports(Feature::memory_pools)) pool = device().create_memory_pool();
    std::vector<int> host(1000);
    weir::Ptr<weir::HostRegistration> registration;
    if (device().supports(Feature::host_registration)) registration = device().register_host(std::span(host));
    weir::ModulePtr module;
    if (device().supports(Feature::runtime_compilation)) module = device().compile("extern \"C\" __global__ void k() {}");
    EventPtr event = s->record();
    s->synchronize();

    s->begin_capture(mode);
    board.set(*s, 0, 6);
    plain.reset();
    pinned.reset();
    managed.reset();
    ordered.reset();
    maker.reset();
    graph.reset();
    exec.reset();
    pool.reset();
    registration.reset();
    module.reset();
    event.reset();
    CHECK(s->capture_status() == CaptureStatus::active);
    board.show(*s, 0);
    const GraphPtr captured = s->end_capture();
    CHECK(captured->node_count() == 2);
    run(captured, *s);
    CHECK(board[0] == 6);
  }
}

CASE(Capture, "S27 S40 drop: by another thread during a global capture") {
  auto memory = device().allocate<int>(1000);
  GraphExecPtr exec = s->capture([](Stream&) {})->instantiate();
  s->begin_capture(CaptureMode::global);
  board.put(*s, 0, 2);
  on_another_thread([&] {
    memory.reset();
    exec.reset();
  });
  CHECK(s->capture_status() == CaptureStatus::active);
  run(s->end_capture(), *s);
  CHECK(board[0] == 2);
}

CASE(Capture, "S40 drop: hundreds of allocations dropped during captures are freed behind them") {
  for (int round = 0; round < 4; ++round) {
    std::vector<Buffer<std::byte>> blocks;
    for (int i = 0; i < 100; ++i) blocks.push_back(device().allocate<std::byte>(std::size_t{64} << 10U));
    s->begin_capture();
    blocks.clear();
    CHECK(s->end_capture()->node_count() == 0);
    CHECK_WORKS(*s);
  }
}

}  // namespace conformance::graph_nodes_cases
