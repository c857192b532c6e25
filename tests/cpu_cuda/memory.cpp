// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "functions.hpp"

/// Memory, copies, fills, and values that streams write and wait for.
namespace cpu_cuda {
namespace {

struct Pool {
  int device = 0;
  std::uint64_t max_size = 0, threshold = 0, used = 0, reserved = 0;
  bool is_destroyed = false;
};
struct Block {
  std::size_t bytes = 0;
  CUmemorytype type{};
  bool is_managed = false, is_registered = false;
  int device = 0;
  Pool* pool = nullptr;
};
auto& blocks = *new std::map<std::uintptr_t, Block>;  // never destroyed, as nothing here is: threads may outlive main
std::uint64_t used = 0;

[[noreturn]] void end_process(const char* what) {
  std::fprintf(stderr, "CPU CUDA: %s\n", what);
  std::abort();
}

void* pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }
std::map<std::uintptr_t, Block>::iterator block_of(std::uintptr_t address) {
  auto found = blocks.upper_bound(address);
  if (found == blocks.begin()) return blocks.end();
  --found;
  return address < found->first + found->second.bytes ? found : blocks.end();
}

void* take(std::size_t bytes, const Block& block) {
  if (bytes > total_memory - used) return nullptr;
  void* const memory = std::aligned_alloc(512, (bytes + 511) / 512 * 512);
  if (memory == nullptr) return nullptr;
  used += bytes;
  Block& made = blocks[reinterpret_cast<std::uintptr_t>(memory)] = block;
  made.bytes = bytes;
  return memory;
}
void give_back(void* memory) {
  const auto found = blocks.find(reinterpret_cast<std::uintptr_t>(memory));
  if (found == blocks.end()) return;
  used -= found->second.bytes;
  if (Pool* const pool = found->second.pool) {
    pool->used -= found->second.bytes;
    pool->reserved = std::max(pool->used, std::min(pool->reserved, pool->threshold));
  }
  blocks.erase(found);
  std::free(memory);
}

CUresult allocate(void** memory, std::size_t bytes, const Block& block) {
  Lock lock(machine());
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = forbidden_by_capture(lock); result != CUDA_SUCCESS) return result;
  *memory = take(bytes, block);
  return *memory != nullptr ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
CUresult deallocate(void* memory) {
  Lock lock(machine());
  const auto found = blocks.find(reinterpret_cast<std::uintptr_t>(memory));
  if (found == blocks.end() || found->second.is_registered) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = forbidden_by_capture(lock); result != CUDA_SUCCESS) return result;
  for (const auto& stream : streams_of(found->second.device)) stream->last().wait(lock);
  give_back(memory);
  return CUDA_SUCCESS;
}

template <class T>
CUresult fill(CUdeviceptr to, std::size_t pitch, T value, std::size_t width, std::size_t height, CUstream stream) {
  CUDA_MEMSET_NODE_PARAMS parameters{};
  parameters.dst = to;
  parameters.pitch = pitch;
  parameters.value = value;
  parameters.elementSize = sizeof(T);
  parameters.width = width;
  parameters.height = height;
  if (width == 0 || height == 0) return CUDA_SUCCESS;
  return submit(stream, fill_node(parameters));
}

CUDA_MEMCPY3D linear(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.srcDevice = from;
  copy.dstDevice = to;
  copy.WidthInBytes = bytes;
  copy.Height = copy.Depth = 1;
  return copy;
}

/// What copies of memory that the driver does not know make of it: they wait.
bool is_pageable(CUdeviceptr address) {
  const Lock lock(machine());
  return block_of(address) == blocks.end();
}

template <class T>
CUresult wait_for_value(CUstream stream, CUdeviceptr address, T value, unsigned flags) {
  return submit(stream, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, [=] {
    const std::atomic_ref<T> word(*static_cast<T*>(pointer(address)));
    for (;;) {
      const T now = word.load();
      bool over = false;
      switch (flags & 3) {
        case CU_STREAM_WAIT_VALUE_GEQ: over = static_cast<std::make_signed_t<T>>(now - value) >= 0; break;
        case CU_STREAM_WAIT_VALUE_EQ: over = now == value; break;
        case CU_STREAM_WAIT_VALUE_AND: over = (now & value) != 0; break;
        default: over = static_cast<T>(~(now | value)) != 0; break;
      }
      if (over) return;
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  });
}
template <class T>
CUresult write_value(CUstream stream, CUdeviceptr address, T value) {
  return submit(stream, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
                [=] { std::atomic_ref<T>(*static_cast<T*>(pointer(address))).store(value); });
}

}  // namespace

