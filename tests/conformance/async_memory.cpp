// SPDX-License-Identifier: Apache-2.0
#include "capture.hpp"

/// Stream-ordered memory: where and when it is freed, pools, and allocation as nodes of graphs.
namespace conformance::async_memory_cases {

TEST_SUITE_BEGIN("stream-ordered memory");

bool needs_async(Stream& s) {
  return needs(s, {Feature::async_allocation}, [&] { (void)s.allocate_async<int>(16); });
}

struct Async : WithBoard {
  bool is_possible() { return needs_async(*s); }
};
struct Pools : Async {
  bool is_possible() {
    return Async::is_possible() && needs(*s, {Feature::memory_pools}, [] { (void)device().create_memory_pool(); });
  }
};
struct GraphMemory : Fork {
  bool is_possible() {
    return needs_async(*s) &&
           needs_in_capture(*s, Feature::graph_memory_nodes, [&] { (void)s->allocate_async<int>(16); });
  }
};

/// Returns a new pool, or null if the device has no pools.
weir::MemoryPoolPtr own_pool() {
  return device().supports(Feature::memory_pools) ? device().create_memory_pool() : nullptr;
}

CASE(Async, "S48 allocate: memory of the stream, for work enqueued from there on") {
  const auto memory = s->allocate_async<std::uint32_t>(1000);
  REQUIRE(memory.data() != nullptr);
  CHECK(reinterpret_cast<std::uintptr_t>(memory.data()) % 256 == 0);
  CHECK(memory.allocation()->stream() == s.get());
  CHECK(memory.allocation()->kind() == MemoryKind::device);
  CHECK(&memory.allocation()->device() == &device());
  s->fill(memory, 7U);
  CHECK(s->read(memory) == Values(1000, 7));
}

CASE(Async, "S48 allocate: of nothing, and of more than there is") {
  const auto none = s->allocate_async<int>(0);
  CHECK(none.empty());
  CHECK(none.data() == nullptr);
  CHECK_REFUSED(Errc::out_of_memory, s->allocate_bytes_async(std::size_t{1} << 60U));
  CHECK_REFUSED(Errc::invalid_argument, s->allocate_async<double>(std::numeric_limits<std::size_t>::max() / 4));
}

CASE(WithOther, "S48 free: behind all work enqueued by then; dropping it does not block the host") {
  if (!needs_async(*s) || !needs_gate(*s)) return;
  constexpr std::size_t count = 1000;
  const auto mine = device().allocate<std::uint32_t>(count, MemoryKind::pinned);
  const auto theirs = device().allocate<std::uint32_t>(count, MemoryKind::pinned);
  Gate gate(*s);
  auto first = filled(*s, count, 1U);
  s->copy(mine, first);
  first.reset();  // returns although the stream is held
  CHECK_FALSE(s->is_complete());
  auto second = other->allocate_async<std::uint32_t>(count);  // must not be the memory that is still to be used
  other->fill(second, 2U);
  other->copy(theirs, second);
  other->synchronize();
  CHECK(theirs.host()[count - 1] == 2);
  gate.finish(*s);
  CHECK(all_are(mine, 1));
  other->fill(second, 3U);
  other->copy(theirs, second);
  other->synchronize();
  CHECK(theirs.host()[0] == 3);
}

CASE(Async, "S48 free: memory is used again by later work of the same stream without spoiling earlier work") {
  constexpr std::uint32_t rounds = 200;
  const auto out = device().allocate<std::uint32_t>(rounds, MemoryKind::pinned);
  for (std::uint32_t i = 0; i < rounds; ++i) {
    const auto memory = filled(*s, 1U << 14U, i);
    s->copy(out.subspan(i, 1), memory.subspan((i * 37) % (1U << 14U), 1));
  }
  s->synchronize();
  for (std::uint32_t i = 0; i < rounds; ++i) REQUIRE(out.host()[i] == i);
}

CASE(OneStream, "S23 S48 free: used on another stream that the first waits for before the memory is dropped") {
  const StreamPtr user = device().create_stream();
  if (!needs_async(*s) || !needs_gate(*user)) return;
  constexpr std::size_t count = 4096;
  const auto out = device().allocate<std::uint32_t>(count, MemoryKind::pinned);
  const auto next_out = device().allocate<std::uint32_t>(count, MemoryKind::pinned);
  Gate gate;
  auto memory = filled(*s, count, 5U);
  user->wait(*s);
  gate.hold(*user);
  user->copy(out, memory);
  s->wait(*user);
  memory.reset();
  const auto next = filled(*s, count, 6U);
  s->copy(next_out, next);
  settle();
  CHECK_FALSE(s->is_complete());
  gate.finish(*s);
  CHECK(all_are(out, 5));
  CHECK(next_out.host()[0] == 6);
}

TEST_CASE("S9 S48 free: wherever the last owner goes: another thread, behind the stream's own end, in a host function") {
  StreamPtr s = device().create_stream();
  if (!needs_async(*s)) return;
  auto elsewhere = filled(*s, 100, 1U);
  on_another_thread([&] { elsewhere.reset(); });
  CHECK_WORKS(*s);

  if (device().supports(Feature::host_functions)) {
    auto inside = std::make_unique<Buffer<std::uint32_t>>(s->allocate_async<std::uint32_t>(100));
    s->launch_host_function([inside = std::move(inside)]() mutable { inside.reset(); });
    s->synchronize();
    CHECK_WORKS(*s);
  }

  auto late = filled(*s, 100, 2U);
  s->close();
  const StreamPtr other = device().create_stream();
  device().synchronize();
  CHECK(other->read(late).back() == 2);  // the memory outlives the stream's end
  late.reset();

  StreamPtr dropped = device().create_stream();
  auto orphan = filled(*dropped, 100, 3U);
  dropped.reset();
  orphan.reset();
  CHECK_WORKS(*other);
  CHECK_WORKS(*device().create_stream());
}

TEST_CASE("S9 S48 free: the stream of memory that outlived its other owners can be owned again, and outlives the memory") {
  StreamPtr s = device().create_stream();
  if (!needs_async(*s)) return;
  auto memory = s->allocate_async<std::uint32_t>(16);
  s.reset();
  s = StreamPtr(memory.allocation()->stream());
  memory.reset();
  CHECK_WORKS(*s);
}

TEST_CASE("S8 S48 default streams: their memory is allocated and freed in their order, wherever the last owner goes") {
  std::vector<StreamPtr> streams = {device().default_stream()};
  if (device().supports(Feature::per_thread_default_stream)) streams.push_back(device().per_thread_stream());
  for (const StreamPtr& s : streams) {
    if (!needs_async(*s)) return;
    CAPTURE(s->describe());
    const weir::MemoryPoolPtr pool = own_pool();
    Values back(1000);
    auto memory = s->allocate_async<std::uint32_t>(back.size(), pool);
    CHECK(memory.allocation()->stream() == s.get());
    s->fill(memory, 5U);
    s->copy(back, memory);
    on_another_thread([&] { memory.reset(); });
    s->synchronize();
    CHECK(back.front() == 5);
    CHECK(back.back() == 5);
    device().synchronize();
    if (pool) CHECK(pool->used_bytes() == 0);
  }
}

CASE(Async, "S27 S48 allocate: by many threads, each on its stream") {
  std::atomic<int> wrong{0};
  in_parallel(4, [&](std::size_t t) {
    const StreamPtr mine = device().create_stream();
    for (std::uint32_t i = 0; i < 50; ++i) {
      const auto value = static_cast<std::uint32_t>(t * 1000 + i);
      const auto memory = filled(*mine, 256, value);
      const Values back = mine->read(memory);
      if (back.front() != value || back.back() != value) ++wrong;
    }
  });
  CHECK(wrong == 0);
}

CASE(Pools, "S48 pool: memory from a pool of one's own; what it counts, and that it gives back") {
  const weir::MemoryPoolPtr pool = device().create_memory_pool({.release_threshold = std::size_t{64} << 20U});
  CHECK(&pool->device() == &device());
  CHECK(pool->used_bytes() == 0);
  constexpr std::size_t bytes = std::size_t{4} << 20U;
  auto memory = s->allocate_async<std::byte>(bytes, pool);
  s->fill(memory, std::byte{3});
  s->synchronize();
  CHECK(pool->used_bytes() >= bytes);
  CHECK(pool->reserved_bytes() >= pool->used_bytes());
  memory.reset();
  s->synchronize();
  CHECK(pool->used_bytes() == 0);
  pool->set_release_threshold(0);
  // A driver may learn only later that the memory is free.
  CHECK(eventually([&] {
    device().synchronize();
    pool->trim_to(0);
    return pool->reserved_bytes() == 0;
  }));
  const weir::MemoryPoolPtr own = device().default_memory_pool();
  REQUIRE(own);
  CHECK(&own->device() == &device());
  const std::size_t before = own->used_bytes();
  const auto from_own = s->allocate_async<std::byte>(bytes, own);
  CHECK(own->used_bytes() >= before + bytes);
}

CASE(Pools, "S48 pool: dropped before the memory that came from it") {
  weir::MemoryPoolPtr pool = device().create_memory_pool();
  auto memory = filled(*s, 100, 4U, pool);
  pool.reset();
  CHECK(s->read(memory).back() == 4);
  memory.reset();
}

CASE(Pools, "S48 pool: dropped while streams have yet to free its memory, again and again") {
  if (!needs_gate(*s)) return;
  {
    Gate gate(*s);
    for (std::uint32_t i = 0; i < 8; ++i) {
      const weir::MemoryPoolPtr pool = device().create_memory_pool();
      const StreamPtr short_lived = device().create_stream();
      short_lived->wait(*s);
      for (Stream* const on : {s.get(), short_lived.get()}) {
        const auto memory = filled(*on, 100, i, pool);
        on->copy(board.cell(i), memory.subspan(99, 1));
      }
      s->wait(*short_lived);
    }
  }
  for (std::uint32_t i = 0; i < 8; ++i) CHECK(board.read(*s, i) == i);
  for (int i = 0; i < 100; ++i) {
    const weir::MemoryPoolPtr pool = device().create_memory_pool();
    const auto memory = filled(*s, 1000, 1U, pool);
  }
}

CASE(Async, "S48 pool: no larger than it may be") {
  constexpr std::size_t limit = std::size_t{64} << 20U;
  const auto create = [] { return device().create_memory_pool({.max_size = limit}); };
  if (!needs(*s, {Feature::memory_pools, Feature::memory_pool_max_size}, [&] { (void)create(); })) return;
  const weir::MemoryPoolPtr pool = create();
  const auto small = s->allocate_async<std::byte>(limit / 4, pool);
  CHECK(small.data() != nullptr);
  CHECK_REFUSED(Errc::out_of_memory, s->allocate_bytes_async(4 * limit, pool));
}

// --- In graphs --------------------------------------------------------------------------------------------------------

CASE(GraphMemory, "S39 S48 graph memory: allocated and freed by nodes, anew at each launch") {
  const auto out = device().allocate<std::uint32_t>(100, MemoryKind::pinned);
  const GraphPtr graph = s->capture([&](Stream& c) {
    auto memory = filled(c, 100, 6U);
    c.copy(out, memory);
    memory.reset();
  });
  CHECK(graph->topology().nodes ==
        std::vector<NodeKind>{NodeKind::allocate, NodeKind::fill, NodeKind::copy, NodeKind::free});
  const GraphExecPtr exec = graph->instantiate();
  for (int i = 0; i < 3; ++i) {
    std::fill(out.host().begin(), out.host().end(), 0U);
    run(exec, *s);
    CHECK(all_are(out, 6));
  }
}

CASE(GraphMemory, "S36 S48 graph memory: the free depends on every user of the memory") {
  const GraphPtr graph = s->capture([&](Stream& c) {
    auto memory = c.allocate_async<std::uint32_t>(2);           // 0
    forked->wait(c);
    c.fill(memory.subspan(0, 1), 1U);                           // 1
    forked->fill(memory.subspan(1, 1), 2U);                     // 2
    forked->copy(board.cell(1), memory.subspan(1, 1));          // 3
    c.copy(board.cell(0), memory.subspan(0, 1));                // 4
    c.wait(*forked);
    memory.reset();                                             // 5
    board.show(c, 0);                                           // 6
    board.show(c, 1);                                           // 7
  });
  const Topology t = graph->topology();
  REQUIRE(t.nodes.size() == 8);
  REQUIRE(t.nodes[5] == NodeKind::free);
  check_topology(t, {{0, 5}, {1, 5}, {2, 5}, {3, 5}, {4, 5}}, {{1, 2}});
  run(graph, *s);
  CHECK(board.shown({0, 1}) == Values{1, 2});
}

CASE(GraphMemory, "S36 S48 graph memory: of a forked stream, dropped before or after the fork was joined") {
  const GraphPtr graph = s->capture([&](Stream& c) {
    forked->wait(c);
    auto early = forked->allocate_async<std::uint32_t>(1);
    auto late = forked->allocate_async<std::uint32_t>(1);
    forked->fill(early, 3U);
    forked->fill(late, 4U);
    forked->copy(board.cell(0), early);
    forked->copy(board.cell(1), late);
    early.reset();
    c.wait(*forked);
    late.reset();
    board.show(c, {0, 1});
  });
  const GraphExecPtr exec = graph->instantiate();
  for (int i = 0; i < 2; ++i) {
    run(exec, *s);
    CHECK(board.shown({0, 1}) == Values{3, 4});
  }
}

CASE(GraphMemory, "S37 S48 graph memory: not freed in the capture, it belongs to the graph, which can be launched again") {
  Buffer<std::uint32_t> memory;
  GraphPtr graph = s->capture([&](Stream& c) {
    memory = c.allocate_async<std::uint32_t>(1);
    c.fill(memory, 8U);
    c.copy(board.cell(0), memory);
  });
  CHECK(graph->topology().count(NodeKind::allocate) == 1);
  CHECK(graph->topology().count(NodeKind::free) == 0);
  memory.reset();
  CHECK(graph->topology().count(NodeKind::free) == 0);
  GraphExecPtr exec = graph->instantiate();
  graph.reset();
  for (int i = 0; i < 3; ++i) {
    exec->launch(*s);
    board.show(*s, 0);
    board.set(*s, 0, 0);
    s->synchronize();
    CHECK(board[0] == 8);
  }
  exec.reset();
}

CASE(GraphMemory,
     "S37 S38 S48 graph memory: a graph that allocates has no second one: no clone, no child, no second executable") {
  std::uint32_t shown = 0;
  const GraphPtr graph = s->capture([&](Stream& c) {
    const auto memory = filled(c, 1, 6U);
    c.copy(weir::Span(&shown, 1), memory);
  });
  if (device().supports(Feature::graph_clone)) CHECK_REFUSED(Errc::unsupported, graph->clone());
  if (device().supports(Feature::graph_child_nodes)) {
    (void)s->capture([&](Stream& c) { CHECK_REFUSED(Errc::unsupported, c.add_child_graph(*graph)); });
  }
  GraphExecPtr exec = graph->instantiate();
  CHECK_REFUSED(Errc::unsupported, graph->instantiate());
  if (device().supports(Feature::graph_child_nodes)) {
    (void)s->capture([&](Stream& c) { CHECK_REFUSED(Errc::unsupported, exec->launch(c)); });
  }
  run(exec, *s);
  CHECK(shown == 6);
  exec.reset();
  shown = 0;
  run(graph, *s);
  CHECK(shown == 6);
}

CASE(GraphMemory, "S32 S48 graph memory: of a capture that fails harms nothing") {
  Buffer<std::uint32_t> memory;
  CHECK_THROWS_AS(s->capture([&](Stream& c) {
    memory = c.allocate_async<std::uint32_t>(100);
    c.fill(memory, 8U);
    throw Boom("with memory");
  }),
                  Boom);
  memory.reset();
  CHECK_WORKS(*s);
  const auto next = filled(*s, 100, 1U);
}

CASE(WithBoard, "S40 S48 graph memory: stream-ordered memory made before a capture and dropped in it is freed behind it") {
  if (!needs_async(*s) || !needs_capture(*s)) return;
  auto memory = filled(*s, 100, 1U);
  s->begin_capture();
  board.put(*s, 0, 1);
  memory.reset();
  const GraphPtr graph = s->end_capture();
  CHECK(graph->node_count() == 2);
  run(graph, *s);
  CHECK(board[0] == 1);
}

TEST_CASE("S9 S40 S48 drop: a stream that captures, whose own memory is to be freed behind the capture") {
  const StreamPtr observer = device().create_stream();
  if (!needs_async(*observer) || !needs_capture(*observer)) return;
  struct Owners {
    StreamPtr& first;
    Buffer<std::uint32_t>& second;
  };
  struct Way {
    const char* name;
    std::function<void(Owners)> drop;
    CaptureMode mode = CaptureMode::thread_local_;
  };
  const Way ways[] = {
      {"the stream, then the memory", [](Owners o) { o.first.reset(), o.second.reset(); }},
      {"the memory, then the stream", [](Owners o) { o.second.reset(), o.first.reset(); }},
      {"the stream here, the memory on another thread",
       [](Owners o) { o.first.reset(), on_another_thread([&] { o.second.reset(); }); },
       CaptureMode::relaxed},  // else HIP's runtime lets only this thread end the capture
      {"the memory; the stream is closed", [](Owners o) { o.second.reset(), o.first->close(); }},
      {"the stream is closed; the memory", [](Owners o) { o.first->close(), o.second.reset(); }},
      {"the memory, before the stream is released, which is refused",
       [](Owners o) {
         o.second.reset();
         CHECK_REFUSED(Errc::invalid_argument, o.first->release_handle());
         o.first.reset();
       }},
  };
  for (const auto& way : ways) {
    for (const bool beside_another : {false, true}) {
      INFO(way.name);
      CAPTURE(beside_another);
      const weir::MemoryPoolPtr pool = own_pool();
      StreamPtr s = device().create_stream();
      auto memory = filled(*s, 100, 1U, pool);
      if (beside_another) observer->begin_capture();
      s->begin_capture({.mode = way.mode});
      way.drop({s, memory});
      if (beside_another) CHECK(observer->end_capture()->node_count() == 0);
      // Refused while this thread's capture is open.
      CHECK_NOTHROW((void)device().allocate<std::uint32_t>(100));
      device().synchronize();
      if (pool) CHECK(pool->used_bytes() == 0);
    }
  }
  CHECK_WORKS(*observer);
}

}  // namespace conformance::async_memory_cases
