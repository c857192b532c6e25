// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <unistd.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <limits>
#include <thread>
#include <vector>

#include "tests/host/support.hpp"

/// Memory that drivers refuse is refused here, too.
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

}  // namespace
}  // namespace weir::test
