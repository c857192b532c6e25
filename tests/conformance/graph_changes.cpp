// SPDX-License-Identifier: Apache-2.0
#include "capture.hpp"

/// Changes to single nodes, graphs that a GraphBuilder builds, and conditional nodes with several bodies.
namespace conformance::graph_changes_cases {

using Body = weir::UniqueFunction<void(Stream&)>;

TEST_SUITE_BEGIN("graph changes");

// --- Changes ----------------------------------------------------------------------------------------------------------

bool needs_changes(Stream& s) {
  if (!needs_capture(s)) return false;
  const GraphExecPtr exec = s.capture([](Stream&) {})->instantiate();
  GraphChanges changes;
  return needs(s, {Feature::graph_node_changes}, [&] { exec->apply(changes); });
}

/// A graph of a fill, a copy and, where there are kernels, a kernel.
struct Changeable : WithBoard {
  GraphNode fill, copy, kernel;
  GraphPtr graph;
  GraphExecPtr exec;
  bool has_kernel = device().supports(Feature::runtime_compilation);

  /// Also makes the graph and its executable.
  bool is_possible() {
    if (!needs_changes(*s)) return false;
    if (has_kernel) (void)kernels();  // compiles them, which a capture forbids
    graph = s->capture([&](Stream& c) {
      board.set(c, 0, 1);
      fill = c.last_captured_node();
      board.move(c, 1, 0);
      copy = c.last_captured_node();
      if (!has_kernel) return;
      c.launch(kernels().add, {}, board.cell(2), 1U);
      kernel = c.last_captured_node();
    });
    exec = graph->instantiate();
    return true;
  }
  /// Runs the executable, and returns the value of the cell that the graph copies to.
  std::uint32_t outcome(const GraphExecPtr& executable) {
    executable->launch(*s);
    return board.read(*s, 1);
  }
};

CASE(Changeable, "S37 changes: of a fill, a copy and a kernel, in one call; launches from then on use them") {
  for (std::size_t i = 0; i < 6; ++i) board.set(*s, i, 0);
  CHECK(outcome(exec) == 1);
  GraphChanges changes;
  changes.fill(fill, board.cell(3), 8U);
  changes.copy(copy, board.cell(4), board.cell(3));
  if (has_kernel) changes.launch(kernel, kernels().add, {}, board.cell(5), 20U);
  CHECK(changes.size() == (has_kernel ? 3 : 2));
  exec->apply(changes);
  exec->launch(*s);
  exec->launch(*s);
  CHECK(board.read(*s, {3, 4}) == Values{8, 8});
  if (has_kernel) CHECK(board.read(*s, {2, 5}) == Values{1, 40});
}

CASE(Changeable, "S37 changes: leave running launches, the graph and its other executables alone") {
  const GraphExecPtr other = graph->instantiate();
  if (!needs_gate(*s)) return;
  {
    Gate gate(*s);
    exec->launch(*s);
    GraphChanges changes;
    changes.fill(fill, board.cell(0), 9U);
    exec->apply(changes);
  }
  CHECK(board.read(*s, 1) == 1);
  CHECK(outcome(exec) == 9);
  CHECK(outcome(other) == 1);
  CHECK(outcome(graph->instantiate()) == 1);
}

CASE(Changeable, "S37 changes: nodes are disabled and enabled again; what comes behind them runs") {
  GraphChanges off, on;
  off.disable(fill);
  on.enable(fill);
  if (has_kernel) {
    off.disable(kernel);
    on.enable(kernel);
  }
  exec->apply(off);
  board.set(*s, 0, 5);
  board.set(*s, 2, 0);
  CHECK(outcome(exec) == 5);
  CHECK(board.read(*s, 2) == 0);
  exec->apply(on);
  CHECK(outcome(exec) == 1);
  if (has_kernel) CHECK(board.read(*s, 2) == 1);
  if (!device().supports(Feature::graph_update)) return;
  exec->apply(off);
  exec->update(graph);  // enables all
  board.set(*s, 0, 5);
  CHECK(outcome(exec) == 1);
}

CASE(Changeable, "S37 changes: another kernel of another module, which the executable keeps") {
  if (!needs_kernels()) return;
  GraphChanges changes;
  {
    const auto module = device().compile(R"(extern "C" __global__ void subtract(unsigned v, unsigned* p) { *p -= v; })");
    const auto subtract = module->kernel<void(unsigned, unsigned*)>("subtract");
    changes.launch(kernel, subtract, {}, 3U, board.cell(2));
    exec->apply(changes);
  }
  changes.clear();
  CHECK(changes.empty());
  board.set(*s, 2, 10);
  exec->launch(*s);
  CHECK(board.read(*s, 2) == 7);

  // The same by addresses and sizes of the arguments.
  unsigned* cell = board.cell(2).data();
  unsigned value = 5;
  const std::array<void*, 2> arguments{&cell, &value};
  const weir::Parameter sizes[] = {{sizeof(cell)}, {sizeof(value)}};
  changes.launch_raw(kernel, kernels().add, {}, arguments, sizes);
  exec->apply(changes);
  exec->launch(*s);
  CHECK(board.read(*s, 2) == 12);
  CHECK_REFUSED(Errc::invalid_argument, changes.launch_raw(kernel, kernels().add, {}, arguments, std::span(sizes).first(1)));
}

CASE(Changeable, "S37 changes: what does not fit is refused, and nothing is changed") {
  const auto cell = board.cell(0);
  const auto check_refused = [&](Errc code, auto&& add) {
    GraphChanges changes;
    changes.fill(fill, cell, 7U);
    add(changes);
    CHECK_REFUSED(code, exec->apply(changes));
  };
  check_refused(Errc::graph_update_failed, [&](GraphChanges& x) { x.fill(GraphNode{77}, cell, 1U); });
  check_refused(Errc::graph_update_failed, [&](GraphChanges& x) { x.fill(copy, cell, 1U); });
  check_refused(Errc::graph_update_failed, [&](GraphChanges& x) { x.copy(fill, cell, board.cell(1)); });
  check_refused(Errc::invalid_argument, [&](GraphChanges& x) { x.fill(fill, Span<unsigned>(), 1U); });
  if (has_kernel) {
    const auto& add = kernels().add;
    check_refused(Errc::graph_update_failed, [&](GraphChanges& x) { x.launch(fill, add, {}, cell, 1U); });
    check_refused(Errc::invalid_argument, [&](GraphChanges& x) { x.launch(kernel, add, {1, 1 << 20}, cell, 1U); });
    check_refused(Errc::invalid_argument, [&](GraphChanges& x) { x.launch(kernel, add, {.priority = 0}, cell, 1U); });
    CHECK_REFUSED(Errc::invalid_argument, GraphChanges().launch(kernel, nullptr, {}, cell, 1U));
  }
  CHECK(outcome(exec) == 1);
}

CASE(Changeable, "S37 S41 changes: a changed executable is no child node until it is updated") {
  if (!device().supports(Feature::graph_child_nodes) || !device().supports(Feature::graph_update)) return;
  GraphChanges changes;
  changes.fill(fill, board.cell(0), 7U);
  exec->apply(changes);
  const StreamPtr capturing = device().create_stream();
  capturing->begin_capture();
  CHECK_REFUSED(Errc::unsupported, exec->launch(*capturing));
  exec->update(graph);
  exec->launch(*capturing);
  CHECK(capturing->end_capture()->node_count() == 1);
}

// --- Dependencies, and graphs by hand ---------------------------------------------------------------------------------

CASE(Fork, "S35 captured node: the last one of its stream, and none where there is none, or several") {
  CHECK_REFUSED(Errc::not_capturing, s->last_captured_node());
  s->begin_capture();
  CHECK_REFUSED(Errc::invalid_argument, s->last_captured_node());
  board.set(*s, 0, 1);
  CHECK(s->last_captured_node() == GraphNode{0});
  forked->wait(*s);
  board.set(*forked, 1, 1);
  board.set(*s, 2, 1);
  CHECK(forked->last_captured_node() == GraphNode{1});
  CHECK(s->last_captured_node() == GraphNode{2});
  s->wait(*forked);
  CHECK_REFUSED(Errc::invalid_argument, s->last_captured_node());
  board.set(*s, 3, 1);
  CHECK(s->last_captured_node() == GraphNode{3});
  CHECK(s->end_capture()->node_count() == 4);
}

CASE(Capture, "S41 dependencies: the next work comes behind the nodes that are named, and no others") {
  const auto nothing = std::array<GraphNode, 0>{};
  CHECK_REFUSED(Errc::not_capturing, s->set_capture_dependencies(nothing));
  s->begin_capture();
  board.set(*s, 0, 4);
  s->set_capture_dependencies(nothing);
  board.set(*s, 1, 5);
  CHECK_REFUSED(Errc::invalid_argument, s->set_capture_dependencies(std::array{GraphNode{2}}));
  s->set_capture_dependencies(std::array{GraphNode{1}, GraphNode{0}, GraphNode{1}});
  board.move(*s, 2, 0);
  board.show(*s, 2);
  const GraphPtr graph = s->end_capture();
  CHECK(graph->topology().roots() == Values{0, 1});
  check_topology(graph->topology(), {{0, 2}, {1, 2}});
  run(graph, *s);
  CHECK(board[2] == 4);
}

CASE(WithBoard, "S38 S41 builder: a graph of nodes and edges, by hand") {
  if (!device().supports(Feature::graph_capture)) {
    CHECK_REFUSED(Errc::unsupported, GraphBuilder(device()));
    count_refusal();
    return;
  }
  GraphBuilder builder(device());
  const GraphNode a = builder.add({}, [&](Stream& c) { board.set(c, 0, 3); });
  const GraphNode b = builder.add({}, [&](Stream& c) { board.set(c, 1, 4); });
  const GraphNode d = builder.add({a, b}, [&](Stream& c) { board.move(c, 2, 0); });
  builder.add({b}, [&](Stream& c) { board.show(c, 1); });
  builder.add({d}, [&](Stream& c) { board.show(c, 2); });
  CHECK_REFUSED(Errc::invalid_argument, builder.add({GraphNode{99}}, [&](Stream& c) { board.set(c, 5, 1); }));
  CHECK_REFUSED(Errc::invalid_argument, builder.add({}, [](Stream&) {}));
  CHECK_REFUSED(Errc::invalid_argument, builder.add({a}, [](Stream&) {}));
  const GraphPtr graph = builder.finish();
  CHECK_REFUSED(Errc::invalid_argument, builder.finish());
  CHECK(graph->node_count() == 5);
  CHECK(graph->topology().leaves().size() == 2);
  check_topology(graph->topology(), {{a.index, d.index}}, {{a.index, 3}});
  run(graph, *s);
  CHECK(board.shown({1, 2}) == Values{4, 3});
  GraphBuilder dropped(device());
  dropped.add({}, [&](Stream& c) { board.set(c, 0, 9); });
}

CASE(WithBoard, "S38 builder: a function that finishes the graph or ends the capture is an error") {
  if (!device().supports(Feature::graph_capture)) return count_refusal();
  GraphPtr graph;
  GraphBuilder finished(device());
  CHECK_REFUSED(Errc::invalid_argument, finished.add({}, [&](Stream& c) {
    board.set(c, 0, 3);
    graph = finished.finish();
  }));
  CHECK(graph->node_count() != 0);
  CHECK_REFUSED(Errc::invalid_argument, finished.finish());
  for (const bool ends : {false, true}) {
    GraphBuilder builder(device());
    CHECK_REFUSED(Errc::not_capturing, builder.add({}, [&](Stream& c) {
      board.set(c, 0, 3);
      ends ? static_cast<void>(c.end_capture()) : c.discard_capture();
    }));
    CHECK_REFUSED(Errc::not_capturing, builder.add({}, [&](Stream& c) { board.set(c, 0, 3); }));
    CHECK_REFUSED(Errc::not_capturing, builder.finish());
  }
  // From outside of add.
  GraphBuilder ended(device());
  Stream* kept = nullptr;
  ended.add({}, [&](Stream& c) {
    board.set(c, 0, 3);
    kept = &c;
  });
  kept->discard_capture();
  CHECK_REFUSED(Errc::not_capturing, ended.finish());
}

// --- Conditional nodes with several bodies ----------------------------------------------------------------------------

CASE(WithBoard, "S41 conditional: the second body of an if runs if the value is zero") {
  const auto yes = [&](Stream& b) { board.set(b, 1, 10); };
  const auto no = [&](Stream& b) { board.set(b, 1, 20); };
  const auto use = [&] { s->capture_if(board.cell(0).data(), yes, no); };
  if (!needs_in_capture(*s, Feature::graph_switch_nodes, use)) return;
  const GraphExecPtr exec = s->capture([&](Stream& c) {
                               c.capture_if(board.cell(0).data(), yes, no);
                               board.show(c, 1);
                             })->instantiate();
  for (const std::uint32_t condition : {0U, 1U, 2U, 0U, 0x80000000U}) {
    board.set(*s, 0, condition);
    run(exec, *s);
    CHECK(board[1] == (condition != 0 ? 10 : 20));
  }
}

CASE(WithBoard, "S41 conditional: a switch runs the body of the value's number, or none") {
  const auto capture = [&](Stream& c) {
    std::array<Body, 3> bodies;
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      bodies[i] = [&board = board, i](Stream& b) {
        board.set(b, 1, static_cast<std::uint32_t>(100 + i));
        if (i == 2) board.move(b, 2, 1);
      };
    }
    c.capture_switch(board.cell(0).data(), bodies);
    board.show(c, {1, 2});
  };
  if (!needs_in_capture(*s, Feature::graph_switch_nodes, [&] { capture(*s); })) return;
  const GraphPtr graph = s->capture(capture);
  CHECK(graph->topology().count(NodeKind::conditional) == 1);
  const GraphExecPtr exec = graph->instantiate();
  for (const std::uint32_t value : {0U, 1U, 2U, 3U, 1U, 0xFFFFFFFFU}) {
    board.set(*s, 0, value);
    board.set(*s, 1, 7);
    board.set(*s, 2, 7);
    run(exec, *s);
    CHECK(board[1] == (value < 3 ? 100 + value : 7));
    CHECK(board[2] == (value == 2 ? 102 : 7));
  }
  s->begin_capture();
  CHECK_REFUSED(Errc::invalid_argument, s->capture_switch(board.cell(0).data(), {}));
  std::array<Body, 1> empty;
  CHECK_REFUSED(Errc::invalid_argument, s->capture_switch(board.cell(0).data(), empty));
  CHECK(s->end_capture()->node_count() == 0);
}

