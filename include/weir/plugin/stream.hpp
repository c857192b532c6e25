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

namespace weir {

/// The base of a backend's streams. Every `Stream` is one.
///
/// The core has done all checks before it calls a `do_` function: the stream is open and usable on this thread, other
/// objects are of the right device, the feature is supported, lengths and shapes are valid, and no capture would be
/// invalidated. The core passes exceptions on. `capture` is the stream's capture, if any; the work becomes part of its
/// graph. A function that is not pure throws `unsupported` unless documented otherwise: override it to support its feature.
class WEIR_API StreamImpl : public Stream {
 public:
  /// Destroys the native stream once its work is done, if `destroy`. Called once, after the stream's capture, if any, was
  /// ended and dropped.
  virtual void do_close(bool destroy) = 0;
  virtual void* do_native_context() const;
  virtual std::uint64_t do_id() const = 0;
  /// Under WEIR_SCHEDULE, the number of operations enqueued so far, which numbers the operations; otherwise 0.
  virtual std::uint64_t do_given_operations() const noexcept { return 0; }
  virtual bool do_is_non_blocking() const = 0;
  virtual int do_priority() const = 0;

  virtual void do_synchronize() = 0;
  virtual bool do_is_complete() const = 0;
  /// Returns false if the work enqueued so far is not done at `deadline`. The default implementation polls `do_is_complete`.
  virtual bool do_synchronize_until(std::chrono::steady_clock::time_point deadline);
  /// May return `unknown` for work. Must not invalidate captures of other streams. The default implementation calls
  /// `do_is_complete`.
  virtual PendingWork do_pending() const;
  /// The exception of a host function of this stream since the last call, or null.
  virtual std::exception_ptr do_take_host_error() noexcept = 0;
  virtual void do_record(Event& event, const CaptureState& capture) = 0;
  virtual void do_record_external(Event& event, const CaptureState& capture);
  virtual void do_wait(const Event& event, const CaptureState& capture) = 0;
  virtual void do_wait_external(const Event& event, const CaptureState& capture);
  /// `of_other`: the capture of `other`.
  virtual void do_wait_stream(Stream& other, const CaptureState& capture, const CaptureState& of_other) = 0;

  virtual void do_launch_host_function(HostFunction&& function, const CaptureState& capture);
  virtual void do_add_callback(StreamCallback&& callback);

  /// Returns the driver's id of the capture, as in `do_capture_state`.
  virtual std::uint64_t do_begin_capture(CaptureMode mode);
  /// The same, continuing `graph`.
  virtual std::uint64_t do_resume_capture(const GraphPtr& graph, CaptureMode mode);
  /// Ends the capture, which this stream, another `Stream` over the same handle, or external code began. The capture is over
  /// even if this throws, unless the driver demands another thread. `kept`: objects that the graph must keep alive.
  virtual GraphPtr do_end_capture(CaptureResources&& kept);
  /// Queries the driver for a capture, for streams whose handle external code may use. Must be safe in every state.
  virtual CaptureState do_capture_state() const;
  /// The graph being captured, read-only; null if the driver does not provide it.
  virtual GraphPtr do_captured_graph() const;
  /// Makes the graph of a capture that external code began an owner of `module`.
  virtual void do_keep_in_graph(const ModulePtr& module, const CaptureState& capture);
  virtual void do_add_child_graph(const Graph& graph, const CaptureState& capture);
  /// `bodies`: one; two for `if_nonzero` with an else; or one for each case of a switch.
  virtual void do_capture_conditional(ConditionalKind kind, const std::uint32_t* condition,
                                      std::span<UniqueFunction<void(Stream&)>> bodies, const CaptureState& capture);
  /// The nodes of the graph being captured that the next operation depends on.
  virtual std::vector<GraphNode> do_capture_dependencies(const CaptureState& capture) const;
  /// Sets them. Throws `invalid_argument` for a node that does not exist.
  virtual void do_set_capture_dependencies(std::span<const GraphNode> nodes, const CaptureState& capture);

  virtual void do_copy(void* destination, const void* source, std::size_t bytes) = 0;
  virtual void do_copy_pitched(const PitchedCopy& copy) = 0;
  /// The default implementation calls `do_copy` for each. May contain empty copies.
  virtual void do_copy_batch(std::span<const BatchCopy> copies, SourceAccess access, const CaptureState& capture);
  virtual void do_copy_peer(void* destination, const Device& destination_device, const void* source,
                            const Device& source_device, std::size_t bytes);
  virtual void do_fill(void* destination, std::uint32_t value, std::size_t element_size, std::size_t count) = 0;
  virtual void do_fill_2d(void* destination, std::size_t pitch, std::uint32_t value, std::size_t element_size,
                          std::size_t width, std::size_t height) = 0;

