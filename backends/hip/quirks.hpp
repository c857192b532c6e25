// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "weir/feature.hpp"

/// What is known of releases of HIP and is told by neither a symbol nor an attribute. Releases are major * 100 + minor: 602 is
/// HIP 6.2. The patch level is no part of it, since the runtime's number holds a build counter in its place.
namespace weir::hip {

/// Releases from `since` on and before `until`; 0: no end is known.
struct Releases {
  int since = 0;
  int until = 0;

  constexpr bool contains(int release) const noexcept { return release >= since && (until == 0 || release < until); }
};

enum class Effect : std::uint8_t {
  absent,    ///< the feature does not keep its promise
  emulated,  ///< it keeps it by other means than the driver's own
  opt_in,    ///< absent unless a variable says that the program keeps to a condition (WEIR_HIP_WAIT_VALUE)
  probed,    ///< it depends on the patch level: tried once
};

/// A feature whose symbols and attribute are there, and of which yet more is known.
struct FeatureQuirk {
  Feature feature;
  Releases releases;
  Effect effect;
  std::string_view reason;  ///< for the user: why, and what has it or would help
  std::string_view source;  ///< for whoever doubts it
};
std::span<const FeatureQuirk> feature_quirks() noexcept;
/// The quirk that decides about a feature, or null.
const FeatureQuirk* find_quirk(Feature feature, int release) noexcept;

/// What the backend does differently because of how a function behaves.
enum class Workaround : std::uint8_t {
  end_streams_elsewhere,      ///< a stream that is not idle is destroyed on a thread of its own
  hold_running_executables,   ///< an executable graph is destroyed once its launches are over
  join_before_end,            ///< what is left of a capture is joined before its end, so that the runtime sees no unjoined one
  end_invalidated_twice,      ///< a stream is brought back from an invalidated capture by an empty one
  poll_events,                ///< the host waits for an event by asking
  poll_streams,               ///< the host waits for a stream by asking
  allocate_beside_null_stream,///< memory of the null stream is allocated on a blocking stream of the backend's own
  refuse_cooperative_capture, ///< a cooperative launch is refused while capturing
};

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
