// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <future>
#include <memory_resource>

#include "capture.hpp"
#include "weir/interop/pmr.hpp"

/// Memory that is not stream-ordered: kinds, buffers, misuse, managed memory.
namespace conformance::memory_cases {

TEST_SUITE_BEGIN("memory");

CASE(OneStream, "S42 memory: each kind is what it says, aligned, and as large as asked for") {
  std::vector<MemoryKind> kinds = {MemoryKind::device, MemoryKind::pinned};
  if (device().supports(Feature::managed_memory)) kinds.push_back(MemoryKind::managed);
  for (const MemoryKind kind : kinds) {
    INFO(std::string(weir::to_string(kind)));
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{255}, std::size_t{4096}, std::size_t{1} << 20U}) {
      const weir::AllocationPtr memory = device().allocate_bytes(bytes, kind);
      REQUIRE(memory->data() != nullptr);
      CHECK(reinterpret_cast<std::uintptr_t>(memory->data()) % 256 == 0);
      CHECK(memory->size_bytes() == bytes);
      CHECK(memory->kind() == kind);
      CHECK(&memory->device() == &device());
      CHECK(memory->stream() == nullptr);
      CHECK(memory->host_accessible() == (kind != MemoryKind::device));
      if (memory->host_accessible()) std::memset(memory->data(), 1, bytes);
      weir::detail::fill_elements(*s, memory->data(), 2, 1, bytes);
      s->synchronize();
    }
  }
}

TEST_CASE("S42 memory: of no bytes is an allocation whose address is null") {
  const weir::AllocationPtr memory = device().allocate_bytes(0);
  REQUIRE(memory);
  CHECK(memory->data() == nullptr);
  CHECK(memory->size_bytes() == 0);
  const auto buffer = device().allocate<double>(0, MemoryKind::pinned);
  CHECK(buffer.empty());
  CHECK(buffer.data() == nullptr);
  CHECK(buffer.host().empty());
}

static_assert(!std::is_copy_constructible_v<Buffer<int>> && !std::is_copy_assignable_v<Buffer<int>>);

TEST_CASE("S42 buffer: share makes another owner; subspans are checked; device memory has no view for the host") {
  const auto buffer = device().allocate<int>(10);
  const auto same = buffer.share();
  CHECK(same.data() == buffer.data());
  CHECK(buffer.size() == 10);
  CHECK(buffer.size_bytes() == 40);
  CHECK(buffer.allocation()->use_count() == 2);
  CHECK(buffer.subspan(4, 6).data() == buffer.data() + 4);
  CHECK(buffer.subspan(10, 0).empty());
  CHECK(buffer.subspan(7).size() == 3);
  CHECK(buffer.first(4).data() == buffer.data());
  CHECK(buffer.last(4).data() == buffer.data() + 6);
  CHECK(weir::as_bytes(buffer.last(1)).size() == sizeof(int));
  CHECK(weir::as_writable_bytes(buffer.span()).data() == reinterpret_cast<std::byte*>(buffer.data()));
  CHECK_REFUSED(Errc::invalid_argument, buffer.subspan(11));
  CHECK_REFUSED(Errc::invalid_argument, buffer.first(11));
  CHECK_REFUSED(Errc::invalid_argument, buffer.last(11));
  CHECK_REFUSED(Errc::invalid_argument, buffer.span().subspan(4, 7));
  CHECK_REFUSED(Errc::invalid_argument, buffer.subspan(4, 7));
  CHECK_REFUSED(Errc::invalid_argument, buffer.subspan(11, 0));
  CHECK_REFUSED(Errc::invalid_argument, buffer.subspan(1, std::numeric_limits<std::size_t>::max()));
  CHECK_REFUSED(Errc::invalid_argument, buffer.host());
  auto pinned = device().allocate<int>(3, MemoryKind::pinned);
  CHECK(pinned.host().size() == 3);
  pinned.reset();
  CHECK(pinned.empty());
  CHECK_FALSE(pinned.host_accessible());
}

