// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "weir/weir.hpp"

// Tests the names that a program gives to its objects, without tools.

namespace {

weir::Device& device() { return weir::device("host:0"); }

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("names: a stream's stands in descriptions and errors, and goes with the stream") {
  const void* handle = nullptr;
  {
    const weir::StreamPtr stream = device().create_stream();
    handle = stream->native_handle();
    CHECK(stream->name().empty());
    stream->set_name("copies");
    CHECK(stream->name() == "copies");
    CHECK(has(stream->describe(), "host:0 stream 'copies' 0x"));
    const weir::StreamPtr borrowed = device().wrap_stream(stream->native_handle(), weir::Ownership::borrow);
    CHECK(*borrowed == *stream);
    std::string error;
    try {
      stream->wait(weir::EventRef(nullptr));
    } catch (const weir::Error& thrown) {
      error = thrown.what();
    }
    CHECK(has(error, "'copies'"));
    stream->set_name("");
    CHECK_FALSE(has(stream->describe(), "'"));
    stream->set_name("again");
    stream->close();
    CHECK(stream->name().empty());
    CHECK_THROWS_AS(stream->set_name("late"), weir::Error);
  }
  // The handle comes again, here at once: later other objects may have its memory.
  std::vector<weir::StreamPtr> others;  // kept, so that each has other memory
  bool came_again = false;
  for (int i = 0; i < 64 && !came_again; ++i) {
    others.push_back(device().create_stream());
    CHECK(others.back()->name().empty());
    CHECK_FALSE(has(others.back()->describe(), "'"));
    came_again = others.back()->native_handle() == handle;
  }
#ifndef __SANITIZE_ADDRESS__  // which keeps freed addresses back
  CHECK(came_again);
#endif
  others.clear();
  {
    const weir::StreamPtr stream = device().create_stream();
    stream->set_name("a\nweir stuck: \x1b[31m");
    CHECK(has(stream->describe(), R"('a\x0aweir stuck: \x1b[31m')"));
    std::atomic<bool> go = false;
    stream->launch_host_function([&] { go.wait(false); }, {.name = "b\r"});
    std::string pending;
    while (!has(pending, "host function 'b")) pending = stream->pending().describe();
    CHECK(has(pending, R"('b\x0d')"));
    go = true;
    go.notify_one();
    stream->synchronize();
    // What an open capture forbids is told with the capture's stream.
    const weir::StreamPtr decode = device().create_stream();
    decode->set_name("decode");
    decode->begin_capture();
    std::string error;
    try {
      (void)device().allocate<int>(1);
    } catch (const weir::Error& thrown) {
      error = thrown.what();
    }
    decode->discard_capture();
    CHECK(has(error, "is open on host:0 stream 'decode' 0x"));
  }
}

TEST_CASE("names: an event's goes with it, though events are used again") {
  const weir::StreamPtr stream = device().create_stream();
  const weir::Event* address = nullptr;
  {
    const weir::EventPtr event = stream->record();
    event->set_name("ready");
    CHECK(event->name() == "ready");
    CHECK(has(event->describe(), "host:0 event 'ready' "));
    address = event.get();
  }
  const weir::EventPtr again = stream->record();
  CHECK(again.get() == address);
  CHECK(again->name().empty());
}

TEST_CASE("names: memory's goes with it, also in the order of a stream") {
  const weir::StreamPtr stream = device().create_stream();
  const auto take = [&](bool async) { return async ? stream->allocate_async<float>(256) : device().allocate<float>(256); };
  for (const bool async : {false, true}) {
    CAPTURE(async);
    {
      const weir::Buffer<float> buffer = take(async);
      buffer.set_name("weights");
      CHECK(buffer.allocation()->name() == "weights");
      CHECK(buffer.share().allocation()->name() == "weights");
    }
    stream->synchronize();
    for (int i = 0; i < 8; ++i) CHECK(take(async).allocation()->name().empty());
  }
  weir::Buffer<float>().set_name("nothing");
}

TEST_CASE("names: what a stream waits for is told by its name") {
  const weir::StreamPtr first = device().create_stream(), second = device().create_stream();
  first->set_name("producer");
  const auto flags = device().allocate<std::uint32_t>(4, weir::MemoryKind::pinned);
  flags.set_name("flags");
  flags.host()[1] = 0;
  std::atomic<bool> over{false}, running{false};
  first->wait_value(flags.data() + 1, 1U);
  second->wait(first);
  CHECK(has(first->pending().describe(), " in 'flags' (32 bits) to reach 1"));
  CHECK(has(second->pending().describe(), "a wait for host:0 stream 'producer' 0x"));
  std::atomic_ref(flags.data()[1]).store(1);
  second->synchronize();
  second->launch_host_function(
      [&] {
        running = true;
        while (!over) std::this_thread::yield();
      },
      {.name = "reduce"});
  while (!running) std::this_thread::yield();
  CHECK(second->pending().name == "reduce");
  CHECK(second->pending().describe() == "host function 'reduce', which runs");
  over = true;
  second->synchronize();
  over = running = false;
  second->launch_host_function([&] {
    running = true;
    while (!over) std::this_thread::yield();
  });
  while (!running) std::this_thread::yield();
  CHECK(second->pending().describe() == "a host function, which runs");
  over = true;
  second->synchronize();
}

TEST_CASE("names: many threads name and end objects at once") {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 200; ++i) {
        const std::string name = "thread " + std::to_string(t) + ", " + std::to_string(i);
        const weir::StreamPtr stream = device().create_stream();
        stream->set_name(name);
        const auto x = stream->allocate_async<float>(16);
        x.set_name(name);
        const weir::EventPtr event = stream->record();
        event->set_name(name);
        CHECK((stream->name() == name && x.allocation()->name() == name && event->name() == name));
        stream->launch_host_function([] {}, {.name = name});
        stream->synchronize();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}
