// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "backends/gpu/errors.hpp"
#include "weir/plugin/support.hpp"
#include "weir/module.hpp"
#include "weir/ptr.hpp"

/// Calls during a capture, and objects that a graph owns.
namespace weir::gpu {

/// The modules of a graph's kernels, kept by the graph and its executables; null if the graph has no kernels. They are not
/// user objects of the driver, because those would slow down each launch. User objects would also keep the modules during a
/// launch; that is not needed if `Api::unloading_waits()`, and otherwise GpuGraphExec does it.
using KeptModules = std::shared_ptr<const std::vector<ModulePtr>>;

/// Scope that lets the calling thread make calls that the driver would otherwise refuse during a capture, or whose use would
/// invalidate the capture. Only for calls that do not affect the capturing stream.
template <class Api>
class CaptureModeScope {
 public:
  explicit CaptureModeScope(const Api& api) noexcept : api_(api) { exchange(); }
  ~CaptureModeScope() { exchange(); }
  CaptureModeScope(const CaptureModeScope&) = delete;
  CaptureModeScope& operator=(const CaptureModeScope&) = delete;

 private:
  // If this fails, the driver may refuse calls; nothing worse happens.
  void exchange() noexcept { (void)api_.ThreadExchangeStreamCaptureMode(&mode_); }

  const Api& api_;
  typename Api::CaptureModeValue mode_ = Api::capture_relaxed;
};

/// Makes `graph`, and so its clones and executables, owners of `owned`: once all of them are destroyed and their launches
/// are over, the driver calls `destroy(owned)`. On failure it destroys `owned` and throws.
template <class Api, class Object>
void give_to_graph(const Api& api, typename Api::GraphHandle graph, void* owned, void (*destroy)(void*),
                   const char* operation, const Object& object) {
  typename Api::UserObject user_object = nullptr;
  auto result = api.UserObjectCreate(&user_object, owned, destroy, 1, Api::user_object_no_sync);
  if (result != Api::success) {
    destroy(owned);
    check(api, result, operation, object);
  }
  const bool moves = api.moves_user_objects();
  result = api.GraphRetainUserObject(graph, user_object, 1, moves ? Api::user_object_move : 0);
  if (result != Api::success || !moves) (void)api.UserObjectRelease(user_object, 1);  // its first reference
  check(api, result, operation, object);
}

/// For `give_to_graph`: releases one reference to the `RefCounted` that `object` points to.
inline void release_reference(void* object) noexcept {
  // The driver may call this on its own thread, where destructors must not call the driver.
  const support::HostFunctionScope scope;
  static_cast<const RefCounted*>(object)->release();
}

}  // namespace weir::gpu
