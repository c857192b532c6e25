// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/tools/stuck_programs.hpp"

namespace weir::test {
namespace {

/// Makes streams, whose names it prints, and words that are 0.
struct Scene {
  explicit Scene(Device& on) : device(on), words(on.allocate<std::uint32_t>(8, MemoryKind::pinned)) {
    for (std::uint32_t& word : words.host()) word = 0;
  }
  Stream& stream(const char* name, const StreamOptions& options = {}) { return known(name, device.create_stream(options)); }
  Stream& known(const char* name, StreamPtr stream) {
    std::printf("%s=%s\n", name, stream->describe().c_str());
    std::fflush(stdout);
    streams.push_back(std::move(stream));
    return *streams.back();
  }
  std::uint32_t* word(std::size_t i) const { return words.data() + i; }

  Device& device;
  Buffer<std::uint32_t> words;
  std::vector<StreamPtr> streams;
};

template <auto program>
void run_with_streams(Device& device) {
  Scene scene(device);
  Stream &a = scene.stream("a"), &b = scene.stream("b"), &c = scene.stream("c");
  program(device, scene, a, b, c);
}

/// `WEIR_DEADLOCK(name, TEXTS…) { … }` defines a program with `device`, a `scene`, and three streams of it.
#define WEIR_DEADLOCK(name, ...)                                                                        \
  void name(Device& device, Scene& scene, Stream& a, Stream& b, Stream& c);                             \
  const AddStuckProgram add_##name(deadlocks(), {#name, {__VA_ARGS__}, run_with_streams<name>});        \
  void name([[maybe_unused]] Device& device, [[maybe_unused]] Scene& scene, [[maybe_unused]] Stream& a, \
            [[maybe_unused]] Stream& b, [[maybe_unused]] Stream& c)

constexpr const char* nobody = "no enqueued operation would write that value, so the host or another process must write it";
constexpr const char* only_the_program = "Weir cannot see what that function waits for";
constexpr const char* source = "extern \"C\" __global__ void set(unsigned* word) { *word = 1; }";

// --- Values -----------------------------------------------------------------------------------------------------------

WEIR_DEADLOCK(crosswise, "circle: a b", "{b} would write that value: a written value, 1 operation further on",
              "now it is 0") {
  a.wait_value(scene.word(0), 1U, WaitCondition::eq);  // AMD GPUs lack the usual condition
  a.write_value(scene.word(1), 1U);
  b.wait_value(scene.word(1), 1U, WaitCondition::eq);
  b.write_value(scene.word(0), 1U);
  a.synchronize();
}

WEIR_DEADLOCK(own_later_write, "circle: a", "{a} would write that value: a written value, 2 operations further on") {
  a.wait_value(scene.word(0), 1U);
  weir::detail::fill_elements(a, scene.word(1), 1, 4, 1);
  a.write_value(scene.word(0), 1U);
  a.synchronize();
}

WEIR_DEADLOCK(ring_of_three, "circle: a b c", "{c} would write that value") {
  const std::array<Stream*, 3> ring = {&a, &b, &c};
  for (std::size_t i = 0; i < 3; ++i) {
    ring[i]->wait_value(scene.word((i + 1) % 3), 1U);  // which the next one writes
    ring[i]->write_value(scene.word(i), 1U);
  }
  device.synchronize();
}

WEIR_DEADLOCK(writer_behind_an_event, "circle: a b", "{b} would write that value", "a wait for {a}") {
  a.wait_value(scene.word(0), 1U);
  const EventPtr event = a.record();
  b.wait(*event);
  b.write_value(scene.word(0), 1U);
  event->synchronize();
}

WEIR_DEADLOCK(writer_behind_a_third_stream, "circle: a c b", "{c} would write that value", "a wait for {b}") {
  a.wait_value(scene.word(0), 1U);
  b.wait(a);
  c.wait(b);
  c.write_value(scene.word(0), 1U);
  c.synchronize();
}

WEIR_DEADLOCK(batches, "circle: a b", "{a} would write that value: a written value; it is at") {
  a.batch_memory_operations(std::array{MemoryOperation::wait(scene.word(0), 1), MemoryOperation::write(scene.word(1), 1)});
  b.batch_memory_operations(std::array{MemoryOperation::wait(scene.word(1), 1), MemoryOperation::write(scene.word(0), 1)});
  b.synchronize();
}

/// The value was there, and is another one now.
WEIR_DEADLOCK(passed_over, "{b} is at a wait for the value at 0x", "to be 1, now it is 2", nobody) {
  a.write_value(scene.word(0), 1U);
  a.write_value(scene.word(0), 2U);
  b.wait(a);
  b.wait_value(scene.word(0), 1U, WaitCondition::eq);
  b.synchronize();
}

/// What would be written does not meet the condition.
WEIR_DEADLOCK(another_bit, "{a} is at a wait for the value at 0x", "to have a bit of 0x4, now it is 0", nobody) {
  a.wait_value(scene.word(0), 4U, WaitCondition::bit_and);
  b.wait(a);
  b.write_value(scene.word(0), 3U);
  b.synchronize();
}

WEIR_DEADLOCK(a_cleared_flag, "{b} is at a wait for the value at 0x", "now it is 0", nobody) {
  a.write_value(scene.word(0), 1U);
  weir::detail::fill_elements(a, scene.word(0), 0, 4, 1);
  b.wait(a);
  b.wait_value(scene.word(0), 1U);
  b.synchronize();
}

WEIR_DEADLOCK(a_kernel_would_write, "circle: a b",
              "{b} would write that value: kernel 'set', which gets the address, 1 operation") {
  const ModulePtr module = device.compile(source);
  a.wait_value(scene.word(0), 1U);
  b.wait(a);
  b.launch(module->untyped_kernel("set"), {1, 1}, scene.word(0));
  b.synchronize();
}

WEIR_DEADLOCK(a_copy_would_write, "circle: a b", "{b} would write that value: a copy, 1 operation further on") {
  const auto ones = device.allocate<std::uint32_t>(8);
  a.fill(ones, 1U);
  a.wait_value(scene.word(5), 1U);
  b.wait(a);
  b.copy(scene.words, ones);
  device.synchronize();
}

/// The one that could go on is not the only one: all that would write wait.
WEIR_DEADLOCK(two_writers, "circle: a b|circle: a c", "{a} is at a wait for the value at 0x") {
  a.wait_value(scene.word(0), 1U);
  for (Stream* const writer : {&b, &c}) {
    writer->wait(a);
    writer->write_value(scene.word(0), 1U);
  }
  a.synchronize();
}

// --- Host functions ---------------------------------------------------------------------------------------------------

/// Functions of one device run one at a time.
WEIR_DEADLOCK(functions_wait_for_each_other, "{a} is at a host function, which runs",
              "{b} is at a host function, which waits for its turn", only_the_program) {
  std::promise<void> told;
  a.launch_host_function([&] {
    std::atomic_ref(*scene.word(0)).store(1);  // so that it runs before the other one may
    told.get_future().wait();
  });
  b.wait_value(scene.word(0), 1U);
  b.launch_host_function([&] { told.set_value(); });
  a.synchronize();
}

WEIR_DEADLOCK(a_function_waits_for_a_stream, "{b} is at a wait for {a}", "{a} is at a host function, which runs",
              only_the_program) {
  std::promise<void> told;
  a.launch_host_function([&] { told.get_future().wait(); });
  b.wait(a);
  b.launch_host_function([&] { told.set_value(); });
  b.synchronize();
}

WEIR_DEADLOCK(a_lock_that_the_waiter_holds, "{a} is at a host function, which runs", only_the_program) {
  std::mutex mutex;
  const std::lock_guard held(mutex);
  a.launch_host_function([&] { const std::lock_guard lock(mutex); });
  a.synchronize();
}

/// The thread that would write the value waits for the one that waits for the stream.
WEIR_DEADLOCK(two_threads, "{a} is at a wait for the value at 0x", "now it is 0", nobody) {
  a.wait_value(scene.word(0), 1U);
  std::thread other([&] { a.synchronize(); });
  other.join();
  std::atomic_ref(*scene.word(0)).store(1);
}

WEIR_DEADLOCK(the_default_stream, "circle: a b", "{b} would write that value", "a wait for {a}") {
  Stream &first = scene.known("a", device.default_stream()), &second = scene.stream("b", {.blocking = true});
  first.wait_value(scene.word(0), 1U);
  second.write_value(scene.word(0), 1U);
  second.synchronize();
}

// --- Graphs -----------------------------------------------------------------------------------------------------------

WEIR_DEADLOCK(a_graph_waits, "circle: a b", "{a} is at a launch of a graph, at node 1, a wait for the value at 0x") {
  const GraphExecPtr exec = a.capture([&](Stream& s) {
                               weir::detail::fill_elements(s, scene.word(1), 1, 4, 1);
                               s.wait_value(scene.word(0), 1U);
                             })->instantiate();
  exec->launch(a);
  b.wait(a);
  b.write_value(scene.word(0), 1U);
  b.synchronize();
}

WEIR_DEADLOCK(branches_wait_for_each_other, "circle: a", "at a launch of a graph, at node",
              "{a} would write that value: a written value in node") {
  const GraphExecPtr exec = a.capture([&](Stream& s) {
                               b.wait(s);
                               s.wait_value(scene.word(0), 1U);
                               s.write_value(scene.word(1), 1U);
                               b.wait_value(scene.word(1), 1U);
                               b.write_value(scene.word(0), 1U);
                               s.wait(b);
                             })->instantiate();
  exec->launch(a);
  a.synchronize();
}

/// Launches of one executable run one after the other.
WEIR_DEADLOCK(launches_of_one_executable, "circle: a b", "{b} would write that value", "a wait for {a}") {
  const GraphExecPtr exec = a.capture([&](Stream& s) { s.wait_value(scene.word(0), 1U); })->instantiate();
  exec->launch(a);
  exec->launch(b);
  b.write_value(scene.word(0), 1U);
  device.synchronize();
}

WEIR_DEADLOCK(an_event_of_a_graph, "circle: a b", "{b} would write that value", "a launch of a graph, at node 0") {
  const EventPtr event = device.create_event();
  const GraphExecPtr exec = a.capture([&](Stream& s) {
                               s.wait_value(scene.word(0), 1U);
                               s.record_external(*event);
                             })->instantiate();
  exec->launch(a);
  b.wait(*event);
  b.write_value(scene.word(0), 1U);
  b.synchronize();
}

WEIR_DEADLOCK(a_graph_waits_for_an_event, "{b} is at a wait for the value at 0x", "circle: a b") {
  const EventPtr event = device.create_event();
  const GraphExecPtr exec = a.capture([&](Stream& s) {
                               s.wait_external(*event);
                               s.write_value(scene.word(0), 1U);
                             })->instantiate();
  b.wait_value(scene.word(0), 1U);
  b.record(*event);
  exec->launch(a);
  a.synchronize();
}

WEIR_DEADLOCK(a_function_of_a_graph, "{b} is at a wait for {a}",
              "{a} is at a launch of a graph, at node 0, a host function, which runs") {
  std::promise<void> told;
  const GraphExecPtr exec =
      a.capture([&](Stream& s) { s.launch_host_function([&] { told.get_future().wait(); }); })->instantiate();
  exec->launch(a);
  b.wait(a);
  b.launch_host_function([&] { told.set_value(); });
  b.synchronize();
}

// --- Collectives ------------------------------------------------------------------------------------------------------

/// Two ranks on devices of their own.
struct Ranks : Scene {
  explicit Ranks(Device& first, int groups = 1) : Scene(first) {
    other = &first.backend().device(1);
    const std::vector<Device*> both = {&first, other};
    for (int i = 0; i < groups; ++i) communicators.push_back(Communicator::from_devices(both));
    a = &stream("a");
    b = &known("b", other->create_stream());
    for (Device* const each : both) data.push_back(each->allocate<float>(4));
  }
  void reduce(int group, std::size_t rank) {
    communicators[static_cast<std::size_t>(group)][rank]->all_reduce(data[rank], Reduction::sum, rank == 0 ? *a : *b);
  }

