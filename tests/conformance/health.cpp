// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

/// Waits with a deadline, and reports of the work that a stream waits for.
namespace conformance::health_cases {

using Kind = PendingWork::Kind;

/// Whether a stream that is held at work of that kind comes to say so. A backend may not know which work it is, and a tool
/// may have work of its own before it.
bool is_at(const Stream& stream, std::initializer_list<Kind> kinds) {
  return eventually([&] {
    const Kind found = stream.pending().kind;
    return found == Kind::unknown || std::find(kinds.begin(), kinds.end(), found) != kinds.end();
  });
}

TEST_SUITE_BEGIN("ordering");

CASE(WithBoard, "S19 synchronize: with a deadline it is true on an idle stream, also without any time") {
  CHECK(s->synchronize_for(0s));
  CHECK(s->synchronize_for(-1s));
  CHECK(s->synchronize_for(std::chrono::nanoseconds::max()));
  board.put(*s, 0, 5);
  CHECK(s->synchronize_for(patience));
  CHECK(board[0] == 5);
}

CASE(Held, "S19 synchronize: with a deadline it is false while the stream is held, and the work goes on") {
  board.put(*a, 0, 7);
  CHECK_FALSE(a->synchronize_for(0s));
  CHECK_FALSE(a->synchronize_for(-1ms));
  const auto begin = std::chrono::steady_clock::now();
  CHECK_FALSE(a->synchronize_for(20ms));
  CHECK(std::chrono::steady_clock::now() - begin >= 20ms);
  std::jthread opener([&] {
    std::this_thread::sleep_for(20ms);
    gate.open();
  });
  CHECK(a->synchronize_for(std::chrono::hours::max()));  // more nanoseconds than 64 bits hold
  CHECK(board[0] == 7);
}

CASE(Held, "S19 synchronize: a device is waited for until its work is done, or until the deadline") {
  board.put(*a, 0, 7);
  CHECK_FALSE(device().synchronize_for(0s));
  CHECK_FALSE(device().synchronize_for(20ms));
  gate.open();
  CHECK(device().synchronize_for(patience));
  CHECK(board[0] == 7);
  device().synchronize();
  CHECK(device().synchronize_for(0s));
}

CASE(OneStream, "S19 synchronize: with a deadline it does not wait for what other threads enqueue later") {
  const Word32 word;
  if (!needs(*s, {Feature::wait_value_32, Feature::wait_value_geq}, [&] { s->wait_value(word.address(), 1U); })) return;
  // The stream is never idle: each wait is enqueued before the one in front of it ends.
  s->wait_value(word.address(), 1U);
  std::atomic<bool> over{false};
  std::thread other([&] {
    std::uint32_t i = 1;
    for (; !over; ++i) {
      s->wait_value(word.address(), i + 1);
      word.store(i);
    }
    word.store(i);
  });
  const bool came = s->synchronize_for(patience);
  over = true;
  other.join();
  s->synchronize();
  CHECK(came);
}

CASE(OneStream, "S19 S28 synchronize: with a deadline it throws what a host function threw, once it is done") {
  if (!needs(*s, {Feature::host_functions}, [&] { s->launch_host_function([] {}); })) return;
  s->launch_host_function([] { throw Boom("boom"); });
  CHECK_THROWS_AS((void)s->synchronize_for(patience), Boom);
  CHECK(s->synchronize_for(patience));
}

CASE(OneStream,
     "S19 S31 synchronize: with a deadline it is refused in a capture, which goes on; so is the question what is pending") {
  if (!needs(*s, {Feature::graph_capture}, [&] { s->begin_capture(); })) return;
  s->begin_capture();
  CHECK_REFUSED(Errc::capture_unsupported, s->synchronize_for(0s));
  CHECK_REFUSED(Errc::capture_unsupported, s->pending());
  CHECK(s->capture_status() == CaptureStatus::active);
  CHECK(s->end_capture() != nullptr);
}

CASE(TwoStreams, "S20 S21 event: with a deadline it is waited for until it is complete, or until the deadline") {
  const EventPtr fresh = device().create_event();
  CHECK(fresh->synchronize_for(0s));
  if (!hold()) return;
  const EventPtr event = a->record();
  CHECK_FALSE(event->synchronize_for(0s));
  CHECK_FALSE(event->synchronize_for(10ms));
  gate.open();
  CHECK(event->synchronize_for(patience));
  CHECK(event->is_complete());
}

CASE(TwoStreams, "S20 query: an idle stream has nothing pending, and a held one says so") {
  CHECK(a->pending().kind == Kind::nothing);
  if (!hold()) return;
  CHECK(is_at(*a, {Kind::value, Kind::host_function}));
  CHECK(a->pending().kind != Kind::nothing);
  CHECK_FALSE(a->pending().describe().empty());
  gate.finish(*a);
  CHECK(a->pending().kind == Kind::nothing);
}

CASE(Held, "S20 S23 query: a stream that waits for another one has that wait pending") {
  b->wait(*a);
  board.put(*b, 0, 1);
  CHECK(is_at(*b, {Kind::stream}));
  gate.finish(*b);
  CHECK(b->pending().kind == Kind::nothing);
}

TEST_CASE("S20 S31 query: what is pending may be asked beside another stream's capture, whatever its mode") {
  const StreamPtr s = device().create_stream(), captured = device().create_stream();
  if (!needs(*captured, {Feature::graph_capture}, [&] { captured->begin_capture(); })) return;
  for (const CaptureMode mode : {CaptureMode::global, CaptureMode::thread_local_, CaptureMode::relaxed}) {
    captured->begin_capture(mode);
    CHECK(s->pending().kind == Kind::nothing);
    CHECK(device().health().is_ok());
    CHECK(captured->capture_status() == CaptureStatus::active);
    CHECK(captured->end_capture() != nullptr);
  }
}

TEST_CASE("S13 device: it is healthy, and not poisoned") {
  const weir::DeviceHealth health = device().health();
  CHECK(health.is_ok());
  CHECK_FALSE(health.error);
  CHECK(health.suspects.empty());
  CHECK(health.describe() == "ok");
  CHECK_FALSE(device().is_poisoned());
}

}  // namespace conformance::health_cases
