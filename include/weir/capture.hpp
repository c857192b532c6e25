// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "weir/export.hpp"
#include "weir/fwd.hpp"
#include "weir/ptr.hpp"

/// Options and state of stream capture, which records the work submitted to streams as a graph instead of running it.
namespace weir {

/// Which calls are allowed until the capture ends, as in CUDA (cudaStreamCaptureMode). "Unsafe" calls are calls that may
/// make the driver synchronize: `Device::allocate`, blocking copies, queries of events and waits for events.
enum class CaptureMode : std::uint8_t {
  global,        ///< no thread may make unsafe calls
  thread_local_, ///< the capturing thread may not make unsafe calls; the default
  relaxed,       ///< all threads may make unsafe calls, and any thread may end the capture
};
WEIR_API std::string_view to_string(CaptureMode) noexcept;

/// The state of a stream's capture.
enum class CaptureStatus : std::uint8_t {
  none,         ///< the stream is not capturing
  active,       ///< capturing
  invalidated,  ///< an error has invalidated the capture; `end_capture` must still be called, and throws
};
WEIR_API std::string_view to_string(CaptureStatus) noexcept;

/// The options of a capture.
struct CaptureOptions {
  CaptureMode mode = CaptureMode::thread_local_;
  /// Records the captured operations, so that `Graph::save` can save the graph: see weir/portable_graph.hpp. Each operation
  /// of the capture takes some microseconds longer; launches of the graph do not.
  bool portable = false;
};

/// The result of `Stream::capture_info`.
struct CaptureInfo {
  CaptureStatus status = CaptureStatus::none;
  /// The capture's id, which is unique for the life of the process, or 0 outside of captures.
  std::uint64_t id = 0;
  /// The graph being built. The capture owns it: read it (`topology`, `debug_dot`) before the capture ends, and do not keep
  /// the pointer. Null outside of captures, or if the driver does not provide the graph.
  GraphPtr graph;
};

}  // namespace weir
