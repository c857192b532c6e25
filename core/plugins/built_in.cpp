// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/built_in.hpp"

#include "weir/version.hpp"

// Finds built-in backends. built_in.inc, which the build generates, lists them.
#define WEIR_BUILT_IN(name)                                                \
  extern "C" weir::Backend* weir_create_##name##_backend(weir::PluginContext&); \
  extern "C" void weir_compile_##name##_image(weir::ImageCompilation&);
#include "built_in.inc"
#undef WEIR_BUILT_IN

namespace weir::detail {

std::optional<Plugin> built_in_backend([[maybe_unused]] std::string_view name) {
#define WEIR_BUILT_IN(backend) \
  if (name == #backend) return Plugin{version(), weir_create_##backend##_backend, weir_compile_##backend##_image};
#include "built_in.inc"
#undef WEIR_BUILT_IN
  return std::nullopt;
}

bool can_load_plugins() noexcept {
#ifdef WEIR_STATIC
  return false;
#else
  return true;
#endif
}

}  // namespace weir::detail
