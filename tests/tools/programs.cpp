// SPDX-License-Identifier: Apache-2.0
#include "tests/tools/programs.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <future>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/quiet.hpp"

// Implements the small programs for the race detector.

namespace weir::test {
namespace {

constexpr std::size_t n = 4096;

#define WEIR_TEST_VALUES Feature::wait_value_32, Feature::write_value_32

// A program needs them for more than it says: two streams and memory of three kinds.
struct Scene {
  explicit Scene(Device& d)
      : device(d),
        a(d.create_stream()),
        b(d.create_stream()),
        x(d.allocate<float>(n)),
        y(d.allocate<float>(n)),
        staging(d.allocate<float>(n, MemoryKind::pinned)) {}
  ~Scene() {
    a->synchronize();
    b->synchronize();
  }
  /// Values for which streams wait.
  Buffer<std::uint32_t> zeros(std::size_t count) const {
    auto values = device.allocate<std::uint32_t>(count);
    a->zero(values);
    a->synchronize();
    return values;
  }

  Device& device;
  StreamPtr a, b;
  Buffer<float> x, y, staging;
};

// --- Two streams ------------------------------------------------------------------------------------------------------

WEIR_TEST_PAIR(write_then_read, 1) {
  s.a->fill(s.x, 1.0F);
  if (right) s.b->wait(s.a);
  s.b->copy(s.y, s.x);
}

WEIR_TEST_PAIR(read_then_write, 1) {
  s.a->copy(s.y, s.x);
  if (right) s.b->wait(*s.a->record());
  s.b->fill(s.x, 1.0F);
}

/// The event is recorded before the work that it should stand for.
WEIR_TEST_PAIR(event_recorded_early, 1) {
  EventPtr ready;
  if (!right) ready = s.a->record();
  s.a->fill(s.x, 1.0F);
  if (right) ready = s.a->record();
  s.b->wait(ready);
  s.b->copy(s.y, s.x);
}

/// The event is recorded again, and nothing waits for the second record.
WEIR_TEST_PAIR(event_recorded_again, 1) {
  const EventPtr ready = device.create_event();
  for (int round = 0; round < 2; ++round) {
    if (round == 1) s.a->wait(s.b);
    s.a->fill(s.x, static_cast<float>(round));
    s.a->record(*ready);
    if (right || round == 0) s.b->wait(ready);
    s.b->copy(s.y, s.x);
  }
}

/// As in cudf 9679: one step of several takes the default stream instead of the caller's.
WEIR_TEST_PAIR(a_step_on_the_default_stream, 1) {
  const StreamPtr other = device.default_stream();
  s.a->fill(s.x, 1.0F);
  (right ? s.a : other)->copy(s.y, s.x);
  other->synchronize();
}

/// A wait for an event that nothing has recorded waits for nothing. An earlier event, which was recorded, may have had its
/// place.
WEIR_TEST_PAIR(event_never_recorded, 1) {
  s.a->fill(s.x, 1.0F);
  (void)s.a->record();
  const EventPtr ready = device.create_event();
  if (right) s.a->record(*ready);
  s.b->wait(ready);
  s.b->copy(s.y, s.x);
}

/// A child that was forked ends as it says, whatever its parent did: the parent tells it.
WEIR_TEST_PAIR(a_forked_child, 1) {
  s.a->fill(s.x, 1.0F);
  if (right) s.b->wait(s.a);
  s.b->fill(s.x, 2.0F);
  if (device.backend().name() != "host") return;  // a vendor's driver may not bear it
  weir::test::wait_until_others_sleep();
  const pid_t child = ::fork();
  if (child == 0) std::exit(0);
  int status = 0;
  if (::waitpid(child, &status, 0) != child || status != 0) throw std::runtime_error("the child did not end well");
}

/// Streams that end while they work, one after another: the handle of one may become the next one's.
WEIR_TEST_PAIR(streams_that_end, 1) {
  for (int i = 0; i < 8; ++i) {
    const StreamPtr stream = device.create_stream();
    if (right) stream->wait(s.a);
    stream->fill(s.x, 1.0F);
    if (right) s.a->wait(stream);
  }
  device.synchronize();
}

/// One stream by two objects.
WEIR_TEST_PAIR(a_borrowed_stream, 1) {
  const StreamPtr borrowed = device.wrap_stream(s.a->share_native_handle(), Ownership::borrow);
  if (!right) s.b->wait(borrowed);
  s.a->fill(s.x, 1.0F);
  if (right) s.b->wait(borrowed);
  s.b->copy(s.y, s.x);
}

/// Blocking streams and the default stream wait for each other.
WEIR_TEST_PAIR(ordered_by_the_default_stream, 2) {
  const StreamPtr first = device.create_stream({.blocking = right}), last = device.create_stream({.blocking = right});
  first->fill(s.x, 1.0F);
  device.default_stream()->fill(s.y, 1.0F);
  last->copy(s.y, s.x);
  first->synchronize();
  last->synchronize();
  device.default_stream()->synchronize();
}

/// Rows of one half each; or columns that overlap.
WEIR_TEST_PAIR(columns, 1) {
  const std::size_t pitch = 256, width = right ? 32 : 33;  // elements of 4 bytes, of which a row has 64
  const PitchedSpan<float> all{.data = s.x.data(), .extent = {64, 16}, .row_pitch = pitch};
  s.a->fill(all.box({}, {width, 16}), 0.0F);
  s.b->fill(all.box({.x = 32}, {32, 16}), 0.0F);
}

WEIR_TEST_PAIR(halves, 1) {
  const ScopedRange step("solver step");
  s.a->fill(s.x.subspan(0, n / 2 + (right ? 0 : 1)), 1.0F);
  s.b->fill(s.x.subspan(n / 2, n / 2), 2.0F);
}

WEIR_TEST_PAIR(a_chain_of_three, 1) {
  const StreamPtr c = device.create_stream();
  s.a->fill(s.x, 1.0F);
  s.b->wait(s.a);
  s.b->fill(s.y, 2.0F);
  c->wait(right ? s.b : s.a);
  c->copy(s.x, s.y);
  c->synchronize();
}

/// The program ends while work is under way, whose memory lives on.
WEIR_TEST_PAIR(work_at_the_end, 1) {
  auto& kept = *new Scene(device);
  for (int i = 0; i < 100; ++i) kept.a->fill(kept.x, 1.0F);
  if (right) kept.b->wait(kept.a);
  kept.b->fill(kept.x, 2.0F);
}

// --- The host ---------------------------------------------------------------------------------------------------------

/// The staging memory is filled again while it is still being copied.
WEIR_TEST_PAIR(double_buffering_of_the_host, 1) {
  EventPtr copied;
  for (int round = 0; round < 3; ++round) {
    if (right && copied) copied->synchronize();
    for (float& value : s.staging.host()) value = static_cast<float>(round);
    s.a->copy(s.x, s.staging);
    copied = s.a->record();
  }
}

WEIR_TEST_PAIR(read_before_it_is_there, 1) {
  s.a->copy(s.staging, s.x);
  if (right) s.a->synchronize();
  volatile float value = s.staging.host()[0];
  (void)value;
}

/// The host polls the right stream; or another one.
WEIR_TEST_PAIR(polling, 1) {
  s.a->copy(s.staging, s.x);
  while (!(right ? s.a : s.b)->is_complete()) {
  }
  volatile float value = s.staging.host()[0];
  (void)value;
}

/// A host function reads what its own stream has copied; or what another one copies.
WEIR_TEST_PAIR(in_a_host_function, 1) {
  s.a->copy(s.staging, s.x);
  auto read = [staging = s.staging.share()] {
    volatile float value = staging.host()[0];
    (void)value;
  };
  (right ? s.a : s.b)->launch_host_function(std::move(read));
}

/// A host function tells the host that all before it is done.
WEIR_TEST_PAIR(told_by_a_host_function, 1) {
  std::promise<void> done;
  if (!right) s.a->launch_host_function([&] { done.set_value(); });
  s.a->copy(s.staging, s.x);
  if (right) s.a->launch_host_function([&] { done.set_value(); });
  done.get_future().wait();
  volatile float value = s.staging.host()[0];
  (void)value;
}

/// The registration of memory ends while it is still being copied.
WEIR_TEST_PAIR(a_registration_that_ends, 1, Feature::host_registration) {
  std::vector<float> values(n);
  Ptr<HostRegistration> registration = device.register_host(values);
  s.a->copy(s.x, values);
  if (right) s.a->synchronize();
  registration.reset();
  s.a->synchronize();
}

/// A blocking copy waits for no stream.
WEIR_TEST_PAIR(a_blocking_copy, 1) {
  std::vector<float> result(n);
  s.a->fill(s.x, 1.0F);
  if (right) device.synchronize();
  device.copy(result, s.x);
}

// --- Memory in the order of streams -----------------------------------------------------------------------------------

/// What another stream still reads is freed.
WEIR_TEST_PAIR(freed_while_another_reads, 1) {
  {
    const auto input = s.a->allocate_async<float>(n);
    s.a->fill(input, 1.0F);
    s.b->wait(s.a);
    s.b->copy(s.y, input);
    if (right) s.a->wait(s.b);
  }
}

WEIR_TEST_PAIR(used_before_it_is_allocated, 1) {
  const auto output = s.a->allocate_async<float>(n);
  if (right) s.b->wait(s.a);
  s.b->fill(output, 1.0F);
  s.a->wait(s.b);
}

WEIR_TEST_PAIR(used_after_the_free, 1) {
  auto scratch = s.a->allocate_async<float>(n);
  s.a->fill(scratch, 1.0F);
  const Span<float> kept(scratch.data(), n);
  if (!right) scratch.reset();
  s.a->fill(kept, 2.0F);  // not a copy, for which CUDA's driver takes freed memory for the host's
}

// --- Values -----------------------------------------------------------------------------------------------------------

/// The wait is enqueued before the write that ends it.
WEIR_TEST_PAIR(a_value, 1, WEIR_TEST_VALUES) {
  const auto flag = s.zeros(2);
  s.b->wait_value(flag.data(), 1);
  s.b->copy(s.y, s.x);
  if (right) s.a->fill(s.x, 1.0F);
  s.a->write_value(flag.data(), 1U);
  if (!right) s.a->fill(s.x, 1.0F);
  s.a->synchronize();
  s.b->synchronize();
}

/// Two streams let each other go on by turns; each wait is enqueued before the write that ends it.
WEIR_TEST_PAIR(values_by_turns, 1, WEIR_TEST_VALUES) {
  const auto flags = s.zeros(2);
  constexpr std::uint32_t rounds = 40;  // a detector that follows each way through them does not end
  for (std::uint32_t round = 1; round <= rounds; ++round) {
    s.b->wait_value(flags.data(), round);
    if (right || round != rounds) s.a->fill(s.x, 1.0F);
    s.a->write_value(flags.data(), round);
    if (!right && round == rounds) s.a->fill(s.x, 1.0F);
    s.b->copy(s.y, s.x);
    s.a->wait_value(flags.data() + 1, round);
    s.b->write_value(flags.data() + 1, round);
  }
}

/// Many waits are enqueued before the first write that ends one.
WEIR_TEST_PAIR(values_waited_for_ahead, 1, WEIR_TEST_VALUES) {
  const auto flag = s.zeros(1);
  constexpr std::uint32_t rounds = 280;
  for (std::uint32_t round = 1; round <= rounds; ++round) {
    s.b->wait_value(flag.data(), round);
    s.b->copy(s.y.subspan(round, 1), s.x.subspan(round, 1));
  }
  for (std::uint32_t round = 1; round <= rounds; ++round) {
    const bool is_early = !right && round == 5;
    if (is_early) s.a->write_value(flag.data(), round);
    s.a->fill(s.x.subspan(round, 1), 1.0F);
    if (!is_early) s.a->write_value(flag.data(), round);
  }
}

/// Many values are written before the first wait for one.
WEIR_TEST_PAIR(values_written_ahead, 1, WEIR_TEST_VALUES) {
  const auto flag = s.zeros(1);
  constexpr std::uint32_t rounds = 100;
  for (std::uint32_t round = 1; round <= rounds; ++round) {
    s.a->fill(s.x.subspan(round, 1), 1.0F);
    s.a->write_value(flag.data(), round);
  }
  for (std::uint32_t round = 1; round <= rounds; ++round) {
    s.b->wait_value(flag.data(), !right && round == 20 ? round - 1 : round);
    s.b->copy(s.y.subspan(round, 1), s.x.subspan(round, 1));
  }
}

/// The value is set back for each round: the write of the round before ends no wait.
WEIR_TEST_PAIR(a_value_that_is_set_back, 1, WEIR_TEST_VALUES) {
  const auto flag = device.allocate<std::uint32_t>(1);
  for (int round = 0; round < 2; ++round) {
    s.a->zero(flag);
    s.a->synchronize();
    s.b->wait_value(flag.data(), 1);
    s.b->copy(s.y, s.x);
    if (right || round == 0) s.a->fill(s.x, 1.0F);
    s.a->write_value(flag.data(), 1U);
    if (!right && round == 1) s.a->fill(s.x, 1.0F);
    s.a->synchronize();
    s.b->synchronize();
  }
}

/// Two streams write the value that the reader waits for, and one of them has no part in the data: either may end the wait.
/// `wait_at`: the reader comes first, or last. Right: the other one is ordered behind the data.
template <bool right, bool reader_is_first>
void either_writer(Scene& s, Device& device) {
  const auto flag = s.zeros(1);
  const StreamPtr c = device.create_stream();
  const auto read = [&] {
    s.b->wait_value(flag.data(), 1);
    s.b->copy(s.y, s.x);
  };
  if (reader_is_first) read();
  if (!right && !reader_is_first) c->write_value(flag.data(), 1U);
  s.a->fill(s.x, 1.0F);
  if (right) c->wait(s.a);
  s.a->write_value(flag.data(), 1U);
  if (right || reader_is_first) c->write_value(flag.data(), 1U);
  if (!reader_is_first) read();
  s.b->synchronize();
  c->synchronize();
}
WEIR_TEST_PAIR(a_value_of_two_writers, 1, WEIR_TEST_VALUES) { either_writer<right, false>(s, device); }
WEIR_TEST_PAIR(a_value_of_two_writers_awaited_first, 1, WEIR_TEST_VALUES) { either_writer<right, true>(s, device); }

/// The value says how far a chain of streams is; a wait for one of its first values does not stand for the later ones.
WEIR_TEST_PAIR(a_value_that_streams_raise_in_turn, 1, WEIR_TEST_VALUES) {
  const auto stage = s.zeros(1);
  const StreamPtr c = device.create_stream();
  s.a->fill(s.x, 1.0F);
  s.a->write_value(stage.data(), 1U);
  s.b->wait_value(stage.data(), 1);
  s.b->copy(s.y, s.x);
  s.b->write_value(stage.data(), 2U);
  c->wait_value(stage.data(), right ? 2 : 1);
  c->copy(s.staging, s.y);
  c->synchronize();
}

/// A reader that is enqueued before its writer, twice: the writer goes on without the reader's answer.
WEIR_TEST_PAIR(a_reader_without_an_answer, 1, WEIR_TEST_VALUES) {
  const auto flags = s.zeros(2);
  for (std::uint32_t round = 1; round <= 2; ++round) {
    s.b->wait_value(flags.data(), round);
    s.b->copy(s.y, s.x);
    if (right) s.b->write_value(flags.data() + 1, round);
  }
  for (std::uint32_t round = 1; round <= 2; ++round) {
    if (right && round != 1) s.a->wait_value(flags.data() + 1, round - 1);
    s.a->fill(s.x, 1.0F);
    s.a->write_value(flags.data(), round);
  }
  s.b->synchronize();
}

/// A stream sets the value back that another one writes: what is written may be lost.
WEIR_TEST_PAIR(a_value_set_back_beside_its_write, 1, WEIR_TEST_VALUES) {
  const auto flag = device.allocate<std::uint32_t>(1);
  s.a->zero(flag);
  if (right) s.b->wait(s.a);
  s.b->write_value(flag.data(), 1U);
}

/// A copy takes the written value as data. The host may look at it at any time.
WEIR_TEST_PAIR(a_value_that_is_copied, 1, WEIR_TEST_VALUES) {
  const auto flag = device.allocate<std::uint32_t>(1, MemoryKind::pinned), seen = device.allocate<std::uint32_t>(1);
  flag.host()[0] = 0;
  s.a->write_value(flag.data(), 1U);
  volatile std::uint32_t now = flag.host()[0];
  (void)now;
  if (right) s.b->wait(s.a);
  s.b->copy(seen, flag);
}

// --- Graphs -----------------------------------------------------------------------------------------------------------

/// A host function of a graph within a graph tells the host that the copy before it is done; or another stream's does.
WEIR_TEST_PAIR(told_by_a_child_graph, 1, Feature::graph_child_nodes, Feature::host_functions_in_capture) {
  std::promise<void> done;
  const GraphPtr inner = s.a->capture([&](Stream& a) {
    a.copy(s.staging, s.x);
    if (right) a.launch_host_function([&] { done.set_value(); });
  });
  const auto exec = s.a->capture([&](Stream& a) { a.add_child_graph(*inner); })->instantiate();
  exec->launch(*s.a);
  if (!right) s.b->launch_host_function([&] { done.set_value(); });
  done.get_future().wait();
  volatile float value = s.staging.host()[0];
  (void)value;
  s.a->synchronize();
}

/// Each launch of a graph within a graph records the event.
WEIR_TEST_PAIR(an_event_of_a_child_graph, 1, Feature::graph_child_nodes, Feature::external_events) {
  const EventPtr event = device.create_event();
  const GraphPtr inner = s.a->capture([&](Stream& a) {
    a.fill(s.x, 1.0F);
    a.record_external(*event);
  });
  const auto exec = s.a->capture([&](Stream& a) { a.add_child_graph(*inner); })->instantiate();
  for (int round = 0; round < 3; ++round) {
    exec->launch(*s.a);
    if (right || round != 1) s.b->wait(event);
    s.b->copy(s.y, s.x);
    s.a->wait(s.b);
  }
}

/// The body of a condition belongs to its graph.
WEIR_TEST_PAIR(the_body_of_a_condition, 1, Feature::graph_conditional_nodes) {
  const auto condition = device.allocate<std::uint32_t>(1);
  s.a->zero(condition);
  const auto body = [&](Stream& b) { b.fill(s.x, 2.0F); };
  const auto exec = s.a->capture([&](Stream& a) { a.capture_if(condition.data(), body); })->instantiate();
  exec->launch(*s.a);
  if (right) s.b->wait(s.a);
  s.b->fill(s.x, 1.0F);
}

/// A graph built by hand: two nodes write the same memory.
WEIR_TEST_PAIR(a_graph_by_hand, 1, Feature::graph_capture) {
  GraphBuilder builder(device);
  const GraphNode first = builder.add({}, [&](Stream& stream) { stream.fill(s.x, 1.0F); });
  const GraphNode second = builder.add({}, [&](Stream& stream) { stream.fill(s.y, 1.0F); });
  const auto third = [&](Stream& stream) { stream.fill(s.x, 2.0F); };
  (void)builder.add({right ? first : second}, third);
  builder.finish()->instantiate()->launch(*s.a);
  s.a->synchronize();
}

/// A node is given other memory, which another stream writes; and then it is disabled.
WEIR_TEST_PAIR(a_node_that_is_changed, 1, Feature::graph_node_changes) {
  GraphNode fill;
  const auto exec = s.a->capture([&](Stream& a) {
                         a.fill(s.x, 1.0F);
                         fill = a.last_captured_node();
                       })
                        ->instantiate();
  GraphChanges changes;
  changes.fill(fill, s.y, 2.0F);
  exec->apply(changes);
  exec->launch(*s.a);
  s.b->fill(right ? s.x : s.y, 3.0F);
  device.synchronize();
  changes.clear();
  changes.disable(fill);
  exec->apply(changes);
  exec->launch(*s.a);
  s.b->fill(s.y, 4.0F);
}

/// An executable that was updated does what the new graph says.
WEIR_TEST_PAIR(an_updated_graph, 1, Feature::graph_capture, Feature::graph_update) {
  const GraphPtr first = s.a->capture([&](Stream& a) { a.fill(s.x, 1.0F); });
  const GraphPtr second = s.a->capture([&](Stream& a) { a.fill(s.y, 1.0F); });
  const auto exec = first->instantiate();
  exec->update(*second);
  exec->launch(*s.a);
  s.b->fill(right ? s.x : s.y, 2.0F);
}

/// A fork within a capture.
WEIR_TEST_PAIR(branches_of_a_graph, 1, Feature::graph_capture) {
  const GraphPtr graph = s.a->capture([&](Stream& a) {
    s.b->wait(a);
    a.fill(s.x, 1.0F);
    if (right) s.b->wait(a);
    s.b->copy(s.y, s.x);
    a.wait(s.b);
  });
  graph->instantiate()->launch(*s.a);
}

/// Branches of a graph are ordered by a value, which orders nothing outside of it. Drivers may run branches one after
/// another, and then the wait would not end: on GPUs an edge leads from the write to it.
template <bool right, bool first>
void branches_and_a_value(Scene& s, Device& device) {
  const bool is_host = device.backend().name() == "host", waits_first = first && is_host;
  const auto flag = device.allocate<std::uint32_t>(1);
  const auto read = [&] {
    s.b->wait_value(flag.data(), 1U);
    s.b->copy(s.y, s.x);
  };
  const GraphPtr graph = s.a->capture([&](Stream& a) {
    a.zero(flag);
    s.b->wait(a);
    if (waits_first) read();
    if (right) a.fill(s.x, 1.0F);
    a.write_value(flag.data(), 1U);
    if (!is_host) s.b->wait(a);
    if (!right) a.fill(s.x, 1.0F);
    if (!waits_first) read();
    a.wait(s.b);
  });
  const auto exec = graph->instantiate();
  exec->launch(*s.a);
  if (right) s.b->wait(s.a);
  s.b->fill(s.x, 2.0F);
}
WEIR_TEST_PAIR(branches_ordered_by_a_value, 3, WEIR_TEST_VALUES, Feature::memory_operations_in_capture) {
  branches_and_a_value<right, false>(s, device);
}
WEIR_TEST_PAIR(branches_that_wait_first, 3, WEIR_TEST_VALUES, Feature::memory_operations_in_capture) {
  branches_and_a_value<right, true>(s, device);
}

/// The input of a graph is written while it runs.
WEIR_TEST_PAIR(the_input_of_a_replay, 1, Feature::graph_capture) {
  const auto exec = s.a->capture([&](Stream& a) { a.copy(s.y, s.x); })->instantiate();
  for (int round = 0; round < 2; ++round) {
    exec->launch(*s.a);
    if (right) s.b->wait(s.a);
    s.b->fill(s.x, 1.0F);
    if (right) s.a->wait(s.b);
    if (!right) s.a->synchronize();
    if (!right) s.b->synchronize();
  }
}

/// Launches of one executable run one after another, those of two do not.
WEIR_TEST_PAIR(two_replays, 1, Feature::graph_capture) {
  const GraphPtr graph = s.a->capture([&](Stream& a) { a.fill(s.x, 1.0F); });
  const auto first = graph->instantiate(), second = graph->instantiate();
  first->launch(*s.a);
  (right ? first : second)->launch(*s.b);
}

// --- Kernels ----------------------------------------------------------------------------------------------------------

constexpr const char* source = R"(
__global__ void scale(unsigned int n, float a, const float* x, float* y) {
  const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i];
})";

