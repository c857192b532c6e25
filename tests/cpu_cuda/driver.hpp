// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

/// A libcuda.so.1 without a GPU, for tests only. Devices are simulated, memory is the host's, streams are threads, and
/// libnvrtc.so (nvrtc.cpp) compiles kernels for the CPU. It is asynchronous like the real driver, so it can run tests for
/// which a stand-in that does all work immediately is not enough. It has only the functions that the HIP bridge calls.
namespace cpu_cuda {

struct Capture;
struct Graph;
struct Node;
struct Stream;

/// Guards all that follows. Held neither while work runs nor while a program's function is called.
std::mutex& machine() noexcept;
using Lock = std::unique_lock<std::mutex>;

/// Whether the process ends, and the driver's own handler of that has run. Each call returns CUDA_ERROR_DEINITIALIZED then,
/// and streams begin no more work.
bool is_shut_down() noexcept;

// --- Devices ----------------------------------------------------------------------------------------------------------

/// How many devices there are: the environment variable CPU_CUDA_DEVICES, or 1.
int device_count() noexcept;
/// The device of the calling thread's current context, or -1.
int current_device() noexcept;
CUcontext context_of(int device) noexcept;
int device_of(CUcontext context) noexcept;

// --- Streams ----------------------------------------------------------------------------------------------------------

/// A place in a stream: reached once the stream has done so much work.
struct Point {
  std::shared_ptr<Stream> stream;
  std::uint64_t number = 0;
  bool is_reached() const noexcept;
  void wait(Lock& lock) const;
};

struct Work {
  std::function<void()> run;
  std::vector<Point> after;
};

struct Stream : std::enable_shared_from_this<Stream> {
  int device = 0;
  bool is_blocking = true;
  bool is_legacy = false;
  int priority = 0;
  CUstreamAttrValue policy{};

  std::condition_variable changed;
  std::deque<Work> queue;
  std::uint64_t submitted = 0, done = 0;
  bool is_running = false;  // there is a thread for it

  std::shared_ptr<Capture> capture;
  std::vector<Node*> dependencies;

  Point last() { return {shared_from_this(), submitted}; }
};

/// The stream that a handle stands for, on the current device where it is a default stream's; null where it stands for none.
std::shared_ptr<Stream> find(CUstream handle);
/// Enqueues work behind what the stream has, and behind what default streams demand. Waits where the stream has very much to
/// do.
void enqueue(Lock& lock, const std::shared_ptr<Stream>& stream, std::function<void()> run, std::vector<Point> after = {});
/// All streams of a device.
std::vector<std::shared_ptr<Stream>> streams_of(int device);
/// Whether the calling thread is in a host function, where no call may be made.
bool in_host_function() noexcept;

// --- Captures and graphs ----------------------------------------------------------------------------------------------

struct Capture {
  std::uint64_t id = 0;
  Graph* graph = nullptr;
  bool owns_graph = true;
  Stream* origin = nullptr;
  CUstreamCaptureMode mode{};
  std::thread::id thread;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
};

struct UserObject {
  void* pointer = nullptr;
  CUhostFn destroy = nullptr;
  unsigned references = 0;
};

struct Node {
  CUgraphNodeType type{};
  std::function<void()> run;  // of all but host functions and child graphs
  CUDA_HOST_NODE_PARAMS host{};
  CUDA_KERNEL_NODE_PARAMS kernel{};  // without its arguments
  std::shared_ptr<Graph> child;
  Graph* graph = nullptr;
  std::vector<Node*> before;
};

inline std::unique_ptr<Node> make_node(CUgraphNodeType type, std::function<void()> run = {}) {
  auto node = std::make_unique<Node>();
  node->type = type;
  node->run = std::move(run);
  return node;
}

struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<UserObject*> owned;
  std::vector<std::shared_ptr<void>> memory;  // of its allocations
  ~Graph();
  Node* add(std::unique_ptr<Node> node, const std::vector<Node*>& before);
  void copy_to(Graph& made) const;
  std::shared_ptr<Graph> copy() const;
  /// Runs it, branches at once.
  void run() const;
};

/// Enqueues a node's work, or captures it: what all submissions end in.
CUresult submit(CUstream stream, std::unique_ptr<Node> node);
CUresult submit(CUstream stream, CUgraphNodeType type, std::function<void()> run);
/// For calls that captures forbid: 900 where one does, which is then invalid.
CUresult forbidden_by_capture(Lock& lock);
void invalidate_capture(Stream& stream);
/// Ends a capture without a graph.
void leave_capture(const std::shared_ptr<Capture>& capture);

}  // namespace cpu_cuda
