// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>

#include "weir/weir.hpp"

// Tests reports of the current work of a stream. The host backend reports it exactly.

using weir::PendingWork;
using Kind = PendingWork::Kind;

namespace {

weir::Device& device() { return weir::device("host:0"); }

/// Holds streams until it goes.
struct Held {
  weir::Stream& stream;
  std::uint32_t word = 0;
  explicit Held(weir::Stream& held) : stream(held) { stream.wait_value(&word, 1U); }
  ~Held() {
    std::atomic_ref(word).store(1);
    stream.synchronize();  // it reads the word until then
  }
};

/// What the stream is at once it is at that kind of work; it may have to get there.
PendingWork wait_until_at(const weir::Stream& stream, Kind kind) {
  for (int i = 0; i < 10000; ++i) {
    PendingWork work = stream.pending();
    if (work.kind == kind) return work;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return stream.pending();
}

}  // namespace

TEST_CASE("pending: a wait for a value is told with its address, value and condition, and the operations behind it") {
  const weir::StreamPtr stream = device().create_stream();
  auto x = device().allocate<unsigned>(4);
  {
    const Held held(*stream);
    stream->fill(x, 1U);
    stream->launch_host_function([] {});
    const PendingWork work = stream->pending();
    CHECK(work.kind == Kind::value);
    CHECK(work.wait.address == &held.word);
    CHECK(work.wait.value == 1);
    CHECK(work.wait.condition == weir::WaitCondition::geq);
    CHECK(work.behind == 2);
    CHECK(work.describe().ends_with(
        "(32 bits) to reach 1, now it is 0, followed by 2 operations\n"
        "  no enqueued operation would write that value, so the host or another process must write it"));
  }
  stream->synchronize();
  CHECK(stream->pending().kind == Kind::nothing);
}

TEST_CASE("pending: of a batch the first value that is not there is told") {
  const weir::StreamPtr stream = device().create_stream();
  std::uint64_t words[3] = {5, 0, 0};
  stream->batch_memory_operations(std::array{weir::MemoryOperation::wait(&words[0], std::uint64_t{5}),
                           weir::MemoryOperation::write(&words[2], std::uint64_t{1}),
                           weir::MemoryOperation::wait(&words[1], std::uint64_t{6}, weir::WaitCondition::eq)});
  const PendingWork work = wait_until_at(*stream, Kind::value);
  CHECK(work.wait.address == &words[1]);
  CHECK(work.describe().find("(64 bits) to be 6, now it is 0\n") != std::string::npos);
  std::atomic_ref(words[1]).store(6);
  stream->synchronize();
}

TEST_CASE(
    "pending: a wait for an event or a stream is told by that stream, a function, a kernel and a copy by what they are") {
  const weir::StreamPtr first = device().create_stream(), second = device().create_stream(),
                        third = device().create_stream();
  auto x = device().allocate<unsigned>(64), y = device().allocate<unsigned>(64);
  const weir::ModulePtr module =
      device().compile("extern \"C\" __global__ void until_set(volatile unsigned* word) { while (*word == 0) {} }");
  volatile unsigned set = 0;
  std::atomic<bool> over{false};
  {
    const Held held(*first);
    const weir::EventPtr event = first->record();
    second->wait(*event);
    third->wait(*first);
    for (const weir::StreamPtr& waiting : {second, third}) {
      const PendingWork work = waiting->pending();
      CHECK(work.kind == Kind::stream);
      CHECK(work.subject == first->describe());
      REQUIRE(work.chain.size() == 2);
      CHECK(work.chain[0].starts_with(first->describe() + " is at a wait for the value at 0x"));
    }
  }
  second->synchronize();
  third->synchronize();

  second->launch_host_function([&] {
    while (!over) std::this_thread::yield();
  });
  second->copy(y, x);
  third->launch_host_function([] {});
  PendingWork running = second->pending();
  for (int i = 0; i < 10000 && running.subject != "which runs"; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    running = second->pending();
  }
  CHECK(running.describe() == "a host function, which runs, followed by 1 operation");
  const PendingWork next = third->pending();
  CHECK(next.kind == Kind::host_function);
  CHECK(next.describe() == "a host function, which waits for its turn\n  " + second->describe() +
                               " is at a host function, which runs, followed by 1 operation\n"
                               "  Weir cannot see what that function waits for");
  over = true;
  second->synchronize();

  third->launch(module->untyped_kernel("until_set"), {1, 1}, &set);
  const PendingWork work = wait_until_at(*third, Kind::kernel);
  CHECK(work.subject == "until_set");
  CHECK(work.describe() == "kernel 'until_set'");
  CHECK_FALSE(third->synchronize_for(std::chrono::milliseconds(5)));
  set = 1;
  third->synchronize();
}

TEST_CASE("pending: a launch of a graph is told with the node that it is at") {
  const weir::StreamPtr stream = device().create_stream();
  std::uint32_t word = 0, before = 0;
  const weir::GraphExecPtr exec = stream
                                      ->capture([&](weir::Stream& s) {
                                        s.write_value(&before, 1U);
                                        s.wait_value(&word, 1U);
                                      })
                                      ->instantiate();
  for (int launch = 0; launch < 2; ++launch) {
    exec->launch(*stream);
    PendingWork work = stream->pending();
    for (int i = 0; i < 10000 && work.subject.find("node 1, ") == std::string::npos; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      work = stream->pending();
    }
    CAPTURE(work.describe());
    CHECK(work.kind == Kind::graph);
    CHECK(work.describe().starts_with("a launch of a graph, at node 1, a wait for the value at 0x"));
    std::atomic_ref(word).store(1);
    stream->synchronize();
    word = 0;
  }
}

TEST_CASE("pending: a conditional node is told as one, with the value of its condition and what runs in its body") {
  const weir::StreamPtr stream = device().create_stream();
  auto condition = device().allocate<std::uint32_t>(1), x = device().allocate<std::uint32_t>(4);
  condition.data()[0] = 7;
  const weir::GraphExecPtr exec = stream
                                      ->capture([&](weir::Stream& s) {
                                        s.capture_while(condition.data(), [&](weir::Stream& body) { body.fill(x, 2U); });
                                      })
                                      ->instantiate();
  exec->launch(*stream);
  bool in_body = false;
  for (int i = 0; i < 100000 && !in_body; ++i) {
    const PendingWork work = stream->pending();
    CAPTURE(work.describe());
    CHECK(work.kind == Kind::graph);
    if (work.subject.empty()) continue;  // between two nodes
    CHECK(work.describe().starts_with("a launch of a graph, at node 0, a conditional node, whose condition is 7"));
    in_body = work.describe().find(", in a body at node 0, Stream::fill of 16 bytes") != std::string::npos;
  }
  CHECK(in_body);
  std::atomic_ref(condition.data()[0]).store(0);
  stream->synchronize();
}

TEST_CASE("pending: it may be asked while the stream runs, at any moment") {
  const weir::StreamPtr stream = device().create_stream(), other = device().create_stream();
  auto x = device().allocate<unsigned>(4);
  std::atomic<bool> over{false};
  std::atomic<std::uint64_t> asked{0};
  std::uint64_t ran = 0;
  std::thread asking([&] {
    while (!over) {
      const PendingWork work = stream->pending();
      asked += work.describe().empty() ? 0 : 1;
    }
  });
  for (int i = 0; i < 20000; ++i) {
    stream->launch_host_function([&ran, owned = std::make_unique<int>(i)] { ran += *owned >= 0 ? 1 : 0; });
    stream->fill(x, 1U);
    if (i % 16 == 0) stream->wait(*other->record());
    if (i % 1000 == 0) stream->synchronize();
  }
  stream->synchronize();
  over = true;
  asking.join();
  CHECK(ran == 20000);
  CHECK(asked > 0);
  CHECK(stream->pending().kind == Kind::nothing);
}
