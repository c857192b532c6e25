// SPDX-License-Identifier: Apache-2.0

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tests/tools/programs.hpp"

// Implements the programs for `validate`.

namespace weir::test {
namespace {

constexpr std::size_t n = 1024;

/// The next device of the backend.
Device& peer_of(Device& device) {
  if (device.backend().device_count() < 2)
    throw Error(Errc::unsupported, "peer_of", device.describe(), "there is one device");
  return device.backend().device(device.ordinal() + 1);
}

constexpr const char* source = "extern \"C\" __global__ void set(unsigned* x, const unsigned* y) { *x = *y; }";

constexpr const char* host_memory = "host memory that devices cannot access";
constexpr const char* ended = "the registration of this host memory has ended";
constexpr const char* freed = "the memory was freed";
constexpr const char* dead = "memory that the graph uses was freed after the capture";

// --- Host memory ------------------------------------------------------------------------------------------------------

WEIR_VALIDATE_PAIR(validate, fills_host_memory, host_memory) {
  std::vector<unsigned> plain(n);
  auto pinned = device.allocate<unsigned>(n, MemoryKind::pinned);
  weir::detail::fill_elements(*stream, right ? pinned.data() : plain.data(), 1, 4, n);
  stream->synchronize();
}

WEIR_VALIDATE_PAIR(validate, launches_with_a_local_variable, host_memory) {
  const KernelPtr kernel = device.compile(source)->untyped_kernel("set");
  auto x = device.allocate<unsigned>(1), y = device.allocate<unsigned>(1);
  stream->zero(y);
  unsigned local = 0;
  stream->launch(kernel, {1, 1}, x, right ? y.data() : &local);
  stream->synchronize();
}

WEIR_VALIDATE_PAIR(validate, waits_for_a_plain_variable, host_memory) {
  auto pinned = device.allocate<std::uint32_t>(1, MemoryKind::pinned);
  std::vector<std::uint32_t> plain(1);
  std::uint32_t* const word = right ? pinned.data() : plain.data();
  *word = 1;
  stream->wait_value(word, 1U);
  stream->synchronize();
}

/// Registered memory is known until it is unregistered.
WEIR_VALIDATE_PAIR(validate, uses_memory_after_its_registration, ended) {
  std::vector<unsigned> plain(n);
  Ptr<HostRegistration> registration = device.register_host(plain);
  if (!right) registration.reset();
  stream->fill(plain, 1U);
  stream->synchronize();
}

/// Pageable memory is a source and a destination of copies as any.
WEIR_VALIDATE_PAIR(validate, copies_pageable_memory,
                   "2048 bytes after the end of the allocation; it begins at byte 0 of 2048") {
  std::vector<unsigned> plain(n, 5);
  auto x = device.allocate<unsigned>(right ? n : n / 2);
  stream->copy_bytes(x.data(), plain.data(), n * sizeof(unsigned));
  stream->synchronize();
}

/// A graph's node is given other memory before the former is dropped.
WEIR_VALIDATE_PAIR(validate, drops_the_memory_of_a_node, dead) {
  if (!device.supports(Feature::graph_node_changes)) return;
  auto x = device.allocate<unsigned>(n), y = device.allocate<unsigned>(n);
  GraphNode node;
  const auto exec = stream
                        ->capture([&](Stream& s) {
                          s.fill(x, 1U);
                          node = s.last_captured_node();
                        })
                        ->instantiate();
  GraphChanges changes;
  changes.fill(node, y, 2U);
  if (right) exec->apply(changes);
  x.reset();
  exec->launch(*stream);
}

// --- Ranges -----------------------------------------------------------------------------------------------------------

WEIR_VALIDATE_PAIR(validate, reads_beyond_the_end,
                   "2048 bytes after the end of the allocation; it begins at byte 2048 of 4096") {
  auto x = device.allocate<unsigned>(n), y = device.allocate<unsigned>(2 * n);
  stream->copy_bytes(y.data(), x.data() + n / 2, (right ? n / 2 : n) * sizeof(unsigned));
}

WEIR_VALIDATE_PAIR(validate, fills_rows_beyond_the_end, "128 bytes after the end of the allocation") {
  auto x = device.allocate<unsigned>(n);
  stream->fill(PitchedSpan<unsigned>{x.data(), {32, right ? n * 4 / 256 : n * 4 / 256 + 1}, 256, 0}, 1U);
}

WEIR_VALIDATE_PAIR(validate, launches_with_a_span_that_is_too_long, "4 bytes after the end of the allocation") {
  const KernelPtr kernel = device.compile(source)->untyped_kernel("set");
  auto x = device.allocate<unsigned>(n), y = device.allocate<unsigned>(1);
  stream->zero(y);
  stream->launch(kernel, {1, 1}, std::span(x.data(), right ? n : n + 1), y);
}

WEIR_VALIDATE_PAIR(validate, begins_before_the_allocation, "the range begins 16 bytes before an allocation of 4096 bytes") {
  auto pinned = device.allocate<unsigned>(n, MemoryKind::pinned);
  weir::detail::fill_elements(*stream, right ? pinned.data() : pinned.data() - 4, 1, 4, 8);
}

/// What is around memory that another library lends may be the library's, too.
WEIR_VALIDATE_PAIR(validate, copies_around_adopted_memory, "it begins at byte 0 of 64") {
  std::vector<unsigned> base(64);
  const AllocationPtr view = device.adopt_memory(base.data() + 4, 16 * sizeof(unsigned), MemoryKind::pinned, [](void*) {});
  auto x = device.allocate<unsigned>(64);
  stream->fill(x, 1U);
  stream->copy_bytes(base.data() + 4, x.data(), (right ? 16 : 60) * sizeof(unsigned));
  stream->synchronize();
}

template <class T>
void copies_within(Stream& stream, T* to, const T* from, std::size_t count) {
  stream.copy_bytes(to, from, count * sizeof(T));
}

WEIR_VALIDATE_PAIR(validate, copies_onto_the_source, "it overlaps the source, 2048 bytes at 0x") {
  auto x = device.allocate<unsigned>(n);
  copies_within(*stream, x.data() + (right ? n / 2 : 16), x.data(), n / 2);
}

/// Columns that lie side by side do not overlap.
WEIR_VALIDATE_PAIR(validate, copies_columns, "it overlaps the source, ") {
  auto x = device.allocate<unsigned>(n);
  const auto columns = [&](std::size_t first) { return PitchedSpan<unsigned>{x.data() + first, {8, n / 32}, 128, 0}; };
  stream->copy(columns(right ? 8 : 7), columns(0));
}

WEIR_VALIDATE_PAIR(validate, launches_with_a_null_span, "16 bytes at 0x0: the address is null, but the size is not 0") {
  const KernelPtr kernel =
      device.compile("extern \"C\" __global__ void maybe(unsigned* x, unsigned* y) { if (x != nullptr) *y = *x; }")
          ->untyped_kernel("maybe");
  auto y = device.allocate<unsigned>(1);
  if (right) stream->launch(kernel, {1, 1}, static_cast<unsigned*>(nullptr), y);
  if (right) stream->launch(kernel, {1, 1}, Span<unsigned>(nullptr, 0), y);
  if (!right) stream->launch(kernel, {1, 1}, Span<unsigned>(nullptr, 4), y);
}

// --- Devices ----------------------------------------------------------------------------------------------------------

WEIR_VALIDATE_PAIR(validate, uses_memory_of_a_peer, "has no access to it; call enable_peer_access") {
  Device& other = peer_of(device);
  auto x = other.allocate<unsigned>(n);
  if (right) device.enable_peer_access(other);
  stream->fill(x, 1U);
}

WEIR_VALIDATE_PAIR(validate, uses_memory_of_a_peer_no_more, "has no access to it; call enable_peer_access") {
  Device& other = peer_of(device);
  auto x = other.allocate<unsigned>(n), y = device.allocate<unsigned>(n);
  device.enable_peer_access(other);
  device.disable_peer_access(other);
  if (right) stream->copy_peer(y.data(), device, x.data(), other, x.size_bytes());
  if (!right) stream->fill(x, 1U);
}

// --- Freed memory -----------------------------------------------------------------------------------------------------

WEIR_VALIDATE_PAIR(validate, uses_freed_memory, freed) {
  auto x = device.allocate<unsigned>(n);
  unsigned* const address = x.data();
  if (!right) x.reset();
  weir::detail::fill_elements(*stream, address, 1, 4, n);
}

WEIR_VALIDATE_PAIR(validate, launches_with_freed_memory, freed) {
  const KernelPtr kernel = device.compile(source)->untyped_kernel("set");
  auto x = stream->allocate_async<unsigned>(1), y = stream->allocate_async<unsigned>(1);
  stream->zero(y);
  unsigned* const address = x.data();
  if (!right) x.reset();
  stream->launch(kernel, {1, 1}, address, y);
}

/// Its address may be another allocation's now, which is a right one.
WEIR_VALIDATE_PAIR(validate, uses_memory_at_an_old_address, freed) {
  void* former = nullptr;
  for (int i = 0; i < 3; ++i) {
    auto x = device.allocate<unsigned>(n);
    stream->fill(x, 1U);
    stream->synchronize();
    former = x.data();
  }
  if (!right) weir::detail::fill_elements(*stream, former, 1, 4, n);
}

// --- Graphs -----------------------------------------------------------------------------------------------------------

GraphPtr fill_graph(Stream& stream, const Buffer<unsigned>& x) {
  return stream.capture([&](Stream& s) { s.fill(x, 1U); });
}

WEIR_VALIDATE_PAIR(validate, launches_a_graph_on_dead_memory, dead) {
  auto x = device.allocate<unsigned>(n);
  const GraphExecPtr exec = fill_graph(*stream, x)->instantiate();
  exec->launch(*stream);
  stream->synchronize();
  if (!right) x.reset();
  exec->launch(*stream);
}

/// Of host memory it is the registration that a graph needs.
WEIR_VALIDATE_PAIR(validate, launches_a_graph_after_a_registration,
                   "the registration of host memory that the graph uses has ended") {
  std::vector<unsigned> plain(n);
  Ptr<HostRegistration> registration = device.register_host(plain);
  const GraphExecPtr exec = stream->capture([&](Stream& s) { s.fill(plain, 1U); })->instantiate();
  if (!right) registration.reset();
  exec->launch(*stream);
  stream->synchronize();
}

/// What a vendor's library does in the capture uses the memory, too.
WEIR_VALIDATE_PAIR(validate, launches_external_work_on_dead_memory, dead) {
  auto x = device.allocate<unsigned>(n);
  const GraphExecPtr exec =
      stream->capture([&](Stream& s) { external_work(s, "gemm", accesses::writes(x)); })->instantiate();
  if (!right) x.reset();
  exec->launch(*stream);
}

/// Pools give the next allocation of that size the same place.
WEIR_VALIDATE_PAIR(validate, launches_a_graph_on_other_memory, "and other memory is there now") {
  auto x = stream->allocate_async<unsigned>(n);
  const GraphExecPtr exec = fill_graph(*stream, x)->instantiate();
  if (!right) x.reset();
  stream->synchronize();
  const auto other = stream->allocate_async<unsigned>(n);
  exec->launch(*stream);
}

WEIR_VALIDATE_PAIR(validate, launches_a_child_graph_on_dead_memory, dead) {
  auto x = device.allocate<unsigned>(n);
  const GraphPtr child = fill_graph(*stream, x);
  const GraphPtr graph = stream->capture([&](Stream& s) { s.add_child_graph(*child); });
  const GraphExecPtr exec = graph->clone()->instantiate();
  if (!right) x.reset();
  exec->launch(*stream);
}

WEIR_VALIDATE_PAIR(validate, updates_a_graph_to_dead_memory, dead) {
  auto x = device.allocate<unsigned>(n), y = device.allocate<unsigned>(n);
  const GraphPtr first = fill_graph(*stream, x), second = fill_graph(*stream, y);
  const GraphExecPtr exec = first->instantiate();
  exec->update(*second);
  (right ? x : y).reset();
  exec->launch(*stream);
}

WEIR_VALIDATE_PAIR(validate, launches_a_body_on_dead_memory, dead) {
  auto x = device.allocate<unsigned>(n);
  auto condition = device.allocate<std::uint32_t>(1, MemoryKind::pinned);
  condition.host()[0] = 1;
  const GraphPtr graph =
      stream->capture([&](Stream& s) { s.capture_if(condition.data(), [&](Stream& body) { body.fill(x, 1U); }); });
  const GraphExecPtr exec = graph->instantiate();
  if (!right) x.reset();
  exec->launch(*stream);
}

/// Memory that the graph itself allocates is there at each launch.
WEIR_VALIDATE_PAIR(validate, launches_a_graph_that_allocates, dead) {
  auto y = device.allocate<unsigned>(n);
  const GraphPtr graph = stream->capture([&](Stream& s) {
    auto x = s.allocate_async<unsigned>(n);
    s.fill(x, 1U);
    s.copy(y, x);
  });
  const GraphExecPtr exec = graph->instantiate();
  for (int i = 0; i < 2; ++i) exec->launch(*stream);
  stream->synchronize();
  if (!right) y.reset();
  exec->launch(*stream);
}

/// Memory of a graph that is gone may become anybody's. On a GPU the system lays no other memory there.
WEIR_VALIDATE_PAIR(validate, reuses_memory_of_a_graph_that_is_gone, "after the end of the allocation") {
  constexpr std::size_t bytes = std::size_t{1} << 22;  // so many that they are mapped for the graph, and unmapped with it
  std::uintptr_t address = 0;
  (void)stream->capture([&](Stream& s) {
    auto x = s.allocate_async<std::byte>(bytes);
    address = reinterpret_cast<std::uintptr_t>(x.data());
    s.fill(x, std::byte{1});
  });
  void* const page = reinterpret_cast<void*>(address & ~std::uintptr_t{4095});
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
  void* const mapped = ::mmap(page, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (mapped != page) throw Error(Errc::unsupported, "mmap", device.describe(), "the address is not free");
  const std::span memory(static_cast<std::byte*>(mapped), bytes);
  auto y = device.allocate<std::byte>(right ? bytes : bytes / 2);
  stream->copy_bytes(y.data(), mapped, bytes);
  const Ptr<HostRegistration> registration = device.register_host(memory);
  stream->fill(memory, std::byte{2});
  stream->synchronize();
}

// --- Unwritten memory -------------------------------------------------------------------------------------------------

WEIR_VALIDATE_PAIR(on_request, copies_unwritten_memory, "32 of them were not written before this operation reads them",
                   "unwritten,leaks") {
  auto x = device.allocate<unsigned>(n), y = device.allocate<unsigned>(n);
  stream->fill(right ? x.subspan(0, n) : x.subspan(0, n - 8), 1U);
  stream->copy(y, x);
}

WEIR_VALIDATE_PAIR(on_request, launches_on_unwritten_memory, "4 of them were not written before this operation reads them",
                   "unwritten") {
  const KernelPtr kernel = device.compile(source)->untyped_kernel("set");
  auto x = device.allocate<unsigned>(1), y = device.allocate<unsigned>(1);
  if (right) stream->zero(y);
  stream->launch(kernel, {1, 1}, x, accesses::reads(y));
}

/// What a kernel may write counts as written.
WEIR_VALIDATE_PAIR(on_request, copies_what_a_kernel_writes, "4 of them were not written before this operation reads them",
                   "unwritten") {
  const KernelPtr kernel = device.compile(source)->untyped_kernel("set");
  auto x = device.allocate<unsigned>(1), y = device.allocate<unsigned>(1), z = device.allocate<unsigned>(1);
  stream->zero(y);
  stream->launch(kernel, {1, 1}, x, accesses::reads(y));
  stream->copy(y, right ? x : z);
}

constexpr const char* indexed = R"(
struct Pair { unsigned* to; unsigned count; };
extern "C" __global__ void set_all(unsigned* x) { x[threadIdx.x] = 1; }
extern "C" __global__ void set_pair(Pair pair) { pair.to[threadIdx.x] = pair.count; }
extern "C" __global__ void get(const unsigned* x, unsigned* y) { *y = x[5]; })";

/// A kernel that gets a plain pointer may write anywhere behind it, and before it.
WEIR_VALIDATE_PAIR(on_request, copies_what_a_kernel_writes_through_a_pointer, "256 of them were not written before",
                   "unwritten") {
  const KernelPtr kernel = device.compile(indexed)->untyped_kernel("set_all");
  auto x = device.allocate<unsigned>(64), y = device.allocate<unsigned>(64), z = device.allocate<unsigned>(64);
  stream->launch(kernel, {1, 64}, x.data());
  stream->copy(z, x);
  unsigned* const behind = y.data() + 32;
  void* arguments[] = {const_cast<unsigned**>(&behind)};
  const weir::Parameter parameters[] = {{sizeof(behind)}};
  if (right) stream->launch_raw(kernel, {1, 32}, arguments, parameters);
  stream->copy(z, y);
}

/// What it reads behind a plain pointer need not be the first element.
WEIR_VALIDATE_PAIR(on_request, reads_what_is_written_behind_a_pointer, "32 of them were not written before", "unwritten") {
  const KernelPtr kernel = device.compile(indexed)->untyped_kernel("get");
  auto x = device.allocate<unsigned>(8), y = device.allocate<unsigned>(1);
  if (right) stream->fill(x.subspan(5, 3), 1U);
  stream->launch(kernel, {1, 1}, static_cast<const unsigned*>(x.data()), y);
}

/// A struct of a kernel's arguments has a pointer in it.
WEIR_VALIDATE_PAIR(on_request, copies_what_a_kernel_writes_through_a_struct, "256 of them were not written before",
                   "unwritten") {
  struct Pair {
    unsigned* to;
    unsigned count;
  };
  const KernelPtr kernel = device.compile(indexed)->untyped_kernel("set_pair");
  auto x = device.allocate<unsigned>(64), y = device.allocate<unsigned>(64), z = device.allocate<unsigned>(64);
  stream->launch(kernel, {1, 64}, Pair{x.data(), 1});
  stream->copy(z, x);
  const GraphExecPtr exec =
      stream->capture([&](Stream& s) {
              s.launch(kernel, {1, 64}, Pair{right ? y.data() : x.data(), 1});
            })
          ->instantiate();
  exec->launch(*stream);
  stream->copy(z, y);
}

WEIR_VALIDATE_PAIR(on_request, launches_a_graph_on_unwritten_memory, "captured as: Stream::copy", "unwritten") {
  auto x = device.allocate<unsigned>(n), y = device.allocate<unsigned>(n);
  const GraphExecPtr exec = stream
                                ->capture([&](Stream& s) {
                                  if (right) s.fill(x, 1U);
                                  s.copy(y, x);
                                })
                                ->instantiate();
  exec->launch(*stream);
}

/// The reader is submitted first, and runs last.
WEIR_VALIDATE_PAIR(on_request, submits_the_reader_first, "4096 of them were not written before this operation reads them",
                   "unwritten") {
  const StreamPtr reader = device.create_stream(), writer = device.create_stream();
  auto x = device.allocate<unsigned>(n), y = device.allocate<unsigned>(n);
  auto flag = device.allocate<std::uint32_t>(1, MemoryKind::pinned);
  flag.host()[0] = 0;
  reader->wait_value(flag.data(), 1U);
  reader->copy(y, x);
  if (right) writer->fill(x, 1U);
  writer->write_value(flag.data(), 1U);
  reader->synchronize();
  writer->synchronize();
}

// --- Leaks ------------------------------------------------------------------------------------------------------------

WEIR_VALIDATE_PAIR(on_request, forgets_memory, "3 blocks, 12288 bytes in all, at the end of the program: it was never freed",
                   "leaks") {
  for (int i = 0; i < 3; ++i) {
    auto owner = std::make_unique<Buffer<unsigned>>(device.allocate<unsigned>(n));
    if (!right) (void)owner.release();
  }
}

WEIR_VALIDATE_PAIR(on_request, forgets_a_registration, "its registration has not ended", "leaks") {
  static std::vector<unsigned> plain(n);
  Ptr<HostRegistration> registration = device.register_host(plain);
  if (!right) registration->retain();
}

WEIR_VALIDATE_PAIR(validate, copies_to_one_place_twice, "it overlaps another destination of the batch, 256 bytes at 0x") {
  const auto x = device.allocate<unsigned>(n), y = device.allocate<unsigned>(n);
  stream->zero(y);
  const BatchCopy copies[] = {{x.data(), y.data(), 256}, {x.data() + (right ? 64 : 32), y.data() + 64, 256}};
  stream->copy_batch(copies);
  stream->synchronize();
}

/// On a GPU the copy has read the source when the call returns.
WEIR_VALIDATE_PAIR(pageable, changes_a_pageable_source,
                   "the source is pageable memory and has changed between the call and the copy") {
  const auto x = device.allocate<unsigned>(n);
  std::vector<unsigned> values(n);
  const auto change = [&] { values[5] = 7; };
  right ? change() : stream->launch_host_function(change);
  stream->copy(x, values);
  stream->synchronize();
}

}  // namespace
}  // namespace weir::test
