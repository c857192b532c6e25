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

/// The kinds of conditional nodes: see `Stream::capture_if`, `capture_while` and `capture_switch`.
enum class ConditionalKind : std::uint8_t { if_nonzero, while_nonzero, switch_case };

/// The base class of each backend's streams; every `Stream` object is a `StreamImpl`. Each `do_` function implements the
/// function of `Stream` with the same name.
///
/// Before the core calls a `do_` function, it has checked that the stream is open and usable on this thread, that other
/// objects belong to the right device, that the feature is supported, that lengths and shapes are valid, and that the call
/// invalidates no capture. Exceptions pass through the core to the program. `capture` is the state of the stream's capture;
/// if it is active, the work must become part of the captured graph. Copies and fills have no such parameter, because
/// drivers capture them by themselves; other backends must look the state up. The default implementation of a function that
/// is not pure virtual throws `unsupported` unless documented otherwise: override it to support the feature.
///
/// Any thread may call any function at any time, also several functions of one stream, unless documented otherwise.
/// Functions that enqueue work return before the work is done. Sizes and pitches are in bytes. Addresses are not null unless
/// documented otherwise. Errors of the driver are thrown as `DeviceImpl` says.
class WEIR_API StreamImpl : public Stream {
 public:
  /// Closes the stream; if `destroy` is true, destroys the native stream once its work is done. Called once, when no capture
  /// of the stream is open any longer, while no other thread uses the stream. Must not wait for the work.
  /// (cudaStreamDestroy)
  virtual void do_close(bool destroy) = 0;
  /// The vendor's context. Feature `native_context`. (cuStreamGetCtx)
  virtual void* do_native_context() const;
  /// A number that is unique for the life of the process, and the same for all objects of one native stream. Throws
  /// `capture_unsupported` if the driver cannot report it during a capture. (cuStreamGetId)
  virtual std::uint64_t do_id() const = 0;
  /// If WEIR_SCHEDULE is set, the number of operations that were enqueued on this stream so far, because schedules identify
  /// an operation by its number; otherwise 0. The default implementation returns 0.
  virtual std::uint64_t do_given_operations() const noexcept { return 0; }
  /// Whether the stream and the legacy default stream do not wait for each other. Throws like `do_id`. (cuStreamGetFlags)
  virtual bool do_is_non_blocking() const = 0;
  /// The stream's priority in the vendor's numbering. (cudaStreamGetPriority)
  virtual int do_priority() const = 0;

  /// Blocks until all work enqueued so far is done. Throws the error of failed work, but no exceptions of host functions:
  /// the core calls `do_take_host_error` next. Never called during a capture of the stream. (cudaStreamSynchronize)
  virtual void do_synchronize() = 0;
  /// Whether all work enqueued so far is done. Throws the error of failed work, if the driver reports it here. Never called
  /// during a capture of the stream. (cudaStreamQuery)
  virtual bool do_is_complete() const = 0;
  /// Like `do_synchronize`, but returns false if the work enqueued so far is not done at `deadline`. Must query at least
  /// once. The default implementation polls `do_is_complete`.
  virtual bool do_synchronize_until(std::chrono::steady_clock::time_point deadline);
  /// May return `PendingWork::Kind::unknown` if work is pending. Must not invalidate captures of other streams. The default
  /// implementation calls `do_is_complete`.
  virtual PendingWork do_pending() const;
  /// Returns and clears the exception that a host function of this stream has thrown, or null.
  virtual std::exception_ptr do_take_host_error() noexcept = 0;
  /// Records `event`, which belongs to this device, after all work enqueued so far. The record replaces the event's last
  /// one; waits that were enqueued before keep their point. (cudaEventRecord)
  virtual void do_record(Event& event, const CaptureState& capture) = 0;
  /// Adds a node that records `event` at each launch of the graph. The graph must keep the event alive. Only called during a
  /// capture. Feature `external_events`. (cudaEventRecordExternal)
  virtual void do_record_external(Event& event, const CaptureState& capture);
  /// Makes later work wait for the last record of `event`, which belongs to any device of this backend. Does nothing if the
  /// event was never recorded. If the stream does not capture and the record is part of an open capture, the stream must
  /// join that capture. (cudaStreamWaitEvent)
  virtual void do_wait(const Event& event, const CaptureState& capture) = 0;
  /// Adds a node that waits at each launch of the graph for the last record of `event` before that launch. The graph must
  /// keep the event alive. Only called during a capture. Feature `external_events`. (cudaEventWaitExternal)
  virtual void do_wait_external(const Event& event, const CaptureState& capture);
  /// Makes later work wait for the work enqueued so far on `other`, another stream of any device of this backend.
  /// `of_other`: the capture state of `other`; if only `other` captures, this stream must join its capture.
  virtual void do_wait_stream(Stream& other, const CaptureState& capture, const CaptureState& of_other) = 0;

