// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <shared_mutex>
#include <unordered_set>

#include "bridge.hpp"
#include "queues.hpp"

/// Streams: handles, creation, waiting, attributes.
namespace bridge {
namespace {

const hipStream_t legacy = handle<hipStream_t>(std::uintptr_t{1});
const hipStream_t per_thread = handle<hipStream_t>(std::uintptr_t{2});

struct Registry {
  std::shared_mutex mutex;
  std::unordered_set<ihipStream_t*> alive;
};
Registry& registry() {
  static auto* const streams = new Registry;
  return *streams;
}

// CUDA's normal is its least; HIP's is in the middle.
int native_priority(int priority) {
  int least = 0, greatest = 0;
  cuda()->CtxGetStreamPriorityRange(&least, &greatest);
  return priority < 0 ? greatest : priority > 0 ? least : greatest / 2;
}

/// `make(stream, flags, priority)` makes the native stream.
template <class Make>
hipError_t create(hipStream_t* stream, unsigned flags, int priority, Make&& make) noexcept {
  return on_device([&](const Cuda&) {
    if (stream == nullptr || flags > hipStreamNonBlocking) return hipErrorInvalidValue;
    static std::atomic<unsigned long long> ids{0};
    auto* const made = new ihipStream_t;
    made->device = current_device();
    made->flags = flags;
    made->priority = std::clamp(priority, -1, 1);
    made->id = ++ids;
    made->queue = take_queue(made->device, made->priority);
    const CUresult result = make(&made->cuda, flags, native_priority(made->priority));
    if (result != CUDA_SUCCESS) {
      give_back(made->queue);
      delete made;
      return result == CUDA_ERROR_DEINITIALIZED ? hipErrorDeinitialized : hipErrorOutOfMemory;
    }
    Registry& streams = registry();
    const std::unique_lock lock(streams.mutex);
    streams.alive.insert(made);
    *stream = made;
    return hipSuccess;
  });
}

hipError_t create(hipStream_t* stream, unsigned flags, int priority) noexcept {
  return create(stream, flags, priority, [](auto... arguments) { return cuda()->StreamCreateWithPriority(arguments...); });
}

/// Asks after what a handle stands for, whatever it captures.
template <class F>
hipError_t ask(const char* name, hipStream_t stream, F&& function) noexcept {
  return call([&](const Cuda&) {
    Target target;
    const hipError_t result = resolve(name, stream, target);
    if (result == hipSuccess) function(target);
    return result;
  });
}

}  // namespace

bool is_alive(hipStream_t stream) noexcept {
  Registry& streams = registry();
  const std::shared_lock lock(streams.mutex);
  return streams.alive.contains(stream);
}

bool record_if_alive(ihipStream_t* stream, CUevent event) noexcept {
  Registry& streams = registry();
  const std::shared_lock lock(streams.mutex);
  if (!streams.alive.contains(stream) || is_in_capture({stream->cuda, stream->device, stream, stream->queue})) return false;
  return cuda()->EventRecord(event, stream->cuda) == CUDA_SUCCESS;
}

std::vector<ihipStream_t*> living_streams() {
  Registry& streams = registry();
  const std::shared_lock lock(streams.mutex);
  return {streams.alive.begin(), streams.alive.end()};
}

hipError_t resolve(const char* function, hipStream_t stream, Target& target) noexcept {
  if (stream == nullptr || stream == legacy) {
    target = {CU_STREAM_LEGACY, current_device(), nullptr, queue_of_null_stream(current_device())};
    return hipSuccess;
  }
  if (stream == per_thread) {
    target = {CU_STREAM_PER_THREAD, current_device(), nullptr, queue_of_this_thread(current_device())};
    return hipSuccess;
  }
  if (!is_alive(stream)) {
    if (!before(700)) undefined(function, "the stream does not exist, and handles are not looked at from 7.0 on");
    return hipErrorContextIsDestroyed;
  }
  target = {stream->cuda, stream->device, stream, stream->queue};
  return hipSuccess;
}

bool is_capturing(const Target& target) noexcept {
  if (target.cuda == CU_STREAM_LEGACY) return false;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return ask_capturing(target.cuda, status) == CUDA_SUCCESS && status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

bool is_in_capture(const Target& target) noexcept {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return ask_capturing(target.cuda, status) != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE;
}

CUstream eager(Target& target) noexcept {
  if (target.own == nullptr) return target.cuda;
  const std::lock_guard lock(target.own->mutex);
  if (target.own->twin == nullptr) {
    cuda()->StreamCreateWithPriority(&target.own->twin, CU_STREAM_NON_BLOCKING, 0);
  }
  return target.own->twin;
}

}  // namespace bridge

using namespace bridge;

extern "C" {

hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned flags) { return create(stream, flags, 0); }
hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned flags, int priority) {
  return create(stream, flags, priority);
}

