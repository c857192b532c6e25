// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "backends/gpu/capture_lock.hpp"
#include "driver.hpp"
#include "newer.hpp"
#include "release.hpp"

/// The bridge: a libamdhip64 that is implemented on the CUDA driver. It has AMD's C interface with its constants, layouts,
/// argument lists and error codes, and behaves like the release that it imitates. Only for tests: if a HIP program does
/// something that HIP forbids, the bridge aborts, so that the mistake is found.
namespace bridge {

/// Whether each call that submits work waits until it is done, and host functions are called by the thread that submits
/// them: the environment variable WEIR_BRIDGE_IMMEDIATE.
bool is_immediate() noexcept;

/// Ends the process: the call is one that AMD's library of this release would crash in.
[[noreturn]] void undefined(const char* function, const char* why) noexcept;

/// Exclusive where a capture is begun or ended, shared where one is asked after: CUDA's driver crashes on both at once,
/// which AMD's library is not known to.
weir::gpu::CaptureLock& capture_lock() noexcept;
CUresult ask_capturing(CUstream stream, CUstreamCaptureStatus& status) noexcept;

hipError_t from_cuda(CUresult result) noexcept;
/// What a call returns where there is no device.
hipError_t without_device() noexcept;
/// Keeps the code for hipGetLastError, in the way of the release.
hipError_t finish(hipError_t result) noexcept;

inline CUdeviceptr address(const void* p) noexcept { return reinterpret_cast<CUdeviceptr>(p); }
template <class To, class From>
To handle(From from) noexcept {
  return reinterpret_cast<To>(from);
}

/// Ends the process where the library's static objects have been destroyed, with which it shuts down from 6.2 on.
void check_not_shut_down() noexcept;

/// What each exported function is wrapped in.
template <class F>
hipError_t call(F&& function) noexcept {
  check_not_shut_down();
  const Cuda* const driver = cuda();
  return finish(driver == nullptr ? without_device() : function(*driver));
}

// --- Devices ----------------------------------------------------------------------------------------------------------

/// The calling thread's current device: device 0 until it says otherwise.
int current_device() noexcept;
void set_current_device(int ordinal) noexcept;
bool is_device(int ordinal) noexcept;
CUdevice native_device(int ordinal) noexcept;
CUcontext context_of(int ordinal) noexcept;
int attribute_of(int ordinal, CUdevice_attribute attribute) noexcept;
/// What the device says its architecture is.
inline constexpr const char* architecture = "gfx90a:sramecc+:xnack-";

/// Makes a device's CUDA context current for a scope. HIP has no contexts, so that no trace of one may stay behind.
class Scope {
 public:
  explicit Scope(int ordinal) noexcept { cuda()->CtxPushCurrent(context_of(ordinal)); }
  ~Scope() {
    CUcontext popped = nullptr;
    cuda()->CtxPopCurrent(&popped);
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
};

/// `call` on the current device.
template <class F>
hipError_t on_device(F&& function) noexcept {
  return call([&](const Cuda& driver) {
    const Scope scope(current_device());
    return function(driver);
  });
}

/// A call that CUDA answers as HIP does.
template <class F, class... A>
hipError_t pass(F Cuda::*function, A... arguments) noexcept {
  return on_device([&](const Cuda& driver) { return from_cuda((driver.*function)(arguments...)); });
}

/// Gives the handle of what CUDA makes or finds.
template <class To, class From, class... P, class... A>
hipError_t give(To* to, CUresult (*make)(From*, P...), A... arguments) noexcept {
  From made{};
  const CUresult result = make(&made, arguments...);
  *to = handle<To>(made);
  return from_cuda(result);
}

// --- Streams ----------------------------------------------------------------------------------------------------------

/// How a stream is left behind by a capture that went wrong, in releases that do not put it right.
enum class Stuck : unsigned char { no, invalidated, capturing };

struct HardwareQueue;

/// A stream as a call finds it.
struct Target {
  CUstream cuda = nullptr;
  int device = 0;
  ihipStream_t* own = nullptr;  // null for the default streams
  HardwareQueue* queue = nullptr;
};

/// Finds what a handle stands for; an error, or the end of the process, where it stands for nothing.
hipError_t resolve(const char* function, hipStream_t stream, Target& target) noexcept;
bool is_alive(hipStream_t stream) noexcept;
/// Those that hipStreamCreate made and that have not been destroyed, as they are now.
std::vector<ihipStream_t*> living_streams();
bool is_capturing(const Target& target) noexcept;
/// Whether the stream is in a capture, which may have been invalidated, or cannot be asked because of another one's.
bool is_in_capture(const Target& target) noexcept;
/// A stream that captures nothing, for what a release does at once on a capturing stream. The stream's device is current.
CUstream eager(Target& target) noexcept;

}  // namespace bridge

struct ihipStream_t {
  CUstream cuda = nullptr;
  int device = 0;
  unsigned flags = 0;
  int priority = 0;
  unsigned long long id = 0;
  bridge::HardwareQueue* queue = nullptr;
  std::atomic<bridge::Stuck> stuck{bridge::Stuck::no};
  std::mutex mutex;
  CUstream twin = nullptr;

