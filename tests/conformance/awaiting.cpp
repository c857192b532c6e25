// SPDX-License-Identifier: Apache-2.0
#include <coroutine>
#include <deque>

#include "capture.hpp"
#include "weir/await.hpp"

/// Awaiting streams and events, in coroutines and by functions.
namespace conformance::awaiting_cases {

TEST_SUITE_BEGIN("awaiting");

/// A coroutine that runs by itself, and opens a latch at its end.
struct Task {
  struct promise_type {
    Task get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

/// What a program's event loop is: functions that one thread runs.
class Executor {
 public:
  void post(UniqueFunction<void()> function) {
    const std::lock_guard lock(mutex_);
    functions_.push_back(std::move(function));
    changed_.notify_one();
  }
  void run_one() {
    std::unique_lock lock(mutex_);
    REQUIRE(changed_.wait_for(lock, patience, [this] { return !functions_.empty(); }));
    UniqueFunction<void()> function = std::move(functions_.front());
    functions_.pop_front();
    lock.unlock();
    function();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<UniqueFunction<void()>> functions_;
};

CASE(WithGate, "S19 when done: the function is called once the stream's work is done, and not before") {
  Latch called;
  std::uint32_t seen = 0;
  bool failed = true;
  {
    Gate gate(*s);
    board.put(*s, 0, 5);
    when_done(*s, [&](std::exception_ptr error) {
      seen = board[0];
      failed = error != nullptr;
      called.open();
    });
    settle();
    CHECK_FALSE(called.is_open());
  }
  CHECK(called.wait());
  CHECK(seen == 5);
  CHECK_FALSE(failed);
}

CASE(WithBoard, "S19 S21 await: a coroutine goes on behind a stream's work, and behind an event") {
  Latch done;
  std::uint32_t first = 0, second = 0;
  const auto task = [&]() -> Task {
    board.put(*s, 0, 7);
    co_await *s;
    first = board[0];
    board.put(*s, 1, 8);
    const EventPtr event = s->record();
    co_await *event;
    second = board[1];
    done.open();
  };
  task();
  CHECK(done.wait());
  CHECK(first == 7);
  CHECK(second == 8);
}

CASE(OneStream, "S19 await: a coroutine goes on where the program's executor runs it") {
  Executor executor;
  bool done = false;
  std::thread::id on;
  const auto task = [&]() -> Task {
    for (int i = 0; i < 3; ++i)
      co_await completion(*s, [&](UniqueFunction<void()> resume) { executor.post(std::move(resume)); });
    on = std::this_thread::get_id();
    done = true;
  };
  task();
  for (int i = 0; i < 3; ++i) executor.run_one();
  CHECK(done);
  CHECK(on == std::this_thread::get_id());
}

CASE(OneStream, "S19 await: a host function's exception comes out of it, and so does the misuse of a stream") {
  Latch done;
  std::string thrown;
  Errc closed{}, capturing{};
  const auto code_of = [](const std::exception_ptr& error) {
    try {
      std::rethrow_exception(error);
    } catch (const weir::Error& e) {
      return e.errc();
    }
  };
  const auto task = [&]() -> Task {
    if (device().supports(Feature::host_functions)) {
      s->launch_host_function([] { throw Boom("awaited"); });
      try {
        co_await *s;
      } catch (const Boom& boom) {
        thrown = boom.what();
      }
    }
    std::exception_ptr error;
    if (device().supports(Feature::graph_capture)) {
      s->begin_capture();
      try {
        co_await *s;
      } catch (...) {
        error = std::current_exception();
      }
      capturing = code_of(error);
      s->discard_capture();
    }
    s->close();
    try {
      co_await *s;
    } catch (...) {
      error = std::current_exception();
    }
    closed = code_of(error);
    done.open();
  };
  // Where the coroutine has gone to Weir's thread, a capture in the mode of threads ends there as well.
  task();
  CHECK(done.wait());
  if (device().supports(Feature::host_functions)) CHECK(thrown == "awaited");
  if (device().supports(Feature::graph_capture)) CHECK(capturing == Errc::capture_unsupported);
  CHECK(closed == Errc::stream_closed);
}

TEST_CASE("S19 S27 when done: many streams, from many threads, each function once") {
  constexpr int threads = 4, rounds = 100;
  std::atomic<int> calls{0};
  in_parallel(threads, [&](std::size_t) {
    const StreamPtr s = device().create_stream();
    const auto memory = device().allocate<std::uint32_t>(64);
    for (int i = 0; i < rounds; ++i) {
      s->fill(memory, static_cast<std::uint32_t>(i));
      when_done(*s, [&](std::exception_ptr error) { calls += error == nullptr ? 1 : 1000; });
    }
    s->synchronize();
  });
  CHECK(eventually([&] { return calls == threads * rounds; }));
}

CASE(CaptureAndOther, "S19 S31 when done: while another stream captures in the mode 'global', the capture goes on") {
  Latch called;
  other->begin_capture(CaptureMode::global);
  board.set(*other, 0, 1);
  on_another_thread([&] {
    board.set(*s, 1, 2);
    const Refusal refusal = refusal_of([&] { when_done(*s, [&](std::exception_ptr) { called.open(); }); });
    if (refusal.threw) CHECK(refusal.is(Errc::capture_unsupported));
    if (refusal.threw) called.open();
  });
  std::this_thread::sleep_for(2ms);  // the thread gets its chance to ask what it must not
  CHECK(other->end_capture()->node_count() == 1);
  CHECK(called.wait());
}

CASE(CaptureAndOther, "S19 S31 when done: an event may be awaited while another stream captures in the mode 'global'") {
  board.set(*s, 1, 2);
  const EventPtr event = s->record();
  Latch called;
  other->begin_capture(CaptureMode::global);
  board.set(*other, 0, 1);
  on_another_thread([&] { when_done(event, [&](std::exception_ptr) { called.open(); }); });
  CHECK(called.wait());
  CHECK(other->end_capture()->node_count() == 1);
}

CASE(Capture, "S19 S31 when done: of an event that a capture records, is an error, and the capture goes on") {
  s->begin_capture(CaptureMode::relaxed);
  board.set(*s, 0, 1);
  const EventPtr event = s->record();
  CHECK_REFUSED(Errc::captured_event, when_done(event, [](std::exception_ptr) {}));
  CHECK(s->end_capture()->node_count() == 1);
}

CASE(OneStream, "S19 when done: what is not there is refused") {
  const auto nothing = [](std::exception_ptr) {};
  CHECK_REFUSED(Errc::invalid_argument, when_done(weir::StreamRef(nullptr), nothing));
  CHECK_REFUSED(Errc::invalid_argument, when_done(weir::Ref<weir::Event>(nullptr), nothing));
  CHECK_REFUSED(Errc::invalid_argument, when_done(*s, nullptr));
}

}  // namespace conformance::awaiting_cases
