// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "bridge.hpp"

/// Events, and what processes share.
using namespace bridge;

namespace {

constexpr unsigned release_to_device = 0x40000000U, release_to_system = 0x80000000U;

// Up to 6.2 waiting is busy whatever the flag says; later it is not, if the flag is all there is.
unsigned native_flags(unsigned flags) {
  unsigned native = flags & (hipEventDisableTiming | hipEventInterprocess);
  if (flags == hipEventBlockingSync && !before(603)) native |= CU_EVENT_BLOCKING_SYNC;
  return native;
}

}  // namespace

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
  return on_stream("hipEventRecord", stream, [&](const Cuda& driver, const Target& on) {
    if (event == nullptr || event->device != on.device) return hipErrorInvalidHandle;
    if (flags > 1) return hipErrorInvalidValue;
    const std::lock_guard lock(event->mutex);
    if (flags == 0) return from_cuda(driver.EventRecord(event->cuda, on.cuda));
    return from_cuda(driver.EventRecordWithFlags(event->cuda, on.cuda, CU_EVENT_RECORD_EXTERNAL));
  });
}

hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) { return hipEventRecordWithFlags(event, stream, 0); }

hipError_t hipEventQuery(hipEvent_t event) {
  return call([&](const Cuda& driver) {
    if (event == nullptr) return hipErrorInvalidHandle;
    const std::lock_guard lock(event->mutex);
    const Scope scope(event->device);
    return from_cuda(driver.EventQuery(event->cuda));
  });
}

// The lock is held for as long as the wait lasts: a record of the event by another thread waits, too.
hipError_t hipEventSynchronize(hipEvent_t event) {
  return call([&](const Cuda& driver) {
    if (event == nullptr) return hipErrorInvalidHandle;
    const std::lock_guard lock(event->mutex);
    const Scope scope(event->device);
    return from_cuda(driver.EventSynchronize(event->cuda));
  });
}

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

// The one flag there is was 0 up to 5.7 and is 1 since; any other number is refused.
hipError_t hipIpcOpenMemHandle(void** memory, hipIpcMemHandle_t from, unsigned flags) {
  return on_device([&](const Cuda& driver) {
    if (memory == nullptr || flags != (before(600) ? 0U : 1U)) return hipErrorInvalidValue;
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
