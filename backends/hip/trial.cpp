// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <climits>
#include <string>

#include "backends/gpu/capture.hpp"
#include "backends/hip/api.hpp"
#include "weir/plugin/support.hpp"

/// Trying out one device when the runtime is opened. Some runtimes export functions that say hipErrorNotSupported, or do
/// nothing.
namespace weir::hip {

namespace {

constexpr Feature capture_features[] = {
    Feature::graph_capture,      Feature::capture_into_graph, Feature::host_functions_in_capture,
    Feature::graph_update,       Feature::graph_upload,       Feature::memory_operations_in_capture,
    Feature::graph_debug_dot,    Feature::graph_clone,        Feature::graph_child_nodes,
    Feature::graph_memory_nodes, Feature::external_events,    Feature::cross_device_capture};

/// Calls functions on some memory and a stream. Only hipErrorNotSupported is an answer: other failures say nothing about
/// what the runtime supports, save those that a release is known to give (Effect::probed).
class Trial {
 public:
  Trial(const Api& api, FeatureTable& features, int ordinal) : api_(api), features_(features), device_{ordinal} {}
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;
  ~Trial() {
    if (graph_ != nullptr) (void)api_.GraphDestroy(graph_);
    if (stream_ != nullptr) (void)api_.StreamSynchronize(stream_);
    if (stream_ != nullptr) (void)api_.StreamDestroy(stream_);
    if (memory_ != nullptr) (void)api_.Free(memory_);
  }

  void probe() {
    if (api_.Malloc(&memory_, bytes) != hipSuccess) return;
    if (api_.StreamCreateWithPriority(&stream_, Api::stream_non_blocking, Api::usual_priority()) != hipSuccess) return;
    if (has(Feature::graph_capture)) capture();
    if (has(Feature::graph_capture)) graphs();
    streams();
    memory_operations();
    memory();
    captured_host_functions();  // last: where it fails, the stream may be of no more use
  }

 private:
  static constexpr std::size_t bytes = 256;

  bool has(Feature feature) const { return features_.supports(feature); }

  /// Whether the runtime says of a function that it is not supported.
  static bool is_refused(hipError_t result) { return result == hipErrorNotSupported; }
  static std::string name_alone(const char* function) {
    return std::string("this runtime has no more of ") + function + " than its name: it says that the call is not supported";
  }

  /// Calls a function if the runtime is thought to have the feature, which is absent if that is refused.
  template <class Call>
  bool try_call(Feature feature, const char* function, Call&& call) {
    if (!has(feature)) return false;
    const bool refused = is_refused(call());
    if (refused) features_.absent(feature, name_alone(function));
    return !refused;
  }

  void no_capture(const std::string& reason) {
    for (const Feature feature : capture_features) {
      if (feature == Feature::graph_capture) {
        features_.absent(feature, reason);
      } else if (has(feature)) {
        features_.absent(feature, "there is no capture: " + reason);
      }
    }
  }

  /// Captures one fill, and sees whether the graph has it.
  void capture() {
    std::size_t nodes = 0;
    hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
    const hipError_t begun = api_.StreamBeginCapture(stream_, hipStreamCaptureModeRelaxed);
    if (begun == hipErrorNotSupported) return no_capture(name_alone("hipStreamBeginCapture"));
    if (begun != hipSuccess) return;
    const hipError_t asked = api_.StreamIsCapturing(stream_, &status);
    (void)api_.MemsetD8Async(memory_, 0, bytes, stream_);
    const hipError_t ended = api_.StreamEndCapture(stream_, &graph_);
    const hipError_t listed = graph_ != nullptr ? api_.GraphGetNodes(graph_, nullptr, &nodes) : hipSuccess;
    if (is_refused(asked)) {
      no_capture(name_alone("hipStreamIsCapturing"));
    } else if (status != hipStreamCaptureStatusActive) {
      no_capture("this runtime captures nothing: behind hipStreamBeginCapture, the stream does not capture");
    } else if (is_refused(ended)) {
      no_capture(name_alone("hipStreamEndCapture"));
    } else if (ended != hipSuccess) {
      return;
    } else if (is_refused(listed)) {
      no_capture(name_alone("hipGraphGetNodes"));
    } else if (nodes != 1) {
      no_capture("this runtime captures nothing: a capture with one fill in it ended with " + std::to_string(nodes) +
                 " nodes");
    }
  }