  /// Enqueues a call of `function`, which is not empty, on a thread of the backend, within a `support::HostFunctionScope`.
  /// Later work waits until it has returned. Its exception is logged and kept for `do_take_host_error`. A captured function
  /// belongs to the graph and is called at each launch; the exception then goes to the stream of the launch. If this throws,
  /// `function` is destroyed. Feature `host_functions`, in a capture `host_functions_in_capture`. (cudaLaunchHostFunc)
  virtual void do_launch_host_function(HostFunction&& function, const CaptureState& capture);
  /// Like a host function, but called even if the stream has failed: with this stream, which must live until then, and its
  /// error. Never called during a capture. Feature `stream_callbacks`. (cudaStreamAddCallback)
  virtual void do_add_callback(StreamCallback&& callback);

  /// Begins a capture. Returns the driver's id of the capture, which `do_capture_state` also returns, and which no other
  /// capture of this backend may have. The core calls this under a lock, on one thread at a time in the process: it must not
  /// wait for another thread. Throws `already_capturing` if external code has begun one meanwhile. Feature `graph_capture`.
  /// (cudaStreamBeginCapture)
  virtual std::uint64_t do_begin_capture(CaptureMode mode);
  /// Like `do_begin_capture`, but the capture adds nodes to `graph`, behind its leaves. Feature `capture_into_graph`.
  /// (cudaStreamBeginCaptureToGraph)
  virtual std::uint64_t do_resume_capture(const GraphPtr& graph, CaptureMode mode);
  /// Ends the capture and returns its graph. The capture may have been begun by this object, by another `Stream` object with
  /// the same handle, or by external code. If this throws, the capture must have ended nevertheless, except if the driver
  /// allows only another thread to end it (`capture_wrong_thread`). `kept`: objects that the graph must keep alive. Throws
  /// `capture_unjoined`, `capture_invalidated`. (cudaStreamEndCapture)
  virtual GraphPtr do_end_capture(CaptureResources&& kept);
  /// Queries the driver for the stream's capture. The core calls this for streams whose handle external code may use, in any
  /// state of the stream. Must not invalidate the capture. `conditional_body` is the core's. The default implementation
  /// reports no capture. (cuStreamGetCaptureInfo)
  virtual CaptureState do_capture_state() const;
  /// The graph being captured, read-only; null if the driver does not provide it. Valid until the capture ends. The default
  /// implementation returns null.
  virtual GraphPtr do_captured_graph() const;
  /// For a capture that external code began: makes its graph an owner of `module`. The default implementation does nothing.
  virtual void do_keep_in_graph(const ModulePtr& module, const CaptureState& capture);
  /// Adds a copy of `graph` as one node. `graph` is of this device and allocates no memory, and no capture continues it.
  /// Only called during a capture. Feature `graph_child_nodes`. (cudaGraphAddChildGraphNode)
  virtual void do_add_child_graph(const Graph& graph, const CaptureState& capture);
  /// Adds a conditional node, whose launch reads `condition`, an aligned device address. `bodies`: one function for each
  /// body: one for `if_nonzero` and `while_nonzero`, two for an if with an else, or one for each case of a switch; none is
  /// empty. Must call each function once, in order, on a stream of its own, with a `BodyCapture`, before this returns. Only
  /// called during a capture. Features `graph_conditional_nodes`, `graph_switch_nodes`. (cudaGraphAddNode)
  virtual void do_capture_conditional(ConditionalKind kind, const std::uint32_t* condition,
                                      std::span<UniqueFunction<void(Stream&)>> bodies, const CaptureState& capture);
  /// The nodes of the graph being captured that the next operation depends on. Only called during a capture.
  /// (cuStreamGetCaptureInfo)
  virtual std::vector<GraphNode> do_capture_dependencies(const CaptureState& capture) const;
  /// Sets the nodes that the next operation depends on. Throws `invalid_argument` for a node that does not exist
  /// (`support::throw_no_such_node`). The nodes may repeat. Only called during a capture.
  /// (cuStreamUpdateCaptureDependencies)
  virtual void do_set_capture_dependencies(std::span<const GraphNode> nodes, const CaptureState& capture);

