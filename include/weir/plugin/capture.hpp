// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "weir/capture.hpp"
#include "weir/fwd.hpp"

/// Structures for data about captures that the core and a backend exchange.
namespace weir {

/// The capture state of a stream during a call. The core passes it to the backend, so that the backend need not query its
/// driver.
struct CaptureState {
  std::uint64_t id = 0;  ///< the driver's id of the capture; 0 unless the capture is active
  CaptureStatus status = CaptureStatus::none;
  bool conditional_body = false;  ///< the capture belongs to the body of a conditional node
  /// Whether submitted work becomes part of a graph.
  explicit operator bool() const noexcept { return status == CaptureStatus::active; }
};

/// The objects that the core collects during a capture, and that the captured graph must keep alive.
struct CaptureResources {
  std::vector<ModulePtr> modules;  ///< the modules of the captured kernels
  GraphPtr resumed;                ///< the graph that the capture continues, or null
  /// Native streams whose capture of a conditional node's body could not be ended. These streams must not be
  /// destroyed before this capture ends. If there are any, the graph is unusable.
  std::vector<std::shared_ptr<const void>> open_bodies;
  std::shared_ptr<detail::CapturedWork> work;  ///< the recorded operations for `Graph::save`, or null; used only by the core
};

}  // namespace weir
