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

/// The modules of the kernels of a graph, which the graph and its executables keep; null if there are none. They are not the
/// driver's user objects, which would make each launch of the graph slower. User objects would also keep the modules while a
/// launch is under way: not needed if `Api::unloading_waits()`, and else done by GpuGraphExec.
using KeptModules = std::shared_ptr<const std::vector<ModulePtr>>;

/// Scope in which the calling thread may make calls that the driver would otherwise refuse beside a capture, or that would
/// break it. For calls that do not affect the stream that captures.
template <class Api>
class CaptureModeScope {
 public:
  explicit CaptureModeScope(const Api& api) noexcept : api_(api) { exchange(); }
  ~CaptureModeScope() { exchange(); }
  CaptureModeScope(const CaptureModeScope&) = delete;
  CaptureModeScope& operator=(const CaptureModeScope&) = delete;

 private:
  // If this fails, calls may be refused, nothing worse.
  void exchange() noexcept { (void)api_.ThreadExchangeStreamCaptureMode(&mode_); }

  const Api& api_;
  typename Api::CaptureModeValue mode_ = Api::capture_relaxed;
};

/// Makes `graph`, and so its clones and executables, owners of `owned`: when the last of them is gone and their launches are
/// over, the driver calls `destroy(owned)`. If this fails, destroys it and throws.
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
  // The driver may call this on its own thread, where the object's destruction must not call the driver.
  const support::HostFunctionScope scope;
  static_cast<const RefCounted*>(object)->release();
}

}  // namespace weir::gpu