/// Two kernels read the same; or the second writes what the first reads.
WEIR_TEST_PAIR(two_kernels, 1, Feature::runtime_compilation) {
  const auto kernel = device.compile(source, {.kernels = {"scale"}})->untyped_kernel("scale");
  const auto z = device.allocate<float>(n);
  s.a->launch(kernel, grid_for(n), static_cast<unsigned int>(n), 2.0F, s.x, s.y);
  if (right) {
    s.b->launch(kernel, grid_for(n), static_cast<unsigned int>(n), 2.0F, s.x, z);
  } else {
    s.b->launch(kernel, grid_for(n), static_cast<unsigned int>(n), 2.0F, z, s.x);
  }
  s.b->synchronize();
  s.a->synchronize();
}

/// Kernels that work on one half each are given the whole; `touches` says so.
WEIR_TEST_PAIR(declared_halves, 1, Feature::runtime_compilation) {
  const auto kernel =
      device.compile(source, {.kernels = {"scale"}})->kernel<void(unsigned int, float, const float*, float*)>("scale");
  const auto half = static_cast<unsigned int>(n / 2);
  if (right) accesses::touches(accesses::reads(s.x), accesses::writes(s.y.subspan(0, half)));
  s.a->launch(kernel, grid_for(half), half, 2.0F, s.x, s.y);
  s.b->copy(s.y.subspan(half, half), s.x.subspan(half, half));
}

