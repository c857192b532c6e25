// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

// Errors as return values instead of exceptions.

namespace conformance::results_cases {

TEST_SUITE_BEGIN("results");

TEST_CASE("S19 S20 S22 S42 results: attempt returns what a call returns") {
  const StreamPtr s = device().create_stream(), other = device().create_stream();
  Result<Buffer<std::uint32_t>> memory = attempt([] { return device().allocate<std::uint32_t>(100); });
  REQUIRE(memory);
  Values in(100, 3), out(100);
  CHECK(attempt([&] { s->copy(*memory, in); }));
  Result<EventPtr> event = attempt([&] { return s->record(); });
  REQUIRE(event);
  CHECK(attempt([&] { other->wait(*event); }));
  CHECK(attempt([&] { other->copy(out, *memory); }));
  CHECK(attempt([&] { (*event)->synchronize(); }));
  CHECK(*attempt([&] { return (*event)->is_complete(); }));
  CHECK(attempt([&] { other->synchronize(); }));
  CHECK(out == in);
}

CASE(OneStream, "S19 S42 results: errors are returned, with their text") {
  s->close();
  const Result<void> closed = attempt([&] { s->synchronize(); });
  REQUIRE_FALSE(closed);
  CHECK(closed.error().errc() == Errc::stream_closed);
  CHECK(std::string(closed.error().what()).find("Stream::synchronize") != std::string::npos);
  const Result<bool> asked = attempt([&] { return s->is_complete(); });
  CHECK_FALSE(asked.has_value());
  CHECK(attempt([&] { s->launch(weir::KernelRef(nullptr), {1, 1}); }).error().errc() == Errc::invalid_argument);
  CHECK(attempt([] { return device().allocate<std::uint32_t>(SIZE_MAX / 2); }).error().errc() == Errc::invalid_argument);
  CHECK(attempt([] { return device().allocate_bytes(SIZE_MAX / 5); }).error().errc() == Errc::out_of_memory);
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

}  // namespace conformance::results_cases
