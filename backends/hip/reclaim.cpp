// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/capture.hpp"
#include "backends/hip/api_private.hpp"
#include "weir/plugin/support.hpp"

/// Destroys objects later, on a background thread, once the device no longer uses them.
namespace weir::hip {

bool Api::is_pending(Result result) noexcept {
  return result == hipErrorNotReady ||
         (result >= hipErrorStreamCaptureUnsupported && result <= hipErrorStreamCaptureWrongThread);
}

namespace {

/// Calls `try_to_end()` on a background thread until it returns true. During each call `device` is current, and captures of
/// other threads are not affected.
void reclaim(const Api& api, int device, UniqueFunction<bool()>&& try_to_end) noexcept {
  (void)support::reclaim([&api, device, try_to_end = std::move(try_to_end)]() mutable {
    const Api::Current current(api, {device}, std::nothrow);
    const gpu::CaptureModeScope<Api> relaxed(api);
    return current.result() == hipSuccess && try_to_end();
  });
}

bool is_ahead(const Api& api, hipEvent_t event) { return Api::is_pending(api.query_event(event)); }

int current_device(const Api& api) noexcept {
  int device = 0;
  (void)api.GetDevice(&device);
  return device;
}

}  // namespace

Api::Result Api::StreamDestroy(StreamHandle stream) const {
  if (has(Workaround::end_streams_elsewhere)) {
    const gpu::CaptureModeScope<Api> relaxed(*this);
    if (Api::is_pending(StreamQuery(stream))) {
      reclaim(*this, current_device(*this), [this, stream] {
        if (Api::is_pending(StreamQuery(stream))) return false;
        gpu::log_failure(*this, Symbols::StreamDestroy(stream), "while a stream was destroyed", "hip");
        return true;
      });
      return success;
    }
  }
  return Symbols::StreamDestroy(stream);
}

void Api::end_behind(const DeviceContext& device, EventHandle event, UniqueFunction<void()>&& end) const noexcept {
  {
    const Current current(*this, device, std::nothrow);
    const gpu::CaptureModeScope<Api> relaxed(*this);
    if (!is_ahead(*this, event)) return end();
  }
  reclaim(*this, device.ordinal, [this, event, end = std::move(end)]() mutable {
    if (is_ahead(*this, event)) return false;
    end();
    return true;
  });
}

Api::Result Api::destroy_pool(PoolHandle pool) const {
  const Result result = MemPoolDestroy(pool);
  if (!Api::is_pending(result) || !has(Workaround::retry_pool_ends)) return result;
  reclaim(*this, current_device(*this), [this, pool] {
    const Result again = MemPoolDestroy(pool);
    if (Api::is_pending(again)) return false;
    gpu::log_failure(*this, again, "while a memory pool was destroyed", "hip");
    return true;
  });
  return success;
}

}  // namespace weir::hip
