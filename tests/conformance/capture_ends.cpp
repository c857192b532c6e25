// SPDX-License-Identifier: Apache-2.0
#include "capture.hpp"

/// Ownership of captures: begun by one object and ended by another, begun by one thread and ended by another. Also the
/// effects that destroying a wrapper must not have.
namespace conformance::capture_ends_cases {

TEST_SUITE_BEGIN("capture ends");

// --- Through several objects ------------------------------------------------------------------------------------------

CASE(Capture, "S6 S31 capture: begun through one wrapper of a handle, ended through another") {
  const StreamPtr wrapper = device().wrap_stream(s->share_native_handle(), Ownership::borrow);
  wrapper->begin_capture();
  board.put(*s, 0, 4);
  const GraphPtr graph = s->end_capture();
  REQUIRE(graph);
  CHECK(graph->node_count() == 2);
  CHECK_FALSE(wrapper->is_capturing());
  CHECK_WORKS(*wrapper);
}

CASE(WithKernels,
     "S6 S31 S37 capture: ended through another wrapper, the graph keeps the modules of its kernels all the same") {
  const StreamPtr original = device().create_stream();
  if (!needs_capture(*original)) return;
  GraphPtr graph;
  {
    const StreamPtr wrapper = device().wrap_stream(original->share_native_handle(), Ownership::borrow);
    const auto kernel =
        device().compile("extern \"C\" __global__ void put(unsigned* p) { *p = 41; }")->untyped_kernel("put");
    wrapper->begin_capture();
    wrapper->launch(kernel, {}, board.cell(0));
    graph = original->end_capture();
  }
  board.show(*original, 0);
  original->synchronize();
  run(graph, *original);
  CHECK(board.read(*original, 0) == 41);
}

CASE(Capture, "S6 S42 resume: ended through another wrapper, it is the graph that was resumed") {
  const GraphPtr probe = s->capture([](Stream&) {});
  if (!needs(device(), {Feature::capture_into_graph}, [&] { s->resume_capture(probe); })) return;
  const GraphPtr graph = s->capture([&](Stream& c) { board.set(c, 0, 5); });
  {
    const StreamPtr wrapper = device().wrap_stream(s->share_native_handle(), Ownership::borrow);
    s->resume_capture(graph);
    board.show(*wrapper, 0);
    CHECK(wrapper->end_capture() == graph);
  }
  CHECK(graph->node_count() == 2);
  run(graph, *s);
  CHECK(board[0] == 5);
}

// --- What the end of a wrapper leaves alone ---------------------------------------------------------------------------

void check_goes_on(Stream& s) {
  REQUIRE(s.capture_status() == CaptureStatus::active);
  const GraphPtr graph = s.end_capture();
  REQUIRE(graph);
  CHECK(graph->node_count() == 0);
  CHECK_WORKS(s);
}

CASE(Capture, "S5 S31 capture: its function may drop the last other owner of the stream") {
  const GraphPtr graph = s->capture([&](Stream& c) {
    board.put(c, 0, 1);
    s.reset();
    board.put(c, 1, 2);
  });
  run(graph, *device().create_stream());
  CHECK(board.shown({0, 1}) == Values{1, 2});
}

TEST_CASE(
    "S31 discard: a capture of a thread that has ended is dropped by another, or the driver allows nothing but to close") {
  if (!needs_capture(*device().create_stream())) return;
  for (const CaptureMode mode : all_modes) {
    INFO("mode ", std::string(weir::to_string(mode)));
    const StreamPtr s = device().create_stream(), forked = device().create_stream();
    Board board;
    on_another_thread([&] {
      s->begin_capture(mode);
      board.put(*s, 0, 1);
      forked->wait(*s);
      board.put(*forked, 1, 1);
    });
    const Refusal refusal = refusal_of([&] { s->discard_capture(); });
    if (refusal.threw) {
      CHECK_MESSAGE(refusal.is(Errc::capture_wrong_thread), refusal.text);
      CHECK(mode != CaptureMode::relaxed);
      CHECK(device().backend().name() != "host");
      s->close();
      continue;
    }
    CHECK_FALSE(s->is_capturing());
    CHECK_FALSE(forked->is_capturing());
    CHECK_WORKS(*s);
    CHECK_WORKS(*forked);
    CHECK(board.shown({0, 1}) == Values{0, 0});
    CHECK(s->capture([&](Stream& c) { board.put(c, 0, 1); })->node_count() > 0);
  }
}

CASE(Fork, "S31 discard: on the thread that captures, and its misuse") {
  CHECK_REFUSED(Errc::not_capturing, s->discard_capture());
  for (const CaptureMode mode : all_modes) {
    s->begin_capture(mode);
    board.put(*s, 0, 1);
    forked->wait(*s);
    CHECK_REFUSED(Errc::capture_unmatched, forked->discard_capture());
    CHECK(s->is_capturing());
    s->discard_capture();
    CHECK_FALSE(s->is_capturing());
    CHECK_WORKS(*s);
    CHECK_WORKS(*forked);
  }
  CHECK_REFUSED(Errc::not_capturing, s->end_capture());
  CHECK(board[0] == 0);
}

CASE(Capture, "S6 S31 capture: a wrapper that goes ends what was begun through it, and nothing else") {
  const auto wrap = [&] { return device().wrap_stream(s->share_native_handle(), Ownership::borrow); };
  SUBCASE("begun through the original") {
    s->begin_capture();
    (void)wrap();
    wrap()->close();
    check_goes_on(*s);
  }
  SUBCASE("an earlier one was begun through it, and ended through the original") {
    StreamPtr wrapper = wrap();
    wrapper->begin_capture();
    (void)s->end_capture();
    s->begin_capture();
    wrapper.reset();
    check_goes_on(*s);
  }
  SUBCASE("an earlier one was begun and ended through it") {
    StreamPtr wrapper = wrap();
    (void)wrapper->capture([](Stream&) {});
    const StreamPtr second = wrap();
    second->begin_capture();
    wrapper->close();
    check_goes_on(*second);
  }
  SUBCASE("begun through it") {
    wrap()->begin_capture();
    CHECK_FALSE(s->is_capturing());
    CHECK_WORKS(*s);
  }
}

TEST_CASE(
    "S6 S8 S31 capture: a wrapper of the thread's default stream leaves alone what was begun through the stream itself") {
  if (!needs(device(), {Feature::per_thread_default_stream}, [&] { (void)device().per_thread_stream(); })) return;
  const StreamPtr s = device().per_thread_stream();
  if (!needs_capture(*s)) return;
  s->begin_capture();
  (void)device().wrap_stream(s->share_native_handle(), Ownership::borrow);
  check_goes_on(*s);
}

CASE(Fork, "S31 S40 S48 allocate: freed on a stream that was closed within the capture, the free is a node of it") {
  if (!needs_in_capture(*s, Feature::graph_memory_nodes, [&] { (void)s->allocate_async<int>(16); })) return;
  const GraphPtr graph = s->capture([&](Stream& c) {
    forked->wait(c);
    auto memory = filled(*forked, 16, 3U);
    const EventPtr done = forked->record();
    c.wait(*forked);
    memory.reset();
    c.wait(*forked);
  });
  const StreamPtr origin = device().create_stream();
  StreamPtr closed = device().create_stream();
  const GraphPtr likewise = origin->capture([&](Stream& c) {
    const StreamPtr joined = device().wrap_stream(closed->share_native_handle(), Ownership::borrow);
    joined->wait(c);
    auto memory = filled(*joined, 16, 3U);
    joined->close();
    memory.reset();
    c.wait(*closed);
  });
  INFO(to_text(graph->topology()), to_text(likewise->topology()));
  CHECK(likewise->topology().count(NodeKind::free) == graph->topology().count(NodeKind::free));
  CHECK_WORKS(*origin);
}

// --- What captures do not hold up -------------------------------------------------------------------------------------

TEST_CASE("S40 drop: what is dropped while captures of other streams overlap goes at once, and they go on") {
  const StreamPtr streams[] = {device().create_stream(), device().create_stream()};
  if (!needs_in_capture(*streams[0], Feature::host_functions_in_capture, [&] { streams[0]->launch_host_function([] {}); }))
    return;
  for (const CaptureMode mode : all_modes) {
    INFO("mode ", std::string(weir::to_string(mode)));
    streams[0]->begin_capture(mode);
    // At each moment a capture is open.
    for (std::size_t round = 1; round <= 4; ++round) {
      Owned state;
      const StreamPtr other = device().create_stream();
      GraphPtr graph = other->capture(mode, [&](Stream& c) { c.launch_host_function([kept = std::move(state.object)] {}); });
      GraphExecPtr exec = graph->instantiate();
      exec->launch(*other);
      exec.reset();
      graph.reset();
      streams[round % 2]->begin_capture(mode);
      CHECK(state.goes());
      CHECK(streams[(round + 1) % 2]->end_capture()->node_count() == 0);
    }
    CHECK(streams[0]->end_capture()->node_count() == 0);
  }
  for (const StreamPtr& s : streams) CHECK_WORKS(*s);
}

// --- Threads ----------------------------------------------------------------------------------------------------------

CASE(Capture,
    "S27 S31 capture: as soon as one thread has ended a stream's capture another begins the next; each gets its own graph") {
  constexpr int each = 150;
  std::atomic<int> wrong{0};
  in_parallel(4, [&](std::size_t t) {
    Board own;
    for (int i = 0; i < each;) {
      const Refusal begun =
          caught([&] { s->begin_capture(t % 2 == 0 ? CaptureMode::relaxed : CaptureMode::thread_local_); });
      if (begun.threw) {
        if (!begun.is(Errc::already_capturing)) ++wrong;
        std::this_thread::yield();
        continue;
      }
      const Refusal ended = caught([&] {
        for (std::size_t n = 0; n <= t; ++n) own.set(*s, n, 1);
        if (s->end_capture()->node_count() != t + 1) ++wrong;
      });
      if (ended.threw) ++wrong;
      ++i;
    }
  });
  CHECK(wrong == 0);
  device().synchronize();
}

CASE(Capture,
     "S27 S31 end: of many threads that end one relaxed capture one gets the graph, the others the error of a second end") {
  for (int i = 0; i < 50; ++i) {
    s->begin_capture(CaptureMode::relaxed);
    std::atomic<int> graphs{0}, told{0};
    in_parallel(4, [&](std::size_t) {
      GraphPtr graph;
      if (caught([&] { graph = s->end_capture(); }).is(Errc::not_capturing)) ++told;
      if (graph) ++graphs;
    });
    REQUIRE(graphs == 1);
    REQUIRE(told == 3);
  }
  device().synchronize();
}

CASE(Capture, "S27 S31 S33 end: by another thread, the moment that it sees the capture, of a relaxed one") {
  SUBCASE("of a stream that Weir alone knows") {}
  SUBCASE("of one that foreign code may know") { (void)s->share_native_handle(); }
  constexpr int rounds = 200;
  std::atomic<int> graphs{0};
  std::atomic<bool> stop{false};
  const auto begin = [&] {
    for (int i = 0; i < rounds && !stop; ++i) {
      s->begin_capture(CaptureMode::relaxed);
      while (graphs == i && !stop) std::this_thread::yield();
    }
  };
  const auto end = [&] {
    while (graphs < rounds && !stop) {
      if (s->is_capturing() && s->end_capture()) ++graphs;
    }
  };
  std::array<Refusal, 2> errors;
  in_parallel(errors.size(), [&](std::size_t t) {
    errors[t] = t == 0 ? caught(begin) : caught(end);
    if (errors[t].threw) stop = true;
  });
  for (const Refusal& error : errors) CHECK_MESSAGE(!error.threw, error.text);
  CHECK(graphs == rounds);
  device().synchronize();
}

CASE(Fork, "S6 S27 S31 S33 wrap: other threads wrap a stream, and ask after its captures and its forks', as it captures") {
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  const auto wrap = [&] {
    while (!stop) {
      const StreamPtr wrapper = device().wrap_stream(s->share_native_handle(), Ownership::borrow);
      (void)wrapper->capture_status();
      (void)forked->is_capturing();
    }
  };
  const auto capture = [&] {
    for (int i = 0; i < 200 && wrong == 0; ++i) {
      const GraphPtr graph = s->capture([&](Stream& c) {
        forked->wait(c);
        board.set(*forked, 0, 1);
        c.wait(*forked);
      });
      if (graph->node_count() != 1) ++wrong;
    }
  };
  in_parallel(4, [&](std::size_t t) {
    if ((t == 0 ? caught(capture) : caught(wrap)).threw) ++wrong;
    if (t == 0) stop = true;
  });
  CHECK(wrong == 0);
}

}  // namespace conformance::capture_ends_cases
