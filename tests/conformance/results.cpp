// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "support.hpp"

namespace conformance {
namespace {

using weir::attempt;
using weir::Result;

TEST_SUITE_BEGIN("results");

TEST_CASE("S19 S20 S22 S42 results: the try_ functions do what the others do") {
  const StreamPtr s = device().create_stream(), other = device().create_stream();
  Result<Buffer<std::uint32_t>> memory = device().try_allocate<std::uint32_t>(100);
  REQUIRE(memory);
  std::vector<std::uint32_t> in(100, 3), out(100);
  CHECK(s->try_copy(*memory, in));
  Result<EventPtr> event = s->try_record();
  REQUIRE(event);
  CHECK(other->try_wait(*event));
  CHECK(other->try_wait(s));
  CHECK(other->try_copy_bytes(out.data(), memory->data(), memory->size_bytes()));
  CHECK(s->try_record(*event));
  CHECK((*event)->try_synchronize());
  CHECK(*(*event)->try_is_complete());
  CHECK(other->try_synchronize());
  CHECK(*other->try_is_complete());
  CHECK(out == in);
  if (device().supports(Feature::async_allocation)) {
    CHECK(s->try_allocate_async<int>(8)->size() == 8);
    CHECK((*s->try_allocate_bytes_async(64))->size_bytes() == 64);
  }
  if (device().supports(Feature::graph_capture)) {
    const GraphExecPtr exec = s->capture([&](Stream& c) { c.fill(*memory, 4U); })->instantiate();
    CHECK(exec->try_launch(s));
    CHECK(s->read(*memory)[0] == 4);
  }
  CHECK(other->try_close());
}

TEST_CASE("S19 S42 results: errors are returned, with their text") {
  const StreamPtr s = device().create_stream();
  s->close();
  const Result<void> closed = s->try_synchronize();
  REQUIRE_FALSE(closed);
  CHECK(closed.error().errc() == Errc::stream_closed);
  CHECK(std::string(closed.error().what()).find("Stream::synchronize") != std::string::npos);
  const Result<bool> asked = s->try_is_complete();
  CHECK_FALSE(asked.has_value());
  CHECK(s->try_wait(device().create_stream()).error().errc() == Errc::stream_closed);
  CHECK(s->try_launch(weir::KernelRef(nullptr), {1, 1}).error().errc() == Errc::invalid_argument);
  CHECK(device().try_allocate<std::uint32_t>(SIZE_MAX / 2).error().errc() == Errc::invalid_argument);
  CHECK(device().try_allocate_bytes(SIZE_MAX / 5).error().errc() == Errc::out_of_memory);
}

TEST_CASE("S19 results: attempt takes any function") {
  CHECK(*attempt([] { return 3; }) == 3);
  CHECK(attempt([] {}));
  CHECK(attempt([] { throw std::bad_alloc(); }).error().errc() == Errc::out_of_memory);
  CHECK(attempt([] { throw std::runtime_error("mine"); }).error().detail().find("mine") != std::string::npos);
  CHECK(attempt([] { throw 3; }).error().errc() == Errc::backend_failure);
  Result<std::vector<int>> moved = attempt([] { return std::vector<int>(3); });
  CHECK(std::vector<int>(*std::move(moved)).size() == 3);
}

TEST_SUITE_END();

}  // namespace
}  // namespace conformance
