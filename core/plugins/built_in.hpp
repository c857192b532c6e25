// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "core/plugins/plugin_loader.hpp"

/// Backends that are a part of the library (the build's WEIR_BUILT_IN): they need no plugin, and none takes their place.
namespace weir::detail {

/// What a plugin of that name would give, or nothing if the backend is not built in.
std::optional<Plugin> built_in_backend(std::string_view name);

/// False for a static library: a plugin would need the symbols of one core that it shares with the program.
bool can_load_plugins() noexcept;

}  // namespace weir::detail
