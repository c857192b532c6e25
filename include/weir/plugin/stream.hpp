// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weir/plugin/capture.hpp"
#include "weir/plugin/pitched_copy.hpp"
#include "weir/stream.hpp"

/// The interface that a backend implements for its streams.
namespace weir {

/// The base class of each backend's streams; every `Stream` object is a `StreamImpl`. Each `do_` function implements the
/// function of `Stream` with the same name.
///
/// Before the core calls a `do_` function, it has checked that the stream is open and usable on this thread, that other
/// objects belong to the right device, that the feature is supported, that lengths and shapes are valid, and that the call
/// invalidates no capture. Exceptions pass through the core to the program. `capture` is the state of the stream's capture;
/// if it is active, the work must become part of the captured graph. The default implementation of a function that is not
/// pure virtual throws `unsupported` unless documented otherwise: override it to support the feature.
class WEIR_API StreamImpl : public Stream {
 public:
  /// Closes the stream; if `destroy` is true, destroys the native stream once its work is done. Called once, when no capture
  /// of the stream is open any longer.
  virtual void do_close(bool destroy) = 0;
  virtual void* do_native_context() const;
  virtual std::uint64_t do_id() const = 0;
  /// If WEIR_SCHEDULE is set, the number of operations that were enqueued on this stream so far, because schedules identify
  /// an operation by its number; otherwise 0.
  virtual std::uint64_t do_given_operations() const noexcept { return 0; }
  virtual bool do_is_non_blocking() const = 0;
  virtual int do_priority() const = 0;

  virtual void do_synchronize() = 0;
  virtual bool do_is_complete() const = 0;
  /// Like `do_synchronize`, but returns false if the work enqueued so far is not done at `deadline`. The default
  /// implementation polls `do_is_complete`.
  virtual bool do_synchronize_until(std::chrono::steady_clock::time_point deadline);
  /// May return `PendingWork::Kind::unknown` if work is pending. Must not invalidate captures of other streams. The default
  /// implementation calls `do_is_complete`.
  virtual PendingWork do_pending() const;
  /// Returns and clears the exception that a host function of this stream has thrown; null if there is none.
  virtual std::exception_ptr do_take_host_error() noexcept = 0;
  virtual void do_record(Event& event, const CaptureState& capture) = 0;
  virtual void do_record_external(Event& event, const CaptureState& capture);
  virtual void do_wait(const Event& event, const CaptureState& capture) = 0;
  virtual void do_wait_external(const Event& event, const CaptureState& capture);
  /// Makes later work wait for the work of `other`. `of_other`: the capture state of `other`.
  virtual void do_wait_stream(Stream& other, const CaptureState& capture, const CaptureState& of_other) = 0;

  virtual void do_launch_host_function(HostFunction&& function, const CaptureState& capture);
  virtual void do_add_callback(StreamCallback&& callback);

  /// Begins a capture. Returns the driver's id of the capture, which `do_capture_state` also returns.
  virtual std::uint64_t do_begin_capture(CaptureMode mode);
  /// Begins a capture that adds nodes to `graph`. Returns the driver's id of the capture.
  virtual std::uint64_t do_resume_capture(const GraphPtr& graph, CaptureMode mode);
  /// Ends the capture and returns its graph. The capture may have been begun by this object, by another `Stream` object with
  /// the same handle, or by external code. If this throws, the capture must have ended nevertheless, except if the driver
  /// allows only another thread to end it. `kept`: objects that the graph must keep alive.
  virtual GraphPtr do_end_capture(CaptureResources&& kept);
  /// Queries the driver for the stream's capture. The core calls this for streams whose handle external code may use, in any
  /// state of the stream.
  virtual CaptureState do_capture_state() const;
  /// The graph being captured, read-only; null if the driver does not provide it.
  virtual GraphPtr do_captured_graph() const;
  /// For a capture that external code began: makes its graph an owner of `module`.
  virtual void do_keep_in_graph(const ModulePtr& module, const CaptureState& capture);
  virtual void do_add_child_graph(const Graph& graph, const CaptureState& capture);
  /// `bodies`: one function for each body: one for `if_nonzero` and `while_nonzero`, two for an if with an else, or one for
  /// each case of a switch.
  virtual void do_capture_conditional(ConditionalKind kind, const std::uint32_t* condition,
                                      std::span<UniqueFunction<void(Stream&)>> bodies, const CaptureState& capture);
  /// The nodes of the graph being captured that the next operation depends on.
  virtual std::vector<GraphNode> do_capture_dependencies(const CaptureState& capture) const;
  /// Sets the nodes that the next operation depends on. Throws `invalid_argument` for a node that does not exist.
  virtual void do_set_capture_dependencies(std::span<const GraphNode> nodes, const CaptureState& capture);

  virtual void do_copy(void* destination, const void* source, std::size_t bytes) = 0;
  virtual void do_copy_pitched(const PitchedCopy& copy) = 0;
  /// The default implementation calls `do_copy` for each copy. `copies` may contain empty copies.
  virtual void do_copy_batch(std::span<const BatchCopy> copies, SourceAccess access, const CaptureState& capture);
  virtual void do_copy_peer(void* destination, const Device& destination_device, const void* source,
                            const Device& source_device, std::size_t bytes);
  virtual void do_fill(void* destination, std::uint32_t value, std::size_t element_size, std::size_t count) = 0;
  virtual void do_fill_2d(void* destination, std::size_t pitch, std::uint32_t value, std::size_t element_size,
                          std::size_t width, std::size_t height) = 0;

