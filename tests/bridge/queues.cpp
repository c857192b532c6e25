// SPDX-License-Identifier: Apache-2.0
#include "queues.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <thread>
#include <utility>

/// Resources that AMD's streams share. A device has four hardware queues per priority, in which work of one stream can delay
/// work of another, and one thread that calls all host functions.
namespace bridge {

struct HardwareQueue {
  std::mutex mutex;
  std::atomic<int> streams{0};
  CUevent tail = nullptr;              // behind all that was submitted
  const void* last = nullptr;          // the stream that submitted last
  ihipStream_t* unrecorded = nullptr;  // the same, where the event does not stand for its work yet
};

namespace {

constexpr int priorities = 3;

/// The queues of a device, by priority.
struct Device {
  std::mutex mutex;
  std::array<std::vector<std::unique_ptr<HardwareQueue>>, priorities> queues;
  HardwareQueue* null_stream = nullptr;
};

std::size_t queues_per_priority() {
  static const std::size_t count = [] {
    const char* const text = std::getenv("GPU_MAX_HW_QUEUES");
    return static_cast<std::size_t>(text != nullptr ? std::max(1, std::atoi(text)) : 4);
  }();
  return count;
}

Device& device_queues(int ordinal) {
  static auto* const devices = new std::array<Device, 64>;
  return (*devices)[static_cast<std::size_t>(ordinal)];
}

/// An address that stands for a stream in its queue.
const void* name_of(const Target& target) noexcept {
  static const char null_stream = 0;
  thread_local const char of_this_thread = 0;
  if (target.own != nullptr) return target.own;
  return target.cuda == CU_STREAM_PER_THREAD ? &of_this_thread : &null_stream;
}

/// Calls host functions, one after another.
class HostThread {
 public:
  static HostThread& instance() {
    static auto* const thread = new HostThread;
    return *thread;
  }
  /// On the thread of CUDA's that has reached the function in the stream: returns when it has been called.
  void call(hipHostFn_t function, void* data) {
    bool done = false;
    std::unique_lock lock(mutex_);
    calls_.push_back({function, data, &done});
    changed_.notify_all();
    changed_.wait(lock, [&] { return done; });
  }

 private:
  struct Call {
    hipHostFn_t function;
    void* data;
    bool* done;
  };
  HostThread() { std::thread(&HostThread::run, this).detach(); }
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return !calls_.empty(); });
      const Call next = calls_.front();
      calls_.pop_front();
      lock.unlock();
      next.function(next.data);
      lock.lock();
      *next.done = true;
      changed_.notify_all();
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Call> calls_;
};

struct HostCall {
  hipHostFn_t function;
  void* data;
};
void CUDA_CB call_once(void* call) {
  const std::unique_ptr<HostCall> owned(static_cast<HostCall*>(call));
  HostThread::instance().call(owned->function, owned->data);
}

/// Of a graph's node. Kept for ever, since graphs and their copies may hold it.
struct NodeCall : HostCall {
  std::atomic<bool> data_has_gone{false};

  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  static auto& known() {
    static auto* const all = new std::map<std::pair<void*, hipHostFn_t>, std::unique_ptr<NodeCall>>;
    return *all;
  }
};
void CUDA_CB call_of_node(void* call) {
  const auto* const node = static_cast<const NodeCall*>(call);
  if (node->data_has_gone) undefined("hipGraphLaunch", "a host function is called whose user object has gone");
  HostThread::instance().call(node->function, node->data);
}

struct Callback {
  hipStreamCallback_t function;
  hipStream_t stream;
  void* data;

  static void call(void* callback) {
    auto* const self = static_cast<Callback*>(callback);
    self->function(self->stream, hipSuccess, self->data);  // AMD's library tells of no other status
  }
  static void CUDA_CB run(CUstream, CUresult, void* callback) {
    const std::unique_ptr<Callback> owned(static_cast<Callback*>(callback));
    HostThread::instance().call(&call, callback);
  }
};

/// Waits for a stream that captures nothing, whatever the calling thread captures.
void finish_work(const Target& target) {
  auto mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  cuda()->ThreadExchangeStreamCaptureMode(&mode);
  cuda()->StreamSynchronize(target.cuda);
  cuda()->ThreadExchangeStreamCaptureMode(&mode);
}

}  // namespace

HardwareQueue* take_queue(int device, int priority) {
  Device& all = device_queues(device);
  const std::lock_guard lock(all.mutex);
  auto& queues = all.queues[static_cast<std::size_t>(priority + 1)];
  const auto fewest = std::min_element(queues.begin(), queues.end(),
                                       [](const auto& a, const auto& b) { return a->streams.load() < b->streams.load(); });
  HardwareQueue* queue = nullptr;
  if (fewest != queues.end() && ((*fewest)->streams == 0 || queues.size() == queues_per_priority())) {
    queue = fewest->get();
  } else {
    queue = queues.emplace_back(std::make_unique<HardwareQueue>()).get();
  }
  ++queue->streams;
  return queue;
}

void give_back(HardwareQueue* queue) noexcept { --queue->streams; }

void leave_queue(const ihipStream_t& stream) noexcept {
  {
    const std::lock_guard lock(stream.queue->mutex);
    if (stream.queue->last == &stream) {  // it is idle, and another stream may get its address
      stream.queue->last = nullptr;
      stream.queue->unrecorded = nullptr;
    }
  }
  give_back(stream.queue);
}

