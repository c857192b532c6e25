// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <unordered_set>

#include "bridge.hpp"
#include "launches.hpp"
#include "queues.hpp"

/// Graphs. Handles of graphs and nodes are CUDA's own. Parameters of nodes are AMD's structures, whose members are in
/// another order.
using namespace bridge;

namespace {

const CUgraphNode* nodes(const hipGraphNode_t* list) { return reinterpret_cast<const CUgraphNode*>(list); }
CUgraphNode* nodes(hipGraphNode_t* list) { return reinterpret_cast<CUgraphNode*>(list); }
CUgraph graph_of(hipGraph_t graph) { return handle<CUgraph>(graph); }
CUgraphNode node_of(hipGraphNode_t node) { return handle<CUgraphNode>(node); }

CUDA_KERNEL_NODE_PARAMS to_cuda(const hipKernelNodeParams& from) {
  CUDA_KERNEL_NODE_PARAMS to{};
  to.func = static_cast<CUfunction>(from.func);
  to.gridDimX = from.gridDim.x;
  to.gridDimY = from.gridDim.y;
  to.gridDimZ = from.gridDim.z;
  to.blockDimX = from.blockDim.x;
  to.blockDimY = from.blockDim.y;
  to.blockDimZ = from.blockDim.z;
  to.sharedMemBytes = from.sharedMemBytes;
  to.kernelParams = from.kernelParams;
  to.extra = from.extra;
  return to;
}

hipKernelNodeParams to_hip(const CUDA_KERNEL_NODE_PARAMS& from) {
  hipKernelNodeParams to{};
  to.func = from.func;
  to.gridDim = dim3(from.gridDimX, from.gridDimY, from.gridDimZ);
  to.blockDim = dim3(from.blockDimX, from.blockDimY, from.blockDimZ);
  to.sharedMemBytes = from.sharedMemBytes;
  to.kernelParams = from.kernelParams;
  to.extra = from.extra;
  return to;
}

CUDA_MEMSET_NODE_PARAMS to_cuda(const hipMemsetParams& from) {
  CUDA_MEMSET_NODE_PARAMS to{};
  to.dst = address(from.dst);
  to.pitch = from.pitch;
  to.value = from.value;
  to.elementSize = from.elementSize;
  to.width = from.width;
  to.height = from.height;
  return to;
}

// Widths are bytes, since arrays are not handled.
CUDA_MEMCPY3D to_cuda(const hipMemcpy3DParms& from) {
  CUDA_MEMCPY3D to{};
  to.srcMemoryType = to.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  to.srcDevice = address(from.srcPtr.ptr);
  to.srcPitch = from.srcPtr.pitch;
  to.srcHeight = from.srcPtr.ysize;
  to.srcXInBytes = from.srcPos.x;
  to.srcY = from.srcPos.y;
  to.srcZ = from.srcPos.z;
  to.dstDevice = address(from.dstPtr.ptr);
  to.dstPitch = from.dstPtr.pitch;
  to.dstHeight = from.dstPtr.ysize;
  to.dstXInBytes = from.dstPos.x;
  to.dstY = from.dstPos.y;
  to.dstZ = from.dstPos.z;
  to.WidthInBytes = from.extent.width;
  to.Height = from.extent.height;
  to.Depth = from.extent.depth;
  return to;
}

hipError_t add_copy(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* dependencies, size_t count,
                    const CUDA_MEMCPY3D& copy) {
  return on_device([&](const Cuda& driver) {
    return from_cuda(driver.GraphAddMemcpyNode(nodes(node), graph_of(graph), nodes(dependencies), count, &copy,
                                               context_of(current_device())));
  });
}

int kind_to_hip(CUgraphNodeType kind) {
  if (kind == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP) return 14;
  return static_cast<int>(kind);
}

bool flags_are_known(unsigned long long flags) {
  return flags == 0 || flags == 1 || flags == 8;
}

// --- User objects -----------------------------------------------------------------------------------------------------

/// How often each graph owns which of them.
class UserObjects {
 public:
  using Counts = std::map<CUuserObject, int>;

