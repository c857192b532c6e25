// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <shared_mutex>

#include "bridge.hpp"
#include "queues.hpp"

/// Events, waits for events, and events and memory that processes share.
using namespace bridge;

namespace {

constexpr unsigned release_to_device = 0x40000000U, release_to_system = 0x80000000U;

// Up to 6.2 waiting is busy whatever the flag says; later it is not, if the flag is all there is.
unsigned native_flags(unsigned flags) {
  unsigned native = flags & (hipEventDisableTiming | hipEventInterprocess);
  if (flags == hipEventBlockingSync && !before(603)) native |= CU_EVENT_BLOCKING_SYNC;
  return native;
}

/// What the event holds from here on of the stream and of its capture.
void note_record(hipEvent_t event, const Target& on) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t capture = 0;
  std::size_t nodes = 0;
  const CUgraphNode* list = nullptr;
  if (on.own != nullptr) {
    const weir::gpu::CaptureLock::Question question(capture_lock());
    cuda()->StreamGetCaptureInfo(on.cuda, &status, &capture, nullptr, &list, &nodes);
  }
  if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE) capture = 0;
  const std::lock_guard lock(capture_links());
  event->stream = on.own;
  event->stream_id = on.own != nullptr ? on.own->id : 0;
  event->capture = capture;
  // Up to 6.3 nodes of an earlier capture stay in it where the stream has none yet.
  if (capture != 0 && (nodes != 0 || !before(604))) event->nodes_capture = capture;
}

/// The stream on which the event was recorded last, if it is there still.
ihipStream_t* stream_of(hipEvent_t event) {
  return event->stream_id != 0 && is_alive(event->stream) && event->stream->id == event->stream_id ? event->stream : nullptr;
}

/// What a question after an event, or a wait for it, is answered while its stream captures, also where the event is older
/// than the capture: the capture is invalidated. 2026's library spares older events.
hipError_t refusal_by_capture(hipEvent_t event) {
  if (!before(714)) return hipSuccess;
  Target on;
  {
    const std::lock_guard lock(capture_links());
    on.own = stream_of(event);
    if (on.own == nullptr || on.own->capture == 0) return hipSuccess;
    on.cuda = on.own->cuda;
    on.device = on.own->device;
  }
  if (!is_capturing(on)) return hipSuccess;
  const Scope scope(on.device);
  cuda()->StreamQuery(on.cuda);  // which CUDA answers so
  return hipErrorCapturedEvent;
}

}  // namespace

void bridge::check_followed(const char* function, hipEvent_t event) noexcept {
  const std::lock_guard lock(capture_links());
  if (event->stream_id != 0 && stream_of(event) == nullptr)
    undefined(function, "the event is followed to the stream on which it was recorded, which has been destroyed");
}

extern "C" {

hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned flags) {
  return on_device([&](const Cuda& driver) {
    constexpr unsigned known =
        hipEventBlockingSync | hipEventDisableTiming | hipEventInterprocess | release_to_device | release_to_system;
    if (event == nullptr || (flags & ~known) != 0) return hipErrorInvalidValue;
    auto* const made = new ihipEvent_t;
    made->device = current_device();
    made->flags = flags;
    const CUresult result = driver.EventCreate(&made->cuda, native_flags(flags));
    if (result != CUDA_SUCCESS) {
      delete made;
      return from_cuda(result);
    }
    *event = made;
    return hipSuccess;
  });
}

hipError_t hipEventDestroy(hipEvent_t event) {
  return call([&](const Cuda& driver) {
    if (event == nullptr) return hipErrorInvalidHandle;
    const Scope scope(event->device);
    const CUresult result = driver.EventDestroy(event->cuda);
    delete event;
    return from_cuda(result);
  });
}

hipError_t hipEventRecordWithFlags(hipEvent_t event, hipStream_t stream, unsigned flags) {
  return on_queue("hipEventRecord", stream, [&](const Cuda& driver, const Target& on) {
    if (event == nullptr || event->device != on.device) return hipErrorInvalidHandle;
    if (flags > 1) return hipErrorInvalidValue;
    const std::lock_guard lock(event->mutex);
    if (flags == 0) {
      const CUresult result = driver.EventRecord(event->cuda, on.cuda);
      if (result == CUDA_SUCCESS) note_record(event, on);
      return from_cuda(result);
    }
    return from_cuda(driver.EventRecordWithFlags(event->cuda, on.cuda, CU_EVENT_RECORD_EXTERNAL));
  });
}

hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) { return hipEventRecordWithFlags(event, stream, 0); }