// --- Launch attributes ------------------------------------------------------------------------------------------------

CASE(WithKernels, "S1 launch: a priority of its own, on a stream and in a graph") {
  weir::LaunchConfig config;
  config.priority = device().priority_range().greatest;
  if (!needs(*s, {Feature::launch_priority}, [&] { s->launch(kernels().add, config, board.cell(0), 1U); })) return;
  s->launch(kernels().add, config, board.cell(0), 2U);
  if (device().supports(Feature::graph_capture))
    run(s->capture([&](Stream& c) { c.launch(kernels().add, config, board.cell(0), 3U); }), *s);
  CHECK(board.read(*s, 0) == (device().supports(Feature::graph_capture) ? 5 : 2));
}

constexpr const char* attributes_source = R"(
extern "C" __global__ void square(unsigned n, const unsigned* x, unsigned* y) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * x[i] + 1;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}
extern "C" __global__ void cluster_ranks(unsigned* ranks) {
  unsigned rank = 0;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm("mov.u32 %0, %cluster_ctarank;" : "=r"(rank));
#endif
  if (threadIdx.x == 0) ranks[blockIdx.x] = rank;
}
)";

CASE(WithKernels, "S1 launch: programmatic, each kernel reads what the one before it wrote, on a stream and in a graph") {
  constexpr unsigned n = 1 << 16;
  const auto x = device().allocate<unsigned>(n), y = device().allocate<unsigned>(n);
  const auto square =
      device().compile(attributes_source)->kernel<void(unsigned, const unsigned*, unsigned*)>("square");
  weir::LaunchConfig config = grid_for(n);
  config.programmatic_stream_serialization = true;
  if (!needs(*s, {Feature::programmatic_launch}, [&] { s->launch(square, config, n, x, y); })) return;
  const auto rounds = [&](Stream& c) {
    for (int i = 0; i < 20; ++i) {
      c.launch(square, config, n, x, y);
      c.launch(square, config, n, y, x);
    }
  };
  s->fill(x, 3U);
  rounds(*s);
  if (device().supports(Feature::graph_capture)) run(s->capture(rounds), *s);
  unsigned expected = 3;
  for (int i = 0; i < (device().supports(Feature::graph_capture) ? 80 : 40); ++i) expected = expected * expected + 1;
  CHECK(s->read(x) == std::vector<unsigned>(n, expected));
}

