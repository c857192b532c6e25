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

int kind_to_hip(CUgraphNodeType kind) {
  if (kind == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP) return 14;
  return static_cast<int>(kind);
}

bool flags_are_known(unsigned long long flags) { return flags == 0 || flags == 1 || flags == 8; }

// --- User objects -----------------------------------------------------------------------------------------------------

struct UserObject {
  void* pointer;
  hipHostFn_t destroy;
  CUuserObject cuda = nullptr;

  static void end(void* self) {
    const std::unique_ptr<UserObject> object(static_cast<UserObject*>(self));
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
  return pass(&Cuda::GraphCreate, reinterpret_cast<CUgraph*>(graph), flags);
}
hipError_t hipGraphDestroy(hipGraph_t graph) {
  return on_device([&](const Cuda& driver) {
    const UseOfUserObjects use("hipGraphDestroy", changes);
    Copying::forget(graph_of(graph));
    return from_cuda(driver.GraphDestroy(graph_of(graph)));
  });
}
hipError_t hipGraphClone(hipGraph_t* clone, hipGraph_t graph) {
  return on_device([&](const Cuda& driver) {
    auto* const made = reinterpret_cast<CUgraph*>(clone);
    const Copying copying("hipGraphClone", Copying::of(graph_of(graph)));
    return from_cuda(driver.GraphClone(made, graph_of(graph)));
  });
}

// --- Looking at them --------------------------------------------------------------------------------------------------

hipError_t hipGraphGetNodes(hipGraph_t graph, hipGraphNode_t* list, size_t* count) {
  return pass(&Cuda::GraphGetNodes, graph_of(graph), nodes(list), count);
}
hipError_t hipGraphGetEdges(hipGraph_t graph, hipGraphNode_t* from, hipGraphNode_t* to, size_t* count) {
  return pass(&Cuda::GraphGetEdges, graph_of(graph), nodes(from), nodes(to), count);
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
  return pass(&Cuda::GraphDebugDotPrint, graph_of(graph), path, flags);
}

// --- Nodes ------------------------------------------------------------------------------------------------------------

hipError_t hipGraphAddChildGraphNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* dependencies,
                                     size_t count, hipGraph_t child) {
  return on_device([&](const Cuda& driver) {
    const Copying copying("hipGraphAddChildGraphNode", Copying::of(graph_of(child)));
    return from_cuda(
        driver.GraphAddChildGraphNode(nodes(node), graph_of(graph), nodes(dependencies), count, graph_of(child)));
  });
}
hipError_t hipGraphChildGraphNodeGetGraph(hipGraphNode_t node, hipGraph_t* child) {
  return pass(&Cuda::GraphChildGraphNodeGetGraph, node_of(node), reinterpret_cast<CUgraph*>(child));
}
hipError_t hipGraphHostNodeGetParams(hipGraphNode_t node, hipHostNodeParams* parameters) {
  return on_device([&](const Cuda& driver) {
    CUDA_HOST_NODE_PARAMS native{};
    const CUresult result = driver.GraphHostNodeGetParams(node_of(node), &native);
    if (result == CUDA_SUCCESS) *parameters = as_given(native);
    return from_cuda(result);
  });
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
hipError_t hipGraphRetainUserObject(hipGraph_t graph, hipUserObject_t object, unsigned count, unsigned flags) {
  return call([&](const Cuda& driver) {
    const UseOfUserObjects use("hipGraphRetainUserObject", looks);
    return from_cuda(driver.GraphRetainUserObject(graph_of(graph), handle<CUuserObject>(object), count, flags));
  });
}
}
