// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

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
