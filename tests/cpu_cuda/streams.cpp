// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iterator>

#include "functions.hpp"

/// Devices, contexts, streams, events, host functions.
namespace cpu_cuda {
namespace {

using Clock = std::chrono::steady_clock;

int contexts[8];  // what the handles of contexts point to
// Plain data, since static objects' destructors come behind those of the main thread's own.
thread_local CUcontext stack[64];
thread_local std::size_t depth = 0;
thread_local bool runs_host_function = false;
std::atomic<bool> shut_down{false};
std::atomic<int> executing{0};  // streams' work

struct Streams {
  std::map<Stream*, std::shared_ptr<Stream>> made;
  std::shared_ptr<Stream> legacy[8];
};
Streams& streams() {
  static auto* const all = new Streams;
  return *all;
}

struct Event {
  Point point;
  bool has_time = true;
  std::shared_ptr<Clock::time_point> time = std::make_shared<Clock::time_point>();
  std::shared_ptr<Capture> capture;  // in which it was recorded last
  std::vector<Node*> nodes;
};
Event& event_of(CUevent event) { return *reinterpret_cast<Event*>(event); }

std::shared_ptr<Stream> make_stream(int device, bool is_blocking, int priority) {
  auto stream = std::make_shared<Stream>();
  stream->device = device;
  stream->is_blocking = is_blocking;
  stream->priority = priority;
  stream->policy.syncPolicy = CU_SYNC_POLICY_AUTO;
  streams().made.emplace(stream.get(), stream);
  return stream;
}

void run(const std::shared_ptr<Stream>& stream) {
  Lock lock(machine());
  while (!stream->queue.empty() && !is_shut_down()) {
    Work work = std::move(stream->queue.front());
    stream->queue.pop_front();
    for (const Point& point : work.after) point.wait(lock);
    if (is_shut_down()) break;
    ++executing;
    lock.unlock();
    if (work.run) work.run();
    work = {};  // what it holds goes without the lock, and before the stream is idle
    --executing;
    lock.lock();
    ++stream->done;
    stream->changed.notify_all();
  }
  stream->is_running = false;
}

/// Whether a stream may be asked or waited for. Captures of other streams do not forbid it.
CUresult check_can_wait(Stream& stream) {
  if (stream.capture != nullptr) {
    invalidate_capture(stream);
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  if (!stream.is_legacy) return CUDA_SUCCESS;
  for (const auto& other : streams_of(stream.device)) {
    if (!other->is_blocking || other->capture == nullptr) continue;
    invalidate_capture(*other);
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  }
  return CUDA_SUCCESS;
}

CUresult wait_for(CUstream handle) {
  Lock lock(machine());
  const auto stream = find(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (const CUresult result = check_can_wait(*stream); result != CUDA_SUCCESS) return result;
  stream->last().wait(lock);
  return CUDA_SUCCESS;
}

/// 907 for an event that a capture recorded.
CUresult check_not_captured(Event& event) {
  if (event.capture == nullptr || event.capture->graph == nullptr) return CUDA_SUCCESS;
  event.capture->status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
  return CUDA_ERROR_CAPTURED_EVENT;
}

}  // namespace

std::mutex& machine() noexcept {
  static auto* const mutex = new std::mutex;
  return *mutex;
}

bool is_shut_down() noexcept { return shut_down; }

int device_count() noexcept {
  static const int count = [] {
    const char* const text = std::getenv("CPU_CUDA_DEVICES");
    return text != nullptr ? std::clamp(std::atoi(text), 0, 8) : 1;
  }();
  return count;
}
CUcontext context_of(int device) noexcept { return reinterpret_cast<CUcontext>(&contexts[device]); }
int device_of(CUcontext context) noexcept { return static_cast<int>(reinterpret_cast<int*>(context) - contexts); }
int current_device() noexcept { return depth == 0 ? -1 : device_of(stack[depth - 1]); }
bool in_host_function() noexcept { return runs_host_function; }

bool Point::is_reached() const noexcept { return stream == nullptr || stream->done >= number; }
void Point::wait(Lock& lock) const {
  if (stream != nullptr) stream->changed.wait(lock, [this] { return is_reached(); });
}

std::shared_ptr<Stream> find(CUstream handle) {
  const int device = current_device();
  if (handle == nullptr || handle == CU_STREAM_LEGACY) {
    if (device < 0) return nullptr;
    auto& stream = streams().legacy[device];
    if (stream == nullptr) {
      stream = make_stream(device, true, 0);
      stream->is_legacy = true;
    }
    return stream;
  }
  if (handle == CU_STREAM_PER_THREAD) {
    // Never destroyed: static objects' destructors come behind those of the main thread's own.
    thread_local auto* const mine = new std::map<int, std::shared_ptr<Stream>>;
    if (device < 0) return nullptr;
    auto& stream = (*mine)[device];
    if (stream == nullptr) stream = make_stream(device, true, 0);
    return stream;
  }
  const auto found = streams().made.find(reinterpret_cast<Stream*>(handle));
  return found == streams().made.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<Stream>> streams_of(int device) {
  std::vector<std::shared_ptr<Stream>> list;
  for (const auto& [pointer, stream] : streams().made) {
    if (stream->device == device) list.push_back(stream);
  }
  return list;
}

void enqueue(Lock& lock, const std::shared_ptr<Stream>& stream, std::function<void()> run_work, std::vector<Point> after) {
  constexpr std::size_t most = 1024;
  stream->changed.wait(lock, [&] { return stream->queue.size() < most; });
  if (stream->is_legacy) {
    for (const auto& other : streams_of(stream->device)) {
      if (other->is_blocking && other != stream && other->submitted > other->done) after.push_back(other->last());
    }
  } else if (stream->is_blocking && streams().legacy[stream->device] != nullptr) {
    after.push_back(streams().legacy[stream->device]->last());
  }
  stream->queue.push_back({std::move(run_work), std::move(after)});
  ++stream->submitted;
  if (stream->is_running) return;
  stream->is_running = true;
  std::thread([stream] { run(stream); }).detach();
}

// --- Devices ----------------------------------------------------------------------------------------------------------

CUresult Init(unsigned) {
  static const int registered = std::atexit([] {
    {
      const Lock lock(machine());
      shut_down = true;
    }
    const auto patience = Clock::now() + std::chrono::seconds(1);
    while (executing != 0 && Clock::now() < patience) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  return registered == 0 && device_count() > 0 ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}
CUresult DeviceGetCount(int* count) { return give(count, device_count()); }
CUresult DeviceGet(CUdevice* device, int ordinal) {
  *device = ordinal;
  return ordinal >= 0 && ordinal < device_count() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
CUresult DeviceGetName(char* name, int length, CUdevice) {
  const std::string text = "a CPU";
  text.copy(name, static_cast<std::size_t>(length) - 1);
  name[std::min<std::size_t>(text.size(), static_cast<std::size_t>(length) - 1)] = '\0';
  return CUDA_SUCCESS;
}
CUresult DeviceGetUuid(CUuuid* uuid, CUdevice device) {
  *uuid = {};
  uuid->bytes[0] = static_cast<char>(0x10 + device);
  return CUDA_SUCCESS;
}
CUresult DeviceTotalMem(std::size_t* bytes, CUdevice) { return give(bytes, total_memory); }
CUresult DeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y: *value = 1024; break;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z: *value = 64; break;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X: *value = 2147483647; break;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z: *value = 65535; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: *value = 48 << 10; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: *value = 227 << 10; break;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE: *value = 32; break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = 4; break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: *value = 2048; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = 9; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    case CU_DEVICE_ATTRIBUTE_INTEGRATED:
    case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID:
    case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID: *value = 0; break;
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID: *value = device; break;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK: *value = 65536; break;
    default: *value = 1; break;
  }
  return CUDA_SUCCESS;
}
CUresult DeviceCanAccessPeer(int* can, CUdevice from, CUdevice to) { return give(can, from != to ? 1 : 0); }
CUresult DevicePrimaryCtxRetain(CUcontext* context, CUdevice device) { return give(context, context_of(device)); }
CUresult CtxPushCurrent(CUcontext context) {
  if (depth == std::size(stack)) return CUDA_ERROR_OUT_OF_MEMORY;
  stack[depth++] = context;
  return CUDA_SUCCESS;
}
CUresult CtxPopCurrent(CUcontext* context) {
  if (depth == 0) return CUDA_ERROR_INVALID_CONTEXT;
  return give(context, stack[--depth]);
}
CUresult CtxGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return CUDA_SUCCESS;
}
CUresult CtxSynchronize() {
  Lock lock(machine());
  const int device = current_device();
  for (const auto& stream : streams_of(device)) {
    if (stream->capture == nullptr || stream->capture->status != CU_STREAM_CAPTURE_STATUS_ACTIVE) continue;
    invalidate_capture(*stream);
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  for (const auto& stream : streams_of(device)) stream->last().wait(lock);
  return CUDA_SUCCESS;
}

namespace {
auto& peers = *new std::set<std::pair<int, int>>;
}
CUresult CtxEnablePeerAccess(CUcontext peer, unsigned) {
  const Lock lock(machine());
  return peers.emplace(current_device(), device_of(peer)).second ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}
CUresult CtxDisablePeerAccess(CUcontext peer) {
  const Lock lock(machine());
  return peers.erase({current_device(), device_of(peer)}) != 0 ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}

// --- Streams ----------------------------------------------------------------------------------------------------------

CUresult StreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  const Lock lock(machine());
  if (current_device() < 0) return CUDA_ERROR_INVALID_CONTEXT;
  *stream = reinterpret_cast<CUstream>(
      make_stream(current_device(), (flags & CU_STREAM_NON_BLOCKING) == 0, std::clamp(priority, -5, 0)).get());
  return CUDA_SUCCESS;
}
CUresult StreamDestroy(CUstream handle) {
  Lock lock(machine());
  const auto stream = find(handle);
  if (stream == nullptr || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD) return CUDA_ERROR_INVALID_HANDLE;
  const auto capture = stream->capture;
  if (capture != nullptr && capture->origin == stream.get()) {
    leave_capture(capture);
  } else {
    invalidate_capture(*stream);
  }
  streams().made.erase(stream.get());  // its thread has it until its work is done
  lock.unlock();
  return CUDA_SUCCESS;
}
CUresult StreamQuery(CUstream handle) {
  const Lock lock(machine());
  const auto stream = find(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (const CUresult result = check_can_wait(*stream); result != CUDA_SUCCESS) return result;
  return stream->last().is_reached() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
CUresult StreamSynchronize(CUstream handle) { return wait_for(handle); }
CUresult StreamGetAttribute(CUstream handle, CUstreamAttrID, CUstreamAttrValue* value) {
  const Lock lock(machine());
  return give(value, find(handle)->policy);
}
CUresult StreamSetAttribute(CUstream handle, CUstreamAttrID, const CUstreamAttrValue* value) {
  const Lock lock(machine());
  find(handle)->policy = *value;
  return CUDA_SUCCESS;
}
CUresult StreamAttachMemAsync(CUstream handle, CUdeviceptr, std::size_t, unsigned) {
  const Lock lock(machine());
  const auto stream = find(handle);
  if (stream->capture == nullptr) return CUDA_SUCCESS;
  invalidate_capture(*stream);
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

void call_host_function(CUhostFn function, void* data) {
  runs_host_function = true;
  function(data);
  runs_host_function = false;
}
CUresult LaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
  auto node = make_node(CU_GRAPH_NODE_TYPE_HOST);
  node->host = {function, data};
  return submit(stream, std::move(node));
}
CUresult StreamAddCallback(CUstream handle, CUstreamCallback function, void* data, unsigned) {
  Lock lock(machine());
  const auto stream = find(handle);
  if (stream->capture != nullptr) {
    invalidate_capture(*stream);
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  enqueue(lock, stream, [=] {
    runs_host_function = true;
    function(handle, CUDA_SUCCESS, data);
    runs_host_function = false;
  });
  return CUDA_SUCCESS;
}

// --- Events -----------------------------------------------------------------------------------------------------------

CUresult EventCreate(CUevent* event, unsigned flags) {
  auto* const made = new Event;
  made->has_time = (flags & CU_EVENT_DISABLE_TIMING) == 0;
  return give(event, reinterpret_cast<CUevent>(made));
}
CUresult EventDestroy(CUevent event) {
  const Lock lock(machine());
  delete &event_of(event);
  return CUDA_SUCCESS;
}
CUresult EventRecord(CUevent handle, CUstream to) {
  std::this_thread::yield();  // other threads' calls may come first, as with the real driver
  Lock lock(machine());
  const auto stream = find(to);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  Event& event = event_of(handle);
  if (stream->capture != nullptr) {
    if (stream->capture->status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    event.capture = stream->capture;
    event.nodes = stream->dependencies;
    return CUDA_SUCCESS;
  }
  auto time = std::make_shared<Clock::time_point>();
  enqueue(lock, stream, [time] { *time = Clock::now(); });
  event.capture = nullptr;
  event.time = std::move(time);
  event.point = stream->last();
  return CUDA_SUCCESS;
}
CUresult EventRecordWithFlags(CUevent handle, CUstream to, unsigned flags) {
  if ((flags & CU_EVENT_RECORD_EXTERNAL) == 0) return EventRecord(handle, to);
  // A node that records where the graph runs: as a stream of its own that nobody waits for but by this event.
  return submit(to, CU_GRAPH_NODE_TYPE_EVENT_RECORD, [handle] {
    const Lock lock(machine());
    Event& event = event_of(handle);
    event.capture = nullptr;
    event.point = {};
    *event.time = Clock::now();
  });
}
CUresult StreamWaitEvent(CUstream handle, CUevent awaited, unsigned flags) {
  Lock lock(machine());
  const auto stream = find(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  Event& event = event_of(awaited);
  if ((flags & CU_EVENT_WAIT_EXTERNAL) != 0) {
    lock.unlock();
    return submit(handle, CU_GRAPH_NODE_TYPE_WAIT_EVENT, [awaited] {
      Lock inner(machine());
      const Point point = event_of(awaited).point;
      point.wait(inner);
    });
  }
  if (event.capture != nullptr && event.capture->graph != nullptr) {
    if (stream->capture != nullptr && stream->capture != event.capture) {
      invalidate_capture(*stream);
      return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    }
    if (stream->is_legacy) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    stream->capture = event.capture;
    for (Node* node : event.nodes) {
      if (std::find(stream->dependencies.begin(), stream->dependencies.end(), node) == stream->dependencies.end())
        stream->dependencies.push_back(node);
    }
    return CUDA_SUCCESS;
  }
  if (stream->capture != nullptr) {
    if (event.point.stream == nullptr) return CUDA_SUCCESS;  // never recorded
    invalidate_capture(*stream);
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  if (event.point.stream != nullptr) enqueue(lock, stream, {}, {event.point});
  return CUDA_SUCCESS;
}
CUresult EventQuery(CUevent handle) {
  Lock lock(machine());
  Event& event = event_of(handle);
  if (const CUresult result = check_not_captured(event); result != CUDA_SUCCESS) return result;
  if (const CUresult result = forbidden_by_capture(lock); result != CUDA_SUCCESS) return result;
  return event.point.is_reached() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
CUresult EventSynchronize(CUevent handle) {
  Lock lock(machine());
  Event& event = event_of(handle);
  if (const CUresult result = check_not_captured(event); result != CUDA_SUCCESS) return result;
  if (const CUresult result = forbidden_by_capture(lock); result != CUDA_SUCCESS) return result;
  const Point point = event.point;
  point.wait(lock);
  return CUDA_SUCCESS;
}
CUresult EventElapsedTime(float* milliseconds, CUevent start, CUevent stop) {
  const Lock lock(machine());
  const Event &from = event_of(start), &to = event_of(stop);
  if (!from.has_time || !to.has_time || *from.time == Clock::time_point() || to.point.number == 0)
    return from.point.is_reached() && to.point.is_reached() ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_NOT_READY;
  if (!from.point.is_reached() || !to.point.is_reached()) return CUDA_ERROR_NOT_READY;
  return give(milliseconds, std::chrono::duration<float, std::milli>(*to.time - *from.time).count());
}

}  // namespace cpu_cuda
