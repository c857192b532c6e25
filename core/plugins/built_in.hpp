// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "core/plugins/plugin_loader.hpp"

/// Backends that are a part of the library (the build's WEIR_BUILT_IN). They need no plugin, and no plugin replaces them.
namespace weir::detail {

/// The equivalent of a plugin of that name, or nothing if the backend is not built in.
std::optional<Plugin> built_in_backend(std::string_view name);

/// False for a static library, because a plugin would have to share one copy of the core with the program.
bool can_load_plugins() noexcept;

}  // namespace weir::detail