std::unique_ptr<Node> fill_node(const CUDA_MEMSET_NODE_PARAMS& p) {
  return make_node(CU_GRAPH_NODE_TYPE_MEMSET, [p] {
    for (std::size_t row = 0; row < p.height; ++row) {
      char* const to = static_cast<char*>(pointer(p.dst)) + row * p.pitch;
      for (std::size_t i = 0; i < p.width; ++i) std::memcpy(to + i * p.elementSize, &p.value, p.elementSize);
    }
  });
}

std::unique_ptr<Node> copy_node(const CUDA_MEMCPY3D& c) {
  return make_node(CU_GRAPH_NODE_TYPE_MEMCPY, [c] {
    const auto* const from = static_cast<const char*>(pointer(c.srcDevice));
    auto* const to = static_cast<char*>(pointer(c.dstDevice));
    for (std::size_t z = 0; z < c.Depth; ++z) {
      for (std::size_t y = 0; y < c.Height; ++y) {
        std::memmove(to + c.dstXInBytes + (y + c.dstY + (z + c.dstZ) * c.dstHeight) * c.dstPitch,
                     from + c.srcXInBytes + (y + c.srcY + (z + c.srcZ) * c.srcHeight) * c.srcPitch, c.WidthInBytes);
      }
    }
  });
}

// --- Allocation -------------------------------------------------------------------------------------------------------

CUresult MemAlloc(CUdeviceptr* memory, std::size_t bytes) {
  return allocate(reinterpret_cast<void**>(memory), bytes, {.type = CU_MEMORYTYPE_DEVICE, .device = current_device()});
}
CUresult MemFree(CUdeviceptr memory) { return deallocate(pointer(memory)); }
CUresult MemHostAlloc(void** memory, std::size_t bytes, unsigned) {
  return allocate(memory, bytes, {.type = CU_MEMORYTYPE_HOST, .device = current_device()});
}
CUresult MemFreeHost(void* memory) { return deallocate(memory); }
CUresult MemAllocManaged(CUdeviceptr* memory, std::size_t bytes, unsigned) {
  return allocate(reinterpret_cast<void**>(memory), bytes,
                  {.type = CU_MEMORYTYPE_DEVICE, .is_managed = true, .device = current_device()});
}
CUresult MemHostRegister(void* memory, std::size_t bytes, unsigned) {
  Lock lock(machine());
  if (const CUresult result = forbidden_by_capture(lock); result != CUDA_SUCCESS) return result;
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  if (block_of(address) != blocks.end()) return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  blocks[address] = {.bytes = bytes, .type = CU_MEMORYTYPE_HOST, .is_registered = true, .device = current_device()};
  return CUDA_SUCCESS;
}
CUresult MemHostUnregister(void* memory) {
  Lock lock(machine());
  const auto found = blocks.find(reinterpret_cast<std::uintptr_t>(memory));
  if (found == blocks.end() || !found->second.is_registered) return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  if (const CUresult result = forbidden_by_capture(lock); result != CUDA_SUCCESS) return result;
  blocks.erase(found);
  return CUDA_SUCCESS;
}
CUresult MemHostGetDevicePointer(CUdeviceptr* found, void* memory, unsigned) {
  return give(found, reinterpret_cast<CUdeviceptr>(memory));
}
CUresult MemPrefetchAsync(CUdeviceptr, std::size_t, CUdevice, CUstream stream) {
  const Lock lock(machine());
  const auto found = find(stream);
  if (found->capture == nullptr) return CUDA_SUCCESS;
  invalidate_capture(*found);
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}
CUresult MemGetInfo(std::size_t* free, std::size_t* total) {
  const Lock lock(machine());
  *free = total_memory - used;
  *total = total_memory;
  return CUDA_SUCCESS;
}
CUresult PointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr address) {
  const Lock lock(machine());
  const auto found = block_of(address);
  if (found == blocks.end()) return CUDA_ERROR_INVALID_VALUE;
  const Block& block = found->second;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: return give(static_cast<CUmemorytype*>(data), block.type);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: return give(static_cast<int*>(data), block.is_managed ? 1 : 0);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: return give(static_cast<int*>(data), block.device);
    default: return CUDA_ERROR_NOT_SUPPORTED;
  }
}

