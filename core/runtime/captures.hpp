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

/// The captures that were begun through Weir and are open: one entry each, from the begin to the end.
namespace weir::detail {

/// How many captures that were begun through Weir are open.
extern std::atomic<std::uint32_t> open_captures;

struct OpenCapture {
  StreamKey origin;  ///< the native stream that began it
  std::uint64_t id = 0;
  std::uint64_t thread = 0;  ///< the thread that began it
  CaptureMode mode = CaptureMode::thread_local_;
  std::uint64_t outer = 0;  ///< for the body of a conditional node: the capture that the node is in
  std::uint32_t bodies = 0;  ///< of conditional nodes of it that are being captured now
  bool ending = false;      ///< one thread ends it, and no other may
};

/// One lock guards all entries. Begins and joins hold it, ends take it twice; a stream that is in no capture never does.
class Captures {
 public:
  static Captures& instance() noexcept;

  /// Calls `begin`, which begins the capture and returns its id, and records it with `origin` as its first stream.
  /// The lock is held throughout: who sees the driver's capture finds its entry. `resumed`: the graph that it continues.
  /// `work`: where a portable capture writes down.
  void open(Stream& stream, OpenCapture capture, bool blocking, GraphPtr resumed, std::shared_ptr<CapturedWork>&& work,
            const std::function<std::uint64_t()>& begin);
  /// What the capture writes down; null if nothing.
  std::shared_ptr<CapturedWork> work(const Backend& backend, std::uint64_t id) const noexcept;
  /// The capture that `stream` is in writes down in `work` from here on.
  void write_down(const Stream& stream, std::shared_ptr<CapturedWork> work) noexcept;
  /// The open capture that a native stream began. Prefers one that is not ending.
  std::optional<OpenCapture> find(const StreamKey& origin) const;
  /// Makes the calling thread the one that ends the capture, and gives it what the capture kept. It calls `close` then.
  /// Nothing for a capture that another thread ends or has ended.
  std::optional<CaptureResources> claim(const Backend& backend, std::uint64_t id) noexcept;
  /// Removes the entry; its streams are in no capture from here on. What a body left open goes to the outer capture.
  void close(const Backend& backend, std::uint64_t id) noexcept;

  /// The body of a conditional node is not ended before the capture that the node is in: see
  /// `CaptureResources::open_bodies`. False if Weir did not begin that one: then the body's capture stays open for ever.
  bool leave_open(const Backend& backend, std::uint64_t id, std::shared_ptr<const void> native_stream) noexcept;
  void leave_open_for_ever(std::shared_ptr<const void> native_stream) noexcept;

  bool is_open(const Backend& backend, std::uint64_t id) const noexcept;
  /// Keeps `module` for the graph of the capture. False if Weir did not begin the capture.
  bool keep(const Backend& backend, std::uint64_t id, const ModulePtr& module);
  /// See `support::attach_to_capture`.
  std::shared_ptr<void> attach(const Backend& backend, std::uint64_t id, std::shared_ptr<void>&& object);
  /// Whether an open capture continues `graph`.
  bool is_continued(const Graph& graph) const noexcept;
  /// Called by a stream that is destroyed while it is in a capture.
  void leave(const Stream& stream) noexcept;

  /// A capture that forbids the calling thread to make unsafe calls of that backend.
  std::optional<OpenCapture> forbidding_unsafe_calls(const Backend& backend) const noexcept;
  /// Whether a stream of `device` is in a capture; with `blocking_only`, one that the legacy default stream is ordered
  /// against.
  bool any_on(const Device& device, bool blocking_only) const noexcept;

 private:
  friend class JoinCapture;
  friend class CaptureHeld;
  friend class support::DeviceWideCall;
  /// A stream that is in a capture. The object may go before the capture ends; the native stream stays in it.
  struct Member {
    Stream* stream;
    const Device* device;
    bool blocking;
  };
  struct Entry {
    OpenCapture capture;
    std::vector<Member> members;
    CaptureResources resources;
    std::shared_ptr<void> attached;  // a binding's
  };
  using Entries = std::vector<std::unique_ptr<Entry>>;

  Entry* find(const Backend& backend, std::uint64_t id) const noexcept;
  std::unique_ptr<Entry> remove(const Entry& entry) noexcept;
  static bool leave_open_in(Entry* outer, std::shared_ptr<const void> native_stream) noexcept;
  bool continues(const Graph& graph) const noexcept;
  bool has_on(const Device& device, bool blocking_only) const noexcept;
  /// Takes the stream out of the entries that it is in: it is destroyed, or enters another capture, since external code has
  /// ended that one.
  void forget(const Stream& stream) noexcept;

  mutable std::mutex mutex_;
  // Calls that would break every capture on a device: no capture begins beside them, and no stream joins one.
  std::vector<const Device*> device_wide_calls_;
  std::condition_variable device_wide_calls_over_;
  Entries open_;
  std::unique_ptr<Entry> spare_;  // for the next capture, so that it allocates nothing
};

/// Held while a stream waits for something of a capture that it is not in, and so joins it. The capture counts the stream's
/// device from the start: a `Device::synchronize` that would break the capture is refused or has ended.
class JoinCapture {
 public:
  JoinCapture(Stream& stream, std::uint64_t id, bool blocking);
  ~JoinCapture();
  JoinCapture(const JoinCapture&) = delete;
  JoinCapture& operator=(const JoinCapture&) = delete;
  /// The driver has taken the wait: the stream is in the capture.
  void done() noexcept;

 private:
  Stream& stream_;
  std::uint64_t id_;
  bool joined_ = false;
};

/// Held while the bodies of a conditional node are captured: the streams of the node's capture take no calls. Their work
/// would become part of the wrong graph, and drivers crash if the capture ends before those of its bodies.
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
