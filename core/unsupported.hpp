// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "weir/error.hpp"
#include "weir/feature.hpp"

namespace weir::detail {

/// What an optional operation does that a backend did not override although its feature table promises it: the table is
/// wrong, and saying so beats doing nothing.
[[noreturn]] inline void not_overridden(const char* operation, const std::string& object, Feature feature) {
  throw Error(Errc::unsupported, operation, object,
              "the backend lists feature '" + std::string(to_string(feature)) +
                  "' and does not implement it; report this to the backend's author");
}

}  // namespace weir::detail
