// SPDX-License-Identifier: Apache-2.0
#include "core/built_in.hpp"

#define WEIR_BUILT_IN(name) extern "C" weir::Backend* weir_create_##name##_backend(weir::PluginContext&);
#include "built_in.inc"
#undef WEIR_BUILT_IN

namespace weir::detail {

Backend* (*built_in_backend([[maybe_unused]] std::string_view name) noexcept)(PluginContext&) {
#define WEIR_BUILT_IN(backend) \
  if (name == #backend) return weir_create_##backend##_backend;
#include "built_in.inc"
#undef WEIR_BUILT_IN
  return nullptr;
}

bool can_load_plugins() noexcept {
#ifdef WEIR_STATIC
  return false;
#else
  return true;
#endif
}

}  // namespace weir::detail
