// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitset>

#include "weir/export.hpp"
#include "weir/feature.hpp"

/// Environment variables that list features.
namespace weir::support {

/// Returns the features that an environment variable lists, "feature,feature,…"; none if the variable is not set. Throws
/// `invalid_environment` for an empty value or element, and for an unknown name: the error suggests a similar name, or lists
/// all names.
WEIR_API std::bitset<feature_count> environment_features(const char* name);

}  // namespace weir::support