TEST_CASE("S42 buffer: holds no more elements than its allocation, and none once it was moved from") {
  auto a = device().allocate<std::uint32_t>(10, MemoryKind::pinned);
  CHECK(Buffer<std::uint8_t>(a.allocation(), 40).size() == 40);
  CHECK_REFUSED(Errc::invalid_argument, Buffer<std::uint8_t>(a.allocation(), 41));
  CHECK_REFUSED(Errc::invalid_argument, Buffer<std::uint64_t>(a.allocation(), 6));
  CHECK_REFUSED(Errc::invalid_argument, Buffer<std::uint32_t>(a.allocation(), SIZE_MAX / 4 + 2));
  CHECK_REFUSED(Errc::invalid_argument, Buffer<std::uint8_t>(nullptr, 1));
  const auto b = std::move(a);
  CHECK(a.data() == nullptr);
  CHECK(a.size() == 0);
  CHECK(a.host().empty());
  CHECK(b.size() == 10);
}

CASE(OneStream, "S42 memory: more than there is, is an error, and the device goes on working") {
  CHECK_REFUSED(Errc::out_of_memory, device().allocate_bytes(std::size_t{1} << 60U));
  CHECK_REFUSED(Errc::out_of_memory, device().allocate_bytes(std::size_t{1} << 60U, MemoryKind::pinned));
  CHECK_REFUSED(Errc::invalid_argument, device().allocate<double>(std::numeric_limits<std::size_t>::max() / 4));
  CHECK_REFUSED(Errc::invalid_argument, device().allocate_bytes(std::numeric_limits<std::size_t>::max() / 2));
  CHECK(device().allocate<int>(100).data() != nullptr);
}

TEST_CASE("S13 device: tells its memory") {
  const weir::MemoryInfo info = device().memory_info();
  CHECK((info.total > 0) == (device().properties().total_memory > 0));  // 0 where the backend cannot tell
  CHECK(info.free <= info.total);
}

CASE(OneStream, "S9 S42 memory: dropped while its device's work still uses it, it is freed behind that work") {
  constexpr std::size_t count = std::size_t{4} << 20U;
  const auto kept = device().allocate<std::uint32_t>(count);
  for (std::uint32_t round = 1; round <= 8; ++round) {
    const MemoryKind kind = round % 2 == 0 ? MemoryKind::device : MemoryKind::pinned;
    CAPTURE(to_string(kind));
    auto memory = device().allocate<std::uint32_t>(count, kind);
    s->fill(memory, round);
    s->copy(kept, memory);
    memory.reset();
    const Values back = s->read(kept);
    CHECK(std::count(back.begin(), back.end(), round) == static_cast<std::ptrdiff_t>(count));
  }
}

// --- Managed memory ---------------------------------------------------------------------------------------------------

bool needs_managed() {
  return needs(device(), {Feature::managed_memory}, [] { (void)device().allocate<int>(1, MemoryKind::managed); });
}
struct Managed : OneStream {
  static bool is_possible() { return needs_managed(); }
};

CASE(Managed, "S44 managed memory: host and device address it alike") {
  const auto memory = device().allocate<std::uint32_t>(1000, MemoryKind::managed);
  for (std::uint32_t i = 0; i < 1000; ++i) memory.host()[i] = i;
  const Values back = s->read(memory);
  for (std::uint32_t i = 0; i < 1000; ++i) REQUIRE(back[i] == i);
  s->fill(memory, 5U);
  s->synchronize();
  for (const std::uint32_t v : memory.host()) REQUIRE(v == 5);
}

CASE(WithOther, "S44 attach: in each mode, the memory stays usable by those it is attached to") {
  if (!needs_managed()) return;
  const auto memory = device().allocate<std::uint32_t>(100, MemoryKind::managed);
  if (!needs(*s, {Feature::managed_attach}, [&] { s->attach_memory(memory, weir::AttachMode::single); })) return;
  for (const weir::AttachMode mode : {weir::AttachMode::single, weir::AttachMode::host, weir::AttachMode::global}) {
    s->attach_memory(memory, mode);
    s->synchronize();
    memory.host()[0] = 1;
    if (mode != weir::AttachMode::host) {
      s->fill(memory, 2U);
      s->synchronize();
      CHECK(memory.host()[99] == 2);
    }
  }
  other->fill(memory, 3U);
  other->synchronize();
  CHECK(memory.host()[0] == 3);
}

