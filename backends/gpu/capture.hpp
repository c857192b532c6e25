// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "backends/gpu/errors.hpp"
#include "weir/plugin/support.hpp"
#include "weir/module.hpp"
#include "weir/ptr.hpp"

/// Driver calls that must not affect a capture, and objects that a driver's graph owns.
namespace weir::gpu {

/// The modules of a graph's kernels. The graph and its executables share this list, which keeps the modules loaded; null if
/// the graph has no kernels. The modules are not user objects of the driver, because those would slow down each launch.
/// Keeping a module loaded during a launch is left to the driver if `Api::unloading_waits()`, and otherwise to
/// `GpuGraphExec`.
using KeptModules = std::shared_ptr<const std::vector<ModulePtr>>;

/// Within this scope the calling thread may make calls that the driver otherwise refuses during a capture, or that would
/// invalidate a capture. Use it only for calls that do not affect the capturing stream.
template <class Api>
class CaptureModeScope {
 public:
  explicit CaptureModeScope(const Api& api) noexcept : api_(api) { exchange(); }
  ~CaptureModeScope() { exchange(); }
  CaptureModeScope(const CaptureModeScope&) = delete;
  CaptureModeScope& operator=(const CaptureModeScope&) = delete;

 private:
  // On failure the driver may refuse later calls; nothing worse happens.
  void exchange() noexcept { (void)api_.ThreadExchangeStreamCaptureMode(&mode_); }

  const Api& api_;
  typename Api::CaptureModeValue mode_ = Api::capture_relaxed;
};

/// Makes `graph` an owner of `owned`; its clones and executables become owners as well. The driver calls `destroy(owned)`
/// once all owners are destroyed and their launches are over. On failure it destroys `owned` and throws.
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
  // The reference from `UserObjectCreate`.
  if (result != Api::success || !moves) (void)api.UserObjectRelease(user_object, 1);
  check(api, result, operation, object);
}

/// For `give_to_graph`: releases one reference to the `RefCounted` that `object` points to.
inline void release_reference(void* object) noexcept {
  // The driver may call this on one of its own threads, where destructors must not call the driver.
  const support::HostFunctionScope scope;
  static_cast<const RefCounted*>(object)->release();
}

}  // namespace weir::gpu
