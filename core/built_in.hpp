// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace weir {
class Backend;
class PluginContext;
}  // namespace weir

/// Backends that are a part of the library (the build's WEIR_BUILT_IN): they need no plugin, and none takes their place.
namespace weir::detail {

/// What makes the backend of that name, or null if it is not built in.
Backend* (*built_in_backend(std::string_view name) noexcept)(PluginContext&);

/// False for a static library: a plugin would need the symbols of one core that it shares with the program.
bool can_load_plugins() noexcept;

}  // namespace weir::detail