  Counts of(CUgraph graph) {
    const std::lock_guard lock(mutex_);
    return graphs_[graph];
  }
  void add(CUgraph graph, CUuserObject object, int count) {
    const std::lock_guard lock(mutex_);
    if ((graphs_[graph][object] += count) == 0) graphs_[graph].erase(object);
  }
  void forget(CUgraph graph) {
    const std::lock_guard lock(mutex_);
    graphs_.erase(graph);
  }
  void forget(CUuserObject object) {
    const std::lock_guard lock(mutex_);
    for (auto& [graph, counts] : graphs_) counts.erase(object);
  }

 private:
  std::mutex mutex_;
  std::map<CUgraph, Counts> graphs_;
};
UserObjects& user_objects() {
  static auto* const all = new UserObjects;
  return *all;
}

struct UserObject {
  void* pointer;
  hipHostFn_t destroy;
  CUuserObject cuda = nullptr;

  static void end(void* self) {
    const std::unique_ptr<UserObject> object(static_cast<UserObject*>(self));
    user_objects().forget(object->cuda);
    data_has_gone(object->pointer);
    object->destroy(object->pointer);
  }
};

/// A call that looks for a user object, or makes or ends some. Up to 6.2 they are looked for in a set of all, without the
/// lock under which that changes.
class UseOfUserObjects {
 public:
  enum class Kind : std::uint8_t { looks, changes };

  UseOfUserObjects(const char* function, Kind kind) noexcept {
    static std::atomic<int> counts[2];
    if (!before(603)) return;
    count_ = &counts[static_cast<std::size_t>(kind)];
    ++*count_;
    // Long enough to meet another thread.
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(20);
    while (std::chrono::steady_clock::now() < end) {
    }
    if (counts[0] != 0 && counts[1] != 0)
      undefined(function, "a user object is looked for while another thread makes or ends one");
  }
  ~UseOfUserObjects() {
    if (count_ != nullptr) --*count_;
  }
  UseOfUserObjects(const UseOfUserObjects&) = delete;
  UseOfUserObjects& operator=(const UseOfUserObjects&) = delete;

 private:
  std::atomic<int>* count_ = nullptr;
};
constexpr auto looks = UseOfUserObjects::Kind::looks, changes = UseOfUserObjects::Kind::changes;

// --- Executables ------------------------------------------------------------------------------------------------------

/// A call that copies a graph, or makes or destroys an executable of it. Whether AMD's library lets threads do that at once
/// is not known, and CUDA's driver crashes: so it is undefined here, too. Unseen by programs, an executable is destroyed
/// behind a wait: for that, one call at a time is made to the driver.
class Copying {
 public:
  using Count = std::shared_ptr<std::atomic<int>>;

  static Count of(CUgraph graph) {
    const std::lock_guard lock(counts().mutex);
    Count& count = counts().of_graphs[graph];
    if (count == nullptr) count = std::make_shared<std::atomic<int>>(0);
    return count;
  }
  static void forget(CUgraph graph) {
    const std::lock_guard lock(counts().mutex);
    counts().of_graphs.erase(graph);
  }
  static std::mutex& driver() {
    static auto* const mutex = new std::mutex;
    return *mutex;
  }

  Copying(const char* function, Count count) : count_(std::move(count)) {
    const bool is_first = count_->fetch_add(1) == 0;
    // Long enough to meet another thread.
    std::this_thread::sleep_for(std::chrono::microseconds(20));
    if (!is_first || *count_ != 1)
      undefined(function, "another thread copies the graph, or makes or destroys an executable of it");
    lock_ = std::unique_lock(driver());
  }
  ~Copying() { --*count_; }
  Copying(const Copying&) = delete;
  Copying& operator=(const Copying&) = delete;

