// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <mutex>
#include <shared_mutex>

#include "backends/gpu/capture_lock.hpp"
#include "driver.hpp"
#include "newer.hpp"
#include "release.hpp"

/// A libamdhip64 over the CUDA driver: AMD's C interface, with its constants, layouts, argument lists and error codes, and the
/// behaviour of the release that it presents itself as. Test equipment: what a HIP program must not do aborts here, so that
/// it cannot pass unseen.
namespace bridge {

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

/// What each exported function is wrapped in.
template <class F>
hipError_t call(F&& function) noexcept {
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

// --- Streams ----------------------------------------------------------------------------------------------------------

/// How a stream is left behind by a capture that went wrong, in releases that do not put it right.
enum class Stuck : unsigned char { no, invalidated, capturing };

/// A stream as a call finds it.
struct Target {
  CUstream cuda = nullptr;
  int device = 0;
  ihipStream_t* own = nullptr;  // null for the default streams
};

/// Finds what a handle stands for; an error, or the end of the process, where it stands for nothing.
hipError_t resolve(const char* function, hipStream_t stream, Target& target) noexcept;
bool is_capturing(const Target& target) noexcept;
/// A stream that captures nothing, for what a release does at once on a capturing stream. The stream's device is current.
CUstream eager(Target& target) noexcept;

}  // namespace bridge

struct ihipStream_t {
  CUstream cuda = nullptr;
  int device = 0;
  unsigned flags = 0;
  int priority = 0;
  unsigned long long id = 0;
  std::atomic<bridge::Stuck> stuck{bridge::Stuck::no};
  std::mutex mutex;
  CUstream twin = nullptr;
};

struct ihipEvent_t {
  CUevent cuda = nullptr;
  int device = 0;
  unsigned flags = 0;
  std::mutex mutex;  // held while the host waits for the event, as in AMD's library
};

namespace bridge {

/// `call` for work on a stream.
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

}  // namespace bridge
