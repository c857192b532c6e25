// SPDX-License-Identifier: Apache-2.0
#include "capture.hpp"

/// Streams used by many threads at once.
namespace conformance::threads_cases {

TEST_SUITE_BEGIN("threads");

constexpr std::size_t thread_count = 6;

/// Counts down when a thread ends, even by an exception.
struct Done {
  std::atomic<int>& left;
  ~Done() { --left; }
};

CASE(OneStream, "S27 one stream, many threads: each thread's order is kept") {
  if (!needs(*s, {Feature::host_functions}, [&] { s->launch_host_function([] {}); })) return;
  constexpr int each = 200;
  std::vector<std::pair<std::size_t, int>> seen;  // touched by the stream's host functions alone, which run one by one
  in_parallel(thread_count, [&](std::size_t t) {
    for (int i = 0; i < each; ++i) s->launch_host_function([&seen, t, i] { seen.emplace_back(t, i); });
  });
  s->synchronize();
  CHECK(seen.size() == thread_count * each);
  std::vector<int> next(thread_count, 0);
  for (const auto& [t, i] : seen) REQUIRE(next[t]++ == i);
}

CASE(OneStream, "S27 S43 one stream, many threads: copies and fills are all done, each thread's in its order") {
  constexpr std::uint32_t each = 100;
  Board board(device(), thread_count * 2);
  in_parallel(thread_count, [&](std::size_t t) {
    for (std::uint32_t i = 1; i <= each; ++i) {
      board.set(*s, 2 * t, i);
      board.move(*s, 2 * t + 1, 2 * t);
      board.set(*s, 2 * t, 0);
    }
  });
  for (std::size_t t = 0; t < thread_count; ++t) CHECK(board.read(*s, 2 * t + 1) == each);
}

TEST_CASE("S21 S22 S27 streams and events made, recorded, waited for and dropped by many threads") {
  in_parallel(thread_count, [](std::size_t t) {
    Board board;
    for (std::uint32_t i = 1; i <= 30; ++i) {
      const StreamPtr a = device().create_stream();
      const StreamPtr b = device().create_stream({.blocking = i % 2 == 0});
      board.set(*a, 0, i);
      b->wait(*a->record());
      board.move(*b, 1, 0);
      board.show(*b, 1);
      const EventPtr done = b->record({.timing = device().supports(Feature::event_timing) && i % 3 == 0});
      done->synchronize();
      if (board[1] != i) throw std::runtime_error("thread " + std::to_string(t) + " read a wrong value");
    }
  });
  CHECK_WORKS(*device().create_stream());
}

CASE(WithBoard, "S23 S24 S27 many threads wait for one stream at once while it is being fed") {
  constexpr std::size_t rounds = 50;
  in_parallel(thread_count, [&](std::size_t t) {
    if (t == 0) {
      for (std::uint32_t i = 0; i < rounds * 4; ++i) board.set(*s, 0, i);
      return;
    }
    const StreamPtr mine = device().create_stream();
    for (std::uint32_t i = 1; i <= rounds; ++i) {
      // Ordered behind this thread's own work on `s`, whatever the others do to its cached event meanwhile.
      board.set(*s, t, i);
      mine->wait(*s);
      board.move(*mine, 10 + t, t);
      s->wait(*mine);
      if (board.read(*mine, 10 + t) != i) throw std::runtime_error("a wait for the stream missed its work");
    }
  });
}

CASE(WithBoard, "S19 S20 S27 synchronizing and querying one stream from many threads") {
  in_parallel(thread_count, [&](std::size_t t) {
    for (std::uint32_t i = 0; i < 50; ++i) {
      board.set(*s, t, i);
      (void)s->is_complete();
      if (i % 5 == t % 5) s->synchronize();
      (void)s->describe();
      (void)s->capture_status();
    }
  });
  s->synchronize();
  CHECK(s->is_complete());
}

CASE(OneStream, "S9 S27 closing different streams from many threads while another works") {
  constexpr std::size_t count = thread_count * 20;
  Board board(device(), count + thread_count);  // a cell for each stream, and for each thread
  std::vector<StreamPtr> streams = create_streams(count);
  for (std::size_t i = 0; i < count; ++i) board.set(*streams[i], i, 1);
  in_parallel(thread_count, [&](std::size_t t) {
    for (std::size_t i = t; i < streams.size(); i += thread_count) {
      if (i % 2 == 0) streams[i]->close();
      streams[i].reset();
      board.set(*s, count + t, 1);
    }
  });
}

CASE(Capture, "S27 S37 one executable graph launched by many threads: its runs do not overlap") {
  // A swap through a spare cell: done an even number of times without overlap it changes nothing, and loses nothing.
  const GraphExecPtr exec = s->capture([&](Stream& c) {
                               board.move(c, 2, 0);
                               board.move(c, 0, 1);
                               board.move(c, 1, 2);
                             })->instantiate();
  board.set(*s, 0, 3);
  board.set(*s, 1, 4);
  s->synchronize();
  in_parallel(thread_count, [&](std::size_t) {
    const StreamPtr mine = device().create_stream();
    for (int i = 0; i < 50; ++i) exec->launch(*mine);
    mine->synchronize();
  });
  CHECK(board.read(*s, {0, 1}) == Values{3, 4});
}

CASE(OneStream, "S27 S37 one graph that many threads instantiate, launch, clone, add to captures and drop at once") {
  if (!needs_in_capture(*s, Feature::host_functions_in_capture, [&] { s->launch_host_function([] {}); })) return;
  Board board(device(), 2 * thread_count);
  std::atomic<int> launched{0};
  // What threads launch at once only reads what they share.
  board.set(*s, 0, 7);
  s->synchronize();
  const GraphPtr graph = s->capture([&](Stream& c) { c.launch_host_function([&] { ++launched; }); });
  const GraphExecPtr updated = graph->instantiate();
  in_parallel(thread_count, [&](std::size_t t) {
    const StreamPtr mine = device().create_stream();
    for (std::uint32_t i = 0; i < 30; ++i) {
      const GraphExecPtr exec = graph->instantiate();
      exec->launch(*mine);
      if (i % 3 == 0 && device().supports(Feature::graph_clone)) graph->clone()->instantiate()->launch(*mine);
      if (i % 3 == 1 && device().supports(Feature::graph_child_nodes))
        mine->capture([&](Stream& c) { exec->launch(c); })->instantiate()->launch(*mine);
      if (i % 3 == 2 && device().supports(Feature::graph_update)) (t % 2 == 0 ? exec : updated)->update(*graph);
      board.move(*mine, 1 + t, 0);
    }
    mine->synchronize();
    if (board.read(*mine, 1 + t) != 7) throw std::runtime_error("a launch of the graph did something else");
  });
  CHECK(launched >= static_cast<int>(thread_count) * 30);
}

CASE(Capture,
     "S19 S27 S31 the device is synchronized by one thread while others capture: refused or done, it breaks no capture") {
  constexpr int each = 100;
  std::atomic<int> captured{0}, capturing{static_cast<int>(thread_count) - 1}, wrong{0};
  in_parallel(thread_count, [&](std::size_t t) {
    if (t == 0) {
      while (capturing != 0) {
        const Refusal refusal = caught([] { device().synchronize(); });
        if (refusal.threw && !refusal.is(Errc::capture_unsupported)) ++wrong;
      }
      return;
    }
    const Done done{capturing};
    const StreamPtr mine = device().create_stream();
    for (int i = 0; i < each; ++i) {
      if (mine->capture([&](Stream& c) { board.put(c, t, 1); })->node_count() == 2) ++captured;
    }
  });
  CHECK(wrong == 0);
  CHECK(captured == static_cast<int>(thread_count - 1) * each);
}

CASE(CaptureAndOther, "S21 S31 an event that one thread's open capture recorded is recorded by another thread outside it") {
  for (int i = 0; i < 20; ++i) {
    const EventPtr event = device().create_event();
    s->begin_capture();
    board.set(*s, 0, 1);
    s->record(*event);
    on_another_thread([&] {
      other->record(*event);
      event->synchronize();
    });
    board.set(*s, 0, 2);
    CHECK(s->end_capture()->node_count() == 2);
    CHECK(event->is_complete());
  }
}

CASE(Capture, "S21 S27 S31 events that a capture recorded and dropped are recorded anew by other threads while it goes on") {
  std::atomic<int> capturing{static_cast<int>(thread_count / 2)};
  in_parallel(thread_count, [&](std::size_t t) {
    const StreamPtr mine = device().create_stream();
    const StreamPtr forked = device().create_stream();
    if (t >= thread_count / 2) {
      while (capturing != 0) forked->wait(*mine->record());
      mine->synchronize();
      forked->synchronize();
      return;
    }
    const Done done{capturing};
    Board own;
    for (int i = 0; i < 50; ++i) {
      const GraphPtr graph = mine->capture([&](Stream& c) {
        for (int fork = 0; fork < 10; ++fork) {
          forked->wait(*c.record());
          own.set(*forked, 0, 1);
          c.wait(*forked->record());
        }
      });
      if (graph->node_count() != 10) throw std::runtime_error("a fork was lost");
    }
  });
}

CASE(Capture, "S27 S31 S40 captures, allocations and drops by many threads at once") {
  std::vector<std::unique_ptr<Board>> boards;
  for (std::size_t t = 0; t < thread_count; ++t) boards.push_back(std::make_unique<Board>());
  in_parallel(thread_count, [&](std::size_t t) {
    const StreamPtr mine = device().create_stream();
    const StreamPtr forked = device().create_stream();
    Board& own = *boards[t];
    for (std::uint32_t i = 1; i <= 20; ++i) {
      if (t % 2 == 0) {
        const GraphPtr graph = mine->capture([&](Stream& c) {
          own.set(c, 0, i);
          forked->wait(c);
          own.move(*forked, 1, 0);
          c.wait(*forked);
          own.show(c, 1);
        });
        run(graph, *mine);
        if (own[1] != i) throw std::runtime_error("a graph did something else");
      } else {
        const auto memory = device().allocate<std::uint32_t>(1000);
        mine->fill(memory, i);
        mine->synchronize();
      }
    }
  });
}

TEST_CASE("S9 S27 S40 S48 streams that capture are dropped by many threads at once, with memory of their own") {
  const StreamPtr probe = device().create_stream();
  if (!needs_capture(*probe)) return;
  if (!needs(*probe, {Feature::async_allocation}, [&] { (void)probe->allocate_async<int>(16); })) return;
  const weir::MemoryPoolPtr pool = device().supports(Feature::memory_pools) ? device().create_memory_pool() : nullptr;
  in_parallel(thread_count, [&](std::size_t t) {
    for (std::uint32_t i = 0; i < 25; ++i) {
      StreamPtr s = device().create_stream();
      auto memory = filled(*s, 1000, i, pool);
      s->begin_capture();
      if ((t + i) % 2 == 0) {
        memory.reset();
        s.reset();
      } else {
        s.reset();
        memory.reset();
      }
    }
  });
  device().synchronize();
  if (pool) CHECK(pool->used_bytes() == 0);
  CHECK_WORKS(*probe);
}

}  // namespace conformance::threads_cases