CASE(OneStream, "S44 attach: other memory than managed is an error") {
  const auto plain = device().allocate<int>(4);
  if (!needs(*s, {Feature::managed_attach}, [&] { s->attach_memory(*plain.allocation(), weir::AttachMode::single); }))
    return;
  const auto pinned = device().allocate<int>(4, MemoryKind::pinned);
  CHECK_REFUSED(Errc::invalid_argument, s->attach_memory(*plain.allocation(), weir::AttachMode::single));
  CHECK_REFUSED(Errc::invalid_argument, s->attach_memory(*pinned.allocation(), weir::AttachMode::global));
  CHECK_REFUSED(Errc::invalid_argument, s->attach_memory(Buffer<int>(), weir::AttachMode::global));
}

CASE(Managed, "S44 prefetch: to the device and to the host, in the stream's order, without changing the values") {
  const auto memory = device().allocate<std::uint32_t>(5000, MemoryKind::managed);
  if (!needs(*s, {Feature::managed_prefetch}, [&] { s->prefetch(memory); })) return;
  for (std::uint32_t& v : memory.host()) v = 3;
  s->prefetch(memory);
  s->fill(memory.subspan(0, 2500), 4U);
  s->prefetch(memory, PrefetchTarget::host);
  s->prefetch(*memory.allocation());
  s->prefetch(*memory.allocation(), 4096, memory.size_bytes() - 4096, PrefetchTarget::host);
  s->prefetch(*memory.allocation(), memory.size_bytes(), 0, PrefetchTarget::host);
  s->prefetch(device().allocate<int>(0, MemoryKind::managed));
  s->synchronize();
  CHECK(memory.host()[0] == 4);
  CHECK(memory.host()[2499] == 4);
  CHECK(memory.host()[4999] == 3);
}

CASE(OneStream, "S44 prefetch: what is not managed memory, or not within the allocation, is an error") {
  const auto plain = device().allocate<std::uint32_t>(100);
  if (!needs(*s, {Feature::managed_prefetch}, [&] { s->prefetch(plain); })) return;
  if (!needs_managed()) return;
  CHECK_REFUSED(Errc::invalid_argument, s->prefetch(plain));
  CHECK_REFUSED(Errc::invalid_argument, s->prefetch(Buffer<int>()));
  const auto memory = device().allocate<std::uint32_t>(100, MemoryKind::managed);
  const weir::Allocation& managed = *memory.allocation();
  CHECK_REFUSED(Errc::invalid_argument, s->prefetch(managed, 0, 401, PrefetchTarget::device));
  CHECK_REFUSED(Errc::invalid_argument, s->prefetch(managed, 400, 1, PrefetchTarget::device));
  CHECK_REFUSED(Errc::invalid_argument, s->prefetch(managed, 401, 0, PrefetchTarget::host));
  CHECK_REFUSED(Errc::invalid_argument, s->prefetch(managed, 1, SIZE_MAX, PrefetchTarget::host));
}

CASE(OneStream, "S42 adopted memory: used like any other, and its deleter is called once, with its address") {
  // Another allocator's memory, as an application's pool would have it.
  const weir::AllocationPtr own = device().allocate_bytes(400);
  std::vector<void*> freed;
  {
    Buffer<std::uint32_t> buffer(
        device().adopt_memory(own->data(), 400, MemoryKind::device, [&](void* memory) { freed.push_back(memory); }), 100);
    CHECK(buffer.data() == own->data());
    CHECK(buffer.allocation()->kind() == MemoryKind::device);
    CHECK(buffer.allocation()->stream() == nullptr);
    CHECK(&buffer.allocation()->device() == &device());
    s->fill(buffer, 5U);
    const Buffer<std::uint32_t> second = buffer.share();
    buffer.reset();
    CHECK(freed.empty());
    CHECK(s->read(second) == Values(100, 5));
  }
  CHECK(freed == std::vector<void*>{own->data()});
  // Without a deleter, and without bytes.
  CHECK(device().adopt_memory(own->data(), 400, MemoryKind::device, {})->data() == own->data());
  (void)device().adopt_memory(nullptr, 0, MemoryKind::pinned, [&](void* memory) { freed.push_back(memory); });
  CHECK(freed == std::vector<void*>{own->data(), nullptr});
}