 private:
  struct Counts {
    std::mutex mutex;
    std::map<CUgraph, Count> of_graphs;
  };
  static Counts& counts() {
    static auto* const all = new Counts;
    return *all;
  }
  const Count count_;
  std::unique_lock<std::mutex> lock_;
};

/// Two of CUDA's, which take turns: CUDA orders launches of one, and AMD's library does not.
struct Executable {
  std::array<CUgraphExec, 2> cuda{};
  std::size_t turn = 0;
  int device = 0;
  std::set<hipModule_t> modules;
  Copying::Count copying;  // of the graph that it was made of
};

/// Of an executable; it is over once the event is complete.
struct Launch {
  Executable* exec;
  CUevent over;
  int device;
  const ihipStream_t* stream;
  std::set<hipModule_t> modules;
};

struct Launches {
  std::mutex mutex;
  std::deque<Launch> running;
  std::unordered_set<Executable*> parked;  // destroyed while they ran, by 6.2
};
Launches& launches() {
  static auto* const all = new Launches;
  return *all;
}

/// Lets a scope ask CUDA, whatever this thread captures.
class Relaxed {
 public:
  Relaxed() { cuda()->ThreadExchangeStreamCaptureMode(&mode_); }
  ~Relaxed() { cuda()->ThreadExchangeStreamCaptureMode(&mode_); }
  Relaxed(const Relaxed&) = delete;
  Relaxed& operator=(const Relaxed&) = delete;

