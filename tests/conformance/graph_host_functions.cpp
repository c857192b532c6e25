// SPDX-License-Identifier: Apache-2.0
#include "capture.hpp"

/// Host functions in graphs: when they run, who owns them, and where their exceptions are thrown.
namespace conformance::graph_host_functions_cases {

TEST_SUITE_BEGIN("graph host functions");

struct CapturedFunctions : Fork {
  bool is_possible() {
    const auto use = [&] { s->launch_host_function([] {}); };
    return needs_capture(*s) && needs(*s, {Feature::host_functions}, use) &&
           needs_in_capture(*s, Feature::host_functions_in_capture, use);
  }
};

CASE(CapturedFunctions, "S30 S37 update: brings the new graph's host functions, which outlive that graph") {
  auto old_count = std::make_shared<std::atomic<int>>(0);
  auto new_count = std::make_shared<std::atomic<int>>(0);
  const auto captured = [&](std::shared_ptr<std::atomic<int>> count) {
    return s->capture([&](Stream& c) { c.launch_host_function([count] { ++*count; }); });
  };
  GraphPtr graph = captured(old_count);
  const GraphExecPtr exec = graph->instantiate();
  graph.reset();
  run(exec, *s);
  GraphPtr replacement = captured(new_count);
  if (!needs(*s, {Feature::graph_update}, [&] { exec->update(*replacement); })) {
    run(exec, *s);
    CHECK(*old_count == 2);
    CHECK(*new_count == 0);
    return;
  }
  exec->update(*replacement);
  replacement.reset();
  for (int i = 0; i < 3; ++i) exec->launch(*s);
  s->synchronize();
  CHECK(*old_count == 1);
  CHECK(*new_count == 3);
}

CASE(CapturedFunctions, "S30 S38 clone: shares the host functions, and keeps them when the original goes") {
  auto owned = std::make_shared<std::atomic<int>>(0);
  const std::weak_ptr<std::atomic<int>> alive = owned;
  GraphPtr graph = s->capture([&](Stream& c) { c.launch_host_function([owned] { ++*owned; }); });
  if (!needs(*s, {Feature::graph_clone}, [&] { (void)graph->clone(); })) return;
  GraphPtr copy = graph->clone();
  graph.reset();
  run(copy, *s);
  run(copy, *s);
  CHECK(*owned == 2);
  owned.reset();
  CHECK_FALSE(alive.expired());
  copy.reset();
  CHECK(eventually([&] { return alive.expired(); }));
}

CASE(CapturedFunctions, "S30 host function: runs at every launch, in its place, and outlives whoever captured it") {
  auto runs = std::make_shared<int>(0);
  auto wrong = std::make_shared<int>(0);
  GraphExecPtr exec;
  {
    // Larger than any in-place storage, move-only, and gone from here before the first launch.
    auto large = std::make_unique<std::vector<int>>(1000, 1);
    GraphPtr graph = s->capture([&](Stream& c) {
      board.put(c, 0, 1);
      c.launch_host_function([runs, wrong, &board = board, large = std::move(large)] {
        ++*runs;
        if (board[0] != 1 || large->size() != 1000) ++*wrong;
      });
      board.set(c, 0, 0);
    });
    exec = graph->instantiate();
  }
  CHECK(*runs == 0);
  for (int i = 0; i < 100; ++i) exec->launch(i % 2 == 0 ? *s : *forked);
  s->synchronize();
  forked->synchronize();
  CHECK(*runs == 100);
  CHECK(*wrong == 0);
}

CASE(CapturedFunctions, "S30 host function: is freed with the graph and all its executables, and not before") {
  Owned owned, unused;
  GraphPtr graph = s->capture([&](Stream& c) { c.launch_host_function([object = std::move(owned.object)] {}); });
  GraphExecPtr exec = graph->instantiate(), second = graph->instantiate();
  graph.reset();
  run(exec, *s);
  exec.reset();
  CHECK_FALSE(owned.is_gone());
  run(second, *s);
  CHECK_FALSE(owned.is_gone());
  second.reset();
  CHECK(owned.goes());

  graph = s->capture([&](Stream& c) { c.launch_host_function([object = std::move(unused.object)] {}); });
  graph.reset();
  CHECK(unused.goes());
}

CASE(CapturedFunctions, "S30 S36 host function: of a capture that failed is destroyed and never runs") {
  auto runs = std::make_shared<std::atomic<int>>(0);
  const std::weak_ptr<std::atomic<int>> alive = runs;
  s->begin_capture();
  forked->wait(*s);
  forked->launch_host_function([runs] { ++*runs; });
  CHECK_REFUSED(Errc::capture_unjoined, s->end_capture());
  CHECK_WORKS(*s);
  CHECK_WORKS(*forked);
  CHECK(*runs == 0);
  runs.reset();
  CHECK(eventually([&] { return alive.expired(); }));
}

CASE(CapturedFunctions, "S30 S36 host function: captured on a forked stream, it belongs to the graph all the same") {
  std::atomic<int> runs{0}, late{0};
  s->begin_capture();
  board.put(*s, 0, 1);
  forked->wait(*s);
  forked->launch_host_function([&] {
    if (board[0] != 1) ++late;
    ++runs;
  });
  s->wait(*forked);
  const GraphExecPtr exec = s->end_capture()->instantiate();
  CHECK(runs == 0);
  for (int i = 0; i < 5; ++i) exec->launch(*forked);
  forked->synchronize();
  CHECK(runs == 5);
  CHECK(late == 0);
}

CASE(CapturedFunctions,
     "S19 S30 exception: of a graph's host function comes out of the launching stream's synchronize; later nodes run") {
  const StreamPtr launching = device().create_stream();
  std::atomic<int> runs{0};
  const GraphExecPtr exec = s->capture([&](Stream& c) {
                               c.launch_host_function([&] {
                                 if (++runs != 2) throw Boom("from a graph");
                               });
                               board.put(c, 0, 1);
                             })->instantiate();
  exec->launch(*launching);
  CHECK_THROWS_AS(launching->synchronize(), Boom);
  CHECK(board[0] == 1);
  launching->synchronize();
  s->synchronize();
  exec->launch(*launching);  // the second run throws nothing
  launching->synchronize();
  exec->launch(*s);
  CHECK_THROWS_AS(s->synchronize(), Boom);
  CHECK(runs == 3);
  CHECK_WORKS(*s);
  CHECK_WORKS(*launching);
}

CASE(CapturedFunctions, "S30 host function: calls into Weir are refused in a graph, too") {
  Refusal refusal;
  const auto call = [&] { refusal = caught([] { (void)device().create_event(); }); };
  run(s->capture([&](Stream& c) { c.launch_host_function(call); }), *s);
  CHECK_MESSAGE(refusal.is(Errc::called_from_host_function), refusal.text);
}

CASE(CapturedFunctions, "S30 S41 child graph: its host functions live with the parent") {
  const GraphPtr probe = s->capture([](Stream&) {});
  if (!needs_in_capture(*s, Feature::graph_child_nodes, [&] { s->add_child_graph(*probe); })) return;
  std::atomic<int> runs{0};
  Owned owned;
  GraphPtr child =
      s->capture([&](Stream& c) { c.launch_host_function([&runs, object = std::move(owned.object)] { ++runs; }); });
  GraphPtr parent = s->capture([&](Stream& c) {
    c.add_child_graph(*child);
    c.add_child_graph(*child);
  });
  child.reset();
  GraphExecPtr exec = parent->instantiate();
  parent.reset();
  exec->launch(*s);
  run(exec, *s);
  CHECK(runs == 4);
  CHECK_FALSE(owned.is_gone());
  exec.reset();
  CHECK(owned.goes());
}

}  // namespace conformance::graph_host_functions_cases
