// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "bridge.hpp"
#include "queues.hpp"

/// Stream capture, including the state in which AMD's library leaves streams after a failed capture.
using namespace bridge;

namespace {

// A release that leaves a stream in a broken capture's state lets a new capture begin on it once the status is not active.
hipError_t check_can_begin(const char* function, hipStream_t stream, hipStreamCaptureMode mode, Target& target) {
  if (const hipError_t error = resolve(function, stream, target)) return error;
  if (target.cuda == CU_STREAM_LEGACY) return hipErrorStreamCaptureUnsupported;
  if (mode < hipStreamCaptureModeGlobal || mode > hipStreamCaptureModeRelaxed) return hipErrorInvalidValue;
  if (target.own != nullptr && target.own->stuck == Stuck::capturing) return hipErrorIllegalState;
  return hipSuccess;
}

/// The stream's capture has begun.
void begin_links(ihipStream_t& stream, hipStreamCaptureMode mode) {
  CUstreamCaptureStatus status{};
  cuuint64_t id = 0;
  cuda()->StreamGetCaptureInfo(stream.cuda, &status, &id, nullptr, nullptr, nullptr);
  const std::lock_guard lock(capture_links());
  stream.capture = id;
  stream.is_origin = true;
  stream.mode = mode;
}

/// Follows the links between streams as hipStreamEndCapture does, which forgets each only when it has come back from it.
void follow_links(const ihipStream_t* stream, std::vector<const ihipStream_t*>& path) {
  if (std::find(path.begin(), path.end(), stream) != path.end())
    undefined("hipStreamEndCapture",
              "the streams that joined the capture are linked in a circle, which is followed without end");
  path.push_back(stream);
  for (const ihipStream_t* next : stream->parallel) follow_links(next, path);
  path.pop_back();
}

void leave_links(unsigned long long capture) {
  for (ihipStream_t* stream : living_streams()) {
    if (stream->capture != capture) continue;
    stream->capture = 0;
    stream->is_origin = false;
    stream->parallel.clear();
    stream->follows_older_nodes = false;
  }
}

}  // namespace

std::mutex& bridge::capture_links() noexcept {
  static auto* const mutex = new std::mutex;
  return *mutex;
}

void bridge::check_dependencies(const char* function, const Target& target) noexcept {
  if (target.own == nullptr || target.own->capture == 0 || !is_capturing(target)) return;
  const std::lock_guard lock(capture_links());
  if (target.own->follows_older_nodes)
    undefined(function, "the stream goes on behind nodes of an earlier capture, which its event still had");
}

void bridge::leave_capture(ihipStream_t& stream) noexcept {
  const std::lock_guard lock(capture_links());
  if (stream.capture != 0 && stream.is_origin) leave_links(stream.capture);
  for (ihipStream_t* other : living_streams()) std::erase(other->parallel, &stream);
}

weir::gpu::CaptureLock& bridge::capture_lock() noexcept {
  static auto* const lock = new weir::gpu::CaptureLock;
  return *lock;
}

CUresult bridge::ask_capturing(CUstream stream, CUstreamCaptureStatus& status) noexcept {
  const weir::gpu::CaptureLock::Question question(capture_lock());
  return cuda()->StreamIsCapturing(stream, &status);
}

extern "C" {

hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode) {
  return call([&](const Cuda& driver) -> hipError_t {
    Target on;
    if (const hipError_t error = check_can_begin("hipStreamBeginCapture", stream, mode, on)) return error;
    const Scope scope(on.device);
    const auto others_out = keep_out_of_captures(on);
    const std::lock_guard lock(capture_lock());
    const CUresult result = driver.StreamBeginCapture(on.cuda, static_cast<CUstreamCaptureMode>(mode));
    if (result == CUDA_SUCCESS && on.own != nullptr) {
      on.own->stuck = Stuck::no;
      begin_links(*on.own, mode);
    }
    return from_cuda(result);
  });
}

hipError_t hipStreamBeginCaptureToGraph(hipStream_t stream, hipGraph_t graph, const hipGraphNode_t* dependencies,
                                        const hipGraphEdgeData* edges, size_t count, hipStreamCaptureMode mode) {
  return call([&](const Cuda& driver) -> hipError_t {
    if (edges != nullptr) return hipErrorNotSupported;
    if (graph == nullptr || (dependencies == nullptr) != (count == 0)) return hipErrorInvalidValue;
    Target on;
    if (const hipError_t error = check_can_begin("hipStreamBeginCaptureToGraph", stream, mode, on)) return error;
    const Scope scope(on.device);
    const auto others_out = keep_out_of_captures(on);
    const std::lock_guard lock(capture_lock());
    const CUresult result =
        driver.StreamBeginCaptureToGraph(on.cuda, handle<CUgraph>(graph), reinterpret_cast<const CUgraphNode*>(dependencies),
                                         nullptr, count, static_cast<CUstreamCaptureMode>(mode));
    if (result == CUDA_SUCCESS && on.own != nullptr) begin_links(*on.own, mode);
    return from_cuda(result);
  });
}

hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t* graph) {
  return call([&](const Cuda& driver) -> hipError_t {
    if (graph == nullptr) return hipErrorInvalidValue;
    if (stream == nullptr) return hipErrorIllegalState;
    Target on;
    if (const hipError_t error = resolve("hipStreamEndCapture", stream, on)) return error;
    // Its thread has given the capture up already.
    if (on.own != nullptr && on.own->stuck != Stuck::no) return hipErrorStreamCaptureWrongThread;
    const Scope scope(on.device);
    CUgraph made = nullptr;
    const std::lock_guard lock(capture_lock());
    const CUresult result = driver.StreamEndCapture(on.cuda, &made);
    if (on.own != nullptr && on.own->is_origin) {
      const std::lock_guard links(capture_links());
      std::vector<const ihipStream_t*> path;
      if (result == CUDA_SUCCESS) follow_links(on.own, path);
      leave_links(on.own->capture);
    }
    *graph = handle<hipGraph_t>(made);
    if (on.own != nullptr) {
      // Both returns come before the one place that sets the streams' state back.
      if (result == CUDA_ERROR_STREAM_CAPTURE_UNJOINED) on.own->stuck = Stuck::capturing;
      if (result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED && before(714)) on.own->stuck = Stuck::invalidated;
    }
    return from_cuda(result);
  });
}

hipError_t hipStreamGetCaptureInfo_v2(hipStream_t stream, hipStreamCaptureStatus* status, unsigned long long* id,
                                      hipGraph_t* graph, const hipGraphNode_t** dependencies, size_t* count) {
  return call([&](const Cuda& driver) -> hipError_t {
    if (status == nullptr) return hipErrorInvalidValue;
    if (stream == nullptr) return hipErrorUnknown;
    Target on;
    if (const hipError_t error = resolve("hipStreamGetCaptureInfo_v2", stream, on)) return error;
    if (on.own != nullptr && on.own->stuck != Stuck::no) {
      *status = on.own->stuck == Stuck::invalidated ? hipStreamCaptureStatusInvalidated : hipStreamCaptureStatusActive;
      return hipSuccess;
    }
    const Scope scope(on.device);
    CUstreamCaptureStatus native = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t native_id = 0;
    CUgraph native_graph = nullptr;
    const CUgraphNode* native_dependencies = nullptr;
    std::size_t native_count = 0;
    const weir::gpu::CaptureLock::Question question(capture_lock());
    const CUresult result =
        driver.StreamGetCaptureInfo(on.cuda, &native, &native_id, &native_graph, &native_dependencies, &native_count);
    if (result != CUDA_SUCCESS) return from_cuda(result);
    *status = static_cast<hipStreamCaptureStatus>(native);
    if (native != CU_STREAM_CAPTURE_STATUS_ACTIVE) return hipSuccess;  // the other results are left as they were
    if (id != nullptr) *id = native_id;
    if (graph != nullptr) *graph = handle<hipGraph_t>(native_graph);
    if (dependencies != nullptr) *dependencies = reinterpret_cast<const hipGraphNode_t*>(native_dependencies);
    if (count != nullptr) *count = native_count;
    return hipSuccess;
  });
}

hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus* status) {
  return call([&](const Cuda&) -> hipError_t {
    if (status == nullptr) return hipErrorInvalidValue;
    Target on;
    if (const hipError_t error = resolve("hipStreamIsCapturing", stream, on)) return error;
    if (on.own != nullptr && on.own->stuck != Stuck::no) {
      *status = on.own->stuck == Stuck::invalidated ? hipStreamCaptureStatusInvalidated : hipStreamCaptureStatusActive;
      return hipSuccess;
    }
    const Scope scope(on.device);
    CUstreamCaptureStatus native = CU_STREAM_CAPTURE_STATUS_NONE;
    const CUresult result = ask_capturing(on.cuda, native);
    *status = static_cast<hipStreamCaptureStatus>(native);
    return from_cuda(result);
  });
}

hipError_t hipStreamUpdateCaptureDependencies(hipStream_t stream, hipGraphNode_t* dependencies, size_t count,
                                              unsigned flags) {
  return on_stream("hipStreamUpdateCaptureDependencies", stream, [&](const Cuda& driver, const Target& on) {
    if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES && on.own != nullptr) {
      const std::lock_guard lock(capture_links());
      on.own->follows_older_nodes = false;
    }
    return from_cuda(
        driver.StreamUpdateCaptureDependencies(on.cuda, reinterpret_cast<CUgraphNode*>(dependencies), count, flags));
  });
}

hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode* mode) {
  return call([&](const Cuda& driver) {
    auto native = static_cast<CUstreamCaptureMode>(*mode);
    const CUresult result = driver.ThreadExchangeStreamCaptureMode(&native);
    *mode = static_cast<hipStreamCaptureMode>(native);
    return from_cuda(result);
  });
}
}