  /// What can be done with the graph.
  void graphs() {
    if (graph_ == nullptr) return;
    hipGraphExec_t exec = nullptr;
    if (is_refused(api_.GraphInstantiateWithFlags(&exec, graph_, 0)))
      return no_capture(name_alone("hipGraphInstantiateWithFlags"));
    if (exec != nullptr) {
      try_call(Feature::graph_upload, "hipGraphUpload", [&] { return api_.GraphUpload(exec, stream_); });
      const bool refused = is_refused(api_.GraphLaunch(exec, stream_));
      // One that may still run is left.
      if (api_.StreamSynchronize(stream_) == hipSuccess) (void)api_.GraphExecDestroy(exec);
      if (refused) return no_capture(name_alone("hipGraphLaunch"));
    }
    hipGraph_t copy = nullptr;
    try_call(Feature::graph_clone, "hipGraphClone", [&] { return api_.GraphClone(&copy, graph_); });
    if (copy != nullptr) (void)api_.GraphDestroy(copy);
    try_call(Feature::graph_debug_dot, "hipGraphDebugDotPrint",
             [&] { return api_.GraphDebugDotPrint(graph_, "/dev/null", 0); });
    if (hipGraph_t outer = nullptr; has(Feature::graph_child_nodes) && api_.GraphCreate(&outer, 0) == hipSuccess) {
      hipGraphNode_t node = nullptr;
      try_call(Feature::graph_child_nodes, "hipGraphAddChildGraphNode",
               [&] { return api_.GraphAddChildGraphNode(&node, outer, nullptr, 0, graph_); });
      (void)api_.GraphDestroy(outer);
    }
    if (hipGraph_t continued = nullptr; has(Feature::capture_into_graph) && api_.GraphCreate(&continued, 0) == hipSuccess) {
      hipGraph_t ended = nullptr;
      hipError_t result = hipSuccess;
      try_call(Feature::capture_into_graph, "hipStreamBeginCaptureToGraph", [&] {
        return result = api_.begin_capture_to_graph(stream_, continued, nullptr, 0, hipStreamCaptureModeRelaxed);
      });
      if (result == hipSuccess) (void)api_.StreamEndCapture(stream_, &ended);
      (void)api_.GraphDestroy(continued);
    }
  }

  void captured_host_functions() {
    if (!has(Feature::host_functions_in_capture)) return;
    if (api_.StreamBeginCapture(stream_, hipStreamCaptureModeRelaxed) != hipSuccess) return;
    hipError_t result = hipSuccess;
    try_call(Feature::host_functions_in_capture, "hipLaunchHostFunc", [&] {
      return result = api_.LaunchHostFunc(
                 stream_, [](void*) {}, nullptr);
    });
    const FeatureQuirk* const quirk = find_quirk(Feature::host_functions_in_capture, api_.release());
    if (quirk != nullptr && quirk->effect == Effect::probed && result == hipErrorStreamCaptureUnsupported)
      features_.absent(Feature::host_functions_in_capture, std::string(quirk->reason));
    hipGraph_t captured = nullptr;
    (void)api_.StreamEndCapture(stream_, &captured);
    if (captured != nullptr) (void)api_.GraphDestroy(captured);
  }

  void streams() {
    try_call(Feature::host_functions, api_.LaunchHostFunc ? "hipLaunchHostFunc" : "hipStreamAddCallback", [&] {
      return api_.launch_host_function(
          stream_, [](void*) {}, nullptr);
    });
    try_call(Feature::stream_callbacks, "hipStreamAddCallback", [&] {
      return api_.StreamAddCallback(
          stream_, [](hipStream_t, hipError_t, void*) {}, nullptr, 0);
    });
    try_call(Feature::stream_id, "hipStreamGetId", [&] {
      std::uint64_t id = 0;
      return api_.stream_id(stream_, id);
    });
    try_call(Feature::synchronization_policy, "hipStreamGetAttribute", [&] {
      SynchronizationPolicy policy{};
      return api_.get_synchronization_policy(stream_, policy);
    });
    std::array<hipEvent_t, 2> events{};
    for (hipEvent_t& event : events) {
      if (api_.EventCreate(&event, 0) == hipSuccess) (void)api_.EventRecord(event, stream_);
    }
    (void)api_.StreamSynchronize(stream_);
    if (events[0] != nullptr && events[1] != nullptr) {
      float time = 0;
      try_call(Feature::event_timing, "hipEventElapsedTime",
               [&] { return api_.EventElapsedTime(&time, events[0], events[1]); });
    }
    for (hipEvent_t event : events) {
      if (event != nullptr) (void)api_.EventDestroy(event);
    }
  }

