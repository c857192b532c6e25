// SPDX-License-Identifier: Apache-2.0
#include "weir/feature.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <utility>

#include "core/base/enum_name.hpp"
#include "core/base/environment.hpp"
#include "core/base/near_match.hpp"
#include "core/plugins/feature_override.hpp"
#include "weir/error.hpp"
#include "weir/plugin/feature_list.hpp"
#include "weir/plugin/support.hpp"

// The names and descriptions of features, `FeatureTable`, and WEIR_DISABLE_FEATURES.
namespace weir {
namespace {

constexpr std::array<Feature, feature_count> features = {
#define WEIR_FEATURE_VALUE(name, text) Feature::name,
    WEIR_FEATURES(WEIR_FEATURE_VALUE)
#undef WEIR_FEATURE_VALUE
};
constexpr std::array<std::string_view, feature_count> feature_names = {
#define WEIR_FEATURE_NAME(name, text) #name,
    WEIR_FEATURES(WEIR_FEATURE_NAME)
#undef WEIR_FEATURE_NAME
};
constexpr std::array<std::string_view, feature_count> descriptions = {
#define WEIR_FEATURE_TEXT(name, text) text,
    WEIR_FEATURES(WEIR_FEATURE_TEXT)
#undef WEIR_FEATURE_TEXT
};

// `feature` cannot work without `needed`. Indirect dependencies are listed as well.
struct Need {
  Feature feature;
  Feature needed;
};
constexpr Need needs[] = {
    {Feature::capture_into_graph, Feature::graph_capture},
    {Feature::host_functions_in_capture, Feature::graph_capture},
    {Feature::host_functions_in_capture, Feature::host_functions},
    {Feature::memory_operations_in_capture, Feature::graph_capture},
    {Feature::graph_update, Feature::graph_capture},
    {Feature::graph_upload, Feature::graph_capture},
    {Feature::graph_debug_dot, Feature::graph_capture},
    {Feature::graph_clone, Feature::graph_capture},
    {Feature::graph_memory_nodes, Feature::graph_capture},
    {Feature::graph_memory_nodes, Feature::async_allocation},
    {Feature::graph_child_nodes, Feature::graph_capture},
    {Feature::graph_conditional_nodes, Feature::graph_capture},
    {Feature::graph_node_changes, Feature::graph_capture},
    {Feature::graph_switch_nodes, Feature::graph_capture},
    {Feature::graph_switch_nodes, Feature::graph_conditional_nodes},
    {Feature::external_events, Feature::graph_capture},
    {Feature::cross_device_capture, Feature::graph_capture},
    {Feature::memory_pool_max_size, Feature::memory_pools},
    {Feature::memory_pool_max_size, Feature::async_allocation},
    {Feature::memory_pools, Feature::async_allocation},
    {Feature::concurrent_managed_access, Feature::managed_memory},
    {Feature::managed_attach, Feature::managed_memory},
    {Feature::managed_prefetch, Feature::managed_memory},
};

constexpr std::string_view not_in_backend = "this backend does not support it";

}  // namespace

std::span<const Feature> all_features() noexcept { return features; }

std::string_view to_string(Feature feature) noexcept {
  const auto index = static_cast<std::size_t>(feature);
  return index < feature_count ? feature_names[index] : "unknown";
}

std::string_view description(Feature feature) noexcept {
  const auto index = static_cast<std::size_t>(feature);
  return index < feature_count ? descriptions[index] : "";
}

std::optional<Feature> parse_feature(std::string_view name) noexcept {
  for (const Feature feature : features) {
    if (to_string(feature) == name) return feature;
  }
  return std::nullopt;
}

std::string_view to_string(Support support) noexcept { return detail::enum_name(support, {"absent", "emulated", "native"}); }

FeatureTable::FeatureTable() {
  for (FeatureState& state : states_) state.reason = not_in_backend;
  states_[feature_count].reason = "this value is not a feature; use the enumerators";
}

void FeatureTable::set(Feature feature, Support support, std::string reason) {
  const auto index = static_cast<std::size_t>(feature);
  if (index >= feature_count) throw Error(Errc::invalid_argument, "FeatureTable::set", "", states_[feature_count].reason);
  // Every feature that is not native must have a reason, even if the backend passes none.
  if (support == Support::native) {
    reason.clear();
  } else if (reason.empty()) {
    reason = support == Support::absent ? not_in_backend : "this backend emulates it";
  }
  present_[index] = support != Support::absent;
  states_[index] = {support, std::move(reason)};
}

std::bitset<feature_count> support::environment_features(const char* name) {
  std::bitset<feature_count> listed;
  const std::optional<std::string> value = environment(name);
  if (!value) return listed;
  for (const std::string_view element : detail::split_list(name, *value, ',', "list features separated by single commas")) {
    const std::optional<Feature> feature = parse_feature(element);
    if (!feature) {
      const std::string_view meant = detail::nearest_name(element, feature_names);
      detail::throw_invalid_environment(
          name, *value,
          meant.empty()
              ? fmt::format("'{}' is not a feature; the features are {}", element, fmt::join(feature_names, ", "))
              : fmt::format("'{}' is not a feature; did you mean '{}'? `weir info` lists all features", element, meant));
    }
    listed.set(static_cast<std::size_t>(*feature));
  }
  return listed;
}

namespace detail {

void disable_features(FeatureTable& table, const std::bitset<feature_count>& disabled) {
  const auto is_disabled = [&](Feature feature) { return disabled[static_cast<std::size_t>(feature)]; };
  for (const Feature feature : features) {
    if (is_disabled(feature) && table.supports(feature)) {
      table.absent(feature, "it is disabled by WEIR_DISABLE_FEATURES; remove it from that variable");
    }
  }
  for (const auto& [feature, needed] : needs) {
    if (is_disabled(needed) && table.supports(feature)) {
      table.absent(feature,
                   fmt::format("it needs '{0}', which is disabled by WEIR_DISABLE_FEATURES; remove {0} from that variable",
                               to_string(needed)));
    }
  }
}

const std::bitset<feature_count>& disabled_features() {
  static const std::bitset<feature_count> disabled = support::environment_features("WEIR_DISABLE_FEATURES");
  return disabled;
}

}  // namespace detail
}  // namespace weir
