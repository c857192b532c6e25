// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/host/engine/queue.hpp"
#include "backends/host/engine/waits.hpp"
#include "weir/plugin/stream.hpp"

namespace weir::host {

class HostDevice;

/// A stream of the host backend. A queue does its work.
class HostStream final : public StreamImpl {
 public:
  HostStream(HostDevice& device, Ptr<Queue> queue, StreamKind kind, std::shared_ptr<const void> keep_alive = {});

 protected:
  Disposal disposal() const noexcept override { return Disposal::anywhere; }

  void do_close(bool destroy) override;
  std::uint64_t do_id() const override;
  std::uint64_t do_given_operations() const noexcept override;
  bool do_is_non_blocking() const override;
  int do_priority() const override;

  void do_synchronize() override;
  bool do_is_complete() const override;
  bool do_synchronize_until(std::chrono::steady_clock::time_point deadline) override;
  PendingWork do_pending() const override { return pending_of(*queue_); }
  std::exception_ptr do_take_host_error() noexcept override;
  void do_record(Event& event, const CaptureState& capture) override;
  void do_record_external(Event& event, const CaptureState& capture) override;
  void do_wait(const Event& event, const CaptureState& capture) override;
  void do_wait_external(const Event& event, const CaptureState& capture) override;
  void do_wait_stream(Stream& other, const CaptureState& capture, const CaptureState& of_other) override;

  void do_launch_host_function(HostFunction&& function, const CaptureState& capture) override;
  void do_add_callback(StreamCallback&& callback) override;

  std::uint64_t do_begin_capture(CaptureMode mode) override;
  std::uint64_t do_resume_capture(const GraphPtr& graph, CaptureMode mode) override;
  GraphPtr do_end_capture(CaptureResources&& kept) override;
  CaptureState do_capture_state() const override;
  GraphPtr do_captured_graph() const override;
  void do_add_child_graph(const Graph& graph, const CaptureState& capture) override;
  void do_capture_conditional(ConditionalKind kind, const std::uint32_t* condition,
                              std::span<UniqueFunction<void(Stream&)>> bodies, const CaptureState& capture) override;
  std::vector<GraphNode> do_capture_dependencies(const CaptureState& capture) const override;
  void do_set_capture_dependencies(std::span<const GraphNode> nodes, const CaptureState& capture) override;

  void do_copy(void* destination, const void* source, std::size_t bytes) override;
  void do_copy_pitched(const PitchedCopy& copy) override;
  void do_fill(void* destination, std::uint32_t value, std::size_t element_size, std::size_t count) override;
  void do_fill_2d(void* destination, std::size_t pitch, std::uint32_t value, std::size_t element_size, std::size_t width,
                  std::size_t height) override;

  void* do_allocate_async(std::size_t bytes, MemoryPool* pool, const CaptureState& capture) override;
  bool do_deallocate_async(void* memory, const CaptureState& capture) override;
  void do_attach_memory(const Allocation& managed, AttachMode mode) override;
  void do_prefetch(const void* managed, std::size_t bytes, PrefetchTarget target) override;
  void do_memory_operation(const MemoryOperation& operation, const CaptureState& capture) override;
  void do_batch_memory_operations(std::span<const MemoryOperation> operations, const CaptureState& capture) override;

  void do_launch(const Kernel& kernel, const LaunchConfig& config, void* const* arguments,
                 const std::span<const Parameter>& parameters, const CaptureState& capture) override;
  void do_launch_with_attributes(const Kernel& kernel, const LaunchConfig& config, void* const* arguments,
                                 const std::span<const Parameter>& parameters, const CaptureState& capture) override;

  SynchronizationPolicy do_synchronization_policy() const override;
  void do_set_synchronization_policy(SynchronizationPolicy policy) override;
  void do_copy_attributes(const Stream& other) override;

 private:
  void check_conditional_body(const char* operation, const GraphData& body) const;
  Ptr<GraphData> capture_body(const char* operation, UniqueFunction<void(Stream&)>& body, const CaptureState& outer);
  /// Adds the work to the stream's capture; without a capture, enqueues it.
  void submit(NodeKind kind, Work&& work);
  /// Adds the work to the stream's capture. Throws `not_capturing` if there is none.
  void capture_only(const char* operation, NodeKind kind, Work&& work);

  Ptr<Queue> queue_;
};

}  // namespace weir::host