// 7.14. The structures are laid out as CUDA's.
hipError_t hipDeviceGetDevResource(hipDevice_t device, void* resource, int type) {
  return on_device([&](const Cuda& driver) {
    return driver.DeviceGetDevResource == nullptr
               ? hipErrorNotSupported
               : from_cuda(driver.DeviceGetDevResource(native_device(device), resource, type));
  });
}
hipError_t hipDevSmResourceSplitByCount(void* groups, unsigned* count, const void* input, void* rest, unsigned flags,
                                        unsigned least) {
  return on_device([&](const Cuda& driver) {
    if (flags != 0) return hipErrorNotSupported;
    return from_cuda(driver.DevSmResourceSplitByCount(groups, count, input, rest, flags, least));
  });
}
hipError_t hipDevResourceGenerateDesc(void** description, void* resources, unsigned count) {
  return pass(&Cuda::DevResourceGenerateDesc, description, resources, count);
}
hipError_t hipGreenCtxCreate(void** context, void* description, int device, unsigned flags) {
  return on_device([&](const Cuda& driver) {
    constexpr unsigned default_stream = 1;  // CU_GREEN_CTX_DEFAULT_STREAM, which CUDA wants and HIP does not have
    if (flags != 0) return hipErrorInvalidValue;
    return from_cuda(driver.GreenCtxCreate(context, description, native_device(device), default_stream));
  });
}
hipError_t hipExecutionCtxDestroy(void* context) { return pass(&Cuda::GreenCtxDestroy, context); }
hipError_t hipExecutionCtxStreamCreate(hipStream_t* stream, void* context, unsigned flags, int priority) {
  return create(stream, flags, priority, [&](CUstream* made, unsigned with, int of) {
    return cuda()->GreenCtxStreamCreate(made, context, with, of);
  });
}

// Waits for the stream's work, which CUDA's does not.
hipError_t hipStreamDestroy(hipStream_t stream) {
  return call([&](const Cuda& driver) -> hipError_t {
    if (stream == nullptr || stream == per_thread || stream == legacy) return hipErrorInvalidResourceHandle;
    Target target;
    if (const hipError_t error = resolve("hipStreamDestroy", stream, target)) return error;
    {
      const std::unique_lock lock(registry().mutex);
      registry().alive.erase(stream);
    }
    leave_capture(*stream);
    const Scope scope(target.device);
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    ask_capturing(stream->cuda, status);
    if (status == CU_STREAM_CAPTURE_STATUS_NONE) {
      CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
      driver.ThreadExchangeStreamCaptureMode(&mode);
      driver.StreamSynchronize(stream->cuda);
      driver.ThreadExchangeStreamCaptureMode(&mode);
    }
    if (stream->twin != nullptr) driver.StreamDestroy(stream->twin);
    const CUresult result = driver.StreamDestroy(stream->cuda);
    leave_queue(*stream);
    delete stream;
    return from_cuda(result);
  });
}

hipError_t hipStreamQuery(hipStream_t stream) {
  return on_stream("hipStreamQuery", stream,
                   [](const Cuda& driver, const Target& on) { return from_cuda(driver.StreamQuery(on.cuda)); });
}

hipError_t hipStreamSynchronize(hipStream_t stream) {
  return on_stream("hipStreamSynchronize", stream, [](const Cuda& driver, const Target& on) {
    const CUresult result = driver.StreamSynchronize(on.cuda);
    if (result == CUDA_SUCCESS) release_parked(on.device, on.own);
    return from_cuda(result);
  });
}

hipError_t hipStreamGetFlags(hipStream_t stream, unsigned* flags) {
  if (stream == nullptr || flags == nullptr) return call([](const Cuda&) { return hipErrorInvalidValue; });
  return ask("hipStreamGetFlags", stream, [&](const Target& on) { *flags = on.own != nullptr ? on.own->flags : 0; });
}

hipError_t hipStreamGetPriority(hipStream_t stream, int* priority) {
  return ask("hipStreamGetPriority", stream,
             [&](const Target& on) { *priority = on.own != nullptr ? on.own->priority : 0; });
}

hipError_t hipStreamGetDevice(hipStream_t stream, hipDevice_t* device) {
  return ask("hipStreamGetDevice", stream, [&](const Target& on) { *device = on.device; });
}

hipError_t hipStreamGetId(hipStream_t stream, unsigned long long* id) {
  return ask("hipStreamGetId", stream, [&](const Target& on) { *id = on.own != nullptr ? on.own->id : 0; });
}

// --- Attributes: the synchronization policy alone can be set ------------------------------------------------------------

namespace {
constexpr int attribute_synchronization_policy = 3, attribute_priority = 8;
}

hipError_t hipStreamGetAttribute(hipStream_t stream, int attribute, hipLaunchAttributeValue* value) {
  return on_stream("hipStreamGetAttribute", stream, [&](const Cuda& driver, const Target& on) {
    if (attribute == attribute_priority) {
      value->priority = on.own != nullptr ? on.own->priority : 0;
      return hipSuccess;
    }
    if (attribute != attribute_synchronization_policy) return hipErrorInvalidValue;
    CUstreamAttrValue native{};
    const CUresult result = driver.StreamGetAttribute(on.cuda, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &native);
    value->sync_policy = native.syncPolicy;
    return from_cuda(result);
  });
}

hipError_t hipStreamSetAttribute(hipStream_t stream, int attribute, const hipLaunchAttributeValue* value) {
  return on_stream("hipStreamSetAttribute", stream, [&](const Cuda& driver, const Target& on) {
    if (attribute != attribute_synchronization_policy) return hipErrorInvalidValue;
    CUstreamAttrValue native{};
    native.syncPolicy = static_cast<CUsynchronizationPolicy>(value->sync_policy);
    return from_cuda(driver.StreamSetAttribute(on.cuda, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &native));
  });
}

hipError_t hipStreamAttachMemAsync(hipStream_t stream, void* memory, size_t length, unsigned flags) {
  return on_queue("hipStreamAttachMemAsync", stream, [&](const Cuda& driver, const Target& on) {
    return from_cuda(driver.StreamAttachMemAsync(on.cuda, address(memory), length, flags));
  });
}
}
