// SPDX-License-Identifier: Apache-2.0
#include <deque>
#include <future>
#include <thread>

#include "tests/tools/programs.hpp"

// Longer, typical programs for the race detector.

namespace weir::test {
namespace {

constexpr std::size_t n = 1024;

struct Scene {
  explicit Scene(Device& device) : a(device.create_stream()), b(device.create_stream()) {}
  StreamPtr a, b;
};

/// Three streams pass slots on: uploads, work, downloads. The first must not fill a slot that the second still reads.
WEIR_TEST_PAIR(a_pipeline_with_slots, 1) {
  const StreamPtr up = device.create_stream(), work = device.create_stream(), down = device.create_stream();
  const auto source = device.allocate<float>(n, MemoryKind::pinned), result = device.allocate<float>(n, MemoryKind::pinned);
  struct Slot {
    Buffer<float> x, y;
    EventPtr filled, worked, read;
  };
  std::vector<Slot> slots;
  for (int i = 0; i < 2; ++i) {
    slots.push_back({device.allocate<float>(n), device.allocate<float>(n), device.create_event(), device.create_event(),
                     device.create_event()});
  }
  for (int round = 0; round < 6; ++round) {
    const Slot& slot = slots[static_cast<std::size_t>(round % 2)];
    if (right) up->wait(slot.worked);  // nothing in the first rounds
    up->copy(slot.x, source);
    up->record(*slot.filled);
    work->wait(slot.filled);
    work->wait(slot.read);
    work->copy(slot.y, slot.x);
    work->record(*slot.worked);
    down->wait(slot.worked);
    down->copy(result, slot.y);
    down->record(*slot.read);
  }
  device.synchronize();
}

/// A graph with memory of its own and a graph within it, beside which a branch writes what that one writes.
WEIR_TEST_PAIR(a_graph_with_memory, 1, Feature::graph_child_nodes, Feature::graph_memory_nodes) {
  const StreamPtr &a = s.a, &b = s.b;
  const auto x = device.allocate<float>(n), y = device.allocate<float>(n);
  const GraphPtr inner = a->capture([&](Stream& stream) { stream.copy(y, x); });
  const auto exec = a->capture([&](Stream& stream) {
                       const auto scratch = stream.allocate_async<float>(n);
                       stream.fill(scratch, 1.0F);
                       b->wait(stream);
                       b->copy(x, scratch);
                       stream.wait(b);
                       stream.add_child_graph(*inner);
                       if (right) b->wait(stream);
                       b->fill(y, 3.0F);
                       stream.wait(b);
                     })->instantiate();
  for (int i = 0; i < 3; ++i) exec->launch(*a);
  a->synchronize();
}

/// Memory of a graph is used in it when a node has freed it.
WEIR_TEST_PAIR(freed_in_a_capture, 1, Feature::graph_memory_nodes) {
  const GraphPtr graph = s.a->capture([&](Stream& in) {
    auto scratch = in.allocate_async<float>(n);
    in.fill(scratch, 1.0F);
    const Span<float> kept(scratch.data(), n);
    if (!right) scratch.reset();
    in.fill(kept, 2.0F);
  });
  if (right) graph->instantiate()->launch(*s.a);
  s.a->synchronize();
}

/// Host functions of one stream and copies of another work on the same memory by turns. All are submitted before the first
/// runs.
WEIR_TEST_PAIR(a_chain_of_host_functions, 1) {
  const StreamPtr &a = s.a, &b = s.b;
  const auto staging = device.allocate<float>(n, MemoryKind::pinned), x = device.allocate<float>(n);
  std::promise<void> go;
  a->launch_host_function([&] { go.get_future().wait(); });
  for (int i = 0; i < 4; ++i) {
    a->launch_host_function([staging = staging.share()] {
      for (float& value : staging.host()) value += 1;
    });
    a->copy(x, staging);
    b->wait(a);
    b->copy(staging, x);
    if (right) a->wait(b);
  }
  go.set_value();
  device.synchronize();
}

/// Buffers go around among three streams, each with the event of its last use.
WEIR_TEST_PAIR(a_pool_of_three_streams, 1) {
  struct Item {
    Buffer<float> memory;
    EventPtr last_use;
  };
  std::deque<Item> items;
  const StreamPtr streams[] = {device.create_stream(), device.create_stream(), device.create_stream()};
  for (int i = 0; i < 2; ++i) items.push_back({device.allocate<float>(n), device.create_event()});
  for (int i = 0; i < 9; ++i) {
    Item item = std::move(items.front());
    items.pop_front();
    const StreamPtr& stream = streams[i % 3];
    if (right || i != 5) stream->wait(item.last_use);
    stream->fill(item.memory, static_cast<float>(i));
    stream->record(*item.last_use);
    items.push_back(std::move(item));
  }
  device.synchronize();
}

/// A thread hands the other one an event.
WEIR_TEST_PAIR(two_threads_and_an_event, 1) {
  const StreamPtr &a = s.a, &b = s.b;
  const auto x = device.allocate<float>(n), y = device.allocate<float>(n);
  std::promise<EventPtr> promise;
  std::thread reader([&, future = promise.get_future()]() mutable {
    const EventPtr filled = future.get();
    if (right) b->wait(filled);
    b->copy(y, x);
    b->synchronize();
  });
  a->fill(x, 1.0F);
  promise.set_value(a->record());
  reader.join();
  a->synchronize();
}

/// A launch of a kernel that counts. That it only adds is seen on the CPU, if its compiler has the work-group pass.
void add_to(Stream& stream, const KernelPtr& count, const Buffer<int>& counter) {
  if (count->parameters().size() == 1 && count->parameters()[0].access == AccessKind::atomic) {
    stream.launch(count, {4, 64}, counter);
  } else {
    stream.launch(count, {4, 64}, accesses::atomic(counter));
  }
}

constexpr const char* counting = R"(extern "C" __global__ void count(int* counter) { atomicAdd(counter, 1); })";

/// Two streams count at once, which needs no order. That the counter is 0 before both does.
WEIR_TEST_PAIR(counters, 1, Feature::runtime_compilation) {
  const KernelPtr count = device.compile(counting)->untyped_kernel("count");
  const StreamPtr &a = s.a, &b = s.b;
  const auto counter = device.allocate<int>(1);
  a->zero(counter);
  if (right) b->wait(a);
  add_to(*a, count, counter);
  add_to(*b, count, counter);
  a->launch(count, {4, 64}, accesses::atomic(counter));  // also where the kernel's code says so
  device.synchronize();
}

/// Maxima need no order among themselves. Of additions and maxima the result depends on it.
WEIR_TEST_PAIR(updates_of_two_kinds, 1, Feature::runtime_compilation) {
  const auto module = device.compile(R"(
extern "C" __global__ void raise(int* x) { atomicMax(x, 100); }
extern "C" __global__ void count(int* x) { atomicAdd(x, 1); })");
  const KernelPtr raise = module->untyped_kernel("raise"), other = right ? raise : module->untyped_kernel("count");
  const StreamPtr &a = s.a, &b = s.b;
  const auto x = device.allocate<int>(1);
  a->zero(x);
  b->wait(a);
  add_to(*a, raise, x);
  if (right) {
    add_to(*b, other, x);
  } else {
    b->launch(other, {1, 1}, x);
  }
  device.synchronize();
}

/// Of two that compare and swap the first one wins.
WEIR_TEST_PAIR(claims, 1, Feature::runtime_compilation) {
  const KernelPtr claim =
      device.compile(R"(extern "C" __global__ void claim(int* owner, int by) { atomicCAS(owner, 0, by); })")
          ->untyped_kernel("claim");
  const StreamPtr &a = s.a, &b = s.b;
  const auto owner = device.allocate<int>(1);
  a->zero(owner);
  b->wait(a);
  a->launch(claim, {1, 1}, owner, 1);
  if (right) b->wait(a);
  b->launch(claim, {1, 1}, owner, 2);
  device.synchronize();
}

/// The same in branches of a graph, where one reads the counter.
WEIR_TEST_PAIR(counters_in_a_graph, 1, Feature::runtime_compilation, Feature::graph_capture) {
  const KernelPtr count = device.compile(counting)->untyped_kernel("count");
  const StreamPtr &a = s.a, &b = s.b;
  const auto counter = device.allocate<int>(1), result = device.allocate<int>(1);
  const GraphPtr graph = a->capture([&](Stream& first) {
    first.zero(counter);
    b->wait(first);
    add_to(first, count, counter);
    add_to(*b, count, counter);
    if (right) first.wait(b);
    first.copy(result, counter);
    if (!right) first.wait(b);
  });
  graph->instantiate()->launch(a);
  a->synchronize();
}

}  // namespace
}  // namespace weir::test
