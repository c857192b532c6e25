// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <string_view>

#include "weir/weir.hpp"

/// Lets doctest print the names of enumerators: `CHECK( stream_closed == not_ready )`. Without this it prints numbers.
namespace weir {
namespace test {
inline doctest::String shown(std::string_view name) { return {name.data(), static_cast<unsigned>(name.size())}; }
}  // namespace test

// No template, because doctest's own template for enumerations would be as good a match.
inline doctest::String toString(Errc value) { return test::shown(to_string(value)); }
inline doctest::String toString(Feature value) { return test::shown(to_string(value)); }
inline doctest::String toString(Support value) { return test::shown(to_string(value)); }
inline doctest::String toString(MemoryKind value) { return test::shown(to_string(value)); }
inline doctest::String toString(CaptureMode value) { return test::shown(to_string(value)); }
inline doctest::String toString(CaptureStatus value) { return test::shown(to_string(value)); }
inline doctest::String toString(NodeKind value) { return test::shown(to_string(value)); }
inline doctest::String toString(BackendState value) { return test::shown(to_string(value)); }
}  // namespace weir
