// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstdint>

#include "weir/weir.hpp"

// What the host backend knows of the handles of streams, and drivers do not.

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