CASE(WithKernels, "S1 launch: in clusters of blocks, which divide the grid") {
  const auto ranks = device().allocate<unsigned>(8);
  const auto kernel = device().compile(attributes_source)->kernel<void(unsigned*)>("cluster_ranks");
  weir::LaunchConfig config{8, 32};
  config.cluster = 4;
  if (!needs(*s, {Feature::cluster_launch}, [&] { s->launch(kernel, config, ranks); })) return;
  s->launch(kernel, config, ranks);
  CHECK(s->read(ranks) == std::vector<unsigned>{0, 1, 2, 3, 0, 1, 2, 3});
  if (device().supports(Feature::graph_capture)) {
    s->fill(ranks, 9U);
    s->begin_capture();
    const Refusal refusal = refusal_of([&] { s->launch(kernel, config, ranks); });
    run(s->end_capture(), *s);
    // A driver may carry out such a launch at once in a capture; a backend on it refuses the launch.
    const bool is_refused = refusal.is(Errc::capture_unsupported);
    CHECK(s->read(ranks) == (is_refused ? std::vector<unsigned>(8, 9) : std::vector<unsigned>{0, 1, 2, 3, 0, 1, 2, 3}));
    CHECK_MESSAGE((is_refused || !refusal.threw), refusal.text);
  }
  config.cluster = 3;
  CHECK_REFUSED(Errc::invalid_argument, s->launch(kernel, config, ranks));
}

}  // namespace conformance::graph_changes_cases
