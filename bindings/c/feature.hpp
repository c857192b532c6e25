// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "weir/c/feature.h"
#include "weir/feature.hpp"

/// Conversion of features from C to C++.
namespace weir::c {

/// Returns the C++ feature, which has the same number (docs/tools/c_interface.py checks this); nullopt for a number that is
/// not a feature of this library.
constexpr std::optional<Feature> feature_of(weir_feature feature) noexcept {
  return feature < feature_count ? std::optional(static_cast<Feature>(feature)) : std::nullopt;
}

}  // namespace weir::c
