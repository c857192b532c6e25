// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "cudart/state.hpp"

namespace weir::cudart {

StreamPtr stream_of(cudaStream_t handle) {
  const bool is_default = handle == nullptr;
  if (handle == cudaStreamPerThread || (is_default && this_thread().has_per_thread_default))
    return usable().device->per_thread_stream();
  if (handle == cudaStreamLegacy || is_default) {
    DeviceState& state = usable();
    const std::lock_guard lock(state.mutex);
    if (!state.legacy) state.legacy = state.device->default_stream();
    return state.legacy;
  }
  StreamPtr stream = runtime().streams.get(handle);
  const DeviceState& state = device_at(stream->device().ordinal());
  check(state.fault == cudaSuccess, state.fault);
  return stream;
}

namespace {

void create(cudaStream_t* handle, unsigned int flags, std::optional<int> priority) {
  check(handle != nullptr && (flags & ~1U) == 0);
  Device& device = *usable().device;
  StreamOptions options{.blocking = flags == cudaStreamDefault};
  if (priority) {
    const PriorityRange range = device.priority_range();
    options.priority = std::clamp(*priority, range.greatest, range.least);
  }
  *handle = static_cast<cudaStream_t>(runtime().streams.add(device.create_stream(options)));
}

}  // namespace
namespace calls {

void cudaStreamCreate(cudaStream_t* stream) { create(stream, cudaStreamDefault, std::nullopt); }

void cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) { create(stream, flags, std::nullopt); }

void cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int priority) {
  create(stream, flags, priority);
}

void cudaStreamDestroy(cudaStream_t stream) {
  StreamPtr ended_stream = runtime().streams.take(stream);
  if (!runtime().is_host) return;
  DeviceState& state = device_at(ended_stream->device().ordinal());
  const std::lock_guard lock(state.mutex);
  state.destroyed.push_back(std::move(ended_stream));
  if (state.destroyed.size() > 100) std::erase_if(state.destroyed, [](const StreamPtr& s) { return s->is_complete(); });
}

void cudaStreamSynchronize(cudaStream_t stream) { stream_of(stream)->synchronize(); }

void cudaStreamQuery(cudaStream_t stream) { check(stream_of(stream)->is_complete(), cudaErrorNotReady); }

void cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
  check((flags & ~unsigned{cudaEventWaitExternal}) == 0);
  const StreamPtr on = stream_of(stream);
  const EventPtr& waited = runtime().events.get(event);
  const bool external = flags == cudaEventWaitExternal && on->is_capturing();
  external ? on->wait_external(waited) : on->wait(waited);
}

void cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data, unsigned int flags) {
  check(callback != nullptr && flags == 0);
  const StreamPtr on = stream_of(stream);
  if (!on->device().supports(Feature::stream_callbacks)) {
    check(!on->is_capturing(), cudaErrorStreamCaptureUnsupported);
    on->launch_host_function([=] { callback(stream, cudaSuccess, data); });
    return;
  }
  on->add_callback(
      [=](Stream&, std::error_code status) { callback(stream, status ? cudaErrorLaunchFailure : cudaSuccess, data); });
}

void cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  check(function != nullptr);
  stream_of(stream)->launch_host_function([=] { function(data); });
}

void cudaStreamGetFlags(cudaStream_t stream, unsigned int* flags) {
  give(flags, stream_of(stream)->is_non_blocking() ? cudaStreamNonBlocking : cudaStreamDefault);
}

void cudaStreamGetPriority(cudaStream_t stream, int* priority) { give(priority, stream_of(stream)->priority()); }
void cudaStreamGetId(cudaStream_t stream, unsigned long long* id) { give(id, stream_of(stream)->id()); }
void cudaStreamGetDevice(cudaStream_t stream, int* device) { give(device, stream_of(stream)->device().ordinal()); }

// CUDA's numbers of policies begin at 1, and its properties are numbered like Weir's.
void cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID attribute, const cudaStreamAttrValue* value) {
  check(value != nullptr);
  const StreamPtr on = stream_of(stream);
  if (attribute == cudaLaunchAttributeSynchronizationPolicy) {
    check(value->syncPolicy >= cudaSyncPolicyAuto && value->syncPolicy <= cudaSyncPolicyBlockingSync);
    on->set_synchronization_policy(static_cast<SynchronizationPolicy>(value->syncPolicy - 1));
  } else if (attribute == cudaLaunchAttributeAccessPolicyWindow) {
    const cudaAccessPolicyWindow& w = value->accessPolicyWindow;
    // A hint, which a device may lack.
    if (!on->device().supports(Feature::access_policy_window)) return;
    on->set_access_policy_window({w.base_ptr, w.num_bytes, w.hitRatio, static_cast<AccessProperty>(w.hitProp),
                                  static_cast<AccessProperty>(w.missProp)});
  } else {
    throw Failure{cudaErrorNotSupported};
  }
}

void cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from) { stream_of(to)->copy_attributes(stream_of(from)); }

}  // namespace calls
}  // namespace weir::cudart
