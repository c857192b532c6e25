// SPDX-License-Identifier: Apache-2.0
#include <future>

#include "support.hpp"

/// The legacy default stream, which blocking streams wait for and which waits for them, and per-thread default streams.
namespace conformance::default_streams_cases {

TEST_SUITE_BEGIN("default streams");

bool needs_per_thread_stream() {
  return needs(device(), {Feature::per_thread_default_stream}, [&] { (void)device().per_thread_stream(); });
}

/// This thread's default stream.
struct PerThread {
  StreamPtr mine;

  bool is_possible() {
    if (!needs_per_thread_stream()) return false;
    mine = device().per_thread_stream();
    return true;
  }
  void finish() { check_usable({mine}); }
};

TEST_CASE("S8 default stream: asked for twice, the same; it works") {
  const StreamPtr a = device().default_stream();
  const StreamPtr b = device().default_stream();
  CHECK(a->kind() == StreamKind::legacy_default);
  CHECK(*a == *b);
  CHECK(a->hash() == b->hash());
  CHECK_FALSE(a->is_non_blocking());
  CHECK_WORKS(*a);
}

TEST_CASE("S8 default stream: the same one from every thread") {
  const StreamPtr mine = device().default_stream();
  on_another_thread([&] {
    const StreamPtr theirs = device().default_stream();
    if (!(*theirs == *mine)) throw std::runtime_error("another thread gets another legacy default stream");
    if (!works(*theirs)) throw std::runtime_error("the default stream does not work on another thread");
  });
}

TEST_CASE("S8 default stream: dropping it and asking again is harmless") {
  for (int i = 0; i < 10; ++i) {
    StreamPtr s = device().default_stream();
    CHECK_WORKS(*s);
    s.reset();
  }
  CHECK_WORKS(*device().default_stream());
}

/// The legacy default stream, and two streams that it orders.
struct Blocking : TwoStreams {
  StreamPtr legacy = device().default_stream();
  StreamPtr first = device().create_stream({.blocking = true}), second = device().create_stream({.blocking = true});
};

CASE(Blocking, "S2 S8 default stream: a blocking stream's later work waits for its work") {
  check_order(*legacy, *first);
}

CASE(Blocking, "S2 S8 default stream: its later work waits for a blocking stream's work") {
  check_order(*first, *legacy);
}

CASE(Blocking, "S2 S8 default stream: it orders two blocking streams, as a barrier between them") {
  check_order(*first, *second, [&] { board.set(*legacy, 2, 7); });
}

CASE(Blocking, "S2 S8 default stream: without its work in between, two blocking streams are independent") {
  check_independent(*first, *second);
}

CASE(Blocking, "S2 S8 default stream: a non-blocking stream does not wait for it") {
  check_independent(*legacy, *a);
}

CASE(Blocking, "S2 S8 default stream: it does not wait for a non-blocking stream") {
  check_independent(*a, *legacy);
}

CASE(WithBoard, "S8 S22 S23 default stream: it records, waits and is waited for like any other") {
  const StreamPtr legacy = device().default_stream();
  const StreamPtr free = device().create_stream();
  board.set(*legacy, 0, 3);
  free->wait(*legacy->record());
  board.move(*free, 1, 0);
  legacy->wait(*free);
  board.move(*legacy, 2, 1);
  free->wait(*legacy);
  board.move(*free, 3, 2);
  CHECK(board.read(*free, 3) == 3);
}

TEST_CASE("S8 S28 default stream: host functions run on it, in order") {
  const StreamPtr legacy = device().default_stream();
  if (!needs(device(), {Feature::host_functions}, [&] { legacy->launch_host_function([] {}); })) return;
  std::string order;
  for (char c = 'a'; c <= 'j'; ++c) legacy->launch_host_function([&order, c] { order += c; });
  legacy->synchronize();
  CHECK(order == "abcdefghij");
}

CASE(PerThread, "S8 per-thread default stream: equal within a thread, of its own kind, and no other stream") {
  const StreamPtr a = device().per_thread_stream();
  const StreamPtr b = device().per_thread_stream();
  CHECK(a->kind() == StreamKind::per_thread_default);
  CHECK(*a == *b);
  CHECK(a->hash() == b->hash());
  CHECK(*a != *device().default_stream());
  CHECK(*a != *device().create_stream());
  CHECK_WORKS(*a);
}

CASE(PerThread, "S8 per-thread default stream: another thread has another, and may not use this one") {
  StreamPtr theirs;
  bool equal = true, their_own_works = false;
  Refusal use, query, wait;
  on_another_thread([&] {
    theirs = device().per_thread_stream();
    equal = *theirs == *mine;
    their_own_works = works(*theirs);
    use = refusal_of([&] { (void)mine->record(); });
    query = refusal_of([&] { (void)mine->is_complete(); });
    wait = refusal_of([&] { mine->synchronize(); });
    (void)mine->describe();
  });
  CHECK_FALSE(equal);
  CHECK(their_own_works);
  for (const Refusal& refusal : {use, query, wait}) CHECK_MESSAGE(refusal.is(Errc::wrong_thread), refusal.text);
  CHECK(*theirs != *mine);  // also now that their thread has ended
  CHECK_REFUSED(Errc::wrong_thread, theirs->synchronize());
}

CASE(PerThread, "S8 S22 per-thread default stream: threads order them against each other by events") {
  if (!needs_gate(*mine)) return;
  Board board;
  EventPtr done;
  Latch submitted;
  std::future<void> other;  // ends behind the gate
  Gate gate(*mine);
  board.set(*mine, 0, 8);
  const EventPtr ready = mine->record();
  other = std::async(std::launch::async, [&] {
    const StreamPtr theirs = device().per_thread_stream();
    theirs->wait(*ready);
    board.move(*theirs, 1, 0);
    board.show(*theirs, 1);
    done = theirs->record();
    submitted.open();
    theirs->synchronize();  // the thread's end may wait for its stream, too: HIP's does
  });
  CHECK(submitted.wait());
  settle();
  CHECK(board[1] == 0);
  gate.open();
  other.get();
  CHECK(done->is_complete());
  CHECK(board[1] == 8);
}

CASE(Blocking, "S2 S8 per-thread default stream: the legacy default stream and it wait for each other") {
  if (!needs_per_thread_stream()) return;
  const StreamPtr mine = device().per_thread_stream();
  CHECK_FALSE(mine->is_non_blocking());
  check_order(*legacy, *mine);
}

CASE(PerThread, "S8 S31 per-thread default stream: it captures") {
  if (!needs(*mine, {Feature::graph_capture}, [&] { mine->begin_capture(); })) return;
  Board board;
  const GraphPtr graph = mine->capture([&](Stream& s) { board.put(s, 0, 9); });
  CHECK_FALSE(mine->is_capturing());
  graph->instantiate()->launch(*mine);
  mine->synchronize();
  CHECK(board[0] == 9);
}

}  // namespace conformance::default_streams_cases
