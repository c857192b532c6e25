// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "weir/backend.hpp"
#include "weir/plugin/capture.hpp"
#include "weir/plugin/operation.hpp"
#include "weir/plugin/support.hpp"

/// `Captures`: the open captures that were begun through Weir, the streams in them, and the calls that they forbid.
namespace weir::detail {

/// The number of open captures that were begun through Weir.
extern std::atomic<std::uint32_t> open_captures;

struct OpenCapture {
  StreamKey origin;  ///< the native stream that began the capture
  std::uint64_t id = 0;
  std::uint64_t thread = 0;  ///< the thread that began the capture
  CaptureMode mode = CaptureMode::thread_local_;
  std::uint64_t outer = 0;  ///< for the capture of a conditional node's body: the id of the capture that contains the node
  std::uint32_t bodies = 0;  ///< how many bodies of conditional nodes in this capture are being captured now
  bool ending = false;      ///< a thread is ending the capture, so no other thread may
};

/// All open captures of the process. Any thread may call its functions. One mutex guards all entries. It is locked when a
/// capture begins or ends and when a stream joins one; streams that are not capturing never lock it.
class Captures {
 public:
  static Captures& instance() noexcept;

  /// Calls `begin`, which begins the capture in the driver and returns its id, and adds an entry with `stream` as the first
  /// stream. Holds the mutex during all of this, so that a thread that finds the capture in the driver also finds its entry.
  /// `resumed`: the graph that the capture continues, or null. `work`: records the operations of a portable capture, or
  /// null.
  void open(Stream& stream, OpenCapture capture, bool blocking, GraphPtr resumed, std::shared_ptr<CapturedWork>&& work,
            const std::function<std::uint64_t()>& begin);
  /// The object that records the operations of the capture, if it is portable; otherwise null.
  std::shared_ptr<CapturedWork> work(const Backend& backend, std::uint64_t id) const noexcept;
  /// Makes the capture that `stream` is in portable: from now on `work` records its operations.
  void write_down(const Stream& stream, std::shared_ptr<CapturedWork> work) noexcept;
  /// The open capture that the native stream `origin` began. If there are two, because one is just being ended, returns the
  /// other.
  std::optional<OpenCapture> find(const StreamKey& origin) const;
  /// First step of ending a capture: reserves the end for the calling thread and returns the capture's resources. The thread
  /// then ends the capture in the driver and calls `close`. Returns nullopt if another thread is ending or has ended the
  /// capture.
  std::optional<CaptureResources> claim(const Backend& backend, std::uint64_t id) noexcept;
  /// Last step of ending a capture: removes the entry. Its streams are then no longer in a capture. Native streams in
  /// `open_bodies` move to the outer capture.
  void close(const Backend& backend, std::uint64_t id) noexcept;

  /// For the capture of a conditional node's body that cannot be ended now: keeps its native stream until the outer capture
  /// ends (`CaptureResources::open_bodies`). If the outer capture was not begun through Weir, keeps the stream forever and
  /// returns false.
  bool leave_open(const Backend& backend, std::uint64_t id, std::shared_ptr<const void> native_stream) noexcept;
  void leave_open_for_ever(std::shared_ptr<const void> native_stream) noexcept;

  bool is_open(const Backend& backend, std::uint64_t id) const noexcept;
  /// Makes the capture's graph an owner of `module`. Returns false if the capture was not begun through Weir.
  bool keep(const Backend& backend, std::uint64_t id, const ModulePtr& module);
  /// See `support::attach_to_capture`.
  std::shared_ptr<void> attach(const Backend& backend, std::uint64_t id, std::shared_ptr<void>&& object);
  /// Whether a stream still captures into `graph` (`Stream::resume_capture`).
  bool is_continued(const Graph& graph) const noexcept;
  /// Called when a `Stream` object is destroyed while its native stream is in a capture.
  void leave(const Stream& stream) noexcept;

  /// An open capture whose mode does not allow the calling thread to make unsafe calls on `backend`; nullopt if there is
  /// none.
  std::optional<OpenCapture> forbidding_unsafe_calls(const Backend& backend) const noexcept;
  /// Whether a stream of `device` is in a capture. With `blocking_only`, considers only blocking streams, which are ordered
  /// with the legacy default stream.
  bool any_on(const Device& device, bool blocking_only) const noexcept;

 private:
  friend class JoinCapture;
  friend class CaptureHeld;
  friend class support::DeviceWideCall;
  /// A stream in a capture. `stream` becomes null if the object is destroyed: the native stream remains in the capture.
  struct Member {
    Stream* stream;
    const Device* device;
    bool blocking;
  };
  struct Entry {
    OpenCapture capture;
    std::vector<Member> members;
    CaptureResources resources;
    std::shared_ptr<void> attached;  // see `support::attach_to_capture`
  };
  using Entries = std::vector<std::unique_ptr<Entry>>;

  Entry* find(const Backend& backend, std::uint64_t id) const noexcept;
  std::unique_ptr<Entry> remove(const Entry& entry) noexcept;
  static bool leave_open_in(Entry* outer, std::shared_ptr<const void> native_stream) noexcept;
  bool continues(const Graph& graph) const noexcept;
  bool has_on(const Device& device, bool blocking_only) const noexcept;
  /// Removes the stream from the entry that it is in: it is being destroyed, or enters another capture because external code
  /// has ended the first one.
  void forget(const Stream& stream) noexcept;

  mutable std::mutex mutex_;
  // The devices on which a `support::DeviceWideCall` is in progress. Begins and joins of captures on these devices wait for
  // its end.
  std::vector<const Device*> device_wide_calls_;
  std::condition_variable device_wide_calls_over_;
  Entries open_;
  std::unique_ptr<Entry> spare_;  // reused by the next capture, so that beginning it allocates no memory
};

/// Exists while a stream calls the driver for a wait by which it joins a capture. The constructor waits for device-wide
/// calls on the stream's device and adds the stream to the entry, so that no `Device::synchronize` can invalidate the
/// capture meanwhile.
class JoinCapture {
 public:
  JoinCapture(Stream& stream, std::uint64_t id, bool blocking);
  ~JoinCapture();
  JoinCapture(const JoinCapture&) = delete;
  JoinCapture& operator=(const JoinCapture&) = delete;
  /// Call this when the driver has accepted the wait: the stream is then in the capture. Without it, the destructor removes
  /// the stream from the entry.
  void done() noexcept;

 private:
  Stream& stream_;
  std::uint64_t id_;
  bool joined_ = false;
};

/// Exists while the bodies of a conditional node are captured. Meanwhile calls on the streams of the outer capture throw:
/// their work would not depend on the node's condition, and drivers crash if the outer capture ends before the captures of
/// the bodies.
class CaptureHeld {
 public:
  CaptureHeld(Stream& stream, std::uint64_t id) noexcept : stream_(&stream), id_(id) { hold(true); }
  ~CaptureHeld() { hold(false); }
  CaptureHeld(const CaptureHeld&) = delete;
  CaptureHeld& operator=(const CaptureHeld&) = delete;

 private:
  void hold(bool held) noexcept;
  const StreamPtr stream_;  // an owner, because the function that captures the body may release all other owners
  const std::uint64_t id_;
};

[[noreturn]] void throw_continued_graph(const char* operation, const std::string& object, const Graph& graph);
[[noreturn]] void throw_device_captures(const char* operation, const Device& device);
[[noreturn]] void throw_unsafe_call(const char* operation, const std::string& object, const OpenCapture& capture);

}  // namespace weir::detail