/// A variable of a module is memory as any.
WEIR_TEST_PAIR(a_variable_of_a_module, 1, Feature::runtime_compilation) {
  const ModulePtr module = device.compile("__device__ float table[64];\nextern \"C\" __global__ void none() {}");
  const Span<std::byte> table = module->global("table"), again = module->global("table");
  weir::detail::fill_elements(*s.a, table.data(), 0, 4, 64);
  if (right) s.b->wait(s.a);
  weir::detail::fill_elements(*s.b, again.data(), 1, 4, 64);
  device.synchronize();
}

/// A vendor's library works on the stream.
WEIR_TEST_PAIR(external_library, 1) {
  external_work(*s.a, "gemm", accesses::reads(s.x), accesses::writes(s.y));
  if (right) s.b->wait(s.a);
  s.b->copy(s.staging, s.y);
}

/// Two devices; one, where there is one.
WEIR_TEST_PAIR(across_devices, 1) {
  Device& other = device.backend().device(device.backend().device_count() - 1);
  const auto theirs = other.allocate<float>(n);
  const StreamPtr stream = other.create_stream();
  s.a->fill(s.x, 1.0F);
  if (right) stream->wait(*s.a->record());
  stream->copy_peer(theirs.data(), other, s.x.data(), device, theirs.size_bytes());
  stream->synchronize();
}

