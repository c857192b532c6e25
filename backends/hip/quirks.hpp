// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "weir/feature.hpp"

/// Facts about HIP releases that no symbol or attribute reveals. A release is written as major * 100 + minor: 602 is HIP
/// 6.2. The patch level is ignored, because the runtime's version number has a build counter in its place.
namespace weir::hip {

/// The releases from `since` up to, but not including, `until`; an `until` of 0 means that no end is known.
struct Releases {
  int since = 0;
  int until = 0;

  constexpr bool contains(int release) const noexcept { return release >= since && (until == 0 || release < until); }
};

enum class Effect : std::uint8_t {
  absent,    ///< treat the feature as absent, because it does not work as documented
  emulated,  ///< Weir emulates the feature without the runtime's own functions
  opt_in,    ///< absent unless WEIR_ENABLE_FEATURES lists it
};

/// A known fault of a feature that seems present by its symbols and attribute.
struct FeatureQuirk {
  Feature feature;
  Releases releases;
  Effect effect;
  std::string_view reason;  ///< the cause and the remedy, for error messages
  std::string_view gpus = "";  ///< prefix of the affected architectures: "gfx12"; empty means all
};
std::span<const FeatureQuirk> feature_quirks() noexcept;
/// Returns the quirk of a feature in this release on an architecture ("gfx90a:xnack-"; empty if unknown), or null.
const FeatureQuirk* find_quirk(Feature feature, int release, std::string_view architecture) noexcept;

/// The workarounds for functions that misbehave in some releases: quirks.cpp describes each.
// clang-format off
#define WEIR_HIP_WORKAROUNDS(X)                                                                                \
  X(end_streams_elsewhere) X(keep_streams_for_events) X(retire_executables) X(lock_user_objects)               \
  X(order_launches) X(join_by_dependencies) X(set_fork_dependencies) X(join_before_end)                        \
  X(end_invalidated_twice) X(ask_events_by_time) X(poll_events) X(poll_streams) X(allocate_beside_null_stream) \
  X(check_capture_at_end) X(explain_refused_memory) X(retry_pool_ends) X(refuse_cooperative_capture)
// clang-format on

enum class Workaround : std::uint8_t {
#define WEIR_HIP_WORKAROUND(name) name,
  WEIR_HIP_WORKAROUNDS(WEIR_HIP_WORKAROUND)
#undef WEIR_HIP_WORKAROUND
};
#define WEIR_HIP_WORKAROUND(name) +1
inline constexpr std::size_t workaround_count = 0 WEIR_HIP_WORKAROUNDS(WEIR_HIP_WORKAROUND);
#undef WEIR_HIP_WORKAROUND
std::string_view to_string(Workaround workaround) noexcept;

/// Whether the release has the fault that the workaround is for.
bool needs(Workaround workaround, int release) noexcept;

}  // namespace weir::hip