// --- Stream-ordered allocation ----------------------------------------------------------------------------------------

namespace {

Pool& default_pool(int device) {
  static Pool pools[8];
  pools[device].device = device;
  return pools[device];
}

CUresult allocate_from(Pool& pool, CUdeviceptr* memory, std::size_t bytes, CUstream handle) {
  Lock lock(machine());
  const auto stream = find(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (pool.max_size != 0 && pool.used + bytes > pool.max_size) return CUDA_ERROR_OUT_OF_MEMORY;
  if (stream->capture != nullptr) {  // its memory is there for as long as a graph of it is
    std::shared_ptr<void> owned(std::malloc(bytes), &std::free);
    *memory = reinterpret_cast<CUdeviceptr>(owned.get());
    stream->capture->graph->memory.push_back(std::move(owned));
    lock.unlock();
    return submit(handle, CU_GRAPH_NODE_TYPE_MEM_ALLOC, {});
  }
  *memory = reinterpret_cast<CUdeviceptr>(take(bytes, {.type = CU_MEMORYTYPE_DEVICE, .device = pool.device, .pool = &pool}));
  if (*memory == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  pool.used += bytes;
  pool.reserved = std::max(pool.reserved, pool.used);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult MemAllocAsync(CUdeviceptr* memory, std::size_t bytes, CUstream stream) {
  return allocate_from(default_pool(std::max(0, current_device())), memory, bytes, stream);
}
CUresult MemAllocFromPoolAsync(CUdeviceptr* memory, std::size_t bytes, CUmemoryPool pool, CUstream stream) {
  return allocate_from(*reinterpret_cast<Pool*>(pool), memory, bytes, stream);
}
CUresult MemFreeAsync(CUdeviceptr memory, CUstream stream) {
  {
    const Lock lock(machine());
    const auto found = find(stream);
    if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const bool is_block = blocks.contains(memory);
    if ((found->capture == nullptr) != is_block) return CUDA_ERROR_INVALID_VALUE;  // graphs free what graphs allocate
  }
  {
    const Lock lock(machine());
    const auto block = blocks.find(memory);
    if (block != blocks.end() && block->second.pool != nullptr && block->second.pool->is_destroyed)
      end_process("cuMemFreeAsync of memory from a pool that has been destroyed");
  }
  return submit(stream, CU_GRAPH_NODE_TYPE_MEM_FREE, [memory] {
    const Lock lock(machine());
    give_back(pointer(memory));
  });
}
CUresult MemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  return give(pool, reinterpret_cast<CUmemoryPool>(new Pool{properties->location.id, properties->maxSize}));
}
// NVIDIA's documentation allows memory, and frees that are pending, to outlive their pool. Its driver crashes then, so this
// one ends the process.
CUresult MemPoolDestroy(CUmemoryPool handle) {
  const Lock lock(machine());
  Pool& pool = *reinterpret_cast<Pool*>(handle);
  if (pool.used != 0) end_process("cuMemPoolDestroy while memory of the pool is there, or a free of it is pending");
  pool.is_destroyed = true;
  return CUDA_SUCCESS;
}
CUresult MemPoolTrimTo(CUmemoryPool handle, std::size_t keep) {
  const Lock lock(machine());
  Pool& pool = *reinterpret_cast<Pool*>(handle);
  pool.reserved = std::max<std::uint64_t>(pool.used, std::min<std::uint64_t>(pool.reserved, keep));
  return CUDA_SUCCESS;
}
CUresult MemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  if (attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
    reinterpret_cast<Pool*>(pool)->threshold = *static_cast<std::uint64_t*>(value);
  return CUDA_SUCCESS;
}
CUresult MemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  const Lock lock(machine());
  const Pool& pool = *reinterpret_cast<Pool*>(handle);
  auto& number = *static_cast<std::uint64_t*>(value);
  switch (attribute) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: number = pool.threshold; break;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: number = pool.used; break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: number = pool.reserved; break;
    default: return CUDA_ERROR_NOT_SUPPORTED;
  }
  return CUDA_SUCCESS;
}
CUresult MemPoolSetAccess(CUmemoryPool, const CUmemAccessDesc*, std::size_t) { return CUDA_SUCCESS; }
CUresult DeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
  return give(pool, reinterpret_cast<CUmemoryPool>(&default_pool(device)));
}