/// The work behind a host function is there before the function touches the memory.
WEIR_TEST_PAIR(before_later_work, 1) {
  std::promise<void> go;
  s.a->launch_host_function([&] { go.get_future().wait(); });
  s.a->launch_host_function([&] { s.staging.host()[0] = 1.0F; });  // begins after the fill was submitted
  (right ? s.a : s.b)->fill(s.staging, 2.0F);
  go.set_value();
  s.a->synchronize();
}

/// A graph whose branches run at once: a host function in one, a graph within the graph in the other.
WEIR_TEST_PAIR(a_graph_of_many_kinds, 1, Feature::runtime_compilation, Feature::graph_child_nodes,
               Feature::host_functions_in_capture) {
  const auto kernel = device.compile(source, {.kernels = {"scale"}})->untyped_kernel("scale");
  const auto z = device.allocate<float>(n);
  const GraphPtr inner = s.b->capture([&](Stream& b) {
    b.fill(s.x, 1.0F);
    b.copy(s.y, s.x);
    b.launch_host_function([] {});  // comes behind the one that sleeps: host functions run one at a time
  });
  const GraphPtr graph = s.a->capture([&](Stream& a) {
    a.zero(z);
    a.launch_host_function([] {});
    s.b->wait(a);
    a.launch_host_function([] { std::this_thread::sleep_for(std::chrono::milliseconds(50)); });
    s.b->add_child_graph(*inner);
    if (right) a.wait(s.b);
    a.launch(kernel, grid_for(n), static_cast<unsigned int>(n), 2.0F, s.y, z);
    if (!right) a.wait(s.b);
  });
  const auto exec = graph->instantiate();
  for (int round = 0; round < 2; ++round) exec->launch(*s.a);
  s.a->synchronize();
}