 private:
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

/// Takes out launches that are over. The lock is held.
void forget_what_is_over() {
  const Relaxed relaxed;
  std::erase_if(launches().running, [](const Launch& launch) {
    const Scope scope(launch.device);
    if (cuda()->EventQuery(launch.over) == CUDA_ERROR_NOT_READY) return false;
    cuda()->EventDestroy(launch.over);
    return true;
  });
}

bool is_running(const Executable* exec) {
  forget_what_is_over();
  return std::any_of(launches().running.begin(), launches().running.end(),
                     [exec](const Launch& launch) { return launch.exec == exec; });
}

CUresult destroy(Executable* exec) {
  const Scope scope(exec->device);
  const Relaxed relaxed;
  CUresult result = CUDA_SUCCESS;
  for (CUgraphExec native : exec->cuda) {
    if (native != nullptr) result = cuda()->GraphExecDestroy(native);
  }
  delete exec;
  return result;
}

/// Finds the modules of a graph's kernels, and whether it allocates memory, so that CUDA makes no second executable of it.
void look_through(const Cuda& driver, CUgraph graph, std::set<hipModule_t>& modules, bool& allocates) {
  std::size_t count = 0;
  driver.GraphGetNodes(graph, nullptr, &count);
  std::vector<CUgraphNode> list(count);
  if (count != 0) driver.GraphGetNodes(graph, list.data(), &count);
  for (const CUgraphNode node : list) {
    CUgraphNodeType type{};
    driver.GraphNodeGetType(node, &type);
    if (type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || type == CU_GRAPH_NODE_TYPE_MEM_FREE) allocates = true;
    if (type == CU_GRAPH_NODE_TYPE_KERNEL) {
      CUDA_KERNEL_NODE_PARAMS parameters{};
      driver.GraphKernelNodeGetParams(node, &parameters);
      modules.insert(module_of(parameters.func));
    }
    if (type == CU_GRAPH_NODE_TYPE_GRAPH) {
      CUgraph child = nullptr;
      driver.GraphChildGraphNodeGetGraph(node, &child);
      look_through(driver, child, modules, allocates);
    }
  }
}

}  // namespace

void bridge::check_not_launched(const char* function, hipModule_t module) {
  const std::lock_guard lock(launches().mutex);
  forget_what_is_over();
  for (const Launch& launch : launches().running) {
    if (launch.modules.contains(module)) undefined(function, "a graph that launches kernels of the module is running");
  }
}

void bridge::release_parked(int device, const ihipStream_t* stream) noexcept {
  const std::lock_guard lock(launches().mutex);
  std::erase_if(launches().parked, [&](Executable* exec) {
    const bool is_meant =
        exec->device == device &&
        (stream == nullptr || std::any_of(launches().running.begin(), launches().running.end(), [&](const Launch& launch) {
           return launch.exec == exec && launch.stream == stream;
         }));
    if (!is_meant) return false;
    if (is_running(exec)) undefined("hipEventSynchronize", "it destroys an executable that runs, which was parked");
    const std::lock_guard copying(Copying::driver());
    destroy(exec);
    return true;
  });
}

extern "C" {

hipError_t hipGraphCreate(hipGraph_t* graph, unsigned flags) {
  return on_device([&](const Cuda& driver) {
    return from_cuda(driver.GraphCreate(reinterpret_cast<CUgraph*>(graph), flags));
  });
}
hipError_t hipGraphDestroy(hipGraph_t graph) {
  return on_device([&](const Cuda& driver) {
    const UseOfUserObjects use("hipGraphDestroy", changes);
    user_objects().forget(graph_of(graph));
    Copying::forget(graph_of(graph));
    return from_cuda(driver.GraphDestroy(graph_of(graph)));
  });
}
hipError_t hipGraphClone(hipGraph_t* clone, hipGraph_t graph) {
  return on_device([&](const Cuda& driver) {
    auto* const made = reinterpret_cast<CUgraph*>(clone);
    const Copying copying("hipGraphClone", Copying::of(graph_of(graph)));
    const CUresult result = driver.GraphClone(made, graph_of(graph));
    if (result != CUDA_SUCCESS) return from_cuda(result);
    for (const auto& [object, count] : user_objects().of(graph_of(graph))) {
      user_objects().add(*made, object, count);
    }
    return hipSuccess;
  });
}

// --- Looking at them --------------------------------------------------------------------------------------------------

hipError_t hipGraphGetNodes(hipGraph_t graph, hipGraphNode_t* list, size_t* count) {
  return on_device(
      [&](const Cuda& driver) { return from_cuda(driver.GraphGetNodes(graph_of(graph), nodes(list), count)); });
}
hipError_t hipGraphGetRootNodes(hipGraph_t graph, hipGraphNode_t* list, size_t* count) {
  return on_device(
      [&](const Cuda& driver) { return from_cuda(driver.GraphGetRootNodes(graph_of(graph), nodes(list), count)); });
}
hipError_t hipGraphGetEdges(hipGraph_t graph, hipGraphNode_t* from, hipGraphNode_t* to, size_t* count) {
  return on_device(
      [&](const Cuda& driver) { return from_cuda(driver.GraphGetEdges(graph_of(graph), nodes(from), nodes(to), count)); });
}
hipError_t hipGraphNodeGetType(hipGraphNode_t node, hipGraphNodeType* kind) {
  return on_device([&](const Cuda& driver) {
    CUgraphNodeType native{};
    const CUresult result = driver.GraphNodeGetType(node_of(node), &native);
    *kind = static_cast<hipGraphNodeType>(kind_to_hip(native));
    return from_cuda(result);
  });
}
hipError_t hipGraphDebugDotPrint(hipGraph_t graph, const char* path, unsigned flags) {
  return on_device([&](const Cuda& driver) {
    return from_cuda(driver.GraphDebugDotPrint(graph_of(graph), path, flags));
  });
}

// --- Nodes ------------------------------------------------------------------------------------------------------------

hipError_t hipGraphAddDependencies(hipGraph_t graph, const hipGraphNode_t* from, const hipGraphNode_t* to, size_t count) {
  return on_device([&](const Cuda& driver) {
    return from_cuda(driver.GraphAddDependencies(graph_of(graph), nodes(from), nodes(to), count));
  });
}
hipError_t hipGraphAddEmptyNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* dependencies, size_t count) {
  return on_device([&](const Cuda& driver) {
    return from_cuda(driver.GraphAddEmptyNode(nodes(node), graph_of(graph), nodes(dependencies), count));
  });
}
hipError_t hipGraphAddChildGraphNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* dependencies,
                                     size_t count, hipGraph_t child) {
  return on_device([&](const Cuda& driver) {
    const Copying copying("hipGraphAddChildGraphNode", Copying::of(graph_of(child)));
    return from_cuda(
        driver.GraphAddChildGraphNode(nodes(node), graph_of(graph), nodes(dependencies), count, graph_of(child)));
  });
}
hipError_t hipGraphChildGraphNodeGetGraph(hipGraphNode_t node, hipGraph_t* child) {
  return on_device([&](const Cuda& driver) {
    return from_cuda(driver.GraphChildGraphNodeGetGraph(node_of(node), reinterpret_cast<CUgraph*>(child)));
  });
}
hipError_t hipGraphAddHostNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* dependencies, size_t count,
                               const hipHostNodeParams* parameters) {
  return on_device([&](const Cuda& driver) {
    const CUDA_HOST_NODE_PARAMS native = on_host_thread(parameters->fn, parameters->userData);
    return from_cuda(driver.GraphAddHostNode(nodes(node), graph_of(graph), nodes(dependencies), count, &native));
  });
}
hipError_t hipGraphHostNodeGetParams(hipGraphNode_t node, hipHostNodeParams* parameters) {
  return on_device([&](const Cuda& driver) {
    CUDA_HOST_NODE_PARAMS native{};
    const CUresult result = driver.GraphHostNodeGetParams(node_of(node), &native);
    if (result == CUDA_SUCCESS) *parameters = as_given(native);
    return from_cuda(result);
  });
}
hipError_t hipGraphHostNodeSetParams(hipGraphNode_t node, const hipHostNodeParams* parameters) {
  return on_device([&](const Cuda& driver) {
    const CUDA_HOST_NODE_PARAMS native = on_host_thread(parameters->fn, parameters->userData);
    return from_cuda(driver.GraphHostNodeSetParams(node_of(node), &native));
  });
}
hipError_t hipGraphExecHostNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node, const hipHostNodeParams* parameters) {
  return on_device([&](const Cuda& driver) {
    const CUDA_HOST_NODE_PARAMS native = on_host_thread(parameters->fn, parameters->userData);
    CUresult result = CUDA_SUCCESS;
    for (CUgraphExec one : handle<Executable*>(exec)->cuda) {
      if (one != nullptr && result == CUDA_SUCCESS) result = driver.GraphExecHostNodeSetParams(one, node_of(node), &native);
    }
    return from_cuda(result);
  });
}
hipError_t hipGraphAddKernelNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* dependencies, size_t count,
                                 const hipKernelNodeParams* parameters) {
  return on_device([&](const Cuda& driver) {
    const CUDA_KERNEL_NODE_PARAMS native = to_cuda(*parameters);
    return from_cuda(driver.GraphAddKernelNode(nodes(node), graph_of(graph), nodes(dependencies), count, &native));
  });
}
hipError_t hipGraphKernelNodeGetParams(hipGraphNode_t node, hipKernelNodeParams* parameters) {
  return on_device([&](const Cuda& driver) {
    CUDA_KERNEL_NODE_PARAMS native{};
    const CUresult result = driver.GraphKernelNodeGetParams(node_of(node), &native);
    if (result == CUDA_SUCCESS) *parameters = to_hip(native);
    return from_cuda(result);
  });
}
hipError_t hipGraphKernelNodeSetParams(hipGraphNode_t node, const hipKernelNodeParams* parameters) {
  return on_device([&](const Cuda& driver) {
    const CUDA_KERNEL_NODE_PARAMS native = to_cuda(*parameters);
    return from_cuda(driver.GraphKernelNodeSetParams(node_of(node), &native));
  });
}
hipError_t hipGraphAddMemsetNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* dependencies, size_t count,
                                 const hipMemsetParams* parameters) {
  return on_device([&](const Cuda& driver) {
    const CUDA_MEMSET_NODE_PARAMS native = to_cuda(*parameters);
    return from_cuda(driver.GraphAddMemsetNode(nodes(node), graph_of(graph), nodes(dependencies), count, &native,
                                               context_of(current_device())));
  });
}
hipError_t hipGraphMemsetNodeGetParams(hipGraphNode_t node, hipMemsetParams* parameters) {
  return on_device([&](const Cuda& driver) {
    CUDA_MEMSET_NODE_PARAMS native{};
    const CUresult result = driver.GraphMemsetNodeGetParams(node_of(node), &native);
    if (result == CUDA_SUCCESS) {
      *parameters = {.dst = handle<void*>(native.dst),
                     .elementSize = native.elementSize,
                     .height = native.height,
                     .pitch = native.pitch,
                     .value = native.value,
                     .width = native.width};
    }
    return from_cuda(result);
  });
}
hipError_t hipGraphAddMemcpyNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* dependencies, size_t count,
                                 const hipMemcpy3DParms* parameters) {
  return add_copy(node, graph, dependencies, count, to_cuda(*parameters));
}
hipError_t hipGraphAddMemcpyNode1D(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* dependencies, size_t count,
                                   void* to, const void* from, size_t bytes, hipMemcpyKind) {
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.srcDevice = address(from);
  copy.dstDevice = address(to);
  copy.WidthInBytes = bytes;
  copy.Height = copy.Depth = 1;
  return add_copy(node, graph, dependencies, count, copy);
}

