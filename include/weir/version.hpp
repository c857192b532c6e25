// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "weir/export.hpp"

#define WEIR_VERSION_MAJOR 0
#define WEIR_VERSION_MINOR 1
#define WEIR_VERSION_PATCH 0
#define WEIR_VERSION_STRING "0.1.0"

namespace weir {

/// The version of the library that is running, which may be newer than the headers.
WEIR_API const char* version() noexcept;

/// Counts changes of what plugins and the core agree on. A plugin of another revision is refused.
inline constexpr std::uint32_t interface_revision = 5;

}  // namespace weir