  void memory_operations() {
    (void)api_.MemsetD8Async(memory_, 0, bytes, stream_);
    const auto operation = [&](MemoryOperation::Kind kind, WaitCondition condition = WaitCondition::eq) {
      return api_.memory_operation(stream_, {kind, condition, {}, memory_, 0});  // writes 0, or waits for what is there
    };
    using Kind = MemoryOperation::Kind;
    try_call(Feature::write_value_32, "hipStreamWriteValue32", [&] { return operation(Kind::write_32); });
    try_call(Feature::write_value_64, "hipStreamWriteValue64", [&] { return operation(Kind::write_64); });
    try_call(Feature::wait_value_32, "hipStreamWaitValue32", [&] { return operation(Kind::wait_32); });
    try_call(Feature::wait_value_64, "hipStreamWaitValue64", [&] { return operation(Kind::wait_64); });
    try_call(Feature::wait_value_nor, "hipStreamWaitValue32",
             [&] { return operation(Kind::wait_32, WaitCondition::bit_nor); });
    try_call(Feature::batch_memory_operations, api_.StreamBatchMemOp ? "hipStreamBatchMemOp" : "hipStreamWriteValue32", [&] {
      BatchOperation batch;
      Api::fill_batch_operation(batch, {Kind::write_32, {}, {}, memory_, 0});
      return api_.batch(stream_, &batch, 1);
    });
  }

  void memory() {
    try_call(Feature::interprocess_memory, "hipIpcGetMemHandle", [&] {
      InterprocessHandle handle;
      return api_.memory_to_handle(memory_, handle);
    });
    void* managed = nullptr;
    if (has(Feature::managed_memory) && !try_call(Feature::managed_memory, "hipMallocManaged",
                                                  [&] { return api_.allocate(managed, bytes, MemoryKind::managed); })) {
      for (const Feature feature : {Feature::managed_attach, Feature::managed_prefetch}) {
        if (has(feature)) features_.absent(feature, name_alone("hipMallocManaged"));
      }
    }
    if (managed != nullptr) {
      try_call(Feature::managed_attach, "hipStreamAttachMemAsync",
               [&] { return api_.attach_async(stream_, managed, AttachMode::global); });
      try_call(Feature::managed_prefetch, "hipMemPrefetchAsync",
               [&] { return api_.prefetch_async(managed, bytes, false, device_, stream_); });
      (void)api_.StreamSynchronize(stream_);
      (void)api_.Free(managed);
    }
    try_call(Feature::host_registration, "hipHostRegister", [&] {
      alignas(4096) static std::array<std::byte, 4096> page;
      void* address = nullptr;
      const hipError_t result = api_.register_host(page.data(), page.size(), address);
      if (result == hipSuccess) (void)api_.MemHostUnregister(page.data());
      return result;
    });
    const auto allocate = [&](hipMemPool_t pool) {
      void* allocated = nullptr;
      const hipError_t result = api_.allocate_async(allocated, bytes, pool, stream_);
      return result == hipSuccess ? api_.free_async(allocated, stream_) : result;
    };
    try_call(Feature::async_allocation, "hipMallocAsync", [&] { return allocate(nullptr); });
    hipMemPool_t pool = nullptr;
    try_call(Feature::memory_pools, "hipMemPoolCreate", [&] { return api_.create_pool(device_, 0, pool); });
    if (pool != nullptr) {
      try_call(Feature::memory_pools, "hipMallocFromPoolAsync", [&] { return allocate(pool); });
      (void)api_.StreamSynchronize(stream_);
      (void)api_.destroy_pool(pool);
    }
    if (has(Feature::memory_pool_max_size) && !has(Feature::memory_pools))
      features_.absent(Feature::memory_pool_max_size, features_.state(Feature::memory_pools).reason);
  }

  const Api& api_;
  FeatureTable& features_;
  const Api::DeviceContext device_;
  void* memory_ = nullptr;
  hipStream_t stream_ = nullptr;
  hipGraph_t graph_ = nullptr;
};

}  // namespace

// A runtime has the same functions for each device, and one device that hangs must not hang processes that use another: the
// default device alone is tried, or the one that the program has made current.
void Api::try_out() {
  const support::UnshownCalls unshown;
  int current_device = 0;
  (void)GetDevice(&current_device);
  int ordinal = static_cast<int>(support::environment_number("WEIR_DEVICE", current_device, 0, INT_MAX));
  if (ordinal >= device_count_) ordinal = current_device;
  FeatureTable before;
  decide(before, ordinal);
  FeatureTable after = before;
  {
    const Current current(*this, DeviceContext{ordinal}, std::nothrow);
    if (current.result() != success) return;  // else another device would be tried
    const gpu::CaptureModeScope<Api> relaxed(*this);  // so as not to invalidate captures that other code has open
    Trial(*this, after, ordinal).probe();
  }
  for (const Feature feature : all_features()) {
    if (before.supports(feature) && !after.supports(feature)) tried_.emplace_back(feature, after.state(feature).reason);
  }
}

}  // namespace weir::hip