// --- For unusual schedules --------------------------------------------------------------------------------------------

/// Fails if a lost wait shows: the end of the program is not 0 then.
WEIR_TEST_PAIR(shows_a_lost_wait, 1) {
  s.a->fill(s.x, 0.0F);
  s.a->synchronize();
  for (int i = 1; i <= 4; ++i) s.a->fill(s.x, static_cast<float>(i));
  if (right) s.b->wait(s.a);
  for (int i = 0; i < 4; ++i) s.b->copy(s.staging, s.x);
  s.b->synchronize();
  if (s.staging.host()[0] != 4.0F) throw std::runtime_error("the wait is missing");
}

/// What is in pinned memory now that both streams are done.
float seen_in(const Scene& s, const Buffer<float>& memory) {
  s.a->synchronize();
  s.b->synchronize();
  return memory.host()[0];
}

/// The memory is filled again long after it should have been read: a reader must be very late to see that.
WEIR_TEST_PAIR(shows_a_late_reader, 1) {
  s.a->fill(s.x, 1.0F);
  s.b->wait(s.a);
  s.b->copy(s.staging, s.x);
  for (int i = 0; i < 24; ++i) s.a->fill(s.y, static_cast<float>(i));
  if (right) s.a->wait(s.b);
  s.a->fill(s.x, 2.0F);
  if (seen_in(s, s.staging) != 1.0F) throw std::runtime_error("read too late");
}

