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
  std::string_view source;  ///< the evidence; see quirks.cpp
  std::string_view gpus = "";  ///< prefix of the affected architectures: "gfx12"; empty means all
};
std::span<const FeatureQuirk> feature_quirks() noexcept;
/// Returns the quirk of a feature in this release on an architecture ("gfx90a:xnack-"; empty if unknown), or null.
const FeatureQuirk* find_quirk(Feature feature, int release, std::string_view architecture) noexcept;

/// The workarounds for functions that misbehave in some releases: X(name, description).
#define WEIR_HIP_WORKAROUNDS(X)                                                                                             \
  X(end_streams_elsewhere, "a stream that is not idle is destroyed on a thread of its own")                                 \
  X(keep_streams_for_events, "a stream is destroyed once no event is there that was last recorded on it")                   \
  X(retire_executables, "an executable goes, with modules and host functions, once its last launch is over")                \
  X(lock_user_objects, "one thread at a time calls what looks for, makes or ends user objects of graphs")                   \
  X(order_launches, "a launch of an executable waits for that on another stream before it")                                 \
  X(join_by_dependencies, "a stream of a capture waits for another by the nodes that it depends on")                        \
  X(set_fork_dependencies, "a stream that joins a capture gets the nodes that it depends on anew")                          \
  X(join_before_end, "what is left of a capture is joined before its end, so that the runtime sees no unjoined one")        \
  X(end_invalidated_twice, "a stream is brought back from an invalidated capture by an empty one")                          \
  X(ask_events_by_time, "an event is asked after by the time between it and itself, so all events take times")             \
  X(poll_events, "the host asks until an event is complete, before it waits for it")                                        \
  X(poll_streams, "the host asks until a stream is idle, before it waits for it")                                           \
  X(allocate_beside_null_stream, "memory of the null stream is allocated on a blocking stream of the backend's own")        \
  X(check_capture_at_end, "a capture is asked after before it ends, and its graph destroyed where it had failed")           \
  X(explain_refused_memory, "an error of stream-ordered memory tells of captures that are in the way")                     \
  X(retry_pool_ends, "a pool whose end a capture forbids ends later, on a thread of its own")                               \
  X(refuse_cooperative_capture, "a cooperative launch is refused while capturing")

enum class Workaround : std::uint8_t {
#define WEIR_HIP_WORKAROUND(name, what) name,
  WEIR_HIP_WORKAROUNDS(WEIR_HIP_WORKAROUND)
#undef WEIR_HIP_WORKAROUND
};
#define WEIR_HIP_WORKAROUND(name, what) +1
inline constexpr std::size_t workaround_count = 0 WEIR_HIP_WORKAROUNDS(WEIR_HIP_WORKAROUND);
#undef WEIR_HIP_WORKAROUND
std::string_view to_string(Workaround workaround) noexcept;

struct FunctionQuirk {
  std::string_view function;
  Releases releases;
  Workaround workaround;
  std::string_view behaviour;
  std::string_view source;
};
std::span<const FunctionQuirk> function_quirks() noexcept;
bool needs(Workaround workaround, int release) noexcept;

}  // namespace weir::hip
