// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "weir/capture.hpp"
#include "weir/fwd.hpp"

/// Data about captures that the core and a backend exchange.
namespace weir {

/// The capture that a stream is in during a call. The core passes it to the backend, which need not query its driver.
struct CaptureState {
  std::uint64_t id = 0;  ///< the driver's; 0 unless the capture is active
  CaptureStatus status = CaptureStatus::none;
  bool conditional_body = false;  ///< the capture belongs to the body of a conditional node
  /// Whether submitted work becomes part of a graph.
  explicit operator bool() const noexcept { return status == CaptureStatus::active; }
};

/// The objects that a capture begun through Weir keeps for its graph.
struct CaptureResources {
  std::vector<ModulePtr> modules;  ///< of the captured kernels
  GraphPtr resumed;                ///< the graph that the capture continues, or null
  /// Native streams that capture bodies of conditional nodes and must not be destroyed before this capture ends. The graph
  /// is then unusable.
  std::vector<std::shared_ptr<const void>> open_bodies;
  std::shared_ptr<detail::CapturedWork> work;  ///< the record for `Graph::save`, or null; the core takes it
};

}  // namespace weir