/// A reader takes two values that belong together, between two operations of the writer's, or the other way round.
WEIR_TEST_PAIR(shows_a_torn_pair, 2) {
  const auto second = device.allocate<float>(n, MemoryKind::pinned);
  s.a->zero(s.x);
  s.a->zero(s.y);
  s.b->wait(s.a);
  s.b->copy(s.staging, s.x);
  s.b->copy(second, s.y);
  if (right) s.a->wait(s.b);
  s.a->fill(s.x, 1.0F);
  s.a->fill(s.y, 1.0F);
  if (seen_in(s, s.staging) != seen_in(s, second)) throw std::runtime_error("one value is old, one is new");
}

/// The same, with work of the writer's between: the reader must be early, and then very late.
WEIR_TEST_PAIR(shows_an_overtaken_reader, 2) {
  const auto second = device.allocate<float>(n, MemoryKind::pinned);
  const auto other = device.allocate<float>(n);
  s.a->zero(s.x);
  s.a->zero(s.y);
  s.b->wait(s.a);
  s.b->copy(s.staging, s.x);
  s.b->copy(second, s.y);
  for (int i = 0; i < 24; ++i) s.a->fill(other, static_cast<float>(i));
  if (right) s.a->wait(s.b);
  s.a->fill(s.x, 1.0F);
  s.a->fill(s.y, 1.0F);
  if (seen_in(s, s.staging) == 0.0F && seen_in(s, second) == 1.0F) throw std::runtime_error("overtaken between two reads");
}

