// SPDX-License-Identifier: Apache-2.0
#include "weir/feature.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

#include "subprocess.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"
#include "weir/registry.hpp"

// Tests the list of features.

using weir::Feature;
using weir::FeatureTable;
using weir::Support;
using weir::test::run_child;

TEST_CASE("feature: each has a name and a description of its own, and is found by its name") {
  std::set<std::string_view> names;
  CHECK(weir::all_features().size() == weir::feature_count);
  for (const Feature feature : weir::all_features()) {
    CAPTURE(to_string(feature));
    names.insert(to_string(feature));
    CHECK_FALSE(description(feature).empty());
    CHECK(weir::parse_feature(to_string(feature)) == feature);
  }
  CHECK(names.size() == weir::feature_count);
  CHECK(to_string(Feature::graph_capture) == "graph_capture");
}

TEST_CASE("feature: an unknown name is refused") {
  for (const char* name : {"", "graph", "Graph_capture", "graph_capture ", "unknown"}) {
    CHECK_FALSE(weir::parse_feature(name).has_value());
  }
}

TEST_CASE("feature: a table begins with all absent, each with a reason") {
  const FeatureTable table;
  for (const Feature feature : weir::all_features()) {
    CHECK_FALSE(table.supports(feature));
    CHECK(table.state(feature).support == Support::absent);
    CHECK(table.state(feature).reason == "this backend does not support it");
  }
}

TEST_CASE("feature: a table keeps what it was told, and a reason for all that is not native") {
  FeatureTable table;
  table.native(Feature::graph_capture);
  CHECK(table.supports(Feature::graph_capture));
  CHECK(table.state(Feature::graph_capture).support == Support::native);
  CHECK(table.state(Feature::graph_capture).reason.empty());

  table.emulated(Feature::batch_memory_operations, "single operations under one lock");
  CHECK(table.supports(Feature::batch_memory_operations));
  CHECK(table.state(Feature::batch_memory_operations).support == Support::emulated);
  CHECK(table.state(Feature::batch_memory_operations).reason == "single operations under one lock");

  table.absent(Feature::graph_capture, "the driver is too old");
  CHECK_FALSE(table.supports(Feature::graph_capture));
  CHECK(table.state(Feature::graph_capture).reason == "the driver is too old");

  table.absent(Feature::stream_id, "");
  CHECK(table.state(Feature::stream_id).reason == "this backend does not support it");
  table.emulated(Feature::stream_id, "");
  CHECK_FALSE(table.state(Feature::stream_id).reason.empty());
  table.set(Feature::stream_id, Support::native, "no reason is needed");
  CHECK(table.state(Feature::stream_id).reason.empty());
}

TEST_CASE("feature: WEIR_DISABLE_FEATURES makes features absent, and says so") {
  const std::vector<std::string> features = {"feature",      "immediate", "host_functions", "feature",      "immediate:1",
                                             "event_timing", "feature",   "immediate",      "graph_capture"};
  const auto before = run_child(features);
  CHECK(before.says("host_functions: native"));
  CHECK(before.says("event_timing: native"));
  const auto after = run_child(features, {{"WEIR_DISABLE_FEATURES", "event_timing,host_functions,graph_capture"}});
  CHECK(after.says("host_functions: absent: it is disabled by WEIR_DISABLE_FEATURES"));
  CHECK(after.says("event_timing: absent: it is disabled by WEIR_DISABLE_FEATURES"));
  // What is absent anyway keeps the reason that would still hold without the variable.
  CHECK(after.says("graph_capture: absent: work is done at once"));
}

#if WEIR_TEST_HAS_HOST
TEST_CASE("feature: what needs a disabled feature is absent with it, and names it") {
  const auto state_of = [](const char* feature, const char* disabled) {
    return run_child({"feature", "host", feature}, {{"WEIR_DISABLE_FEATURES", disabled}}).output;
  };
  CHECK(state_of("graph_memory_nodes", "stream_id") == "graph_memory_nodes: native: \n");
  for (const char* needed : {"async_allocation", "graph_capture"}) {
    CHECK(state_of("graph_memory_nodes", needed) == "graph_memory_nodes: absent: it needs '" + std::string(needed) +
                                                        "', which is disabled by WEIR_DISABLE_FEATURES; remove " + needed +
                                                        " from that variable\n");
  }
  for (const char* feature : {"capture_into_graph", "host_functions_in_capture", "memory_operations_in_capture",
                              "graph_update", "graph_upload", "graph_debug_dot", "graph_clone", "graph_child_nodes",
                              "graph_conditional_nodes", "external_events", "cross_device_capture"}) {
    CHECK(state_of(feature, "graph_capture").starts_with(feature + std::string(": absent: it needs 'graph_capture'")));
  }
  CHECK(state_of("host_functions_in_capture", "host_functions").starts_with("host_functions_in_capture: absent"));
  CHECK(state_of("memory_pool_max_size", "async_allocation").starts_with("memory_pool_max_size: absent"));
  CHECK(state_of("managed_prefetch", "managed_memory").starts_with("managed_prefetch: absent"));
  CHECK(state_of("async_allocation", "graph_memory_nodes").starts_with("async_allocation: native"));
}
#endif

TEST_CASE("feature: WEIR_DISABLE_FEATURES that does not parse is an error of the registry") {
  const auto error_of = [](const char* value) {
    const auto outcome = run_child({"open", "immediate"}, {{"WEIR_DISABLE_FEATURES", value}});
    CHECK(outcome.says("error: invalid_environment"));
    CHECK(outcome.says("WEIR_DISABLE_FEATURES='" + std::string(value) + "'"));
    CHECK_FALSE(outcome.says("opened"));
    return outcome;
  };
  CHECK(error_of("graph_captur").says("did you mean 'graph_capture'?"));
  CHECK(error_of("event_timing,Graph_Capture").says("did you mean 'graph_capture'?"));
  const auto unknown = error_of("teleportation");
  for (const Feature feature : weir::all_features()) CHECK(unknown.says(to_string(feature)));
  CHECK(error_of("").says("set but empty"));
  CHECK(error_of("graph_capture,").says("element 2 is empty"));
  CHECK(error_of("graph_capture,,stream_id").says("element 2 is empty"));
}

TEST_CASE("feature: a value that is no feature is absent and cannot be set") {
  weir::FeatureTable table;
  for (const Feature none : {static_cast<Feature>(weir::feature_count), static_cast<Feature>(255)}) {
    CHECK_FALSE(table.supports(none));
    CHECK(table.state(none).support == weir::Support::absent);
    CHECK(table.state(none).reason.find("not a feature") != std::string::npos);
    CHECK_THROWS_AS(table.native(none), weir::Error);
    CHECK_THROWS_WITH_AS(weir::device("immediate").require({none}),
                         doctest::Contains("'unknown' is absent: this value is not a feature"), weir::Error);
  }
}
