// SPDX-License-Identifier: Apache-2.0
#include "capture.hpp"

/// Events: recording, querying, waiting on the host, timing.
namespace conformance::events_cases {

using std::chrono::steady_clock;
using milliseconds = std::chrono::duration<double, std::milli>;

TEST_SUITE_BEGIN("events");

TEST_CASE("S21 event: one that was never recorded is complete, and waiting for it does nothing") {
  const EventPtr event = device().create_event();
  CHECK_FALSE(event->is_recorded());
  CHECK(event->is_complete());
  event->synchronize();
  CHECK(&event->device() == &device());
  CHECK(event->options() == weir::EventOptions{});
  CHECK(event->native_handle() != nullptr);
  CHECK(event->describe().find(device().describe()) != std::string::npos);
}

CASE(Held, "S21 record: returns a new event of the stream's device, complete when the work before it is") {
  board.put(*a, 0, 1);
  const EventPtr event = a->record();
  REQUIRE(event);
  CHECK(&event->device() == &device());
  CHECK(event->is_recorded());
  CHECK_FALSE(event->is_complete());
  gate.finish(*event);
  CHECK(event->is_complete());
  CHECK(board[0] == 1);
}

CASE(OneStream, "S21 record: two records are two events") {
  const EventPtr a = s->record();
  const EventPtr b = s->record();
  CHECK(a != b);
  CHECK(a->native_handle() != b->native_handle());
}

CASE(WithGate, "S21 record: again moves the event, five times over") {
  const EventPtr event = device().create_event();
  for (int round = 0; round < 5; ++round) {
    Gate gate(*s);
    s->record(*event);
    CHECK_FALSE(event->is_complete());
    gate.finish(*event);
    CHECK(event->is_complete());
  }
}

CASE(Held, "S21 record: on another stream of the device takes the event over") {
  const EventPtr event = a->record();
  CHECK_FALSE(event->is_complete());
  b->record(*event);
  event->synchronize();
  CHECK(event->is_complete());
  gate.finish(*a);
}

CASE(Holdable, "S21 event: is complete before later work of its stream") {
  const EventPtr event = a->record();
  gate.hold(*a);
  event->synchronize();
  CHECK(event->is_complete());
  CHECK_FALSE(a->is_complete());
  gate.finish(*a);
}

CASE(WithBoard, "S21 event: many at once, complete in their stream's order") {
  std::vector<EventPtr> events;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    board.set(*s, i % 64, i);
    events.push_back(s->record());
  }
  events.back()->synchronize();
  for (const EventPtr& event : events) CHECK(event->is_complete());
}

CASE(OneStream, "S21 S26 event: one that was dropped comes back as good as new") {
  for (int i = 0; i < 100; ++i) {
    const bool timing = i % 2 == 0 && device().supports(Feature::event_timing);
    const EventPtr event = device().create_event({.timing = timing});
    CHECK_FALSE(event->is_recorded());
    CHECK(event->is_complete());
    CHECK(event->options().timing == timing);
    s->record(*event);
    if (i % 10 == 0) event->synchronize();
  }
}

CASE(OneStream, "S26 timing: off unless asked for") {
  CHECK_FALSE(s->record()->options().timing);
  CHECK_FALSE(device().create_event()->options().timing);
}

struct Timing : TwoStreams {
  bool is_possible() {
    // Refused somewhere on the way to an elapsed time.
    return needs(device(), {Feature::event_timing}, [&] {
      const EventPtr start = a->record({.timing = true}), end = a->record({.timing = true});
      a->synchronize();
      (void)end->elapsed_since(*start);
    });
  }
};

CASE(Timing, "S26 timing: elapsed time is the time between the records, on the device's clock") {
  const auto before = steady_clock::now();
  const EventPtr start = a->record({.timing = true});
  start->synchronize();
  const auto started = steady_clock::now();
  while (steady_clock::now() - started < 20ms) std::this_thread::yield();  // the time that is measured
  const auto ending = steady_clock::now();
  const EventPtr end = a->record({.timing = true});
  end->synchronize();
  const auto after = steady_clock::now();
  const milliseconds elapsed = end->elapsed_since(*start);
  const milliseconds least = ending - started;
  const milliseconds most = after - before;
  INFO("elapsed ", elapsed.count(), " ms; between ", least.count(), " and ", most.count(), " ms on the host's clock");
  CHECK(elapsed.count() >= least.count() * 0.98 - 0.1);
  CHECK(elapsed.count() <= most.count() * 1.02 + 0.1);
}