/// A late reader again, as a branch of a graph.
WEIR_TEST_PAIR(shows_a_late_branch, 1, Feature::graph_capture) {
  const GraphPtr graph = s.a->capture([&](Stream& a) {
    a.fill(s.x, 1.0F);
    s.b->wait(a);
    for (int i = 0; i < 24; ++i) a.fill(s.y, static_cast<float>(i));
    s.b->copy(s.staging, s.x);
    if (right) a.wait(s.b);
    a.fill(s.x, 2.0F);
    if (!right) a.wait(s.b);
  });
  const auto exec = graph->instantiate();
  exec->launch(*s.a);
  if (seen_in(s, s.staging) != 1.0F) throw std::runtime_error("read too late");
}

/// A stream gets memory that it has freed again at once, while another stream still reads what was there.
WEIR_TEST_PAIR(shows_reused_memory, 1, Feature::async_allocation) {
  auto input = s.a->allocate_async<float>(n);
  s.a->fill(input, 1.0F);
  s.b->wait(s.a);
  s.b->copy(s.staging, input);
  if (right) s.a->wait(s.b);
  input.reset();
  const auto next = s.a->allocate_async<float>(n);
  s.a->fill(next, 2.0F);
  if (seen_in(s, s.staging) != 1.0F) throw std::runtime_error("read after the memory was given away");
}

