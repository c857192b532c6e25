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

/// The open captures that were begun through Weir: one entry each, from begin to end.
namespace weir::detail {

/// The number of open captures that were begun through Weir.
extern std::atomic<std::uint32_t> open_captures;

struct OpenCapture {
  StreamKey origin;  ///< the native stream that began it
  std::uint64_t id = 0;
  std::uint64_t thread = 0;  ///< the thread that began it
  CaptureMode mode = CaptureMode::thread_local_;
  std::uint64_t outer = 0;  ///< for the body of a conditional node: the capture that contains the node
  std::uint32_t bodies = 0;  ///< how many bodies of its conditional nodes are being captured
  bool ending = false;      ///< one thread is ending it, and no other may
};

/// One lock guards all entries. Begins and joins hold it, ends take it twice; a stream outside any capture never takes it.
class Captures {
 public:
  static Captures& instance() noexcept;

  /// Calls `begin`, which begins the capture and returns its id, and records it with `origin` as its first stream. The lock
  /// is held throughout, so a thread that sees the driver's capture also finds its entry. `resumed`: the graph that it
  /// continues. `work`: a portable capture's record.
  void open(Stream& stream, OpenCapture capture, bool blocking, GraphPtr resumed, std::shared_ptr<CapturedWork>&& work,
            const std::function<std::uint64_t()>& begin);
  /// The capture's record of its operations, or null.
  std::shared_ptr<CapturedWork> work(const Backend& backend, std::uint64_t id) const noexcept;
  /// From here on, the capture that contains `stream` is recorded in `work`.
  void write_down(const Stream& stream, std::shared_ptr<CapturedWork> work) noexcept;
  /// The open capture that a native stream began. Prefers one that is not being ended.
  std::optional<OpenCapture> find(const StreamKey& origin) const;
  /// Makes the calling thread the one that ends the capture, and returns the capture's resources; the thread calls `close`
  /// next. Returns nothing if another thread is ending the capture or has ended it.
  std::optional<CaptureResources> claim(const Backend& backend, std::uint64_t id) noexcept;
  /// Removes the entry; its streams are no longer in a capture. Bodies left open move to the outer capture.
  void close(const Backend& backend, std::uint64_t id) noexcept;

  /// Leaves the capture of a conditional node's body open until the outer capture ends: see `CaptureResources::open_bodies`.
  /// Returns false if Weir did not begin the outer capture: then the body's capture stays open for ever.
  bool leave_open(const Backend& backend, std::uint64_t id, std::shared_ptr<const void> native_stream) noexcept;
  void leave_open_for_ever(std::shared_ptr<const void> native_stream) noexcept;

  bool is_open(const Backend& backend, std::uint64_t id) const noexcept;
  /// Keeps `module` alive for the capture's graph. Returns false if Weir did not begin the capture.
  bool keep(const Backend& backend, std::uint64_t id, const ModulePtr& module);
  /// See `support::attach_to_capture`.
  std::shared_ptr<void> attach(const Backend& backend, std::uint64_t id, std::shared_ptr<void>&& object);
  /// Whether an open capture continues `graph`.
  bool is_continued(const Graph& graph) const noexcept;
  /// Called by a stream that is destroyed while it is in a capture.
  void leave(const Stream& stream) noexcept;

  /// A capture that forbids the calling thread to make unsafe calls on that backend, if any.
  std::optional<OpenCapture> forbidding_unsafe_calls(const Backend& backend) const noexcept;
  /// Whether a stream of `device` is in a capture; with `blocking_only`, a stream that is ordered against the legacy default
  /// stream.
  bool any_on(const Device& device, bool blocking_only) const noexcept;

 private:
  friend class JoinCapture;
  friend class CaptureHeld;
  friend class support::DeviceWideCall;
  /// A stream in a capture. The object may be destroyed before the capture ends; the native stream stays in the capture.
  struct Member {
    Stream* stream;
    const Device* device;
    bool blocking;
  };
  struct Entry {
    OpenCapture capture;
    std::vector<Member> members;
    CaptureResources resources;
    std::shared_ptr<void> attached;  // set by a binding
  };
  using Entries = std::vector<std::unique_ptr<Entry>>;

  Entry* find(const Backend& backend, std::uint64_t id) const noexcept;
  std::unique_ptr<Entry> remove(const Entry& entry) noexcept;
  static bool leave_open_in(Entry* outer, std::shared_ptr<const void> native_stream) noexcept;
  bool continues(const Graph& graph) const noexcept;
  bool has_on(const Device& device, bool blocking_only) const noexcept;
  /// Removes the stream from its entries, because it is destroyed, or enters another capture after external code has ended
  /// this one.
  void forget(const Stream& stream) noexcept;

  mutable std::mutex mutex_;
  // Calls that would invalidate every capture on a device: during these, no capture begins and no stream joins one.
  std::vector<const Device*> device_wide_calls_;
  std::condition_variable device_wide_calls_over_;
  Entries open_;
  std::unique_ptr<Entry> spare_;  // for the next capture, so that it allocates nothing
};

/// Held while a stream waits for something in another capture, and so joins it. The capture counts the stream's device from
/// the start: a `Device::synchronize` that would invalidate the capture is refused or has ended.
class JoinCapture {
 public:
  JoinCapture(Stream& stream, std::uint64_t id, bool blocking);
  ~JoinCapture();
  JoinCapture(const JoinCapture&) = delete;
  JoinCapture& operator=(const JoinCapture&) = delete;
  /// The driver has accepted the wait: the stream is in the capture.
  void done() noexcept;

 private:
  Stream& stream_;
  std::uint64_t id_;
  bool joined_ = false;
};

/// Held while the bodies of a conditional node are captured. Streams of the node's capture accept no calls meanwhile: their
/// work would become part of the wrong graph, and drivers crash if the capture ends before those of its bodies.
class CaptureHeld {
 public:
  CaptureHeld(Stream& stream, std::uint64_t id) noexcept : stream_(&stream), id_(id) { hold(true); }
  ~CaptureHeld() { hold(false); }
  CaptureHeld(const CaptureHeld&) = delete;
  CaptureHeld& operator=(const CaptureHeld&) = delete;

 private:
  void hold(bool held) noexcept;
  const StreamPtr stream_;  // a body may drop the last other owner
  const std::uint64_t id_;
};

[[noreturn]] void throw_continued_graph(const char* operation, const std::string& object, const Graph& graph);
[[noreturn]] void throw_device_captures(const char* operation, const Device& device);
[[noreturn]] void throw_unsafe_call(const char* operation, const std::string& object, const OpenCapture& capture);

}  // namespace weir::detail