HardwareQueue* queue_of_null_stream(int device) {
  HardwareQueue*& queue = device_queues(device).null_stream;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (queue == nullptr) queue = take_queue(device, 0);
  return queue;
}

HardwareQueue* queue_of_this_thread(int device) {
  using Queues = std::map<int, HardwareQueue*>;
  // A pointer, since static objects' destructors come behind those of the main thread's own.
  thread_local Queues* mine = nullptr;
  struct End {
    ~End() {
      for (const auto& [ordinal, queue] : *mine) {
        {
          const Scope scope(ordinal);
          finish_work({CU_STREAM_PER_THREAD, ordinal, nullptr, queue});
        }
        give_back(queue);
      }
      delete std::exchange(mine, nullptr);
    }
  };
  if (mine == nullptr) mine = new Queues;
  thread_local const End end;
  (void)end;
  HardwareQueue*& queue = (*mine)[device];
  if (queue == nullptr) queue = take_queue(device, 0);
  return queue;
}

std::unique_lock<std::mutex> keep_out_of_captures(const Target& target) noexcept {
  return std::unique_lock(target.queue->mutex);
}

// Work that is captured goes to no queue. Nor does any to the null stream while a blocking stream captures: CUDA refuses it.
Submission::Submission(const Target& target) noexcept : target_(target) {
  HardwareQueue& queue = *target_.queue;
  const std::lock_guard lock(queue.mutex);
  counts_ = !is_in_capture(target_);
  if (!counts_) return;
  if (queue.tail == nullptr) cuda()->EventCreate(&queue.tail, CU_EVENT_DISABLE_TIMING);
  if (queue.last == name_of(target_)) return;
  bool is_behind = queue.last != nullptr;
  if (ihipStream_t* const stream = std::exchange(queue.unrecorded, nullptr)) is_behind = record_if_alive(stream, queue.tail);
  if (is_behind) cuda()->StreamWaitEvent(target_.cuda, queue.tail, 0);
}

// What a non-blocking stream submits is followed by an event once another stream comes: CUDA's streams are not endless. On
// the others an event would wait for more than it was to stand for by then.
Submission::~Submission() {
  if (!counts_) return;
  if (is_immediate() && !is_in_capture(target_)) finish_work(target_);
  HardwareQueue& queue = *target_.queue;
  const std::lock_guard lock(queue.mutex);
  if (is_in_capture(target_)) return;  // it may have joined a capture meanwhile
  queue.last = name_of(target_);
  queue.unrecorded = target_.own != nullptr && target_.own->flags == hipStreamNonBlocking ? target_.own : nullptr;
  if (queue.unrecorded == nullptr) cuda()->EventRecord(queue.tail, target_.cuda);
}

CUDA_HOST_NODE_PARAMS on_host_thread(hipHostFn_t function, void* data) {
  const std::lock_guard lock(NodeCall::mutex());
  auto& call = NodeCall::known()[{data, function}];
  if (call == nullptr) call.reset(new NodeCall{{function, data}});
  call->data_has_gone = false;
  return {&call_of_node, call.get()};
}

void data_has_gone(void* data) noexcept {
  const std::lock_guard lock(NodeCall::mutex());
  auto& known = NodeCall::known();
  for (auto call = known.lower_bound({data, nullptr}); call != known.end() && call->first.first == data; ++call) {
    call->second->data_has_gone = true;
  }
}

hipHostNodeParams as_given(const CUDA_HOST_NODE_PARAMS& parameters) noexcept {
  const auto* const call = static_cast<const NodeCall*>(parameters.userData);
  return {call->function, call->data};
}

}  // namespace bridge

using namespace bridge;

extern "C" {

hipError_t hipStreamAddCallback(hipStream_t stream, hipStreamCallback_t function, void* data, unsigned flags) {
  return on_queue("hipStreamAddCallback", stream, [&](const Cuda& driver, Target& on) {
    if (function == nullptr || flags != 0) return hipErrorInvalidValue;
    CUstream native = on.cuda;
    if (is_capturing(on)) {
      if (!before(700)) return hipErrorStreamCaptureUnsupported;
      native = eager(on);
    } else if (is_immediate()) {
      finish_work(on);
      function(stream, hipSuccess, data);
      return hipSuccess;
    }
    auto* const callback = new Callback{function, stream, data};
    const CUresult result = driver.StreamAddCallback(native, &Callback::run, callback, 0);
    if (result != CUDA_SUCCESS) delete callback;
    return from_cuda(result);
  });
}

hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t function, void* data) {
  return on_queue("hipLaunchHostFunc", stream, [&](const Cuda& driver, const Target& on) {
    if (function == nullptr) return hipErrorInvalidValue;
    if (is_capturing(on)) {
      // 7.0.0 and 7.0.1, which the number does not tell from 7.0.2: the worse of the two is presented.
      if (release == 700) return hipErrorStreamCaptureUnsupported;
      const CUDA_HOST_NODE_PARAMS node = on_host_thread(function, data);
      return from_cuda(driver.LaunchHostFunc(on.cuda, node.fn, node.userData));
    }
    if (is_immediate()) {
      finish_work(on);
      function(data);
      return hipSuccess;
    }
    auto* const call = new HostCall{function, data};
    const CUresult result = driver.LaunchHostFunc(on.cuda, &call_once, call);
    if (result != CUDA_SUCCESS) delete call;
    return from_cuda(result);
  });
}
}