  virtual void* do_allocate_async(std::size_t bytes, MemoryPool* pool, const CaptureState& capture);
  /// Frees stream-ordered memory. Returns false without freeing it if the driver refuses because another stream is
  /// capturing. `capture`: the state of the capture in which the memory was allocated; not active if it was allocated
  /// outside of captures.
  virtual bool do_deallocate_async(void* memory, const CaptureState& capture);
  virtual void do_attach_memory(const Allocation& managed, AttachMode mode);
  virtual void do_prefetch(const void* managed, std::size_t bytes, PrefetchTarget target);
  virtual void do_memory_operation(const MemoryOperation& operation, const CaptureState& capture);
  virtual void do_batch_memory_operations(std::span<const MemoryOperation> operations, const CaptureState& capture);

  /// A launch without attributes. `arguments`: the address of each argument.
  virtual void do_launch(const Kernel& kernel, const LaunchConfig& config, void* const* arguments,
                         const std::span<const Parameter>& parameters, const CaptureState& capture);
  /// A launch with attributes. The device supports the features of all attributes that are set.
  virtual void do_launch_with_attributes(const Kernel& kernel, const LaunchConfig& config, void* const* arguments,
                                         const std::span<const Parameter>& parameters, const CaptureState& capture);

  virtual SynchronizationPolicy do_synchronization_policy() const;
  virtual void do_set_synchronization_policy(SynchronizationPolicy policy);
  virtual AccessPolicyWindow do_access_policy_window() const;
  virtual void do_set_access_policy_window(const AccessPolicyWindow& window);
  virtual void do_copy_attributes(const Stream& other);

 protected:
  /// `handle`: the native stream. `keep_alive`: an object that must live as long as a wrapped handle is used, or null.
  StreamImpl(Device& device, void* handle, StreamKind kind, std::shared_ptr<const void> keep_alive = {});
  ~StreamImpl() override;
  /// Closes the stream if it is open, then calls `do_dispose`.
  void dispose() noexcept override;
  /// Deletes the stream, or keeps it for `renew`.
  virtual void do_dispose() noexcept;
  /// Whether this is the per-thread default stream of a thread other than the calling one.
  bool is_of_another_thread() const noexcept;
  Disposal disposal() const noexcept override { return Disposal::driver; }

  void* handle() const noexcept { return handle_; }
  /// Like `describe`, but without the capture status: for errors that occur while the status is queried.
  std::string describe_handle() const;
  /// Declares that only the backend uses this borrowed handle, so that calls need not query the driver for captures.
  void mark_private() noexcept;
  /// Prepares a disposed stream for reuse with the same handle. For backends that keep such objects in `do_dispose`.
  void renew(std::shared_ptr<const void> keep_alive) noexcept;
  /// Makes the graph that is being captured an owner of `module`.
  void keep_module(const ModulePtr& module, const CaptureState& capture);

  /// The capture of a conditional node's body on `body`, a stream that only the backend uses. `outer` is the capture that
  /// contains the node. While this object lives, the capture mode of `outer` also applies to the body's capture, and the
  /// objects that the body uses are kept alive by the graph of `outer`.
  class WEIR_API BodyCapture {
   public:
    /// Calls `begin`, which must begin the capture on `body` and return the capture's id.
    BodyCapture(StreamImpl& body, const CaptureState& outer, const std::function<std::uint64_t()>& begin);
    ~BodyCapture();
    BodyCapture(const BodyCapture&) = delete;
    BodyCapture& operator=(const BodyCapture&) = delete;

    /// Calls `function`, which captures the body. Throws `stream_closed` if `function` closes the stream. `outer`: the
    /// stream that is named in errors.
    void run(const char* operation, const Stream& outer, UniqueFunction<void(Stream&)>& function);
    /// For a body whose capture cannot be ended now: moves the native stream to `CaptureResources::open_bodies` of the outer
    /// capture. If other code began the outer capture, leaks the stream instead and returns false.
    bool leave_open(std::shared_ptr<const void> native_stream) noexcept;
    /// Leaks a native stream whose capture can never be ended.
    static void leave_open_for_ever(std::shared_ptr<const void> native_stream) noexcept;
    /// Throws `capture_unjoined`, because the body's stream has not waited for a stream that had joined its capture.
    [[noreturn]] static void refuse_unjoined(const char* operation, const Stream& outer);

   private:
    StreamImpl& body_;
    std::uint64_t id_ = 0;
  };

 private:
  friend struct detail::StreamCore;

  std::shared_ptr<const void> keep_alive_;
  std::uint64_t thread_ = 0;               // the thread of a per-thread default stream, otherwise 0
  bool closing_postponed_ = false;         // closed, but the native stream is still needed to free stream-ordered memory
  std::atomic<std::uint64_t> capture_{0};  // the id of the stream's capture, if it was begun through Weir
  std::atomic<std::uint64_t> began_{0};    // the id of the capture that this object began last
  // The id of the capture that was joined with `CaptureOptions::external`, and how often it was joined.
  std::atomic<std::uint64_t> joined_{0};
  std::atomic<std::uint32_t> joined_depth_{0};
  // The module that `keep_module` added last, and its capture, so that most captured launches need not search the list.
  std::atomic<const Module*> kept_module_{nullptr};
  std::atomic<std::uint64_t> kept_for_{0};
  Allocation* deferred_ = nullptr;         // memory whose free is deferred; see allocation.cpp
};

}  // namespace weir
