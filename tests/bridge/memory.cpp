// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "bridge.hpp"

/// Memory, copies and fills.
using namespace bridge;

namespace {

CUmemLocation to_cuda(const hipMemLocation& location) {
  CUmemLocation native{};
  native.type = CU_MEM_LOCATION_TYPE_DEVICE;
  native.id = native_device(location.id);
  return native;
}

}  // namespace

extern "C" {

// --- Allocation -------------------------------------------------------------------------------------------------------

hipError_t hipMalloc(void** memory, size_t bytes) {
  return on_device([&](const Cuda& driver) {
    if (memory == nullptr) return hipErrorInvalidValue;
    *memory = nullptr;
    if (bytes == 0) return hipSuccess;
    return give(memory, driver.MemAlloc, bytes);
  });
}

hipError_t hipFree(void* memory) {
  return on_device(
      [&](const Cuda& driver) { return memory == nullptr ? hipSuccess : from_cuda(driver.MemFree(address(memory))); });
}

hipError_t hipHostMalloc(void** memory, size_t bytes, unsigned) {
  return on_device([&](const Cuda& driver) {
    if (memory == nullptr) return hipErrorInvalidValue;
    return from_cuda(driver.MemHostAlloc(memory, bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
  });
}

hipError_t hipHostFree(void* memory) {
  return on_device(
      [&](const Cuda& driver) { return memory == nullptr ? hipSuccess : from_cuda(driver.MemFreeHost(memory)); });
}

hipError_t hipHostRegister(void* memory, size_t bytes, unsigned flags) {
  return on_device([&](const Cuda& driver) {
    // 8 is read-only to CUDA and coarse-grained memory to AMD.
    if ((flags & ~0xFU) != 0) return hipErrorInvalidValue;
    return from_cuda(driver.MemHostRegister(memory, bytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP));
  });
}

hipError_t hipHostUnregister(void* memory) { return pass(&Cuda::MemHostUnregister, memory); }

hipError_t hipHostGetDevicePointer(void** device_pointer, void* memory, unsigned flags) {
  return on_device([&](const Cuda& driver) { return give(device_pointer, driver.MemHostGetDevicePointer, memory, flags); });
}

hipError_t hipMallocManaged(void** memory, size_t bytes, unsigned flags) {
  return on_device([&](const Cuda& driver) {
    if (memory == nullptr || bytes == 0) return hipErrorInvalidValue;
    return give(memory, driver.MemAllocManaged, bytes, flags);
  });
}

hipError_t hipMemPrefetchAsync(const void* memory, size_t bytes, int to, hipStream_t stream) {
  return on_queue("hipMemPrefetchAsync", stream, [&](const Cuda& driver, const Target& on) {
    const CUdevice native = to == hipCpuDeviceId ? CU_DEVICE_CPU : native_device(to);
    return from_cuda(driver.MemPrefetchAsync(address(memory), bytes, native, on.cuda));
  });
}

hipError_t hipMemGetInfo(size_t* free, size_t* total) { return pass(&Cuda::MemGetInfo, free, total); }

// --- Stream-ordered allocation ----------------------------------------------------------------------------------------

namespace {

// AMD's library follows the stream before it looks whether there is one.
void refuse_null_stream(const char* function, hipStream_t stream) {
  if (stream == nullptr) undefined(function, "the null stream is followed as a pointer");
}

/// From 7.1 on no stream gets or gives back memory while another blocking stream of the device captures.
bool another_captures(const Target& on) {
  if (before(701)) return false;
  const auto streams = living_streams();
  return std::any_of(streams.begin(), streams.end(), [&](const ihipStream_t* other) {
    return other != on.own && other->flags == hipStreamDefault && other->device == on.device && other->capture != 0 &&
           (on.own == nullptr || other->capture != on.own->capture);
  });
}

/// From 7.0 on pools neither come nor go while any thread captures, save in the relaxed mode.
bool any_strict_capture() {
  if (before(700)) return false;
  const auto streams = living_streams();
  return std::any_of(streams.begin(), streams.end(), [](const ihipStream_t* stream) {
    return stream->is_origin && stream->capture != 0 && stream->mode != hipStreamCaptureModeRelaxed;
  });
}

}  // namespace

hipError_t hipMallocAsync(void** memory, size_t bytes, hipStream_t stream) {
  refuse_null_stream("hipMallocAsync", stream);
  return on_queue("hipMallocAsync", stream, [&](const Cuda& driver, const Target& on) {
    if (another_captures(on)) return hipErrorStreamCaptureUnsupported;
    if (bytes == 0) return hipSuccess;
    return give(memory, driver.MemAllocAsync, bytes, on.cuda);
  });
}

hipError_t hipFreeAsync(void* memory, hipStream_t stream) {
  refuse_null_stream("hipFreeAsync", stream);
  return on_queue("hipFreeAsync", stream, [&](const Cuda& driver, const Target& on) {
    if (memory == nullptr) return before(700) ? hipErrorInvalidValue : hipSuccess;
    if (another_captures(on)) return hipErrorStreamCaptureUnsupported;
    return from_cuda(driver.MemFreeAsync(address(memory), on.cuda));
  });
}

hipError_t hipMallocFromPoolAsync(void** memory, size_t bytes, hipMemPool_t pool, hipStream_t stream) {
  refuse_null_stream("hipMallocFromPoolAsync", stream);
  return on_queue("hipMallocFromPoolAsync", stream, [&](const Cuda& driver, const Target& on) {
    if (another_captures(on)) return hipErrorStreamCaptureUnsupported;
    return give(memory, driver.MemAllocFromPoolAsync, bytes, handle<CUmemoryPool>(pool), on.cuda);
  });
}

hipError_t hipMemPoolCreate(hipMemPool_t* pool, const hipMemPoolProps* properties) {
  return on_device([&](const Cuda& driver) {
    if (pool == nullptr || properties == nullptr || properties->allocType != hipMemAllocationTypePinned) {
      return hipErrorInvalidValue;
    }
    if (any_strict_capture()) return hipErrorStreamCaptureUnsupported;
    CUmemPoolProps native{};
    native.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    native.location = to_cuda(properties->location);
    // maxSize was carved from what was reserved, in 6.2.
    std::memcpy(&native.maxSize, properties->reserved, sizeof(native.maxSize));
    return give(pool, driver.MemPoolCreate, &native);
  });
}

hipError_t hipMemPoolDestroy(hipMemPool_t pool) {
  return on_device([&](const Cuda& driver) {
    if (any_strict_capture()) return hipErrorStreamCaptureUnsupported;
    return from_cuda(driver.MemPoolDestroy(handle<CUmemoryPool>(pool)));
  });
}

hipError_t hipMemPoolTrimTo(hipMemPool_t pool, size_t keep) {
  return pass(&Cuda::MemPoolTrimTo, handle<CUmemoryPool>(pool), keep);
}

hipError_t hipMemPoolSetAttribute(hipMemPool_t pool, hipMemPoolAttr attribute, void* value) {
  return pass(&Cuda::MemPoolSetAttribute, handle<CUmemoryPool>(pool), static_cast<CUmemPool_attribute>(attribute), value);
}

hipError_t hipMemPoolGetAttribute(hipMemPool_t pool, hipMemPoolAttr attribute, void* value) {
  return pass(&Cuda::MemPoolGetAttribute, handle<CUmemoryPool>(pool), static_cast<CUmemPool_attribute>(attribute), value);
}

hipError_t hipMemPoolSetAccess(hipMemPool_t pool, const hipMemAccessDesc* descriptors, size_t count) {
  return on_device([&](const Cuda& driver) {
    for (size_t i = 0; i < count; ++i) {
      // 6.2 and 6.3 take access away from no device.
      if (descriptors[i].flags == hipMemAccessFlagsProtNone && before(604)) return hipErrorInvalidDevice;
      CUmemAccessDesc native{};
      native.location = to_cuda(descriptors[i].location);
      native.flags = static_cast<CUmemAccess_flags>(descriptors[i].flags);
      const CUresult result = driver.MemPoolSetAccess(handle<CUmemoryPool>(pool), &native, 1);
      if (result != CUDA_SUCCESS) return from_cuda(result);
    }
    return hipSuccess;
  });
}

hipError_t hipDeviceGetDefaultMemPool(hipMemPool_t* pool, int ordinal) {
  return on_device([&](const Cuda& driver) {
    if (!is_device(ordinal)) return hipErrorInvalidDevice;
    return give(pool, driver.DeviceGetDefaultMemPool, native_device(ordinal));
  });
}

// --- Copies -----------------------------------------------------------------------------------------------------------

hipError_t hipMemcpyAsync(void* to, const void* from, size_t bytes, hipMemcpyKind kind, hipStream_t stream) {
  return on_queue("hipMemcpyAsync", stream, [&](const Cuda& driver, const Target& on) {
    if (kind < hipMemcpyHostToHost || kind > hipMemcpyDefault) return hipErrorInvalidMemcpyDirection;
    return from_cuda(driver.MemcpyAsync(address(to), address(from), bytes, on.cuda));
  });
}

hipError_t hipMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                            hipMemcpyKind, hipStream_t stream) {
  return on_queue("hipMemcpy2DAsync", stream, [&](const Cuda& driver, const Target& on) {
    if (width > to_pitch || width > from_pitch) return hipErrorInvalidValue;
    CUDA_MEMCPY2D copy{};
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    copy.srcDevice = address(from);
    copy.srcPitch = from_pitch;
    copy.dstDevice = address(to);
    copy.dstPitch = to_pitch;
    copy.WidthInBytes = width;
    copy.Height = height;
    return from_cuda(driver.Memcpy2DAsync(&copy, on.cuda));
  });
}

hipError_t hipMemcpy3DAsync(const hipMemcpy3DParms* p, hipStream_t stream) {
  return on_queue("hipMemcpy3DAsync", stream, [&](const Cuda& driver, const Target& on) {
    if (p->extent.width > p->srcPtr.pitch || p->extent.width > p->dstPtr.pitch) return hipErrorInvalidValue;
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    copy.srcDevice = address(p->srcPtr.ptr);
    copy.srcPitch = p->srcPtr.pitch;
    copy.srcHeight = p->srcPtr.ysize;
    copy.dstDevice = address(p->dstPtr.ptr);
    copy.dstPitch = p->dstPtr.pitch;
    copy.dstHeight = p->dstPtr.ysize;
    copy.WidthInBytes = p->extent.width;
    copy.Height = p->extent.height;
    copy.Depth = p->extent.depth;
    return from_cuda(driver.Memcpy3DAsync(&copy, on.cuda));
  });
}

// --- Fills ------------------------------------------------------------------------------------------------------------

hipError_t hipMemsetD8Async(hipDeviceptr_t to, unsigned char value, size_t count, hipStream_t stream) {
  return on_queue("hipMemsetD8Async", stream, [&](const Cuda& driver, const Target& on) {
    return from_cuda(driver.MemsetD8Async(address(to), value, count, on.cuda));
  });
}
hipError_t hipMemsetD16Async(hipDeviceptr_t to, unsigned short value, size_t count, hipStream_t stream) {
  return on_queue("hipMemsetD16Async", stream, [&](const Cuda& driver, const Target& on) {
    return from_cuda(driver.MemsetD16Async(address(to), value, count, on.cuda));
  });
}
hipError_t hipMemsetD32Async(hipDeviceptr_t to, int value, size_t count, hipStream_t stream) {
  return on_queue("hipMemsetD32Async", stream, [&](const Cuda& driver, const Target& on) {
    return from_cuda(driver.MemsetD32Async(address(to), static_cast<unsigned>(value), count, on.cuda));
  });
}
hipError_t hipMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height, hipStream_t stream) {
  return on_queue("hipMemset2DAsync", stream, [&](const Cuda& driver, const Target& on) {
    return from_cuda(driver.MemsetD2D8Async(address(to), pitch, static_cast<unsigned char>(value), width, height, on.cuda));
  });
}
}
