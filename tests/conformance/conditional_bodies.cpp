// SPDX-License-Identifier: Apache-2.0
#include "capture.hpp"

/// Errors while the body of a conditional node is captured, and their effects on the capture that contains the node.
namespace conformance::conditional_bodies_cases {

TEST_SUITE_BEGIN("conditional bodies");

using Body = std::function<void(Stream& body)>;

/// Cell 0 of the board is the condition of the nodes.
struct Conditional : Fork {
  std::uint32_t* const condition = board.cell(0).data();

  bool is_possible() {
    return needs_in_capture(*s, Feature::graph_conditional_nodes, [&] { s->capture_if(condition, [](Stream&) {}); });
  }
  /// Captures a conditional node whose body leaves a fork open, between two fills. The capture must continue, and its
  /// graph be usable.
  void check_unjoined(bool loop, const Body& body) {
    INFO("loop: ", loop);
    s->begin_capture();
    board.set(*s, 1, 5);
    CHECK_REFUSED(Errc::capture_unjoined, loop ? s->capture_while(condition, body) : s->capture_if(condition, body));
    CHECK(s->capture_status() == CaptureStatus::active);
    board.show(*s, 1);
    GraphPtr graph = s->end_capture();
    board.set(*s, 0, 0);
    run(graph, *s);
    CHECK(board[1] == 5);
    graph.reset();
    CHECK_WORKS(*s);
    CHECK_WORKS(*forked);
  }
};

CASE(Conditional,
     "S36 S41 body: a fork that is not joined is an error of its node; the capture goes on, and all streams work") {
  const auto fork = [&](Stream& body) {
    forked->wait(body);
    board.set(*forked, 2, 4);
  };
  for (const bool loop : {false, true}) check_unjoined(loop, fork);
  // The body of the inner node fails, and with its error that of the outer one.
  check_unjoined(false, [&](Stream& body) { body.capture_if(condition, fork); });
}

CASE(Conditional, "S36 S41 body: a fork that is joined, and one that is empty, are no error") {
  const StreamPtr idle = device().create_stream();
  const GraphPtr graph = s->capture([&](Stream& c) {
    c.capture_if(condition, [&](Stream& body) {
      board.set(body, 1, 3);
      forked->wait(body);
      idle->wait(body);
      board.set(*forked, 2, 4);
      body.wait(*forked);
    });
    board.show(c, 2);
  });
  board.set(*s, 0, 1);
  run(graph, *s);
  CHECK(board[2] == 4);
  CHECK_WORKS(*forked);
  CHECK_WORKS(*idle);
}

CASE(Conditional, "S36 S41 body: an exception behind a fork comes out of the node, and all streams work") {
  const auto boom = [&](Stream& body) {
    forked->wait(body);
    board.set(*forked, 2, 4);
    throw Boom("behind a fork");
  };
  s->begin_capture();
  CHECK_THROWS_AS(s->capture_if(condition, boom), Boom);
  CHECK_THROWS_AS(s->capture_if(condition, [&](Stream& body) { body.capture_if(condition, boom); }), Boom);
  CHECK(s->capture_status() == CaptureStatus::active);
  GraphPtr graph = s->end_capture();
  board.set(*s, 0, 0);
  run(graph, *s);
  graph.reset();
  CHECK_WORKS(*s);
  CHECK_WORKS(*forked);
  // A loop whose body is not whole would never end, so its capture may be useless.
  s->begin_capture();
  CHECK_THROWS_AS(s->capture_while(condition, boom), Boom);
  (void)refusal_of([&] { (void)s->end_capture(); });
}

CASE(Conditional,
     "S41 body: the streams of the node's own capture take no work, and that capture neither ends nor closes them") {
  const StreamPtr other = device().create_stream();
  const EventPtr event = device().create_event();
  struct Call {
    const char* name;
    std::function<void(Stream& body)> act;
  };
  const std::vector<Call> calls = {
      {"fill", [&](Stream&) { board.set(*s, 1, 9); }},
      {"fill on a fork", [&](Stream&) { board.set(*forked, 1, 9); }},
      {"record", [&](Stream&) { s->record(*event); }},
      {"wait", [&](Stream& body) { s->wait(body); }},
      {"be waited for", [&](Stream& body) { body.wait(*s); }},
      {"be joined", [&](Stream&) { other->wait(*s); }},
      {"capture_if", [&](Stream&) { s->capture_if(condition, [](Stream&) {}); }},
      {"end", [&](Stream&) { (void)s->end_capture(); }},
      {"discard", [&](Stream&) { s->discard_capture(); }},
      {"close", [&](Stream&) { s->close(); }},
      {"close a fork", [&](Stream&) { forked->close(); }},
      {"release", [&](Stream&) { (void)s->release_handle(); }},
  };
  for (const bool nested : {false, true}) {
    for (const Call& call : calls) {
      INFO(call.name, nested ? ", in a nested body" : "");
      s->begin_capture();
      board.set(*s, 1, 5);
      forked->wait(*s);
      const Body body = [&](Stream& b) {
        CHECK_REFUSED_SAYING(Errc::capture_unmatched, "stream that is passed to the function", call.act(b));
        board.set(b, 2, 6);
      };
      s->capture_if(condition, nested ? Body([&](Stream& b) { b.capture_if(condition, body); }) : body);
      board.show(*s, {1, 2});
      GraphPtr graph = s->end_capture();
      board.set(*s, 0, 1);
      run(graph, *s);
      CHECK(board.shown({1, 2}) == Values{5, 6});
      CHECK_WORKS(*forked);
      CHECK_WORKS(*other);
    }
  }
}

CASE(Conditional,
     "S41 body: its stream cannot end, discard or keep the capture, and is closed when the function has returned") {
  StreamPtr kept;
  s->begin_capture();
  s->capture_if(condition, [&](Stream& body) {
    CHECK_REFUSED(Errc::capture_unmatched, body.end_capture());
    CHECK_REFUSED(Errc::capture_unmatched, body.discard_capture());
    CHECK_REFUSED(Errc::already_capturing, body.begin_capture());
    CHECK(body.capture_status() == CaptureStatus::active);
    kept = StreamPtr(&body);
  });
  CHECK_REFUSED(Errc::stream_closed, board.set(*kept, 1, 9));
  CHECK_REFUSED(Errc::stream_closed, s->capture_if(condition, [](Stream& body) { body.close(); }));
  CHECK(s->capture_status() == CaptureStatus::active);
  (void)s->end_capture();
}

CASE(Conditional, "S31 S41 body: it is captured in the mode of the capture that the node is in") {
  for (const CaptureMode mode : all_modes) {
    INFO("mode ", std::string(weir::to_string(mode)));
    s->begin_capture(mode);
    s->capture_if(condition, [&](Stream& body) {
      const auto allocate = [] { (void)device().allocate<int>(16); };
      const Refusal here = refusal_of(allocate), elsewhere = refusal_on_another_thread(allocate);
      CHECK(here.is(Errc::capture_unsupported) == (mode != CaptureMode::relaxed));
      CHECK(elsewhere.is(Errc::capture_unsupported) == (mode == CaptureMode::global));
      board.set(body, 1, 3);
    });
    CHECK(s->capture_status() == CaptureStatus::active);
    board.show(*s, 1);
    const GraphPtr graph = s->end_capture();
    board.set(*s, 0, 1);
    run(graph, *s);
    CHECK(board[1] == 3);
  }
}

CASE(Conditional, "S5 S41 body: its function may drop the last other owner of the capturing stream") {
  s->begin_capture();
  s->capture_if(condition, [&](Stream& body) {
    s.reset();
    board.set(body, 1, 3);
  });
  const StreamPtr other = device().create_stream();
  CHECK_WORKS(*other);
}

}  // namespace conformance::conditional_bodies_cases
