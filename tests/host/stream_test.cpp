// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "weir/weir.hpp"

// Tests checks of stream handles that only the host backend can make.

using weir::Ownership;

namespace {

bool is_refused(weir::Device& device, void* handle) {
  try {
    (void)device.wrap_stream(handle, Ownership::adopt);
    return false;
  } catch (const weir::Error& e) {
    return e.code() == weir::Errc::invalid_argument;
  }
}

}  // namespace

TEST_CASE("host streams: a handle is adopted once, and only from the caller who owns it") {
  weir::Device& device = weir::device("host:0");
  const auto created = device.create_stream();
  CHECK(is_refused(device, created->native_handle()));
  void* const handle = created->release_handle();
  const auto adopted = device.wrap_stream(handle, Ownership::adopt);
  CHECK(is_refused(device, handle));
  CHECK(device.wrap_stream(handle, Ownership::borrow)->kind() == weir::StreamKind::borrowed);
  CHECK(adopted->release_handle() == handle);
  const auto again = device.wrap_stream(handle, Ownership::adopt);
  const auto x = device.allocate<int>(4);
  again->fill(x, 3);
  CHECK(again->read(x).back() == 3);
}

TEST_CASE("host streams: a number that is no handle is refused, whatever memory it names") {
  weir::Device& device = weir::device("host:0");
  const auto numbers = device.allocate<std::uint64_t>(64);
  void* gone = device.create_stream()->native_handle();
  for (const std::uintptr_t number :
       {std::uintptr_t{1}, std::uintptr_t{2}, std::uintptr_t{256}, std::uintptr_t{4096}, std::uintptr_t{1} << 32U,
        UINTPTR_MAX, reinterpret_cast<std::uintptr_t>(gone), reinterpret_cast<std::uintptr_t>(numbers.data())}) {
    CAPTURE(number);
    CHECK(is_refused(device, reinterpret_cast<void*>(number)));
  }
}

TEST_CASE("host streams: the calling thread makes a small copy on an idle stream") {
  weir::Device& device = weir::device("host:0");
  const auto x = device.allocate<std::uint32_t>(1024), y = device.allocate<std::uint32_t>(1024);
  for (const bool blocking : {false, true}) {
    const auto stream = device.create_stream({.blocking = blocking});
    for (std::uint32_t i = 1; i <= 100; ++i) {
      x.data()[1023] = i;
      stream->copy(y, x);
      REQUIRE(y.data()[1023] == i);  // no wait: nobody was woken
      stream->synchronize();
    }
  }
}

TEST_CASE("host streams: a small copy waits for the work before it, of all threads") {
  weir::Device& device = weir::device("host:0");
  constexpr std::size_t count = (std::size_t{64} << 10U) / sizeof(std::uint32_t);
  const auto x = device.allocate<std::uint32_t>(count);
  for (const bool blocking : {false, true}) {
    const auto stream = device.create_stream({.blocking = blocking});
    const auto filling = blocking ? device.default_stream() : stream;  // a blocking stream waits for the default stream
    filling->fill(x, std::uint32_t{0});
    std::atomic<bool> ends = false;
    std::thread other([&] {
      for (std::uint32_t i = 0; !ends; ++i) {
        filling->fill(x, i);
        if (i % 8 == 0) filling->synchronize();
      }
    });
    for (int i = 0; i < 500; ++i) {
      const std::vector<std::uint32_t> read = stream->read(x);
      if (blocking) continue;  // the two threads are not ordered then, but neither may be lost
      REQUIRE(std::all_of(read.begin(), read.end(), [&](std::uint32_t value) { return value == read.front(); }));
    }
    ends = true;
    other.join();
    filling->fill(x, std::uint32_t{7});
    REQUIRE(stream->read(x) == std::vector<std::uint32_t>(count, 7));
  }
}
