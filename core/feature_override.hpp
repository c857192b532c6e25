// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitset>
#include <string_view>

#include "weir/feature.hpp"

/// WEIR_DISABLE_FEATURES: features that are treated as absent on every device, to test the path without them.
namespace weir::detail {

/// Parses `feature,feature,…`. Throws `invalid_environment` for an empty value or element and for an unknown name, telling
/// the name that was probably meant, or all of them.
std::bitset<feature_count> parse_disabled_features(std::string_view value);

/// Makes the features of `table` absent that are in `disabled`, and with each those that cannot be used without it; the
/// reasons name the feature that is listed.
void disable_features(FeatureTable& table, const std::bitset<feature_count>& disabled);

/// What the process's environment disables: read once, none if the variable is not set. Throws like
/// `parse_disabled_features`, each time that it is called.
const std::bitset<feature_count>& disabled_features();

}  // namespace weir::detail