TEST_CASE("S42 adopted memory: misuse has its error, and the memory stays the caller's") {
  bool freed = false;
  const auto free = [&](void*) { freed = true; };
  CHECK_REFUSED(Errc::invalid_argument, device().adopt_memory(nullptr, 1, MemoryKind::device, free));
  CHECK_REFUSED(Errc::invalid_argument, device().adopt_memory(&freed, SIZE_MAX, MemoryKind::pinned, free));
  CHECK_REFUSED(Errc::invalid_argument, device().adopt_memory(&freed, 1, static_cast<MemoryKind>(9), free));
  CHECK_FALSE(freed);
  (void)device().adopt_memory(&freed, 1, MemoryKind::pinned, [](void*) { throw std::runtime_error("no"); });  // logged
}

TEST_CASE("S42 adopted memory: freed in the order of a stream, also where the last owner goes in a host function") {
  const StreamPtr s = device().create_stream();
  std::promise<void> freed;
  int word = 0;
  auto memory = device().adopt_memory(&word, sizeof(word), MemoryKind::pinned, [s, &freed](void*) {
    s->synchronize();  // calls Weir: so this is not the driver's thread
    freed.set_value();
  });
  if (!device().supports(Feature::host_functions)) return memory.reset();
  s->launch_host_function([owner = std::move(memory)]() mutable { owner.reset(); });
  CHECK(freed.get_future().wait_for(std::chrono::seconds(30)) == std::future_status::ready);
}

CASE(OneStream, "S42 std::pmr: containers in pinned memory, and memory of a resource as a buffer") {
  {
    weir::pmr::MemoryResource pinned(device());
    std::pmr::vector<std::uint32_t> numbers(1000, 7, &pinned);
    const auto memory = device().allocate<std::uint32_t>(1000);
    s->copy(memory, numbers);
    numbers.assign(2000, 0);
    s->synchronize();
    CHECK(s->read(memory) == Values(1000, 7));
    CHECK_THROWS_AS((void)pinned.allocate(1, 4096), std::bad_alloc);
    pinned.deallocate(pinned.allocate(0), 0);
  }
  CHECK_REFUSED(Errc::invalid_argument, weir::pmr::MemoryResource(device(), MemoryKind::device));

  struct Counter : std::pmr::memory_resource {
    void* do_allocate(std::size_t bytes, std::size_t alignment) override {
      blocks += 1;
      return std::pmr::new_delete_resource()->allocate(bytes, alignment);
    }
    void do_deallocate(void* data, std::size_t bytes, std::size_t alignment) override {
      blocks -= 1;
      std::pmr::new_delete_resource()->deallocate(data, bytes, alignment);
    }
    bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
    int blocks = 0;
  } counter;
  {
    const Buffer<std::uint32_t> words(weir::pmr::allocate_bytes(counter, device(), 400, MemoryKind::pinned), 100);
    words.host()[99] = 3;
    const auto memory = device().allocate<std::uint32_t>(100);
    s->copy(memory, words);
    CHECK(s->read(memory)[99] == 3);
    CHECK(counter.blocks == 1);
    CHECK_REFUSED(Errc::invalid_argument,
                  weir::pmr::allocate_bytes(counter, device(), 400, static_cast<MemoryKind>(9)));
  }
  CHECK(counter.blocks == 0);
}

}  // namespace conformance::memory_cases