// --- Copies and fills -------------------------------------------------------------------------------------------------

CUresult MemcpyAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  if (bytes == 0) return CUDA_SUCCESS;
  const CUresult result = submit(stream, copy_node(linear(to, from, bytes)));
  if (result != CUDA_SUCCESS || (!is_pageable(to) && !is_pageable(from))) return result;
  Lock lock(machine());
  const auto found = find(stream);
  if (found->capture == nullptr) found->last().wait(lock);
  return CUDA_SUCCESS;
}
CUresult Memcpy2DAsync(const CUDA_MEMCPY2D* c, CUstream stream) {
  if (c->WidthInBytes == 0 || c->Height == 0) return CUDA_SUCCESS;
  CUDA_MEMCPY3D copy = linear(c->dstDevice, c->srcDevice, c->WidthInBytes);
  copy.srcPitch = c->srcPitch;
  copy.dstPitch = c->dstPitch;
  copy.Height = c->Height;
  return submit(stream, copy_node(copy));
}
CUresult Memcpy3DAsync(const CUDA_MEMCPY3D* copy, CUstream stream) {
  if (copy->WidthInBytes == 0 || copy->Height == 0 || copy->Depth == 0) return CUDA_SUCCESS;
  return submit(stream, copy_node(*copy));
}
CUresult MemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t count, CUstream stream) {
  return fill(to, 0, value, count, 1, stream);
}
CUresult MemsetD16Async(CUdeviceptr to, unsigned short value, std::size_t count, CUstream stream) {
  return fill(to, 0, value, count, 1, stream);
}
CUresult MemsetD32Async(CUdeviceptr to, unsigned value, std::size_t count, CUstream stream) {
  return fill(to, 0, value, count, 1, stream);
}
CUresult MemsetD2D8Async(CUdeviceptr to, std::size_t pitch, unsigned char value, std::size_t width, std::size_t height,
                         CUstream stream) {
  return fill(to, pitch, value, width, height, stream);
}

// --- Values -----------------------------------------------------------------------------------------------------------

CUresult StreamWaitValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags) {
  return wait_for_value<std::uint32_t>(stream, address, value, flags);
}
CUresult StreamWaitValue64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags) {
  return wait_for_value<std::uint64_t>(stream, address, value, flags);
}
CUresult StreamWriteValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned) {
  return write_value<std::uint32_t>(stream, address, value);
}
CUresult StreamWriteValue64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned) {
  return write_value<std::uint64_t>(stream, address, value);
}
CUresult StreamBatchMemOp(CUstream stream, unsigned count, CUstreamBatchMemOpParams* operations, unsigned) {
  CUresult result = CUDA_SUCCESS;
  for (unsigned i = 0; i < count && result == CUDA_SUCCESS; ++i) {
    const CUstreamBatchMemOpParams& o = operations[i];
    switch (o.operation) {
      case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        result = StreamWaitValue32(stream, o.waitValue.address, o.waitValue.value, o.waitValue.flags);
        break;
      case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        result = StreamWaitValue64(stream, o.waitValue.address, o.waitValue.value64, o.waitValue.flags);
        break;
      case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        result = StreamWriteValue32(stream, o.writeValue.address, o.writeValue.value, 0);
        break;
      default: result = StreamWriteValue64(stream, o.writeValue.address, o.writeValue.value64, 0); break;
    }
  }
  return result;
}

// --- Between processes: not pretended ---------------------------------------------------------------------------------

CUresult IpcGetMemHandle(CUipcMemHandle*, CUdeviceptr) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult IpcOpenMemHandle(CUdeviceptr*, CUipcMemHandle, unsigned) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult IpcCloseMemHandle(CUdeviceptr) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult IpcGetEventHandle(CUipcEventHandle*, CUevent) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult IpcOpenEventHandle(CUevent*, CUipcEventHandle) { return CUDA_ERROR_NOT_SUPPORTED; }

}  // namespace cpu_cuda
