// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "weir/export.hpp"
#include "weir/fwd.hpp"
#include "weir/ptr.hpp"

/// Stream capture: recording what streams are told to do as a graph, instead of doing it.
namespace weir {

/// What the process may do while the capture is open; CUDA's meaning. "Unsafe" calls are those a driver may have to
/// synchronize for: allocating and freeing at once, blocking copies, querying or waiting for events.
enum class CaptureMode : std::uint8_t {
  global,        ///< no thread may make unsafe calls
  thread_local_, ///< the capturing thread may not make unsafe calls; the default
  relaxed,       ///< every thread may; the capture may be ended by another thread than began it
};
WEIR_API std::string_view to_string(CaptureMode) noexcept;

enum class CaptureStatus : std::uint8_t {
  none,         ///< not capturing
  active,       ///< capturing
  invalidated,  ///< an error broke the capture; it must be ended, which throws
};
WEIR_API std::string_view to_string(CaptureStatus) noexcept;

struct CaptureOptions {
  CaptureMode mode = CaptureMode::thread_local_;
  /// Joins a capture that other code began on this stream; `end_capture` then leaves that capture open and returns null.
  bool external = false;
};

struct CaptureInfo {
  CaptureStatus status = CaptureStatus::none;
  /// Names the capture for the life of the process; 0 where none is active.
  std::uint64_t id = 0;
  /// The graph being built, to look at (topology, dot) and not to keep: it is the capture's until the capture ends.
  /// Null where none is active, and where the driver does not tell.
  GraphPtr graph;
};

// --- For backends -----------------------------------------------------------------------------------------------------

/// The capture that a stream is in while it is called, as the core knows it. Handed to a backend with each call, so that the
/// backend need not ask its driver.
struct CaptureState {
  std::uint64_t id = 0;  ///< the driver's; 0 unless the capture is active
  CaptureStatus status = CaptureStatus::none;
  bool conditional_body = false;  ///< the capture makes the body of a conditional node
  /// Whether work that the stream is told to do becomes part of a graph.
  explicit operator bool() const noexcept { return status == CaptureStatus::active; }
};

/// What a capture that Weir began keeps for its graph.
struct CaptureResources {
  std::vector<ModulePtr> modules;  ///< of the kernels that were captured
  GraphPtr resumed;                ///< the graph that the capture continues, or null
};

}  // namespace weir
