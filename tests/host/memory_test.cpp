// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <future>
#include <limits>
#include <thread>
#include <vector>

#include "tests/host/support.hpp"

/// Tests that the host backend refuses memory that drivers refuse.
namespace weir::test {
namespace {

Error refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  FAIL("not refused");
  return {Errc::backend_failure, "", "", ""};
}

TEST_CASE("what is registered is memory") {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  auto* const pages =
      static_cast<std::byte*>(::mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  REQUIRE(pages != MAP_FAILED);
  ::munmap(pages + 2 * page, page);
  CHECK(host().register_host(pages, 2 * page)->device_pointer() == pages);
  CHECK_NOTHROW(host().register_host(pages + 5, 2 * page - 5));
  CHECK(refusal([&] { (void)host().register_host(pages, 2 * page + 1); }).errc() == Errc::invalid_argument);
  CHECK(refusal([&] { (void)host().register_host(pages + 2 * page, 1); }).errc() == Errc::invalid_argument);
  ::munmap(pages, 2 * page);

  std::vector<int> vector(1000);
  CHECK_NOTHROW(host().register_host(vector.data(), 4000));
  constexpr auto most = std::numeric_limits<std::size_t>::max();
  for (const std::size_t bytes : {most, most - 4096, most / 2, std::size_t{1} << 46U}) {
    CHECK(refusal([&] { (void)host().register_host(vector.data(), bytes); }).errc() == Errc::invalid_argument);
  }
}

TEST_CASE("large copies and fills of two dimensions are right, also where they are shared out") {
  const StreamPtr stream = host().create_stream();
  for (const std::size_t width : {std::size_t{1}, std::size_t{1000}, std::size_t{3} << 20U}) {  // bytes
    CAPTURE(width);
    const std::size_t height = (std::size_t{6} << 20U) / width + 1, pitch = width + 3;
    const auto from = host().allocate<std::uint8_t>(pitch * height), to = host().allocate<std::uint8_t>(width * height);
    for (std::size_t i = 0; i < from.size(); ++i) from.data()[i] = static_cast<std::uint8_t>(i % 251);
    const PitchedSpan<std::uint8_t> rows{.data = from.data(), .extent = {width, height}, .row_pitch = pitch};
    stream->copy(pitched(to, rows.extent), rows);
    stream->synchronize();
    bool right = true;
    for (std::size_t i = 0; i < to.size(); ++i) right = right && to.data()[i] == (i / width * pitch + i % width) % 251;
    CHECK(right);
    stream->fill(rows, 255);
    stream->synchronize();
    for (std::size_t i = 0; i < from.size(); ++i) right = right && from.data()[i] == (i % pitch < width ? 255 : i % 251);
    CHECK(right);
  }
}

TEST_CASE("a stream gets memory that it has freed again before the free has run, and no other stream does") {
  const StreamPtr a = host().create_stream(), b = host().create_stream();
  const MemoryPoolPtr pool = host().create_memory_pool();
  std::promise<void> go;
  a->launch_host_function([&] { go.get_future().wait(); });
  auto memory = a->allocate_async<std::uint32_t>(1000, pool);
  const std::uint32_t* const address = memory.data();
  const std::size_t used = pool->used_bytes();
  std::vector<std::vector<std::uint32_t>> seen(5, std::vector<std::uint32_t>(1000));
  for (std::uint32_t i = 0; i < seen.size(); ++i) {
    a->fill(memory, i);
    a->copy(seen[i], memory);
    memory.reset();
    const auto of_other = b->allocate_async<std::uint32_t>(1000, pool);
    CHECK(of_other.data() != address);
    memory = a->allocate_async<std::uint32_t>(i % 2 == 0 ? 1000 : 900, pool);
    CHECK(memory.data() == address);
    if (i % 2 != 0) {
      memory.reset();
      memory = a->allocate_async<std::uint32_t>(1000, pool);
      CHECK(memory.data() == address);
    }
  }
  b->synchronize();
  CHECK(pool->used_bytes() == used);
  go.set_value();
  a->synchronize();
  for (std::uint32_t i = 0; i < seen.size(); ++i) CHECK(seen[i] == std::vector<std::uint32_t>(1000, i));
  CHECK(pool->used_bytes() == used);
  memory.reset();
  a->synchronize();
  CHECK(pool->used_bytes() == 0);
}

// What the address sanitizer is told of a block: its last user alone is kept from what lies behind the end.
TEST_CASE("a block that a stream has again, and uses less of, is whole for the work that came before") {
  const StreamPtr stream = host().create_stream();
  const MemoryPoolPtr pool = host().create_memory_pool();
  std::promise<void> go, freed, end;
  stream->launch_host_function([&] { go.get_future().wait(); });
  auto large = stream->allocate_async<std::uint8_t>(8192, pool);
  const std::uint8_t* const address = large.data();
  stream->fill(large, std::uint8_t{1});
  std::vector<std::uint8_t> seen(8192);
  stream->copy(seen, large);
  large.reset();
  const auto small = stream->allocate_async<std::uint8_t>(5000, pool);
  CHECK(small.data() == address);
  stream->launch_host_function([&] {
    freed.set_value();
    end.get_future().wait();
  });
  stream->fill(small, std::uint8_t{2});
  go.set_value();
  freed.get_future().wait();
  CHECK(seen == std::vector<std::uint8_t>(8192, 1));
#ifdef __SANITIZE_ADDRESS__
  CHECK(__asan_region_is_poisoned(const_cast<std::uint8_t*>(address), 5000) == nullptr);
  CHECK(__asan_address_is_poisoned(address + 5000) != 0);
  CHECK(__asan_address_is_poisoned(address + 8191) != 0);
#endif
  end.set_value();
  stream->synchronize();
  CHECK(address[4999] == 2);
}

TEST_CASE("threads that free and allocate on the same streams never share a block") {
  const std::vector<StreamPtr> streams = {host().create_stream(), host().create_stream(), host().create_stream()};
  const MemoryPoolPtr pool = host().create_memory_pool();
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (std::uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::vector<std::vector<std::uint32_t>> seen(300, std::vector<std::uint32_t>(64));
      for (std::uint32_t i = 0; i < seen.size(); ++i) {
        const StreamPtr& stream = streams[(t + i) % streams.size()];
        auto memory = stream->allocate_async<std::uint32_t>(64 + i % 60, pool);
        const auto part = memory.subspan(0, 64);
        stream->fill(part, t * 1000 + i);
        stream->copy(seen[i], part);
      }
      for (const StreamPtr& stream : streams) stream->synchronize();
      for (std::uint32_t i = 0; i < seen.size(); ++i) {
        if (seen[i] != std::vector<std::uint32_t>(64, t * 1000 + i)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(pool->used_bytes() == 0);
}

// --- Memory that is dropped while work uses it ------------------------------------------------------------------------

// Not under the address sanitizer, which keeps freed memory for a while.
#ifndef __SANITIZE_ADDRESS__
TEST_CASE("a loop that allocates and drops memory does not outrun its work") {
  const auto resident_mib = [] {
    std::size_t all = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> all >> resident;
    return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) >> 20U;
  };
  const StreamPtr stream = host().create_stream();
  const std::size_t before = resident_mib();
  std::size_t most = 0;
  for (std::uint32_t i = 0; i < 20'000; ++i) {  // 1.2 GiB in all
    const auto memory = host().allocate<std::uint32_t>(1 << 14U);
    stream->fill(memory, i);
    if (i % 100 == 0) most = std::max(most, resident_mib());
  }
  stream->synchronize();
  CHECK(most < before + 300);
}
#endif

TEST_CASE("an allocation waits while much memory is about to be freed, but not for ever") {
  using namespace std::chrono_literals;
  const StreamPtr stream = host().create_stream();
  const auto allocate = [] {
    const auto begin = std::chrono::steady_clock::now();
    (void)host().allocate<std::byte>(1);
    return std::chrono::steady_clock::now() - begin;
  };
  std::promise<void> go;
  stream->launch_host_function([&] { go.get_future().wait(); });
  (void)host().allocate<std::byte>(std::size_t{100} << 20U);  // nobody touches it, so it costs addresses alone
  CHECK(allocate() >= 100ms);                                 // the thread that ends the work is this one
  std::thread opener([&] {
    std::this_thread::sleep_for(10ms);
    go.set_value();
  });
  allocate();
  opener.join();
  stream->synchronize();
  CHECK(allocate() < 100ms);
}

TEST_CASE("streams that wait for points of one stream in any order go on behind their points") {
  constexpr std::uint32_t count = 500;
  const StreamPtr source = host().create_stream();
  const auto number = host().allocate<std::uint32_t>(1);
  std::vector<EventPtr> events;
  std::promise<void> go;
  source->fill(number, 0U);
  source->launch_host_function([&] { go.get_future().wait(); });
  for (std::uint32_t i = 0; i < count; ++i) {
    source->fill(number, i + 1);
    events.push_back(source->record());
  }
  std::vector<StreamPtr> streams;
  std::vector<std::uint32_t> seen(3 * count);
  for (std::uint32_t i = 0; i < seen.size(); ++i) {
    streams.push_back(host().create_stream());
    streams.back()->wait(*events[i * 7919 % count]);
    streams.back()->copy(Span(&seen[i], 1), number);
  }
  for (const std::uint32_t each : seen) CHECK(each == 0);
  go.set_value();
  for (const StreamPtr& stream : streams) stream->synchronize();
  for (std::uint32_t i = 0; i < seen.size(); ++i) CHECK(seen[i] >= i * 7919 % count + 1);
}

}  // namespace
}  // namespace weir::test
