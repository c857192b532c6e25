// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>

#include "weir/weir.hpp"

// What a stream of the host backend is at, which the queue knows exactly.

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
    CHECK(work.describe().ends_with("(32 bits) to reach 1, now it is 0, and 2 operations behind it"));
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
  CHECK(work.describe().ends_with("(64 bits) to be 6, now it is 0"));
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
    }
  }
  second->synchronize();
  third->synchronize();

  second->launch_host_function([&] {
    while (!over) std::this_thread::yield();
  });
  second->copy(y, x);
  CHECK(second->pending().kind == Kind::host_function);
  CHECK(second->pending().behind == 1);
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

TEST_CASE("pending: a launch of a graph is told") {
  const weir::StreamPtr stream = device().create_stream();
  std::uint32_t word = 0;
  const weir::GraphExecPtr exec = stream->capture([&](weir::Stream& s) { s.wait_value(&word, 1U); })->instantiate();
  exec->launch(*stream);
  CHECK(stream->pending().kind == Kind::graph);
  std::atomic_ref(word).store(1);
  stream->synchronize();
}

TEST_CASE("pending: a blocking stream is at its wait for the default stream") {
  const weir::StreamPtr legacy = device().default_stream(), blocking = device().create_stream({.blocking = true});
  {
    const Held held(*legacy);
    const PendingWork work = blocking->pending();
    CHECK(work.kind == Kind::stream);
  }
  blocking->synchronize();
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
