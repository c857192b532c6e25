// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "support.hpp"

/// Creation of streams: ownership, blocking behaviour, priorities.
namespace conformance::creation_cases {

TEST_SUITE_BEGIN("creation");

CASE(TwoStreams, "S1 S11 S13 create: an owned stream of the device, with a handle of its own, that works") {
  REQUIRE(a);
  REQUIRE(b);
  CHECK(a->kind() == StreamKind::owned);
  CHECK(&a->device() == &device());
  CHECK_FALSE(a->is_closed());
  CHECK(a->native_handle() != nullptr);
  CHECK(a->native_handle() != b->native_handle());
  CHECK(a->capture_status() == CaptureStatus::none);
  CHECK(a->is_complete());
}

TEST_CASE("S1 create: many streams live at once and each does its own work") {
  constexpr std::size_t count = 64;
  Board board(device(), count);
  const std::vector<StreamPtr> streams = create_streams(count);
  std::set<void*> handles;
  for (const StreamPtr& s : streams) handles.insert(s->native_handle());
  CHECK(handles.size() == count);
  for (std::size_t i = 0; i < count; ++i) board.set(*streams[i], i, static_cast<std::uint32_t>(i + 1));
  for (std::size_t i = 0; i < count; ++i) CHECK(board.read(*streams[i], i) == i + 1);
}

TEST_CASE("S1 create: making and dropping streams again and again leaves nothing behind that stops the next") {
  for (int i = 0; i < 200; ++i) {
    const StreamPtr s = device().create_stream();
    REQUIRE(s);
    if (i % 50 == 0) CHECK_WORKS(*s);
  }
}

TEST_CASE("S2 S5 create: non-blocking unless asked for") {
  CHECK(device().create_stream()->is_non_blocking());
  CHECK(device().create_stream({.blocking = false})->is_non_blocking());
  const StreamPtr blocking = device().create_stream({.blocking = true});
  CHECK_FALSE(blocking->is_non_blocking());
  CHECK_WORKS(*blocking);
}

TEST_CASE("S2 S3 S5 create: blocking behaviour and priority do not disturb each other") {
  const int high = device().priority_range().greatest;
  for (const bool blocking : {false, true}) {
    const StreamPtr s = device().create_stream({.blocking = blocking, .priority = weir::Priority::high});
    CHECK(s->is_non_blocking() == !blocking);
    CHECK(s->priority() == high);
    CHECK_WORKS(*s);
  }
}

TEST_CASE("S3 S4 priority: the range is ordered, and the names lie in it in their order") {
  const weir::PriorityRange range = device().priority_range();
  CHECK(range.least >= range.greatest);
  const auto number_of = [](weir::Priority level) { return device().create_stream({.priority = level})->priority(); };
  const int low = number_of(weir::Priority::low), normal = number_of(weir::Priority::normal);
  const int high = number_of(weir::Priority::high);
  CHECK(low == range.least);
  CHECK(high == range.greatest);
  CHECK(low >= normal);
  CHECK(normal >= high);
  if (device().supports(Feature::stream_priorities)) {
    CHECK(range.least > range.greatest);
    CHECK(low > high);
  }
}

TEST_CASE("S3 priority: every name is accepted and reads back as its number") {
  const auto [least, greatest] = device().priority_range();
  const int normal = std::clamp(0, greatest, least);
  for (const auto& [level, number] : {std::pair{weir::Priority::low, least}, std::pair{weir::Priority::normal, normal},
                                      std::pair{weir::Priority::high, greatest}}) {
    const StreamPtr s = device().create_stream({.priority = level});
    CHECK(s->priority() == number);
    CHECK_WORKS(*s);
  }
  CHECK(device().create_stream()->priority() == normal);
}

TEST_CASE("S3 S4 priority: every number of the range is accepted and reads back") {
  const weir::PriorityRange range = device().priority_range();
  for (int number = range.greatest; number <= range.least; ++number) {
    const StreamPtr s = device().create_stream({.priority = number});
    CHECK(s->priority() == number);
    CHECK_WORKS(*s);
  }
}

TEST_CASE("S3 S4 priority: a number outside the range is an error that names the range, and is not clamped") {
  const weir::PriorityRange range = device().priority_range();
  for (const int number : {range.least + 1, range.greatest - 1, range.greatest - 100, std::numeric_limits<int>::max(),
                           std::numeric_limits<int>::min()}) {
    const Refusal refusal = refusal_of([&] { (void)device().create_stream({.priority = number}); });
    CHECK_MESSAGE(refusal.is(Errc::invalid_argument), "priority " << number << ": " << refusal.text);
    CHECK_MESSAGE(refusal.says(std::to_string(range.least)), refusal.text);
    CHECK_MESSAGE(refusal.says(std::to_string(range.greatest)), refusal.text);
  }
  CHECK_WORKS(*device().create_stream());
}

CASE(TwoStreams, "S1 S2 create: streams that differ in kind are independent of each other's work") {
  check_independent(*a, *device().create_stream({.priority = weir::Priority::high}));
}

}  // namespace conformance::creation_cases
