// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <span>
#include <string>

#include "tests/unit/subprocess.hpp"
#include "weir/plugin/flight_recorder.hpp"
#include "weir/weir.hpp"

// The record of a communicator's last operations.

TEST_CASE("flight: a record has the last operations in their states, also while others are added") {
  using namespace weir;
  Backend& host = Registry::instance().open("host");
  Device* const one = &host.device(0);
  const CommunicatorPtr alone = Communicator::from_devices(std::span(&one, 1)).front();
  const StreamPtr stream = one->create_stream();
  const auto data = one->allocate<int>(4);
  stream->begin_capture();
  alone->broadcast(data, 0, *stream);
  const GraphPtr graph = stream->end_capture();
  alone->all_reduce(data, Reduction::max, *stream);
  alone->synchronize(*stream);
  const std::string first = alone->flight_record();
  CHECK(first.find(
            R"({"call": 1, "match": 0, "kind": "broadcast", "count": 4, "type": "int32", "root": 0, "state": "captured")") !=
        std::string::npos);
  CHECK(
      first.find(
          R"({"call": 2, "match": 1, "kind": "all_reduce", "count": 4, "type": "int32", "reduction": "max", )"
          R"("state": "done")") !=
      std::string::npos);
  for (int i = 0; i < 2000; ++i) alone->barrier(*stream);
  alone->synchronize(*stream);
  const std::string last = alone->flight_record();
  CHECK(test::count("\"call\"", last) == 1024);
  CHECK(last.find("\"call\": 978,") == std::string::npos);
  CHECK(last.find("\"call\": 979,") != std::string::npos);
  CHECK(last.find("\"call\": 2002, \"match\": 2001, \"kind\": \"barrier\", \"state\": \"done\"") != std::string::npos);
}

TEST_CASE("flight: a call that the library has taken counts, although a later one of its batch is refused") {
  using namespace weir;
  FlightRecorder recorder(2);
  CollectiveCall first, second, third;
  recorder.add(first);
  recorder.add(second);
  recorder.accept(first.number);
  recorder.refuse(second);
  recorder.refuse(first);
  recorder.add(third);
  CHECK(third.match == 2);
  const std::vector<FlightRecorder::Entry> entries = recorder.entries();
  REQUIRE(entries.size() == 3);
  CHECK_FALSE(entries[0].is_refused);
  CHECK(entries[1].is_refused);
}
