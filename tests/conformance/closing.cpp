// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

/// Closing and dropping streams.
namespace conformance::closing_cases {

TEST_SUITE_BEGIN("closing");

CASE(OneStream, "S9 close: idempotent") {
  CHECK_FALSE(s->is_closed());
  s->close();
  CHECK(s->is_closed());
  s->close();
  s->close();
  CHECK(s->is_closed());
}

CASE(WithBoard,
     "S9 close: every later use is refused, before the driver could take its null handle for the default stream") {
  const StreamPtr open = device().create_stream();
  const EventPtr event = device().create_event();
  const Word32 word32;
  const Word64 word64;
  const std::array<MemoryOperation, 1> operations = {MemoryOperation::write(word32.address(), 1)};
  s->close();

  const std::vector<std::pair<const char*, std::function<void()>>> uses = {
      {"native_handle", [&] { (void)s->share_native_handle(); }},
      {"native_context", [&] { (void)s->native_context(); }},
      {"id", [&] { (void)s->id(); }},
      {"is_non_blocking", [&] { (void)s->is_non_blocking(); }},
      {"priority", [&] { (void)s->priority(); }},
      {"release_handle", [&] { (void)s->release_handle(); }},
      {"synchronize", [&] { s->synchronize(); }},
      {"is_complete", [&] { (void)s->is_complete(); }},
      {"record", [&] { (void)s->record(); }},
      {"record(event)", [&] { s->record(*event); }},
      {"record_external", [&] { s->record_external(*event); }},
      {"wait(event)", [&] { s->wait(*event); }},
      {"wait_external", [&] { s->wait_external(*event); }},
      {"wait(stream)", [&] { s->wait(*open); }},
      {"wait of another for it", [&] { open->wait(*s); }},
      {"wait for itself", [&] { s->wait(*s); }},
      {"launch_host_function", [&] { s->launch_host_function([] {}); }},
      {"add_callback", [&] { s->add_callback([](Stream&, std::error_code) {}); }},
      {"begin_capture", [&] { s->begin_capture(); }},
      {"end_capture", [&] { (void)s->end_capture(); }},
      {"capture", [&] { (void)s->capture([](Stream&) {}); }},
      {"capture_status", [&] { (void)s->capture_status(); }},
      {"is_capturing", [&] { (void)s->is_capturing(); }},
      {"capture_info", [&] { (void)s->capture_info(); }},
      {"copy", [&] { board.move(*s, 0, 1); }},
      {"copy of nothing", [&] { s->copy_bytes(nullptr, nullptr, 0); }},
      {"copy of a box", [&] { s->copy(pitched(board.cell(0), {1}), pitched(board.cell(1), {1})); }},
      {"copy_peer", [&] { s->copy_peer(board.cell(0).data(), device(), board.cell(1).data(), device(), 4); }},
      {"fill", [&] { board.set(*s, 0, 1); }},
      {"fill of a box", [&] { s->fill(pitched(board.cell(0), {1}), 1); }},
      {"allocate_async", [&] { (void)s->allocate_async<int>(1); }},
      {"write_value 32", [&] { s->write_value(word32.address(), 1U); }},
      {"write_value 64", [&] { s->write_value(word64.address(), std::uint64_t{1}); }},
      {"wait_value 32", [&] { s->wait_value(word32.address(), 0U); }},
      {"wait_value 64", [&] { s->wait_value(word64.address(), std::uint64_t{0}); }},
      {"batch", [&] { s->batch_memory_operations(operations); }},
      {"synchronization_policy", [&] { (void)s->synchronization_policy(); }},
      {"set_synchronization_policy", [&] { s->set_synchronization_policy(weir::SynchronizationPolicy::automatic); }},
      {"access_policy_window", [&] { (void)s->access_policy_window(); }},
      {"set_access_policy_window", [&] { s->set_access_policy_window({}); }},
      {"copy_attributes", [&] { s->copy_attributes(*open); }},
      {"copy_attributes from it", [&] { open->copy_attributes(*s); }},
  };
  for (const auto& use : uses) {
    const Refusal refusal = refusal_of(use.second);
    CHECK_MESSAGE(refusal.is(Errc::stream_closed), use.first << " was to throw stream_closed; " << refusal.text);
  }
  CHECK(word32.load() == 0);
  CHECK_WORKS(*open);
}

CASE(WithBoard, "S9 S37 close: a graph is not launched on a closed stream") {
  const StreamPtr open = device().create_stream();
  if (!needs(*s, {Feature::graph_capture}, [&] { s->begin_capture(); })) return;
  const GraphExecPtr exec = s->capture([&](Stream& c) { board.put(c, 0, 1); })->instantiate();
  s->close();
  CHECK_REFUSED(Errc::stream_closed, exec->launch(*s));
  CHECK_REFUSED(Errc::stream_closed, exec->upload(*s));
  open->synchronize();
  CHECK(board[0] == 0);
  run(exec, *open);
  CHECK(board[0] == 1);
}

/// Calls `end` while the stream `a` is held. Asserts that it returns, and that the stream's work is still done.
void check_ends(TwoStreams& streams, const std::function<void(StreamPtr&)>& end) {
  if (!streams.hold()) return;
  streams.board.put(*streams.a, 0, 1);
  const EventPtr done = streams.a->record();
  end(streams.a);
  CHECK_FALSE(done->is_complete());
  streams.gate.open();
  done->synchronize();
  CHECK(streams.board[0] == 1);
}

CASE(TwoStreams, "S9 close: does not wait for the stream's work, which is done all the same") {
  check_ends(*this, [](StreamPtr& s) { s->close(); });
}

CASE(TwoStreams, "S9 drop: the last owner's departure does not wait for the stream's work, which is done all the same") {
  check_ends(*this, [](StreamPtr& s) { s.reset(); });
}

CASE(TwoStreams, "S9 S23 drop: a stream that waits for one that was dropped still waits for its work") {
  check_order(*a, *b, [&] {
    b->wait(*a);
    a.reset();
  });
}

TEST_CASE("S9 S21 drop: an event outlives the stream on which it was recorded") {
  EventPtr event;
  {
    const StreamPtr s = device().create_stream();
    event = s->record();
    s->synchronize();
  }
  CHECK(event->is_complete());
  event->synchronize();
  const StreamPtr other = device().create_stream();
  other->wait(*event);
  other->record(*event);
  CHECK_WORKS(*other);
  CHECK(event->is_complete());
}

CASE(OneStream, "S9 S28 drop: host functions of a dropped stream run, and what they own goes afterwards") {
  if (!needs(*s, {Feature::host_functions}, [&] { s->launch_host_function([] {}); })) return;
  const auto ran = std::make_shared<Latch>();
  Owned owned;
  s->launch_host_function([ran, object = std::move(owned.object)] { ran->open(); });
  s.reset();
  CHECK(ran->wait());
  CHECK(owned.goes());
}

TEST_CASE("S9 close: a default stream cannot be closed, and goes on working") {
  const StreamPtr legacy = device().default_stream();
  CHECK_REFUSED(Errc::invalid_argument, legacy->close());
  CHECK_FALSE(legacy->is_closed());
  CHECK_WORKS(*legacy);
  if (device().supports(Feature::per_thread_default_stream)) {
    const StreamPtr mine = device().per_thread_stream();
    CHECK_REFUSED(Errc::invalid_argument, mine->close());
    CHECK_WORKS(*mine);
  }
}

TEST_CASE("S9 S31 close: ends and drops a capture that the stream began, and lets the forked streams go") {
  for (const bool by_close : {true, false}) {
    StreamPtr origin = device().create_stream();
    const StreamPtr forked = device().create_stream();
    if (!needs(*forked, {Feature::graph_capture}, [&] { forked->begin_capture(); })) return;
    Board board;
    origin->begin_capture();
    board.put(*origin, 0, 1);
    forked->wait(*origin);
    board.put(*forked, 1, 1);
    CHECK(forked->is_capturing());
    by_close ? origin->close() : origin.reset();
    CHECK(forked->capture_status() == CaptureStatus::none);
    CHECK_WORKS(*forked);
    CHECK(board.shown({0, 1}) == Values{0, 0});
    // Nothing of the capture is left that would forbid what captures forbid.
    CHECK(device().allocate<int>(4).data() != nullptr);
    const StreamPtr next = device().create_stream();
    CHECK(next->capture([&](Stream& c) { board.put(c, 2, 1); })->node_count() == 2);
  }
}

TEST_CASE("S9 S17 close: of a stream that is current does not disturb the scope's end") {
  const StreamPtr before = weir::current_stream(device());
  {
    const StreamPtr s = device().create_stream();
    const weir::StreamScope scope(s);
    s->close();
    CHECK_REFUSED(Errc::stream_closed, weir::current_stream(device())->synchronize());
  }
  CHECK(*weir::current_stream(device()) == *before);
}

}  // namespace conformance::closing_cases
