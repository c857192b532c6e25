// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

/// Streams over handles of other code, and handles of Weir's streams that are given to other code.
namespace conformance::wrapping_cases {

TEST_SUITE_BEGIN("wrapping");

/// A stream, and a wrapper that borrows its handle.
struct Borrowed : WithBoard {
  const StreamPtr wrapper = device().wrap_stream(s->share_native_handle(), Ownership::borrow);
};

CASE(Borrowed, "S6 S11 borrow: the wrapper has the handle, and one queue with the original") {
  CHECK(wrapper->kind() == StreamKind::borrowed);
  CHECK(wrapper->native_handle() == s->native_handle());
  CHECK(&wrapper->device() == &device());
  CHECK_WORKS(*wrapper);
  board.set(*s, 0, 3);
  board.move(*wrapper, 1, 0);
  board.set(*s, 0, 4);
  board.move(*wrapper, 2, 0);
  board.show(*s, {1, 2});
  wrapper->synchronize();
  CHECK(board.shown({1, 2}) == Values{3, 4});
}

CASE(TwoStreams, "S6 S20 borrow: work submitted through one is seen by the other") {
  const StreamPtr wrapper = device().wrap_stream(a->share_native_handle(), Ownership::borrow);
  if (!hold()) return;
  CHECK_FALSE(wrapper->is_complete());
  gate.finish(*wrapper);
  CHECK(a->is_complete());
}

TEST_CASE("S2 S3 S6 borrow: blocking behaviour and priority are those of the handle") {
  for (const bool blocking : {false, true}) {
    const StreamPtr original = device().create_stream({.blocking = blocking, .priority = weir::Priority::high});
    const StreamPtr wrapper = device().wrap_stream(original->share_native_handle(), Ownership::borrow);
    CHECK(wrapper->is_non_blocking() == !blocking);
    CHECK(wrapper->priority() == original->priority());
  }
}

CASE(OneStream, "S6 borrow: dropping the wrapper leaves the original usable") {
  for (int i = 0; i < 20; ++i) {
    StreamPtr wrapper = device().wrap_stream(s->share_native_handle(), Ownership::borrow);
    CHECK_WORKS(*wrapper);
    wrapper.reset();
    CHECK_WORKS(*s);
  }
}

CASE(Borrowed, "S6 S9 borrow: closing the wrapper lets go of the handle and leaves the original usable") {
  wrapper->close();
  CHECK(wrapper->is_closed());
  CHECK_REFUSED(Errc::stream_closed, wrapper->synchronize());
  CHECK_FALSE(s->is_closed());
}

CASE(OneStream, "S6 borrow: the keep-alive lives exactly as long as the wrapper is open") {
  Owned first, second;
  StreamPtr wrapper = device().wrap_stream(s->share_native_handle(), Ownership::borrow, std::move(first.object));
  CHECK_FALSE(first.is_gone());
  StreamPtr same = wrapper;
  wrapper.reset();
  CHECK_FALSE(first.is_gone());
  same.reset();
  CHECK(first.is_gone());

  const StreamPtr closed = device().wrap_stream(s->share_native_handle(), Ownership::borrow, std::move(second.object));
  closed->close();
  CHECK(second.is_gone());
}

TEST_CASE("S6 borrow: a stream of Weir's own can be what a wrapper keeps alive") {
  StreamPtr original = device().create_stream();
  void* const handle = original->share_native_handle();
  struct Owner {
    StreamPtr stream;
  };
  const StreamPtr wrapper =
      device().wrap_stream(handle, Ownership::borrow, std::make_shared<Owner>(Owner{std::move(original)}));
  CHECK_WORKS(*wrapper);
}

TEST_CASE("S7 adopt: the stream owns the handle that it was given") {
  const StreamPtr original = device().create_stream({.blocking = true});
  void* const handle = original->release_handle();
  REQUIRE(handle != nullptr);
  CHECK(original->is_closed());
  CHECK_REFUSED(Errc::stream_closed, original->is_complete());
  const StreamPtr adopted = device().wrap_stream(handle, Ownership::adopt);
  CHECK(adopted->kind() == StreamKind::adopted);
  CHECK(adopted->native_handle() == handle);
  CHECK_FALSE(adopted->is_non_blocking());
  CHECK_WORKS(*adopted);
  adopted->close();
  CHECK_REFUSED(Errc::stream_closed, adopted->record());
}

CASE(Held, "S7 adopt: the handle is destroyed once, with the last owner, and its work is done all the same") {
  board.put(*a, 0, 1);
  StreamPtr adopted = device().wrap_stream(a->release_handle(), Ownership::adopt);
  StreamPtr same = adopted;
  adopted.reset();
  board.put(*same, 1, 2);
  const EventPtr done = same->record();
  same.reset();
  gate.finish(*done);
  CHECK(board.shown({0, 1}) == Values{1, 2});
}

TEST_CASE("S7 adopt: the keep-alive goes with the last owner") {
  Owned owner;
  StreamPtr adopted =
      device().wrap_stream(device().create_stream()->release_handle(), Ownership::adopt, std::move(owner.object));
  CHECK_WORKS(*adopted);
  CHECK_FALSE(owner.is_gone());
  adopted.reset();
  CHECK(owner.is_gone());
}

TEST_CASE("S7 release: an adopted stream can be released again; a borrowed or default one cannot") {
  const StreamPtr adopted = device().wrap_stream(device().create_stream()->release_handle(), Ownership::adopt);
  const StreamPtr borrowed = device().wrap_stream(adopted->share_native_handle(), Ownership::borrow);
  CHECK_REFUSED(Errc::invalid_argument, borrowed->release_handle());
  CHECK_REFUSED(Errc::invalid_argument, device().default_stream()->release_handle());
  CHECK_WORKS(*borrowed);
  void* const handle = adopted->release_handle();
  CHECK_WORKS(*device().wrap_stream(handle, Ownership::adopt));
}

TEST_CASE("S6 S8 wrap: the null handle is the legacy default stream, and can only be borrowed") {
  const StreamPtr wrapped = device().wrap_stream(nullptr, Ownership::borrow);
  REQUIRE(wrapped);
  CHECK(*wrapped == *device().default_stream());
  CHECK(wrapped->hash() == device().default_stream()->hash());
  CHECK(wrapped->kind() == StreamKind::legacy_default);
  CHECK_WORKS(*wrapped);
  CHECK_REFUSED(Errc::invalid_argument, device().wrap_stream(nullptr, Ownership::adopt));
}

TEST_CASE("S6 S8 wrap: the default stream's own handle gives the default stream") {
  const StreamPtr legacy = device().default_stream();
  const StreamPtr wrapped = device().wrap_stream(legacy->share_native_handle(), Ownership::borrow);
  CHECK(*wrapped == *legacy);
  CHECK_WORKS(*wrapped);
  CHECK_REFUSED(Errc::invalid_argument, device().wrap_stream(legacy->share_native_handle(), Ownership::adopt));
}

TEST_CASE("S7 S8 wrap: a thread's own default stream can only be borrowed, too, and what a refused wrapper kept goes") {
  if (!needs(device(), {Feature::per_thread_default_stream}, [&] { (void)device().per_thread_stream(); })) return;
  const StreamPtr mine = device().per_thread_stream();
  auto kept = std::make_shared<int>(1);
  CHECK_REFUSED(Errc::invalid_argument, device().wrap_stream(mine->share_native_handle(), Ownership::adopt, kept));
  CHECK(kept.use_count() == 1);
  CHECK(*device().wrap_stream(mine->share_native_handle(), Ownership::borrow) == *mine);
  CHECK_WORKS(*mine);
}

CASE(Borrowed, "S6 S17 S19 S20 S21 S22 borrow: it can be made current, waited for, queried, recorded") {
  const weir::StreamScope scope(wrapper);
  const StreamPtr current = weir::current_stream(device());
  CHECK(*current == *s);
  board.set(*current, 0, 6);
  const StreamPtr other = device().create_stream();
  other->wait(*current->record());
  board.move(*other, 1, 0);
  current->wait(*other);
  board.show(*current, 1);
  current->synchronize();
  CHECK(current->is_complete());
  CHECK(board[1] == 6);
}

CASE(Borrowed, "S6 S33 borrow: a capture begun on the original is seen by the wrapper, which adds to it") {
  if (!needs(*s, {Feature::graph_capture}, [&] { s->begin_capture(); })) return;
  s->begin_capture();
  CHECK(wrapper->is_capturing());
  board.set(*s, 0, 5);
  board.show(*wrapper, 0);
  CHECK_REFUSED(Errc::capture_unsupported, wrapper->synchronize());
  const GraphPtr graph = s->end_capture();
  CHECK_FALSE(wrapper->is_capturing());
  CHECK(graph->node_count() == 2);
  graph->instantiate()->launch(*wrapper);
  s->synchronize();
  CHECK(board[0] == 5);
}

}  // namespace conformance::wrapping_cases