/// A graph that forks at once. The reader is captured first, or last.
template <bool right, bool reader_is_first>
void fork_at_the_root(Scene& s, Device& device) {
  s.a->fill(s.x, 1.0F);
  const StreamPtr c = device.create_stream();
  const GraphPtr graph = c->capture([&](Stream& origin) {
    s.a->wait(origin);
    s.b->wait(origin);
    const auto read = [&] { s.b->copy(s.staging, s.x); };
    if (right || reader_is_first) read();
    if (right) s.a->wait(s.b);
    s.a->fill(s.x, 2.0F);
    if (!right && !reader_is_first) read();
    origin.wait(s.a);
    origin.wait(s.b);
  });
  c->wait(s.a);
  graph->instantiate()->launch(*c);
  c->synchronize();
  if (seen_in(s, s.staging) != 1.0F) throw std::runtime_error("read too late");
}
WEIR_TEST_PAIR(shows_a_fork_whose_reader_is_first, 1, Feature::graph_capture) { fork_at_the_root<right, true>(s, device); }
WEIR_TEST_PAIR(shows_a_fork_whose_reader_is_last, 1, Feature::graph_capture) { fork_at_the_root<right, false>(s, device); }

/// Another stream waits for what a fill, a copy or a kernel writes. It may have been submitted before that.
enum class FlagWriter : std::uint8_t { fill, copy, kernel };

template <FlagWriter by, bool right>
void a_flag_that_is_set(Scene& s, Device& device) {
  const auto flag = device.allocate<std::uint32_t>(1), one = device.allocate<std::uint32_t>(1);
  const auto set =
      device.compile("extern \"C\" __global__ void set(unsigned* flag) { *flag = 1; }")->kernel<void(unsigned*)>("set");
  s.a->fill(flag, 0U);
  s.a->fill(one, 1U);
  s.a->synchronize();
  const auto raise = [&] {
    switch (by) {
      case FlagWriter::fill: return s.a->fill(flag, 1U);
      case FlagWriter::copy: return s.a->copy(flag, one);
      case FlagWriter::kernel: return s.a->launch(set, LaunchConfig{1, 1}, flag.data());
    }
  };
  if (!right) raise();
  s.a->fill(s.x, 1.0F);
  if (right) raise();
  s.b->wait_value(flag.data(), 1U, WaitCondition::eq);
  s.b->copy(s.y, s.x);
  s.b->synchronize();
}
WEIR_TEST_PAIR(a_flag_set_by_a_fill, 1, WEIR_TEST_VALUES) { a_flag_that_is_set<FlagWriter::fill, right>(s, device); }
WEIR_TEST_PAIR(a_flag_set_by_a_copy, 1, WEIR_TEST_VALUES) { a_flag_that_is_set<FlagWriter::copy, right>(s, device); }
WEIR_TEST_PAIR(a_flag_set_by_a_kernel, 1, WEIR_TEST_VALUES) { a_flag_that_is_set<FlagWriter::kernel, right>(s, device); }

/// The source may be read before the stream's earlier work.
WEIR_TEST_PAIR(a_source_read_at_any_time, 1, Feature::batch_copies) {
  s.a->fill(s.x, 1.0F);
  const BatchCopy copies[] = {{s.y.data(), s.x.data(), s.x.size_bytes()}};
  if (right) s.a->synchronize();
  s.a->copy_batch(copies, SourceAccess::any_time);
}

/// A result in pageable memory is the next stream's source.
WEIR_TEST_PAIR(a_pageable_result, 1) {
  std::vector<float> between(n);
  s.a->copy(between, s.x);
  if (right) s.b->wait(s.a);
  s.b->copy(s.y, between);
  s.a->synchronize();
  s.b->synchronize();
}

}  // namespace
}  // namespace weir::test
