// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>


#include "weir/weir.hpp"

using weir::Errc;
using weir::PoolSharing;

namespace {

// Returns the error of a lease. The test's backend has only one priority, so a pool with another priority cannot create its
// first stream.
Errc lease_refused(weir::StreamPool& pool) {
  try {
    (void)pool.lease();
  } catch (const weir::Error& error) {
    return error.errc();
  }
  return Errc{};
}

}  // namespace

TEST_CASE("stream pool: a stream that cannot be made is an error each time, and the pool lives on") {
  weir::Device& device = weir::device("immediate");
  for (const PoolSharing sharing : {PoolSharing::exclusive, PoolSharing::round_robin}) {
    weir::StreamPool pool(device, {.max_streams = 3, .sharing = sharing, .stream = {.priority = 5}});
    for (int i = 0; i < 5; ++i) CHECK(lease_refused(pool) == Errc::invalid_argument);
    CHECK(pool.size() == 0);
  }
}

TEST_CASE("stream pool: round robin takes every stream in turn, one closed by its user made anew") {
  weir::StreamPool pool(weir::device("immediate"), {.max_streams = 3, .sharing = PoolSharing::round_robin});
  weir::Stream* first[3];
  for (weir::Stream*& stream : first) stream = pool.lease().stream().get();
  CHECK(pool.size() == 3);
  CHECK(first[0] != first[1]);
  CHECK(first[1] != first[2]);
  for (weir::Stream* const stream : first) CHECK(pool.lease().stream().get() == stream);
  pool.lease()->close();
  CHECK(pool.lease().stream().get() == first[1]);
  CHECK(pool.lease().stream().get() == first[2]);
  CHECK_FALSE(pool.lease()->is_closed());
}

TEST_CASE("stream pool: an unknown sharing is refused") {
  CHECK_THROWS_AS(weir::StreamPool(weir::device("immediate"), {.sharing = PoolSharing(2)}), weir::Error);
}
