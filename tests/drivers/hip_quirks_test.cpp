// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "backends/hip/quirks.hpp"
#include "tests/drivers/trace.hpp"
#include "tests/unit/subprocess.hpp"

// Compares the table of quirks with the expected behaviour, for each release with which a row begins or ends, and for the
// release next to it. The features are read from the backend with a stand-in that has all functions and reports that
// release, so they depend only on the table.

using weir::Feature;
using weir::Support;
using weir::hip::Workaround;
using weir::test::Environment;

namespace {

constexpr int releases[] = {602, 603, 604, 699, 700, 701, 702, 712, 713, 714, 1000, 1001};

/// From a release on.
struct Since {
  int release;
  Support support;
};

struct Expected {
  Feature feature;
  std::vector<Since> ranges;
};

Support expected_at(const std::vector<Since>& ranges, int release) {
  Support support = Support::absent;
  for (const Since& since : ranges) {
    if (release >= since.release) support = since.support;
  }
  return support;
}

std::map<std::string, std::string> features(int release, const std::string& script, Environment environment) {
  environment.try_emplace("WEIR_BACKEND", "hip");
  environment.try_emplace("WEIR_HIP_RUNTIME", std::string(WEIR_TEST_FAKE_HIP) + "10.0/libamdhip64.so.10");
  environment.try_emplace("WEIR_HIPRTC", "/nonexistent/libhiprtc.so");
  environment["WEIR_TEST_DRIVER"] =
      "version=" + std::to_string(release / 100 * 10000000 + release % 100 * 100000 + 21153) + " " + script;
  const auto outcome = weir::test::run(WEIR_TEST_STORY, {"features"}, weir::test::with_mutation(environment));
  REQUIRE(outcome.status == 0);
  std::map<std::string, std::string> supports;
  for (std::size_t at = 0; (at = outcome.output.find("feature ", at)) != std::string::npos;) {
    const std::size_t colon = outcome.output.find(": ", at), space = outcome.output.find(' ', colon + 2);
    supports[outcome.output.substr(at + 8, colon - at - 8)] = outcome.output.substr(colon + 2, space - colon - 2);
    at = outcome.output.find('\n', at);
  }
  return supports;
}

void check(const std::vector<Expected>& table, const std::string& script, const Environment& environment) {
  for (const int release : releases) {
    CAPTURE(release);
    const auto told = features(release, script, environment);
    for (const Expected& row : table) {
      const std::string name(to_string(row.feature));
      CAPTURE(name);
      REQUIRE(told.contains(name));
      CHECK(told.at(name) == to_string(expected_at(row.ranges, release)));
    }
  }
}

constexpr Support native = Support::native, emulated = Support::emulated, absent = Support::absent;

const std::vector<Expected> by_default = {
    {Feature::graph_capture, {{602, native}}},
    {Feature::host_functions_in_capture, {{602, native}, {700, absent}, {701, native}}},
    {Feature::stream_callbacks, {{0, native}, {700, absent}}},
    {Feature::memory_operations_in_capture, {{1000, native}}},
    {Feature::graph_child_nodes, {{714, native}}},
    {Feature::graph_memory_nodes, {}},
    {Feature::graph_update, {{602, emulated}}},
    {Feature::graph_upload, {{602, emulated}}},
    {Feature::external_events, {}},
    {Feature::cross_device_capture, {}},
    {Feature::wait_value_32, {}},
    {Feature::wait_value_64, {}},
    {Feature::wait_value_nor, {}},
    {Feature::wait_value_geq, {}},
    {Feature::wait_value_flush, {}},
    {Feature::interprocess_events, {}},
    {Feature::blocking_sync_events, {{0, emulated}}},
    {Feature::managed_attach, {{0, emulated}}},
};

struct ExpectedWorkaround {
  Workaround workaround;
  int since, until;  // 0: no end
};
constexpr ExpectedWorkaround workarounds[] = {
    {Workaround::end_streams_elsewhere, 0, 0},
    {Workaround::keep_streams_for_events, 0, 0},
    {Workaround::retire_executables, 0, 0},
    {Workaround::lock_user_objects, 0, 603},
    {Workaround::order_launches, 0, 0},
    {Workaround::join_by_dependencies, 0, 0},
    {Workaround::set_fork_dependencies, 0, 604},
    {Workaround::join_before_end, 0, 0},
    {Workaround::end_invalidated_twice, 0, 714},
    {Workaround::check_capture_at_end, 0, 714},
    {Workaround::explain_refused_memory, 0, 0},
    {Workaround::ask_events_by_time, 0, 714},
    {Workaround::poll_events, 0, 0},
    {Workaround::poll_streams, 702, 0},
    {Workaround::allocate_beside_null_stream, 0, 0},
    {Workaround::retry_pool_ends, 0, 0},
    {Workaround::refuse_cooperative_capture, 0, 0},
};

}  // namespace

TEST_CASE("hip quirks: each feature is what its rows make of it, in each release") {
  check(by_default, "", {{"WEIR_ENABLE_FEATURES", "graph_capture"}});
}

TEST_CASE("hip quirks: graphs are absent in the releases and on the GPUs of which it is reported that they go wrong") {
  struct OnGpu {
    const char* gpu;
    std::vector<Since> ranges;
  };
  for (const OnGpu& on : {OnGpu{"gpu=942", {{602, native}, {702, absent}, {713, native}}},
                          {"gpu=950", {{602, native}, {702, absent}}},
                          {"gpu=1201", {}},
                          {"gpu=1100", {{602, native}}}}) {
    const std::string gpu = on.gpu;
    CAPTURE(gpu);
    check({{Feature::graph_capture, on.ranges}}, gpu, {});
    check({{Feature::graph_capture, {{602, native}}}}, gpu, {{"WEIR_ENABLE_FEATURES", "graph_capture"}});
  }
}

TEST_CASE("hip quirks: what users may ask for is there then, save in releases that lack it") {
  check({{Feature::wait_value_32, {{0, native}}},
         {Feature::wait_value_64, {{0, native}}},
         {Feature::wait_value_nor, {{0, native}}},
         {Feature::wait_value_geq, {}},
         {Feature::wait_value_flush, {}},
         {Feature::graph_memory_nodes, {}}},
        "", {{"WEIR_ENABLE_FEATURES", "graph_capture,wait_value_32,wait_value_64,wait_value_nor"}});
  check({{Feature::graph_memory_nodes, {{714, native}}}, {Feature::wait_value_32, {}}}, "",
        {{"WEIR_ENABLE_FEATURES", "graph_capture,graph_memory_nodes"}});
}

TEST_CASE("hip quirks: every row of the table is among those that are expected here") {
  for (const auto& quirk : weir::hip::feature_quirks()) {
    CAPTURE(std::string(to_string(quirk.feature)));
    const bool listed = std::any_of(by_default.begin(), by_default.end(),
                                    [&](const Expected& expected) { return expected.feature == quirk.feature; });
    CHECK(listed);
    CHECK_FALSE(quirk.reason.empty());
  }
}

TEST_CASE("hip quirks: each workaround is used in the releases that need it") {
  CHECK(std::size(workarounds) == weir::hip::workaround_count);
  for (const ExpectedWorkaround& expected : workarounds) {
    CAPTURE(std::string(to_string(expected.workaround)));
    for (const int release : releases) {
      CAPTURE(release);
      CHECK(needs(expected.workaround, release) ==
            (release >= expected.since && (expected.until == 0 || release < expected.until)));
    }
  }
}