CASE(Timing, "S26 timing: never negative in a stream's order, and zero from an event to itself") {
  std::vector<EventPtr> events;
  for (std::size_t i = 0; i < 20; ++i) {
    events.push_back(a->record({.timing = true}));
    board.set(*a, i, 1);
  }
  a->synchronize();
  for (std::size_t i = 1; i < events.size(); ++i) CHECK(events[i]->elapsed_since(*events[i - 1]).count() >= 0.0);
  CHECK(events.back()->elapsed_since(*events.front()).count() > 0.0);
  CHECK(events[3]->elapsed_since(*events[3]).count() == doctest::Approx(0.0));
  CHECK(events.front()->elapsed_since(*events.back()).count() <= 0.0);
}

CASE(Timing, "S26 timing: between two streams of the device") {
  const EventPtr start = a->record({.timing = true});
  b->wait(*start);
  const EventPtr end = b->record({.timing = true});
  end->synchronize();
  CHECK(end->elapsed_since(*start).count() >= 0.0);
}

CASE(Timing, "S26 timing: three different errors: timing off, not recorded, not complete, in this order") {
  const EventPtr untimed = a->record();
  const EventPtr unrecorded = device().create_event({.timing = true});
  const EventPtr untimed_unrecorded = device().create_event();
  const EventPtr done = a->record({.timing = true});
  a->synchronize();
  CHECK_REFUSED(Errc::timing_disabled, untimed->elapsed_since(*done));
  CHECK_REFUSED(Errc::timing_disabled, done->elapsed_since(*untimed));
  CHECK_REFUSED(Errc::timing_disabled, untimed_unrecorded->elapsed_since(*done));
  CHECK_REFUSED(Errc::timing_disabled, unrecorded->elapsed_since(*untimed));
  CHECK_REFUSED(Errc::not_recorded, unrecorded->elapsed_since(*done));
  CHECK_REFUSED(Errc::not_recorded, done->elapsed_since(*unrecorded));
  CHECK_REFUSED(Errc::not_recorded, unrecorded->elapsed_since(*unrecorded));

  if (!hold()) return;
  const EventPtr pending = a->record({.timing = true});
  CHECK_REFUSED(Errc::not_ready, pending->elapsed_since(*done));
  CHECK_REFUSED(Errc::not_ready, done->elapsed_since(*pending));
  CHECK_REFUSED(Errc::not_recorded, pending->elapsed_since(*unrecorded));
  gate.finish(*pending);
  CHECK(pending->elapsed_since(*done).count() >= 0.0);
}

CASE(Timing, "S26 timing: recording again moves the time") {
  const EventPtr start = a->record({.timing = true});
  const EventPtr end = a->record({.timing = true});
  a->synchronize();
  const double first = end->elapsed_since(*start).count();
  a->record(*end);
  a->synchronize();
  CHECK(end->elapsed_since(*start).count() > first);
}

CASE(TwoStreams, "S26 blocking wait: an event whose synchronize sleeps ends when the work is done") {
  const weir::EventOptions options{.blocking_sync = true};
  if (!needs(*a, {Feature::blocking_sync_events}, [&] { (void)device().create_event(options); })) return;
  if (!needs_gate(*a)) return;
  const EventPtr event = device().create_event(options);
  CHECK(event->options() == options);
  event->synchronize();
  gate.hold(*a);
  board.put(*a, 0, 1);
  a->record(*event);
  check_blocks([&] { event->synchronize(); });
  CHECK(board[0] == 1);
}

TEST_CASE("S21 S26 event: synchronize blocks the host while the stream is held, for every option") {
  for (const bool timing : {false, true}) {
    if (timing && !device().supports(Feature::event_timing)) continue;
    TwoStreams streams;
    if (!streams.hold()) return;
    const EventPtr event = streams.a->record({.timing = timing});
    streams.check_blocks([&] { event->synchronize(); });
  }
}

