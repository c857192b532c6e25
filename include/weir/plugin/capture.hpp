// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "weir/capture.hpp"
#include "weir/fwd.hpp"

/// What the core and a backend tell each other about captures.
namespace weir {

/// The capture that a stream is in during a call. The core passes it to the backend, which need not ask its driver.
struct CaptureState {
  std::uint64_t id = 0;  ///< the driver's; 0 unless the capture is active
  CaptureStatus status = CaptureStatus::none;
  bool conditional_body = false;  ///< the capture is of the body of a conditional node
  /// Whether submitted work becomes part of a graph.
  explicit operator bool() const noexcept { return status == CaptureStatus::active; }
};

/// What a capture that Weir began keeps for its graph.
struct CaptureResources {
  std::vector<ModulePtr> modules;  ///< of the kernels that were captured
  GraphPtr resumed;                ///< the graph that the capture continues, or null
  /// Native streams that capture bodies of conditional nodes and must not end before this capture does. The graph is
  /// unusable.
  std::vector<std::shared_ptr<const void>> open_bodies;
  std::shared_ptr<detail::CapturedWork> work;  ///< what `Graph::save` needs, or null; the core takes it
};

}  // namespace weir
