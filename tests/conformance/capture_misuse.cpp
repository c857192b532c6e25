// SPDX-License-Identifier: Apache-2.0
#include "capture.hpp"

/// Calls that are refused while captures are open. Each one returns its error, the capture continues, and its graph is
/// right.
namespace conformance::capture_misuse_cases {

TEST_SUITE_BEGIN("capture misuse");

CASE(Capture, "S19 S20 S31 refused in a capture: synchronizing and querying the capturing stream, in each mode") {
  for (const CaptureMode mode : all_modes) {
    CAPTURE(mode);
    Survivor capture(*s, mode);
    CHECK_REFUSED(Errc::capture_unsupported, s->synchronize());
    CHECK_REFUSED(Errc::capture_unsupported, s->is_complete());
    capture.finish();
  }
}

CASE(Fork, "S19 S20 S36 refused in a capture: synchronizing and querying a forked stream") {
  Survivor capture(*s, CaptureMode::thread_local_);
  forked->wait(*s);
  CHECK_REFUSED(Errc::capture_unsupported, forked->synchronize());
  CHECK_REFUSED(Errc::capture_unsupported, forked->is_complete());
  s->wait(*forked);
  capture.finish();
}

// Calls for which a driver may have to synchronize.
std::vector<std::pair<const char*, std::function<void()>>> unsafe_calls(Board& board, const EventPtr& event) {
  return {
      {"Device::allocate", [] { (void)device().allocate<int>(1024); }},
      {"Device::allocate pinned", [] { (void)device().allocate<int>(1024, MemoryKind::pinned); }},
      {"Device::copy", [&board] { device().copy_bytes(board.cell(1).data(), board.cell(2).data(), 4); }},
      {"Event::is_complete", [event] { (void)event->is_complete(); }},
      {"Event::synchronize", [event] { event->synchronize(); }},
  };
}

CASE(Capture, "S20 S31 S39 refused in a capture: allocations, blocking copies and event queries of the capturing thread") {
  const EventPtr event = s->record();
  s->synchronize();
  const std::string capturing = s->describe();
  for (const CaptureMode mode : {CaptureMode::global, CaptureMode::thread_local_}) {
    for (const auto& unsafe : unsafe_calls(board, event)) {
      INFO("mode ", std::string(weir::to_string(mode)), ", ", unsafe.first);
      Survivor capture(*s, mode);
      CHECK_REFUSED_SAYING(Errc::capture_unsupported, capturing, unsafe.second());
      capture.finish();
    }
  }
}

CASE(Capture, "S31 refused in a capture: a global capture forbids the calls to every thread, a thread-local one does not") {
  const EventPtr event = s->record();
  s->synchronize();
  for (const auto& call : unsafe_calls(board, event)) {
    INFO(call.first);
    {
      Survivor capture(*s, CaptureMode::global);
      const Refusal refusal = refusal_on_another_thread(call.second);
      CHECK_MESSAGE(refusal.is(Errc::capture_unsupported), refusal.text);
      capture.finish();
    }
    Survivor capture(*s, CaptureMode::thread_local_);
    on_another_thread(call.second);
    capture.finish();
  }
  s->begin_capture({});  // the default, not the first of the modes
  on_another_thread([] { (void)device().allocate_bytes(4); });
  (void)s->end_capture();
}

CASE(Capture, "S19 S31 refused in a capture: synchronizing the device, in each mode and from every thread") {
  for (const CaptureMode mode : all_modes) {
    INFO("mode ", std::string(weir::to_string(mode)));
    Survivor capture(*s, mode);
    CHECK_REFUSED(Errc::capture_unsupported, device().synchronize());
    const Refusal elsewhere = refusal_on_another_thread([] { device().synchronize(); });
    CHECK_MESSAGE(elsewhere.is(Errc::capture_unsupported), elsewhere.text);
    capture.finish();
  }
  device().synchronize();
}

TEST_CASE(
    "S31 S39 blocking copy: beside the relaxed capture of a blocking stream, made or refused, it leaves the capture alone") {
  const StreamPtr s = device().create_stream({.blocking = true});
  if (!needs_capture(*s)) return;
  Board board;
  Survivor capture(*s, CaptureMode::relaxed);
  const Refusal refusal = refusal_of([&] { device().copy_bytes(board.cell(1).data(), board.cell(2).data(), 4); });
  CHECK_MESSAGE((!refusal.threw || refusal.is(Errc::capture_implicit) || refusal.is(Errc::capture_unsupported)),
                refusal.text);
  capture.finish();
}

CASE(Capture, "S31 allowed in a relaxed capture: allocations, blocking copies and event queries") {
  const EventPtr event = s->record();
  s->synchronize();
  Survivor capture(*s, CaptureMode::relaxed);
  CHECK(device().allocate<int>(1024).data() != nullptr);
  device().copy_bytes(board.cell(1).data(), board.cell(2).data(), 4);
  CHECK(event->is_complete());
  event->synchronize();
  capture.finish();
}

CASE(Capture, "S29 S31 refused in a capture: callbacks") {
  if (!needs(*s, {Feature::stream_callbacks}, [&] { s->add_callback([](Stream&, std::error_code) {}); })) return;
  Survivor capture(*s, CaptureMode::thread_local_);
  CHECK_REFUSED(Errc::capture_unsupported, s->add_callback([](Stream&, std::error_code) {}));
  capture.finish();
}

CASE(Capture, "S31 begin: twice is an error, and the first capture goes on") {
  Survivor capture(*s, CaptureMode::thread_local_);
  CHECK_REFUSED(Errc::already_capturing, s->begin_capture());
  CHECK_REFUSED(Errc::already_capturing, s->begin_capture(CaptureMode::relaxed));
  CHECK_REFUSED(Errc::already_capturing, s->capture([](Stream&) {}));
  capture.finish();
}

CASE(Fork, "S31 begin: on a stream that was drawn into a capture is an error, and the capture goes on") {
  Survivor capture(*s, CaptureMode::thread_local_);
  forked->wait(*s);
  CHECK_REFUSED(Errc::already_capturing, forked->begin_capture());
  s->wait(*forked);
  capture.finish();
}

CASE(Capture, "S31 end: on a stream that is not capturing") {
  CHECK_REFUSED(Errc::not_capturing, s->end_capture());
  (void)s->capture([](Stream&) {});
  CHECK_REFUSED(Errc::not_capturing, s->end_capture());
}

CASE(Fork, "S31 S36 end: on a stream that did not begin the capture is refused, and the capture goes on") {
  Survivor capture(*s, CaptureMode::thread_local_);
  forked->wait(*s);
  CHECK_REFUSED(Errc::capture_unmatched, forked->end_capture());
  CHECK(forked->capture_status() == CaptureStatus::active);
  s->wait(*forked);
  capture.finish();
}

CASE(Fork, "S31 S36 end: with a fork that was not joined is an error; every stream involved is usable afterwards") {
  const StreamPtr joined = device().create_stream();
  for (int round = 0; round < 3; ++round) {
    s->begin_capture();
    board.put(*s, 0, 1);
    forked->wait(*s);
    joined->wait(*s);
    board.put(*forked, 1, 1);
    board.put(*joined, 2, 1);
    s->wait(*joined);
    CHECK_REFUSED(Errc::capture_unjoined, s->end_capture());
    for (const StreamPtr& stream : {s, forked, joined}) {
      CHECK(stream->capture_status() == CaptureStatus::none);
      CHECK_WORKS(*stream);
    }
    for (std::size_t i = 0; i < 3; ++i) CHECK(board[i] == 0);
    CHECK_REFUSED(Errc::not_capturing, s->end_capture());
    CHECK(device().allocate<int>(16).data() != nullptr);
  }
  run(forked->capture([&](Stream& c) { board.put(c, 3, 1); }), *s);
  CHECK(board[3] == 1);
}

CASE(Fork, "S36 end: work of a fork behind its last join is not joined") {
  s->begin_capture();
  board.set(*s, 0, 1);
  forked->wait(*s);
  board.set(*forked, 1, 1);
  s->wait(*forked);
  board.set(*forked, 2, 1);
  CHECK_REFUSED(Errc::capture_unjoined, s->end_capture());
}

CASE(Capture, "S31 end: by another thread is refused unless the mode is relaxed, and the capture goes on") {
  for (const CaptureMode mode : {CaptureMode::global, CaptureMode::thread_local_}) {
    Survivor capture(*s, mode);
    const Refusal refusal = refusal_on_another_thread([&] { (void)s->end_capture(); });
    CHECK_MESSAGE(refusal.is(Errc::capture_wrong_thread), refusal.text);
    capture.finish();
  }
}

CASE(Capture, "S8 S31 legacy default stream: cannot capture, nor join a capture") {
  const StreamPtr legacy = device().default_stream();
  for (const CaptureMode mode : all_modes) CHECK_REFUSED(Errc::capture_unsupported, legacy->begin_capture(mode));
  CHECK(legacy->capture_status() == CaptureStatus::none);
  CHECK_WORKS(*legacy);
  CHECK_REFUSED(Errc::capture_unsupported,
                device().wrap_stream(nullptr, Ownership::borrow)->begin_capture(CaptureMode::relaxed));
  Survivor capture(*s, CaptureMode::thread_local_);
  const EventPtr event = s->record();
  CHECK_REFUSED(Errc::capture_unsupported, legacy->wait(*event));
  CHECK_REFUSED(Errc::capture_unsupported, legacy->wait(*s));
  CHECK(legacy->capture_status() == CaptureStatus::none);
  capture.finish();
  CHECK_WORKS(*legacy);
}

TEST_CASE("S2 S8 S31 legacy default stream: refused while a blocking stream captures, and the capture goes on") {
  const StreamPtr legacy = device().default_stream();
  const StreamPtr s = device().create_stream({.blocking = true});
  if (!needs_capture(*s)) return;
  Board board;
  const EventPtr event = device().create_event();
  for (const CaptureMode mode : all_modes) {
    Survivor capture(*s, mode);
    CHECK_REFUSED(Errc::capture_implicit, board.set(*legacy, 1, 1));
    CHECK_REFUSED(Errc::capture_implicit, board.show(*legacy, 1));
    CHECK_REFUSED(Errc::capture_implicit, legacy->record(*event));
    CHECK_REFUSED(Errc::capture_implicit, legacy->synchronize());
    CHECK_REFUSED(Errc::capture_implicit, legacy->is_complete());
    capture.finish();
    CHECK_WORKS(*legacy);
  }
  CHECK(board[1] == 0);
}

CASE(Capture, "S8 S31 legacy default stream: works beside the capture of a non-blocking stream") {
  const StreamPtr legacy = device().default_stream();
  Survivor capture(*s, CaptureMode::relaxed);
  board.set(*legacy, 1, 4);
  CHECK(board.read(*legacy, 1) == 4);
  capture.finish();
}

CASE(CaptureAndOther, "S22 S23 S36 isolation: a capture does not wait for work outside it, and goes on") {
  const EventPtr event = other->record();
  other->synchronize();
  Survivor capture(*s, CaptureMode::thread_local_);
  CHECK_REFUSED(Errc::capture_isolation, s->wait(*event));
  CHECK_REFUSED(Errc::capture_isolation, s->wait(*other));
  capture.finish();
}

CASE(Fork, "S22 S36 isolation: a forked stream is as isolated as the origin") {
  const StreamPtr outside = device().create_stream();
  const EventPtr event = outside->record();
  Survivor capture(*s, CaptureMode::thread_local_);
  forked->wait(*s);
  CHECK_REFUSED(Errc::capture_isolation, forked->wait(*event));
  CHECK_REFUSED(Errc::capture_isolation, forked->wait(*outside));
  s->wait(*forked);
  capture.finish();
  outside->synchronize();
}

CASE(Capture, "S22 S31 capture: waiting for an event that was never recorded does nothing, there too") {
  std::vector<EventPtr> kept;
  const EventPtr event = fresh_event(kept);
  Survivor capture(*s, CaptureMode::thread_local_);
  s->wait(*event);
  capture.finish();
}

CASE(TwoStreams, "S22 S23 S36 merge: two captures cannot be joined, and both go on") {
  if (!needs_capture(*a)) return;
  Survivor first(*a), second(*b);
  first.begin();
  second.begin();
  const EventPtr of_a = a->record();
  CHECK_REFUSED(Errc::capture_merge, b->wait(*of_a));
  CHECK_REFUSED(Errc::capture_merge, b->wait(*a));
  CHECK_REFUSED(Errc::capture_merge, a->wait(*b));
  second.end();
  first.end();
  first.check();
  second.check();
}

}  // namespace conformance::capture_misuse_cases
