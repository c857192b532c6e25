// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/tools/programs.hpp"

// Programs for the tests of schedules and witnesses. In most of them, stream 2 fills memory and stream 3 reads it, without
// an order between the two.
namespace weir::test {
namespace {

constexpr std::size_t n = 1024;

/// What the reader saw: 1 if it came second.
int read_beside_a_write(Device& device) {
  const StreamPtr a = device.create_stream(), b = device.create_stream();
  const auto x = device.allocate<int>(n), seen = device.allocate<int>(n, MemoryKind::pinned);
  a->zero(x);
  a->synchronize();
  a->fill(x, 1);
  b->copy(seen, x);
  device.synchronize();
  return seen.host()[n - 1];
}

WEIR_TEST_PROGRAM(prints_what_it_read) { std::printf("it read\n%d\n", read_beside_a_write(device)); }

WEIR_TEST_PROGRAM(prints_something_else_each_time) {
  std::printf("%d %p\n", read_beside_a_write(device), static_cast<const void*>(&device));
}

WEIR_TEST_PROGRAM(writes_what_it_read) { std::ofstream(std::getenv("WEIR_TEST_FILE")) << read_beside_a_write(device); }

WEIR_TEST_PROGRAM(crashes_if_it_read_early) {
  if (read_beside_a_write(device) != 1) std::abort();
}

/// The signal comes to nothing if the flag is cleared behind it.
WEIR_TEST_PROGRAM(loses_a_signal) {
  const StreamPtr a = device.create_stream(), b = device.create_stream(), c = device.create_stream();
  const auto flag = device.allocate<std::uint32_t>(1);
  a->zero(flag);
  b->write_value(flag.data(), 1U);
  c->wait(b);  // else it may see the signal before it is cleared
  c->wait_value(flag.data(), 1U);
  c->synchronize();
}

/// The host has waited for the reader before it enqueues the writer, in a way that no tool sees: both orders cannot be.
WEIR_TEST_PROGRAM(waits_unseen) {
  const StreamPtr a = device.create_stream(), b = device.create_stream();
  const auto x = device.allocate<int>(n), seen = device.allocate<int>(n, MemoryKind::pinned);
  const auto flag = device.allocate<std::uint32_t>(1, MemoryKind::pinned);
  volatile std::uint32_t& now = flag.host()[0];
  now = 0;
  a->copy(seen, x);
  a->write_value(flag.data(), 1U);
  while (now == 0) {
  }
  b->fill(x, 1);
  device.synchronize();
}

/// Whether the function comes before the fill of another stream.
WEIR_TEST_PROGRAM(is_overtaken_by_a_function) {
  const StreamPtr a = device.create_stream(), b = device.create_stream();
  const auto x = device.allocate<int>(n, MemoryKind::pinned);
  x.host()[0] = 0;
  std::atomic<bool> is_early{false};
  a->fill(x, 1);
  b->launch_host_function([&] { is_early = x.host()[0] == 0; });
  device.synchronize();
  if (is_early) throw std::runtime_error("the function was early");
}

/// Memory that was never written, and memory that was freed.
WEIR_TEST_PROGRAM(prints_unwritten_memory) {
  const StreamPtr stream = device.create_stream();
  const auto x = device.allocate<std::uint8_t>(n), y = device.allocate<std::uint8_t>(n);
  std::vector<std::uint8_t> seen(n);
  const auto print = [&](Span<const std::uint8_t> memory) {
    stream->copy(seen, memory);
    stream->synchronize();
    std::printf("%02x%02x ", unsigned{seen.front()}, unsigned{seen.back()});
  };
  print(x);
  print(y);
  auto scratch = stream->allocate_async<std::uint8_t>(n);
  const Span<const std::uint8_t> kept(scratch.data(), n);
  print(kept);
  stream->fill(scratch, std::uint8_t{1});
  print(kept);
  scratch.reset();
  print(kept);
  std::printf("\n");
}

/// Missing is that the second stream waits for the first, which clears the flag. Its batch can end only behind the third.
WEIR_TEST_PROGRAM(waits_for_a_third_stream) {
  const StreamPtr a = device.create_stream(), b = device.create_stream(), c = device.create_stream();
  const auto x = device.allocate<std::uint32_t>(2);
  a->fill(x, 1U);
  a->synchronize();
  a->fill(x, 0U);
  const MemoryOperation operations[] = {MemoryOperation::write(x.data() + 1, 7), MemoryOperation::wait(x.data(), 1)};
  b->batch_memory_operations(operations);
  c->wait(a);
  c->write_value(x.data(), 1U);
  device.synchronize();
  std::printf("%u\n", a->read(x)[1]);
}

/// Both fill memory, one with 1 and one with 2; there is an address in memory, which differs from run to run.
WEIR_TEST_PROGRAM(fills_twice) {
  const auto x = device.allocate<int>(n);
  const auto address = device.allocate<const void*>(1);
  const StreamPtr a = device.create_stream(), b = device.create_stream();
  const void* const here = x.data();
  a->copy_bytes(address.data(), &here, sizeof(here));
  a->synchronize();
  a->fill(x, 1);
  b->fill(x, 2);
  device.synchronize();
}

WEIR_TEST_PROGRAM(fills_twice_and_leaves) {
  fills_twice(device);
  std::_Exit(0);
}

WEIR_TEST_PROGRAM(fills_adopted_memory_twice) {
  static int memory[n];
  const AllocationPtr adopted = device.adopt_memory(memory, sizeof(memory), MemoryKind::device, [](void*) {});
  const Span x(memory, n);
  const StreamPtr a = device.create_stream(), b = device.create_stream();
  a->fill(x, 1);
  b->fill(x, 1);
  device.synchronize();
}

/// What the second kernel has read is in memory that the tools do not know of, or in a variable of its module.
void reads_early(Device& device, int* seen) {
  const auto x = device.allocate<int>(1);
  const StreamPtr a = device.create_stream(), b = device.create_stream();
  a->zero(x);
  a->synchronize();
  const auto module = device.compile(R"(
    __device__ int variable;
    extern "C" __global__ void keep(const int* from, int* to) { *(to != nullptr ? to : &variable) = *from; })");
  a->fill(x, 1);
  b->launch(module->untyped_kernel("keep"), {1, 1}, x.data(), seen);
  device.synchronize();
}

WEIR_TEST_PROGRAM(keeps_it_in_a_variable) { reads_early(device, nullptr); }

WEIR_TEST_PROGRAM(keeps_it_in_adopted_memory) {
  static int memory[1];
  const AllocationPtr adopted = device.adopt_memory(memory, sizeof(memory), MemoryKind::device, [](void*) {});
  reads_early(device, memory);
}

/// The output tells of the time that the first fill took, and not of its order.
WEIR_TEST_PROGRAM(tells_of_a_timeout) {
  const auto x = device.allocate<int>(n);
  const StreamPtr a = device.create_stream(), b = device.create_stream();
  a->fill(x, 7);
  const bool is_tool_run = std::getenv("WEIR_TOOLS") != nullptr;  // which would learn that the two are in order
  if (!is_tool_run && !a->synchronize_for(std::chrono::milliseconds(30))) std::printf("slow\n");
  b->fill(x, 7);
  device.synchronize();
}

/// The host writes behind its wait for another thread, and beside a copy of the same value that nobody waits for.
WEIR_TEST_PROGRAM(writes_after_a_pause) {
  const StreamPtr a = device.create_stream(), b = device.create_stream();
  const auto x = device.allocate<int>(n, MemoryKind::pinned), y = device.allocate<int>(n, MemoryKind::pinned);
  const auto flag = device.allocate<std::uint32_t>(1, MemoryKind::pinned);
  a->zero(x);
  a->zero(y);
  a->zero(flag);
  a->synchronize();
  a->copy(y, x);
  b->wait_value(flag.data(), 1U);
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    device.create_stream()->write_value(flag.data(), 1U);
  });
  b->synchronize();
  x.host()[0] = 5;
  device.synchronize();
  other.join();
}

/// The same bytes twice; but it fails if they take long.
WEIR_TEST_PROGRAM(has_no_patience) {
  const StreamPtr a = device.create_stream();
  const auto x = device.allocate<int>(n, MemoryKind::pinned);
  a->fill(x, 7);
  a->synchronize();
  a->fill(x, 7);
  const int seen = x.host()[0];
  if (!a->synchronize_for(std::chrono::milliseconds(30))) throw std::runtime_error("it takes too long");
  std::printf("%d\n", seen);
}

}  // namespace
}  // namespace weir::test