CASE(OneStream, "S26 inter-process: excludes timing, and has to be asked for when the event is made") {
  const weir::EventOptions options{.interprocess = true};
  if (!needs(*s, {Feature::interprocess_events}, [&] { (void)device().create_event(options); })) return;
  CHECK_REFUSED(Errc::invalid_argument, device().create_event({.timing = true, .interprocess = true}));
  const EventPtr plain = device().create_event();
  CHECK_REFUSED(Errc::invalid_argument, plain->interprocess_handle());
  const EventPtr event = device().create_event(options);
  CHECK(event->options() == options);
  s->record(*event);
  event->synchronize();
  (void)event->interprocess_handle();
  CHECK(event->is_complete());
}

CASE(OneStream, "S21 S27 event: any thread queries, waits for and records one event") {
  const EventPtr event = device().create_event();
  std::atomic<int> ended{0};
  in_parallel(4, [&](std::size_t t) {
    const StreamPtr mine = device().create_stream();
    for (int i = 0; i < 100; ++i) {
      t % 2 == 0 ? s->record(*event) : mine->wait(*event);
      (void)event->is_complete();
      if (i % 10 == 0) event->synchronize();
    }
    mine->synchronize();
    ++ended;
  });
  CHECK(ended == 4);
  s->synchronize();
  CHECK(event->is_complete());
}

CASE(OneStream,
     "S21 S22 S31 event: recorded before its stream captures, it is waited for and asked after while the capture is open") {
  if (!needs_capture(*s) || !needs_gate(*s)) return;
  const StreamPtr other = device().create_stream(), forked = device().create_stream();
  for (const bool is_complete : {false, true}) {
    for (const bool timing : {false, true}) {
      if (timing && !device().supports(Feature::event_timing)) continue;
      CAPTURE(is_complete);
      CAPTURE(timing);
      Board board;
      Gate gate;
      if (!is_complete) gate.hold(*s);
      board.set(*s, 0, 5);
      const EventPtr before = s->record({.timing = timing});
      forked->wait(*s);
      const EventPtr of_forked = forked->record({.timing = timing});
      if (is_complete) of_forked->synchronize();
      s->begin_capture(CaptureMode::relaxed);
      board.set(*s, 0, 6);
      forked->wait(*s);
      on_another_thread([&] {
        other->wait(*before);
        other->wait(*of_forked);
        CHECK(before->is_complete() == is_complete);
        board.move(*other, 1, 0);
        board.show(*other, 1);
        gate.finish(*before);
        other->synchronize();
      });
      s->wait(*forked);
      CHECK(s->end_capture()->node_count() == 1);
      CHECK(board[1] == 5);
      other->wait(*before);
      if (timing) CHECK(of_forked->elapsed_since(*before).count() >= 0);
      s->record(*before);
      other->wait(*before);
      other->synchronize();
    }
  }
}

CASE(WithOther, "S22 S31 S37 executable: launched on one stream that captures then, it is launched on another meanwhile") {
  if (!needs_capture(*s) || !needs_gate(*s)) return;
  const auto exec = s->capture([&](Stream& c) { board.move(c, 1, 0); })->instantiate();
  Gate gate(*s);
  board.set(*s, 0, 5);
  exec->launch(*s);
  s->begin_capture(CaptureMode::relaxed);
  on_another_thread([&] {
    exec->launch(*other);  // behind the launch that is held
    board.show(*other, 1);
    gate.finish(*other);
  });
  CHECK(s->end_capture()->node_count() == 0);
  CHECK(board[1] == 5);
}

CASE(Capture, "S21 S22 S27 S31 many threads that share an event and an executable, and capture now and then") {
  const auto exec = s->capture([&](Stream& c) { board.set(c, 0, 3); })->instantiate();
  const EventPtr shared = s->record();
  CHECK_NOTHROW(in_parallel(6, [&](std::size_t t) {
    const StreamPtr mine = device().create_stream(), second = device().create_stream();
    for (int i = 0; i < 60; ++i) {
      exec->launch(i % 2 == 0 ? *mine : *second);
      mine->record(*shared);
      second->wait(*shared);
      second->wait(*mine);
      (void)shared->is_complete();
      if (i % 3 != 0) continue;
      (void)mine->capture(CaptureMode::relaxed, [&](Stream& c) {
        for (int k = 0; k < 20; ++k) {
          board.set(c, t + 1, 1);
          std::this_thread::yield();
        }
      });
      if (i % 2 == 0) shared->synchronize();
    }
    mine->synchronize();
    second->synchronize();
  }));
}

}  // namespace conformance::events_cases