// --- Executables ------------------------------------------------------------------------------------------------------

hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t* exec, hipGraph_t graph, unsigned long long flags) {
  return on_device([&](const Cuda& driver) {
    if (!flags_are_known(flags)) return hipErrorInvalidValue;
    auto* const made = new Executable;
    made->device = current_device();
    made->copying = Copying::of(graph_of(graph));
    const Copying copying("hipGraphInstantiate", made->copying);
    bool allocates = false;
    look_through(driver, graph_of(graph), made->modules, allocates);
    CUresult result = driver.GraphInstantiateWithFlags(made->cuda.data(), graph_of(graph), flags);
    if (result == CUDA_SUCCESS && !allocates)
      result = driver.GraphInstantiateWithFlags(&made->cuda[1], graph_of(graph), flags);
    if (result == CUDA_SUCCESS) {
      *exec = handle<hipGraphExec_t>(made);
    } else {
      destroy(made);
    }
    return from_cuda(result);
  });
}
hipError_t hipGraphInstantiate(hipGraphExec_t* exec, hipGraph_t graph, hipGraphNode_t*, char*, size_t) {
  return hipGraphInstantiateWithFlags(exec, graph, 0);
}
// Looks at its arguments, and that is all.
hipError_t hipGraphUpload(hipGraphExec_t exec, hipStream_t stream) {
  return on_stream("hipGraphUpload", stream,
                   [&](const Cuda&, const Target&) { return exec != nullptr ? hipSuccess : hipErrorInvalidValue; });
}
hipError_t hipGraphLaunch(hipGraphExec_t handle_of_exec, hipStream_t stream) {
  return on_queue("hipGraphLaunch", stream, [&](const Cuda& driver, const Target& on) {
    auto* const exec = handle<Executable*>(handle_of_exec);
    if (is_in_capture(on)) return from_cuda(driver.GraphLaunch(exec->cuda[0], on.cuda));
    const std::lock_guard lock(launches().mutex);
    forget_what_is_over();
    if (exec->cuda[1] != nullptr) exec->turn = 1 - exec->turn;
    const CUresult result = driver.GraphLaunch(exec->cuda[exec->turn], on.cuda);
    if (result != CUDA_SUCCESS) return from_cuda(result);
    Launch launch{exec, nullptr, on.device, on.own, exec->modules};
    driver.EventCreate(&launch.over, CU_EVENT_DISABLE_TIMING);
    driver.EventRecord(launch.over, on.cuda);
    launches().running.push_back(std::move(launch));
    return hipSuccess;
  });
}
// CUDA 10.2's form, with both results required.
hipError_t hipGraphExecUpdate(hipGraphExec_t handle_of_exec, hipGraph_t graph, hipGraphNode_t* error_node,
                              hipGraphExecUpdateResult* outcome) {
  return on_device([&](const Cuda& driver) {
    if (error_node == nullptr || outcome == nullptr) return hipErrorInvalidValue;
    auto* const exec = handle<Executable*>(handle_of_exec);
    {
      const std::lock_guard lock(launches().mutex);
      if (is_running(exec))
        undefined("hipGraphExecUpdate", "a launch that is under way would call the new graph's host functions");
    }
    CUgraphExecUpdateResultInfo info{};
    CUresult result = CUDA_SUCCESS;
    for (CUgraphExec native : exec->cuda) {
      if (native != nullptr && result == CUDA_SUCCESS) result = driver.GraphExecUpdate(native, graph_of(graph), &info);
    }
    *error_node = handle<hipGraphNode_t>(info.errorNode);
    *outcome = static_cast<hipGraphExecUpdateResult>(info.result);
    return from_cuda(result);
  });
}
// 6.2 parks it until the host waits for whatever event; later releases count.
hipError_t hipGraphExecDestroy(hipGraphExec_t handle_of_exec) {
  return on_device([&](const Cuda&) {
    const UseOfUserObjects use("hipGraphExecDestroy", changes);
    auto* const exec = handle<Executable*>(handle_of_exec);
    {
      const std::lock_guard lock(launches().mutex);
      if (before(603) && is_running(exec)) {
        launches().parked.insert(exec);
        return hipSuccess;
      }
    }
    const Copying copying("hipGraphExecDestroy", exec->copying);
    return from_cuda(destroy(exec));
  });
}

