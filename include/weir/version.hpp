// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "weir/export.hpp"

/// The first number of the version of these headers. CMake reads the version from this file.
#define WEIR_VERSION_MAJOR 0
/// The second number of the version.
#define WEIR_VERSION_MINOR 1
/// The third number of the version.
#define WEIR_VERSION_PATCH 0

/// The version as one number, for comparison: 0.1.0 is 100, 1.2.3 is 10203.
#define WEIR_VERSION (WEIR_VERSION_MAJOR * 10000 + WEIR_VERSION_MINOR * 100 + WEIR_VERSION_PATCH)
/// The version as text: "0.1.0".
#define WEIR_VERSION_STRING WEIR_VERSION_TEXT(WEIR_VERSION_MAJOR, WEIR_VERSION_MINOR, WEIR_VERSION_PATCH)
#define WEIR_VERSION_TEXT(major, minor, patch) WEIR_VERSION_JOIN(major, minor, patch)
#define WEIR_VERSION_JOIN(major, minor, patch) #major "." #minor "." #patch

namespace weir {

/// The version of the library at run time, which may be a later patch release than the headers.
WEIR_API const char* version() noexcept;

/// The library's build fingerprint, as words "key=value": the C++ standard library, and a hash of the layouts of the
/// types that the library shares with programs. See docs/abi.md.
WEIR_API const char* abi() noexcept;

/// The revision of the C++ interface. It is incremented for incompatible changes that no size shows. A program that was
/// compiled with another revision is rejected (`headers_incompatible`). Plugins have their own revision
/// (weir/plugin/abi.hpp).
inline constexpr std::uint32_t interface_revision = 13;

}  // namespace weir