  /// Copies `bytes` bytes, at least 1, in any direction, which the driver finds from the addresses. The source is read in
  /// the stream's order, except pageable memory, which may be read during the call. (cudaMemcpyAsync)
  virtual void do_copy(void* destination, const void* source, std::size_t bytes) = 0;
  /// Copies a box that is not empty. (cudaMemcpy2DAsync, cudaMemcpy3DAsync)
  virtual void do_copy_pitched(const PitchedCopy& copy) = 0;
  /// Makes copies in any order, all after the stream's earlier work if `access` is `in_stream_order`, and before its later
  /// work. `copies` may contain empty copies, with null addresses, but not only empty ones. The default implementation calls
  /// `do_copy` for each copy. (cuMemcpyBatchAsync)
  virtual void do_copy_batch(std::span<const BatchCopy> copies, SourceAccess access, const CaptureState& capture);
  /// Copies `bytes` bytes, at least 1, between two devices of this backend, which may be the same. The default
  /// implementation calls `do_copy`. (cudaMemcpyPeerAsync)
  virtual void do_copy_peer(void* destination, const Device& destination_device, const void* source,
                            const Device& source_device, std::size_t bytes);
  /// Sets `count` elements, at least 1, of 1, 2 or 4 bytes to the low bits of `value`. `destination` is aligned to an
  /// element. (cuMemsetD32Async)
  virtual void do_fill(void* destination, std::uint32_t value, std::size_t element_size, std::size_t count) = 0;
  /// Like `do_fill`, for `height` rows of `width` elements, each at least 1. `pitch`: bytes from one row to the next, a
  /// multiple of the element and at least a row. (cuMemsetD2D32Async)
  virtual void do_fill_2d(void* destination, std::size_t pitch, std::uint32_t value, std::size_t element_size,
                          std::size_t width, std::size_t height) = 0;