  virtual void* do_allocate_async(std::size_t bytes, MemoryPool* pool, const CaptureState& capture);
  /// Returns false, and frees nothing, if the driver refuses because of another stream's capture. `capture`: the capture of
  /// the allocation, or none.
  virtual bool do_deallocate_async(void* memory, const CaptureState& capture);
  virtual void do_attach_memory(const Allocation& managed, AttachMode mode);
  virtual void do_prefetch(const void* managed, std::size_t bytes, PrefetchTarget target);
  virtual void do_memory_operation(const MemoryOperation& operation, const CaptureState& capture);
  virtual void do_batch_memory_operations(std::span<const MemoryOperation> operations, const CaptureState& capture);

  /// A launch without attributes. `arguments`: the address of each argument.
  virtual void do_launch(const Kernel& kernel, const LaunchConfig& config, void* const* arguments,
                         const std::span<const Parameter>& parameters, const CaptureState& capture);
  /// A launch with attributes, whose features the device supports.
  virtual void do_launch_with_attributes(const Kernel& kernel, const LaunchConfig& config, void* const* arguments,
                                         const std::span<const Parameter>& parameters, const CaptureState& capture);

  virtual SynchronizationPolicy do_synchronization_policy() const;
  virtual void do_set_synchronization_policy(SynchronizationPolicy policy);
  virtual AccessPolicyWindow do_access_policy_window() const;
  virtual void do_set_access_policy_window(const AccessPolicyWindow& window);
  virtual void do_copy_attributes(const Stream& other);

 protected:
  /// `handle`: the native stream. `keep_alive`: an object that must live as long as a wrapped stream, or null.
  StreamImpl(Device& device, void* handle, StreamKind kind, std::shared_ptr<const void> keep_alive = {});
  ~StreamImpl() override;
  /// Closes the stream if it is open, and calls `do_dispose`. Never throws.
  void dispose() noexcept override;
  /// Deletes the stream, or keeps it for `renew`.
  virtual void do_dispose() noexcept;
  /// Whether this is another thread's per-thread default stream.
  bool is_of_another_thread() const noexcept;
  Disposal disposal() const noexcept override { return Disposal::driver; }

  void* handle() const noexcept { return handle_; }
  /// `describe` without the capture status, for errors of the query for that status.
  std::string describe_handle() const;
  /// For a borrowed handle that only the backend uses: the driver need not be queried for its captures.
  void mark_private() noexcept;
  /// Resets a disposed stream for reuse with the same handle, for backends that keep such objects.
  void renew(std::shared_ptr<const void> keep_alive) noexcept;
  /// Keeps `module` for the graph that is being captured.
  void keep_module(const ModulePtr& module, const CaptureState& capture);

  /// Represents the capture of a conditional node's body by `body`, a stream that only the backend uses. The core records
  /// this capture, refuses the calls that the mode of `outer`, the capture of the node, forbids, and keeps the body's
  /// objects with `outer`.
  class WEIR_API BodyCapture {
   public:
    /// `begin` begins the capture and returns its id.
    BodyCapture(StreamImpl& body, const CaptureState& outer, const std::function<std::uint64_t()>& begin);
    ~BodyCapture();
    BodyCapture(const BodyCapture&) = delete;
    BodyCapture& operator=(const BodyCapture&) = delete;

    /// Calls the body's function. Throws `stream_closed` if it closes the stream. `outer`: for the error.
    void run(const char* operation, const Stream& outer, UniqueFunction<void(Stream&)>& function);
    /// Moves the native stream to `CaptureResources::open_bodies` of `outer`. Returns false if other code began that
    /// capture: then the stream and its capture are kept for ever.
    bool leave_open(std::shared_ptr<const void> native_stream) noexcept;
    /// For a stream whose capture can never be ended: leaks it.
    static void leave_open_for_ever(std::shared_ptr<const void> native_stream) noexcept;
    /// Throws `capture_unjoined`: a stream that joined the capture of the body has not been joined back.
    [[noreturn]] static void refuse_unjoined(const char* operation, const Stream& outer);

   private:
    StreamImpl& body_;
    std::uint64_t id_ = 0;
  };

 private:
  friend struct detail::StreamCore;

  std::shared_ptr<const void> keep_alive_;
  std::uint64_t thread_ = 0;               // the thread of a per-thread default stream, otherwise 0
  bool closing_postponed_ = false;         // closed, but memory must still be freed on the stream
  std::atomic<std::uint64_t> capture_{0};  // the stream's capture, if begun through Weir
  std::atomic<std::uint64_t> began_{0};    // the capture that this object began last
  // The capture that was joined with `external`, and how often.
  std::atomic<std::uint64_t> joined_{0};
  std::atomic<std::uint32_t> joined_depth_{0};
  // The module that was kept last, and its capture, so that most captured launches need not search for it.
  std::atomic<const Module*> kept_module_{nullptr};
  std::atomic<std::uint64_t> kept_for_{0};
  Allocation* deferred_ = nullptr;         // memory whose free is deferred; see allocation.cpp
};

}  // namespace weir