// 6.2 knows of streams that are gone, and takes the event's work for done.
hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags) {
  return on_queue("hipStreamWaitEvent", stream, [&](const Cuda& driver, const Target& on) -> hipError_t {
    if (event == nullptr) return hipErrorInvalidHandle;
    // hipEventWaitExternal is 1; the release numbers tell 6.4.2, which first has it, not from 6.4.0.
    if (flags > (before(700) ? 0U : 1U)) return hipErrorInvalidValue;
    bool is_captured = false;
    {
      const std::lock_guard lock(capture_links());
      const ihipStream_t* const awaited = stream_of(event);
      if (event->stream_id != 0 && awaited == nullptr) return hipSuccess;
      is_captured = awaited != nullptr && event->capture != 0 && awaited->capture == event->capture;
      if (awaited != nullptr && !is_captured && awaited->capture != 0) return hipErrorStreamCaptureIsolation;
    }
    const auto others_out = is_captured ? keep_out_of_captures(on) : std::unique_lock<std::mutex>();
    const CUresult result = driver.StreamWaitEvent(on.cuda, event->cuda, flags);
    if (result == CUDA_SUCCESS && is_captured && on.own != nullptr) {
      const std::lock_guard lock(capture_links());
      ihipStream_t* const awaited = stream_of(event);
      // Whichever of the two was in the capture first.
      if (awaited != nullptr && !on.own->is_origin &&
          std::find(awaited->parallel.begin(), awaited->parallel.end(), on.own) == awaited->parallel.end()) {
        awaited->parallel.push_back(on.own);
      }
      on.own->capture = event->capture;
      if (event->nodes_capture != 0 && event->nodes_capture != event->capture) on.own->follows_older_nodes = true;
    }
    return from_cuda(result);
  });
}

hipError_t hipEventQuery(hipEvent_t event) {
  return call([&](const Cuda& driver) -> hipError_t {
    if (event == nullptr) return hipErrorInvalidHandle;
    check_followed("hipEventQuery", event);
    if (const hipError_t refusal = refusal_by_capture(event)) return refusal;
    const std::lock_guard lock(event->mutex);
    const Scope scope(event->device);
    return from_cuda(driver.EventQuery(event->cuda));
  });
}

// The lock is held for as long as the wait lasts: a record of the event by another thread waits, too.
hipError_t hipEventSynchronize(hipEvent_t event) {
  return call([&](const Cuda& driver) -> hipError_t {
    if (event == nullptr) return hipErrorInvalidHandle;
    check_followed("hipEventSynchronize", event);
    if (const hipError_t refusal = refusal_by_capture(event)) return refusal;
    const std::lock_guard lock(event->mutex);
    const Scope scope(event->device);
    const CUresult result = driver.EventSynchronize(event->cuda);
    if (result == CUDA_SUCCESS) release_parked(event->device, nullptr);
    return from_cuda(result);
  });
}

// It does not look at the events' streams (read: hip_event.cpp 5.7.1 to 2026).
hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t stop) {
  return call([&](const Cuda& driver) {
    if (milliseconds == nullptr) return hipErrorInvalidValue;
    if (start == nullptr || stop == nullptr || start->device != stop->device) return hipErrorInvalidHandle;
    const Scope scope(start->device);
    return from_cuda(driver.EventElapsedTime(milliseconds, start->cuda, stop->cuda));
  });
}

// --- Between processes ------------------------------------------------------------------------------------------------

hipError_t hipIpcGetEventHandle(hipIpcEventHandle_t* to, hipEvent_t event) {
  return on_device([&](const Cuda& driver) {
    if (to == nullptr || event == nullptr) return hipErrorInvalidValue;
    CUipcEventHandle native;
    const CUresult result = driver.IpcGetEventHandle(&native, event->cuda);
    static_assert(sizeof(native) == sizeof(*to));
    std::memcpy(to, &native, sizeof(native));
    return from_cuda(result);
  });
}

hipError_t hipIpcOpenEventHandle(hipEvent_t* event, hipIpcEventHandle_t from) {
  return on_device([&](const Cuda& driver) {
    CUipcEventHandle native;
    std::memcpy(&native, &from, sizeof(native));
    auto* const made = new ihipEvent_t;
    made->device = current_device();
    const CUresult result = driver.IpcOpenEventHandle(&made->cuda, native);
    if (result != CUDA_SUCCESS) {
      delete made;
      return from_cuda(result);
    }
    *event = made;
    return hipSuccess;
  });
}

hipError_t hipIpcGetMemHandle(hipIpcMemHandle_t* to, void* memory) {
  return on_device([&](const Cuda& driver) {
    if (to == nullptr || memory == nullptr) return hipErrorInvalidValue;
    CUipcMemHandle native;
    const CUresult result = driver.IpcGetMemHandle(&native, address(memory));
    static_assert(sizeof(native) == sizeof(*to));
    std::memcpy(to, &native, sizeof(native));
    return from_cuda(result);
  });
}

// The one flag there is is 1; any other number is refused.
hipError_t hipIpcOpenMemHandle(void** memory, hipIpcMemHandle_t from, unsigned flags) {
  return on_device([&](const Cuda& driver) {
    if (memory == nullptr || flags != 1U) return hipErrorInvalidValue;
    CUipcMemHandle native;
    std::memcpy(&native, &from, sizeof(native));
    CUdeviceptr opened = 0;
    const CUresult result = driver.IpcOpenMemHandle(&opened, native, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    *memory = handle<void*>(opened);
    return from_cuda(result);
  });
}

hipError_t hipIpcCloseMemHandle(void* memory) {
  return on_device([&](const Cuda& driver) { return from_cuda(driver.IpcCloseMemHandle(address(memory))); });
}
}