  /// Allocates `bytes` bytes, at least 1, for work that is enqueued after this call. Returns an address that is a multiple
  /// of 256. `pool`: a pool of this device, or null for the default pool. In a capture the memory belongs to the graph.
  /// Throws `out_of_memory`. Feature `async_allocation`, in a capture `graph_memory_nodes`. (cudaMallocAsync)
  virtual void* do_allocate_async(std::size_t bytes, MemoryPool* pool, const CaptureState& capture);
  /// Frees stream-ordered memory in the order of this stream. Returns false without freeing it if the driver refuses because
  /// another stream is capturing: the core then tries again later. `capture`: the state of the capture that allocated the
  /// memory; not active if it was allocated outside of captures. Exceptions are logged, and leak the memory; outside
  /// of captures, `std::bad_alloc` counts as false. Feature `async_allocation`. (cudaFreeAsync)
  virtual bool do_deallocate_async(void* memory, const CaptureState& capture);
  /// `managed`: managed memory of this device, at least 1 byte. Never called during a capture. Feature `managed_attach`.
  /// (cudaStreamAttachMemAsync)
  virtual void do_attach_memory(const Allocation& managed, AttachMode mode);
  /// Moves `bytes` bytes, at least 1, of one managed allocation of this backend to this device or to the host. Never called
  /// during a capture. Feature `managed_prefetch`. (cudaMemPrefetchAsync)
  virtual void do_prefetch(const void* managed, std::size_t bytes, PrefetchTarget target);
  /// Enqueues one write or wait. The address is aligned to the value, and the device has the features of the operation. A
  /// wait must block neither the host nor other streams. Features `write_value_32` and others, in a capture
  /// `memory_operations_in_capture`. (cuStreamWriteValue32, cuStreamWaitValue32)
  virtual void do_memory_operation(const MemoryOperation& operation, const CaptureState& capture);
  /// Enqueues operations, at least 1, in order, with no other work of the stream between them. A flush has no address.
  /// Feature `batch_memory_operations`. (cuStreamBatchMemOp)
  virtual void do_batch_memory_operations(std::span<const MemoryOperation> operations, const CaptureState& capture);

  /// A launch without attributes. `kernel`: of this device; in a capture, the core makes the graph an owner of its module.
  /// `config`: within the device's limits. `arguments`: the address of each argument; the values must be copied before this
  /// returns. `parameters`: the size and kind of each argument, which fit those that the kernel reports. Throws
  /// `invalid_argument` for what only the backend can check. Feature `modules`. (cuLaunchKernel)
  virtual void do_launch(const Kernel& kernel, const LaunchConfig& config, void* const* arguments,
                         const std::span<const Parameter>& parameters, const CaptureState& capture);
  /// A launch with attributes. The device supports the features of all attributes that are set. Otherwise like `do_launch`.
  /// (cuLaunchKernelEx)
  virtual void do_launch_with_attributes(const Kernel& kernel, const LaunchConfig& config, void* const* arguments,
                                         const std::span<const Parameter>& parameters, const CaptureState& capture);

  /// How a host thread waits in `do_synchronize`. Feature `synchronization_policy`. (cuStreamGetAttribute)
  virtual SynchronizationPolicy do_synchronization_policy() const;
  /// Feature `synchronization_policy`. (cuStreamSetAttribute)
  virtual void do_set_synchronization_policy(SynchronizationPolicy policy);
  /// Feature `access_policy_window`. (cuStreamGetAttribute)
  virtual AccessPolicyWindow do_access_policy_window() const;
  /// `window`: its hit ratio is between 0 and 1. Feature `access_policy_window`. (cuStreamSetAttribute)
  virtual void do_set_access_policy_window(const AccessPolicyWindow& window);
  /// Copies the two attributes above, as far as the device has them, from `other`, another stream of this device. Feature
  /// `synchronization_policy`. (cudaStreamCopyAttributes)
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
  /// Makes the graph that is being captured an owner of `module`. Throws `std::bad_alloc`.
  void keep_module(const ModulePtr& module, const CaptureState& capture);

  /// The capture of a conditional node's body on `body`, a stream that only the backend uses. `outer` is the capture that
  /// contains the node. While this object lives, the capture mode of `outer` also applies to the body's capture, and the
  /// objects that the body uses are kept alive by the graph of `outer`.
  class WEIR_API BodyCapture {
   public:
    /// Calls `begin`, which must begin the capture on `body` and return the capture's id. Rethrows its exceptions.
    BodyCapture(StreamImpl& body, const CaptureState& outer, const std::function<std::uint64_t()>& begin);
    /// The backend must have ended the capture, or have called one of the functions that leave it open.
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
  // The module that `keep_module` added last, and its capture, so that most captured launches need not search the list.
  std::atomic<const Module*> kept_module_{nullptr};
  std::atomic<std::uint64_t> kept_for_{0};
  Allocation* deferred_ = nullptr;         // memory whose free is deferred; see allocation.cpp
};

}  // namespace weir
