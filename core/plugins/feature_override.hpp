// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitset>

#include "weir/feature.hpp"

/// WEIR_DISABLE_FEATURES: makes features absent on every device, so that programs can be tested without them.
namespace weir::detail {

/// Makes the features in `disabled` absent in `table`, and all features that need one of them. The reasons contain the name
/// of the disabled feature.
void disable_features(FeatureTable& table, const std::bitset<feature_count>& disabled);

/// The features that WEIR_DISABLE_FEATURES lists; none if it is not set. The variable is read once. Throws like
/// `support::environment_features`, on every call if the value is invalid.
const std::bitset<feature_count>& disabled_features();

}  // namespace weir::detail
