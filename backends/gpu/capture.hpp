// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "backends/gpu/errors.hpp"
#include "weir/backend_support.hpp"
#include "weir/module.hpp"
#include "weir/ptr.hpp"

/// What captures and graphs need of a driver: leave to make calls beside a capture, and ownership by graphs.
namespace weir::gpu {

/// The modules of the kernels that a graph launches: for as long as the graph or an executable of it is there.
///
/// Not the driver's user objects, which would make each launch of the graph dearer: what they add is that an object outlives
/// an executable whose launch is under way. Modules do not need it where `Api::unloading_waits()`; elsewhere they go with
/// the executable, behind its last launch (see GpuGraphExec).
///
/// Null where there are none.
using KeptModules = std::shared_ptr<const std::vector<ModulePtr>>;

/// Lets the calling thread make calls that a driver may have to synchronize for although a capture is open. For calls of
/// which it is known that they do no such thing to the stream that captures: the driver then neither refuses them nor breaks
/// the capture.
template <class Api>
class CaptureModeScope {
 public:
  explicit CaptureModeScope(const Api& api) noexcept : api_(api) { exchange(); }
  ~CaptureModeScope() { exchange(); }
  CaptureModeScope(const CaptureModeScope&) = delete;
  CaptureModeScope& operator=(const CaptureModeScope&) = delete;

 private:
  // Should it fail, calls are refused that would else be allowed: no more.
  void exchange() noexcept { (void)api_.ThreadExchangeStreamCaptureMode(&mode_); }

  const Api& api_;
  typename Api::CaptureModeValue mode_ = Api::capture_relaxed;
};

/// Makes `graph`, and with it its clones and executables, an owner of `owned`: the driver calls `destroy(owned)` when the
/// last of them has gone and their launches are over. If that cannot be arranged, destroys it and throws.
template <class Api, class Object>
void give_to_graph(const Api& api, typename Api::GraphHandle graph, void* owned, void (*destroy)(void*), const char* operation,
                   const Object& object) {
  typename Api::UserObject user_object = nullptr;
  auto result = api.UserObjectCreate(&user_object, owned, destroy, 1, Api::user_object_no_sync);
  if (result != Api::success) {
    destroy(owned);
    check(api, result, operation, object);
  }
  const bool moves = api.moves_user_objects();
  result = api.GraphRetainUserObject(graph, user_object, 1, moves ? Api::user_object_move : 0);
  if (result != Api::success || !moves) (void)api.UserObjectRelease(user_object, 1);  // the reference that it was made with
  check(api, result, operation, object);
}

/// For `give_to_graph`: lets go of one reference to the `RefCounted` that `object` points to.
inline void release_reference(void* object) noexcept {
  // The driver may call this on a thread of its own, where the object's end must not call the driver.
  const support::HostFunctionScope scope;
  static_cast<const RefCounted*>(object)->release();
}

}  // namespace weir::gpu