  // The capture that it is in; guarded by bridge::capture_links().
  std::atomic<unsigned long long> capture{0};
  bool is_origin = false;
  hipStreamCaptureMode mode{};
  std::vector<ihipStream_t*> parallel;  // those that joined the capture by an event of this one
  bool follows_older_nodes = false;     // nodes of an earlier capture
};

struct ihipEvent_t {
  CUevent cuda = nullptr;
  int device = 0;
  unsigned flags = 0;
  std::mutex mutex;  // held while the host waits for the event, as in AMD's library

  // Where it was recorded last; guarded by bridge::capture_links().
  ihipStream_t* stream = nullptr;
  unsigned long long stream_id = 0;      // 0: on no stream that was made
  unsigned long long capture = 0;        // in which; 0: in none
  unsigned long long nodes_capture = 0;  // of which the nodes are that it holds
};

namespace bridge {

std::mutex& capture_links() noexcept;
/// Checks what a call that adds to a capture relies on.
void check_dependencies(const char* function, const Target& target) noexcept;

/// Puts what is submitted during a scope into the stream's hardware queue: behind all that the queue holds, of whatever
/// stream.
class Submission {
 public:
  explicit Submission(const Target& target) noexcept;
  ~Submission();
  Submission(const Submission&) = delete;
  Submission& operator=(const Submission&) = delete;

 private:
  const Target& target_;
  bool counts_ = false;
};

/// Ends the process for an event whose stream has gone: AMD's library follows the event to it.
void check_followed(const char* function, hipEvent_t event) noexcept;
/// 6.2 destroys executables that were parked where the host waits: those launched on a stream, or all of a device.
void release_parked(int device, const ihipStream_t* stream) noexcept;

/// `call` for what is asked of a stream.
template <class F>
hipError_t on_stream(const char* name, hipStream_t stream, F&& function) noexcept {
  return call([&](const Cuda& driver) -> hipError_t {
    Target target;
    if (const hipError_t error = resolve(name, stream, target)) return error;
    if (target.own != nullptr) {
      if (target.own->stuck == Stuck::invalidated) return hipErrorStreamCaptureInvalidated;
      if (target.own->stuck == Stuck::capturing) return hipSuccess;  // into a graph that nobody will see
    }
    const Scope scope(target.device);
    return function(driver, target);
  });
}

/// `call` for work that a stream is given.
template <class F>
hipError_t on_queue(const char* name, hipStream_t stream, F&& function) noexcept {
  return on_stream(name, stream, [&](const Cuda& driver, Target& target) -> hipError_t {
    check_dependencies(name, target);
    const Submission submission(target);
    return function(driver, target);
  });
}

}  // namespace bridge
