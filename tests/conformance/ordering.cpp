// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

/// Order within a stream, and between streams by events and by waits for streams.
namespace conformance::ordering_cases {

TEST_SUITE_BEGIN("ordering");

CASE(WithBoard, "S19 synchronize: returns when all work enqueued so far is done, and at once on an idle stream") {
  s->synchronize();
  for (std::size_t i = 0; i < 32; ++i) board.put(*s, i, static_cast<std::uint32_t>(100 + i));
  s->synchronize();
  for (std::size_t i = 0; i < 32; ++i) CHECK(board[i] == 100 + i);
}

CASE(Held, "S19 synchronize: blocks the calling thread for as long as the stream is held") {
  board.put(*a, 0, 1);
  check_blocks([&] { a->synchronize(); });
  CHECK(board[0] == 1);
}

CASE(WithGate, "S19 synchronize: several threads may wait for one stream at once") {
  Gate gate(*s);
  board.put(*s, 0, 1);
  std::atomic<int> saw{0};
  in_parallel(5, [&](std::size_t t) {
    if (t == 0) {
      settle();  // lets the others begin to wait
      return gate.open();
    }
    s->synchronize();
    if (board[0] == 1) ++saw;
  });
  CHECK(saw == 4);
}

CASE(OneStream, "S20 query: true when idle, false while work is held, true when it is done") {
  CHECK(s->is_complete());
  if (!needs_gate(*s)) return;
  for (int round = 0; round < 5; ++round) {
    Gate gate(*s);
    CHECK_FALSE(s->is_complete());
    CHECK_FALSE(s->is_complete());
    gate.finish(*s);
    CHECK(s->is_complete());
  }
}

CASE(WithBoard, "S20 query: comes true by itself, without anyone waiting") {
  board.put(*s, 0, 1);
  CHECK(eventually([&] { return s->is_complete(); }));
  CHECK(board[0] == 1);
}

CASE(WithBoard, "S43 order: work of one stream runs in the order in which it was enqueued") {
  for (std::uint32_t i = 0; i < 64; ++i) {
    board.set(*s, 0, i);
    board.move(*s, 64 + i, 0);
  }
  for (std::size_t i = 64; i < 128; ++i) CHECK(board.read(*s, i) == i - 64);
}

CASE(WithBoard, "S20 order: a held stream holds up no other") {
  constexpr std::size_t count = 6;
  const std::vector<StreamPtr> streams = create_streams(count);
  if (!needs_gate(*streams[0])) return;
  Gate gate(*streams[0]);
  board.put(*streams[0], 0, 1);
  for (std::size_t i = 1; i < count; ++i) board.set(*streams[i], i, 1);
  for (std::size_t i = 1; i < count; ++i) CHECK(board.read(*streams[i], i) == 1);
  CHECK_FALSE(streams[0]->is_complete());
  gate.open();
  streams[0]->synchronize();
}

CASE(TwoStreams, "S22 wait for an event: the host does not block, and later work runs behind the record") {
  EventPtr event;
  check_order(*a, *b, [&] {
    event = a->record();
    b->wait(*event);
  });
  if (event) CHECK(event->is_complete());
}

CASE(Held, "S22 wait for an event: work enqueued before the wait does not wait") {
  const EventPtr event = a->record();
  board.put(*b, 0, 1);
  const EventPtr before = b->record();
  b->wait(*event);
  board.put(*b, 1, 1);
  before->synchronize();
  CHECK(board.shown({0, 1}) == Values{1, 0});
  gate.finish(*b);
  CHECK(board[1] == 1);
}

CASE(Holdable, "S21 S22 wait for an event: work enqueued behind the record is not waited for") {
  board.set(*a, 0, 5);
  const EventPtr event = a->record();
  gate.hold(*a);
  board.set(*a, 0, 6);
  b->wait(*event);
  board.move(*b, 1, 0);
  CHECK(board.read(*b, 1) == 5);
  gate.finish(*a);
}

CASE(OneStream, "S22 wait for an event: one that was never recorded is not waited for") {
  std::vector<EventPtr> kept;
  const EventPtr event = fresh_event(kept);
  s->wait(*event);
}

CASE(TwoStreams, "S21 S22 wait for an event: keeps the point that it saw when the event is recorded again") {
  const StreamPtr idle = device().create_stream();
  const EventPtr event = device().create_event();
  check_order(*a, *b, [&] {
    a->record(*event);
    b->wait(*event);
    idle->record(*event);  // moves the event to a point that is complete
    event->synchronize();
  });
}

CASE(Holdable, "S21 S22 wait for an event: a record behind a held stream does not reach back to earlier waits") {
  const EventPtr event = device().create_event();
  a->record(*event);
  b->wait(*event);
  gate.hold(*a);
  a->record(*event);
  CHECK_FALSE(event->is_complete());
  board.set(*b, 0, 1);
  CHECK(board.read(*b, 0) == 1);
  gate.finish(*event);
}

CASE(OneStream, "S22 wait for an event: on the stream that recorded it, nothing") {
  const EventPtr event = s->record();
  s->wait(*event);
}

CASE(TwoStreams, "S22 wait for an event: dropping the event at once does not drop the wait") {
  check_order(*a, *b, [&] {
    b->wait(a->record());
    for (int i = 0; i < 32; ++i) (void)device().create_event();  // a pool would hand out the dropped event again
  });
}

TEST_CASE("S22 wait for an event: of another backend is unsupported, with a reason") {
  const weir::Backend* other = nullptr;
  for (const weir::BackendInfo& info : weir::Registry::instance().probe_all()) {
    if (info.backend != nullptr && info.backend != &backend()) other = info.backend;
  }
  if (other == nullptr) return skip("needs two usable backends");
  const StreamPtr mine = device().create_stream();
  const StreamPtr theirs = other->device(0).create_stream();
  const EventPtr event = theirs->record();
  CHECK_REFUSED(Errc::unsupported, mine->wait(*event));
  CHECK_REFUSED(Errc::unsupported, theirs->wait(*mine->record()));
  CHECK_REFUSED(Errc::unsupported, mine->wait(*theirs));
  CHECK_REFUSED(Errc::wrong_device, mine->record(*event));
  CHECK(*mine != *theirs);
  CHECK_WORKS(*mine);
  theirs->synchronize();
}

CASE(TwoStreams, "S23 wait for a stream: later work runs behind the other's work; the host does not block") {
  check_order(*a, *b, [&] { b->wait(*a); });
}

CASE(Holdable, "S23 wait for a stream: what it is told later is not waited for, nor held up itself") {
  Gate second;
  b->wait(*a);
  gate.hold(*a);
  board.set(*b, 0, 1);
  CHECK(board.read(*b, 0) == 1);
  second.hold(*b);
  gate.open();
  a->synchronize();  // b is held, and a does not care
  second.open();
}

CASE(TwoStreams, "S23 wait for a stream: on itself, nothing, also through a wrapper of the same handle") {
  const StreamPtr wrapper = device().wrap_stream(a->share_native_handle(), Ownership::borrow);
  if (!hold()) return;
  a->wait(*a);
  a->wait(*wrapper);
  wrapper->wait(*a);
  gate.open();
}

CASE(TwoStreams, "S22 S23 wait: through the pointers that own; null ones are an error") {
  check_order(*a, *b, [&] { b->wait(a); });
  CHECK_REFUSED(Errc::invalid_argument, b->wait(StreamPtr()));
  CHECK_REFUSED(Errc::invalid_argument, b->wait(EventPtr()));
}

CASE(TwoStreams, "S23 wait for a stream: an idle one is not waited for") {
  for (int i = 0; i < 10; ++i) {
    a->wait(*b);
    b->wait(*a);
  }
}

void diamond(bool by_events) {
  const StreamPtr a = device().create_stream(), b = device().create_stream();
  const StreamPtr c = device().create_stream(), d = device().create_stream();
  if (!needs_gate(*a)) return;
  const auto wait = [&](Stream& waiting, Stream& other) { by_events ? waiting.wait(*other.record()) : waiting.wait(other); };
  Board board;
  Gate first, left;
  first.hold(*a);
  board.set(*a, 0, 11);
  wait(*b, *a);
  wait(*c, *a);
  left.hold(*b);
  board.move(*b, 1, 0);
  board.move(*c, 2, 0);
  wait(*d, *b);
  wait(*d, *c);
  board.move(*d, 3, 1);
  board.move(*d, 4, 2);
  board.show(*d, {3, 4});
  settle();
  CHECK_FALSE(c->is_complete());
  first.open();
  c->synchronize();  // one side is done, and the other is held: d must still wait
  check_held_until(*d, board, 3, 11, [&] { left.open(); });
  CHECK(board[4] == 11);
}

TEST_CASE("S22 diamond: a before b and c, both before d, by events") { diamond(true); }
TEST_CASE("S23 diamond: a before b and c, both before d, by streams") { diamond(false); }

CASE(WithBoard, "S22 relay: a value is handed through many streams in their order") {
  constexpr std::size_t count = 12;
  const std::vector<StreamPtr> streams = create_streams(count);
  if (!needs_gate(*streams[0])) return;
  Gate gate(*streams[0]);
  board.set(*streams[0], 0, 21);
  for (std::size_t i = 1; i < count; ++i) {
    streams[i]->wait(*streams[i - 1]->record());
    board.move(*streams[i], i, i - 1);
  }
  board.show(*streams.back(), count - 1);
  check_held_until(*streams.back(), board, count - 1, 21, [&] { gate.open(); });
}

TEST_CASE("S23 S24 ping-pong: hundreds of waits between two streams reuse the cached event without mixing its points") {
  constexpr std::size_t rounds = 400;
  const StreamPtr a = device().create_stream(), b = device().create_stream();
  if (!needs_gate(*a)) return;
  Board board(device(), rounds + 1);
  Gate gate(*a);
  board.set(*a, 0, 9);
  for (std::size_t i = 0; i < rounds; ++i) {
    Stream& from = i % 2 == 0 ? *a : *b;
    Stream& to = i % 2 == 0 ? *b : *a;
    to.wait(from);
    board.move(to, i + 1, i);
  }
  board.show(*a, rounds);
  gate.finish(*a);
  CHECK(board[rounds] == 9);
}

CASE(TwoStreams, "S6 S24 cached event: two wrappers of one handle, of which one goes, do not disturb each other") {
  StreamPtr wrapper = device().wrap_stream(a->share_native_handle(), Ownership::borrow);
  if (!hold()) return;
  board.set(*a, 0, 5);
  b->wait(*wrapper);
  board.move(*b, 1, 0);
  wrapper.reset();
  board.set(*a, 2, 6);
  b->wait(*a);
  board.move(*b, 3, 2);
  board.show(*b, 3);
  check_held_back(*b, 1, 5);
  CHECK(board[3] == 6);
}

CASE(WithBoard, "S19 device: synchronize waits for the streams of every kind") {
  const StreamPtr a = device().create_stream();
  const StreamPtr b = device().create_stream({.blocking = true});
  const StreamPtr legacy = device().default_stream();
  board.put(*a, 0, 1);
  board.put(*b, 1, 1);
  board.put(*legacy, 2, 1);
  device().synchronize();
  for (std::size_t i = 0; i < 3; ++i) CHECK(board[i] == 1);
  CHECK(a->is_complete());
  CHECK(b->is_complete());
  CHECK(legacy->is_complete());
}

CASE(Held, "S19 device: synchronize blocks while a stream of the device is held") {
  check_blocks([&] { device().synchronize(); });
}

}  // namespace conformance::ordering_cases