// --- User objects -----------------------------------------------------------------------------------------------------

hipError_t hipUserObjectCreate(hipUserObject_t* object, void* pointer, hipHostFn_t destroy, unsigned references,
                               unsigned flags) {
  return call([&](const Cuda& driver) -> hipError_t {
    if (flags != 1) return hipErrorInvalidValue;
    const UseOfUserObjects use("hipUserObjectCreate", changes);
    auto owned = std::make_unique<UserObject>(UserObject{pointer, destroy});
    const CUresult result = driver.UserObjectCreate(&owned->cuda, owned.get(), &UserObject::end, references, flags);
    if (result != CUDA_SUCCESS) return from_cuda(result);
    *object = handle<hipUserObject_t>(owned.release()->cuda);
    return hipSuccess;
  });
}
hipError_t hipUserObjectRelease(hipUserObject_t object, unsigned count) {
  return call([&](const Cuda& driver) {
    const UseOfUserObjects use("hipUserObjectRelease", looks);
    return from_cuda(driver.UserObjectRelease(handle<CUuserObject>(object), count));
  });
}
hipError_t hipUserObjectRetain(hipUserObject_t object, unsigned count) {
  return call([&](const Cuda& driver) { return from_cuda(driver.UserObjectRetain(handle<CUuserObject>(object), count)); });
}
hipError_t hipGraphRetainUserObject(hipGraph_t graph, hipUserObject_t object, unsigned count, unsigned flags) {
  return call([&](const Cuda& driver) {
    const UseOfUserObjects use("hipGraphRetainUserObject", looks);
    const CUresult result = driver.GraphRetainUserObject(graph_of(graph), handle<CUuserObject>(object), count, flags);
    if (result == CUDA_SUCCESS) user_objects().add(graph_of(graph), handle<CUuserObject>(object), static_cast<int>(count));
    return from_cuda(result);
  });
}
hipError_t hipGraphReleaseUserObject(hipGraph_t graph, hipUserObject_t object, unsigned count) {
  return call([&](const Cuda& driver) {
    user_objects().add(graph_of(graph), handle<CUuserObject>(object), -static_cast<int>(count));
    return from_cuda(driver.GraphReleaseUserObject(graph_of(graph), handle<CUuserObject>(object), count));
  });
}
}