  Device* other;
  std::vector<std::vector<CommunicatorPtr>> communicators;
  Stream *a, *b;
  std::vector<Buffer<float>> data;
};

WEIR_DEADLOCK(collectives_in_two_orders, "of rank 0 waits for rank 1", "of rank 1 waits for rank 0", "all_reduce of 4 ") {
  Ranks ranks(device, 2);
  ranks.reduce(0, 0);
  ranks.reduce(1, 0);
  ranks.reduce(1, 1);
  ranks.reduce(0, 1);
  ranks.a->synchronize();
}

WEIR_DEADLOCK(both_receive_first, "receive of 4 ", "of rank 0 waits for rank 1", "of rank 1 waits for rank 0") {
  Ranks ranks(device);
  for (const std::size_t rank : {0U, 1U}) {
    Stream& stream = rank == 0 ? *ranks.a : *ranks.b;
    ranks.communicators[0][rank]->receive(ranks.data[rank], 1 - static_cast<int>(rank), stream);
    ranks.communicators[0][rank]->send(ranks.data[rank], 1 - static_cast<int>(rank), stream);
  }
  ranks.b->synchronize();
}

WEIR_DEADLOCK(a_rank_behind_the_other, "of rank 0 waits for rank 1", "{b} is at a wait for {a}") {
  Ranks ranks(device);
  ranks.reduce(0, 0);
  ranks.b->wait(*ranks.a);
  ranks.reduce(0, 1);
  ranks.b->synchronize();
}

}  // namespace
}  // namespace weir::test
