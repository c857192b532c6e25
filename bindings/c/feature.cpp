// SPDX-License-Identifier: Apache-2.0
#include "bindings/c/convert.hpp"

// The C interface: features (weir/c/feature.h).
using namespace weir::c;

size_t weir_feature_count(void) { return weir::feature_count; }

const char* weir_feature_name(weir_feature feature) {
  const auto found = feature_of(feature);
  return found ? to_string(*found).data() : nullptr;
}

const char* weir_feature_description(weir_feature feature) {
  const auto found = feature_of(feature);
  return found ? description(*found).data() : nullptr;
}

weir_result weir_feature_parse(const char* name, weir_feature* feature) {
  return give(__func__, feature, "feature", [&] {
    const auto found = weir::parse_feature(text(name, "name"));
    if (!found) throw_invalid("no feature is named '" + std::string(name) + "'");
    return static_cast<weir_feature>(*found);
  });
}
