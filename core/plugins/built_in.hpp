// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "core/plugins/plugin_loader.hpp"

/// Backends that are compiled into the library (the CMake variable WEIR_BUILT_IN). The library does not search plugins for
/// them.
namespace weir::detail {

/// The built-in backend `name` in the form of a loaded plugin; nullopt if the backend is not built in.
std::optional<Plugin> built_in_backend(std::string_view name);

/// False if the library is static: a plugin would then contain or need a second copy of the core.
bool can_load_plugins() noexcept;

}  // namespace weir::detail
