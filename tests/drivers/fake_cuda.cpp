// SPDX-License-Identifier: Apache-2.0

// A stand-in for libcuda.so.1. It does work immediately, on the calling thread, in host memory. Its graphs support host
// functions and child graphs. The backend checks on a separate thread whether calls need a context. That thread first
// changes its capture mode; its calls are neither counted nor traced. The instructions are those in script.hpp and:
//
//   strict=1         calls on streams and events need a current context
//   capability=90    the devices' compute capability, here 9.0
//   peers=1          devices can address each other's memory; peer_enabled=1: other code has already enabled this
//   contexts=1       queried streams belong to a context that is not their device's primary one
//   instance=1       devices are parts of a divided GPU
//   mps=1            the process is a client of an MPS server
//   attributes=N     every attribute of the device is N, except its compute capability and clock
//   guarded=1        external code has a capture in global mode: calls that CUDA then refuses fail, unless the calling
//                    thread's own capture mode is relaxed
//   lossy=1          queries of a capture's dependencies fail without room for the edges' data
//   quick=1          for measuring Weir's own cost: calls cost almost nothing, and only weir_calls() counts them. Failures,
//                    traces and `strict` have no effect

#include <elf.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/cuda/symbols.hpp"
#include "script.hpp"

using weir::test::Script;
using Word = std::uint64_t;  // what every parameter of these functions fits in

namespace {

thread_local std::vector<CUcontext> stack;  // the last is current
thread_local CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
CUcontext current() { return stack.empty() ? nullptr : stack.back(); }
int contexts[2][8];                    // what the handles of contexts point to: primary ones, others
std::uintptr_t last_handle = 0x10000;  // of what nothing is kept
std::atomic<int> every_call_fails{0};
std::uint64_t quick_calls = 0;
std::atomic<int> live{0};    // objects that were made and not destroyed
thread_local int depth = 0;  // of calls under way
struct Inside {
  Inside() { ++depth; }
  ~Inside() { --depth; }
};

template <class Handle>
CUresult make(Handle* handle) {
  *handle = reinterpret_cast<Handle>(last_handle += 16);
  return CUDA_SUCCESS;
}
void* memory(Word address) { return reinterpret_cast<void*>(address); }
template <class T>
T* out(Word address) {
  return reinterpret_cast<T*>(address);
}
template <class T>
CUresult give(Word address, T value) {
  *out<T>(address) = value;
  return CUDA_SUCCESS;
}
CUresult free_memory(Word address) {
  std::free(memory(address));
  return CUDA_SUCCESS;
}

bool is_told(const char* word) { return Script::instance().number(word, 0) != 0; }

/// A call with its arguments as the caller passed them.
struct Call {
  Word a, b, c, d, e, f, g, h, i, j, k;
};

using Implementation = CUresult (*)(const Call&);

struct Function {
  const char* name;
  Implementation run;  // null: succeeds and does nothing
  int version = 0;     // of the signature, where the driver has two
};

CUcontext context_of(int device, bool other) { return reinterpret_cast<CUcontext>(&contexts[other ? 1 : 0][device]); }
int device_of(CUcontext context) { return static_cast<int>((reinterpret_cast<int*>(context) - &contexts[0][0]) % 8); }

// --- Graphs ---

struct Graph;
struct Node {
  CUDA_HOST_NODE_PARAMS host{};
  std::shared_ptr<Graph> child;   // or this
  Word allocated = 0, freed = 0;  // or one of these
  bool is_conditional = false;    // or this
};
struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<Graph*> bodies;  // of its conditional nodes
  bool is_gone = false;        // with its capture, which failed
  std::shared_ptr<Graph> copy() const {
    auto made = std::make_shared<Graph>();
    for (const auto& node : nodes) {
      made->nodes.push_back(std::make_unique<Node>(Node{node->host, node->child ? node->child->copy() : nullptr,
                                                        node->allocated, node->freed, node->is_conditional}));
    }
    return made;
  }
  void run() const {
    for (const auto& node : nodes) {
      if (node->allocated != 0 || node->freed != 0 || node->is_conditional) continue;
      node->child ? node->child->run() : node->host.fn(node->host.userData);
    }
  }
};
struct Capture {
  Word id;
  Graph* graph;
  bool is_broken = false;
};
/// The driver crashes when it uses or destroys a conditional node whose body's graph is gone.
void use_bodies(const Graph& graph) {
  for (const Graph* const body : graph.bodies) {
    if (body->is_gone) {
      std::fprintf(stderr, "a conditional node is used whose body is gone\n");
      std::abort();
    }
    use_bodies(*body);
  }
}
std::map<Word, Capture> captures;  // by stream
Word last_capture = 0;
std::set<Word> memory_of_graphs;  // kept for ever, like the graphs

// Kept for ever: what a graph owns is not looked at here.
Graph* keep(std::shared_ptr<Graph> graph) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  static auto* const kept = [] {
    auto* const made = new std::vector<std::shared_ptr<Graph>>;
    made->reserve(1 << 16);  // so that no call costs more than another
    return made;
  }();
  return kept->emplace_back(std::move(graph)).get();
}

CUresult begin_capture(Word stream, Graph* graph) {
  return captures.emplace(stream, Capture{++last_capture, graph}).second ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_STATE;
}

/// Of either signature; `count` is the last parameter.
CUresult capture_info(const Call& c, Word count) {
  const auto found = captures.find(c.a);
  *out<int>(c.b) = found == captures.end()   ? CU_STREAM_CAPTURE_STATUS_NONE
                   : found->second.is_broken ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                             : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  if (found == captures.end()) return CUDA_SUCCESS;
  if (c.c != 0) *out<Word>(c.c) = found->second.id;
  if (c.d != 0) *out<Graph*>(c.d) = found->second.graph;
  if (c.e != 0) *out<void*>(c.e) = nullptr;
  if (count != 0) *out<std::size_t>(count) = 0;
  return CUDA_SUCCESS;
}

/// A loaded image. Of machine code its kernels are known; of what else is loaded, every name is a kernel's.
struct Module {
  std::vector<std::string> kernels;
  bool is_machine_code = false;
};

// Kept for ever, as graphs are.
CUresult load(CUmodule* module, const char* image) {
  auto* const loaded = new Module;
  *module = reinterpret_cast<CUmodule>(loaded);
  if (std::memcmp(image, ELFMAG, SELFMAG) != 0) return CUDA_SUCCESS;
  loaded->is_machine_code = true;
  const auto* const header = reinterpret_cast<const Elf64_Ehdr*>(image);
  const auto* const sections = reinterpret_cast<const Elf64_Shdr*>(image + header->e_shoff);
  for (unsigned i = 0; i < header->e_shnum; ++i) {
    if (sections[i].sh_type != SHT_SYMTAB) continue;
    const char* const names = image + sections[sections[i].sh_link].sh_offset;
    const auto* const symbols = reinterpret_cast<const Elf64_Sym*>(image + sections[i].sh_offset);
    for (std::size_t k = 0; k < sections[i].sh_size / sizeof(Elf64_Sym); ++k) {
      if (ELF64_ST_TYPE(symbols[k].st_info) == STT_FUNC) loaded->kernels.emplace_back(names + symbols[k].st_name);
    }
  }
  return CUDA_SUCCESS;
}

CUresult find_function(CUfunction* function, const Module& module, const char* name) {
  if (!module.is_machine_code) return make(function);
  const auto found = std::find(module.kernels.begin(), module.kernels.end(), name);
  if (found == module.kernels.end()) return CUDA_ERROR_NOT_FOUND;
  *function = reinterpret_cast<CUfunction>(const_cast<std::string*>(&*found));
  return CUDA_SUCCESS;
}

int attribute(CUdevice_attribute which) {
  switch (which) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: return Script::instance().number("capability", 90) / 10;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: return Script::instance().number("capability", 90) % 10;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE: return 1000;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: return Script::instance().number("attributes", 8192);
    case CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES: return Script::instance().number("attributes", 0);
    case CU_DEVICE_ATTRIBUTE_MPS_ENABLED: return Script::instance().number("mps", 0);
    default: return Script::instance().number("attributes", 1024);
  }
}

constexpr Function functions[] = {
    {"cuGetErrorName",
     [](const Call& c) {
       return give<const char*>(c.b, c.a == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_SCRIPTED");
     }},
    {"cuGetErrorString", [](const Call& c) { return give<const char*>(c.b, "a scripted failure"); }},
    {"cuDeviceGetCount", [](const Call& c) { return give<int>(c.a, Script::instance().number("devices", 1)); }},
    {"cuDeviceGet", [](const Call& c) { return give<int>(c.a, static_cast<int>(c.b)); }},
    {"cuDeviceGetName",
     [](const Call& c) {
       std::strncpy(out<char>(c.a), "Stand-in", c.b);
       return CUDA_SUCCESS;
     }},
    {"cuDeviceGetAttribute", [](const Call& c) { return give<int>(c.a, attribute(static_cast<CUdevice_attribute>(c.b))); }},
    {"cuDeviceTotalMem", [](const Call& c) { return give<std::size_t>(c.a, 1 << 30); }},
    {"cuDeviceGetUuid",
     [](const Call& c) {
       std::memset(memory(c.a), 0x11, 16);
       return CUDA_SUCCESS;
     },
     9020},
    {"cuDeviceGetUuid",
     [](const Call& c) {
       std::memset(memory(c.a), is_told("instance") ? 0x22 : 0x11, 16);
       return CUDA_SUCCESS;
     },
     11040},
    {"cuDeviceCanAccessPeer", [](const Call& c) { return give<int>(c.a, Script::instance().number("peers", 0)); }},
    {"cuCtxEnablePeerAccess",
     [](const Call&) {
       static bool enabled = is_told("peer_enabled");
       return std::exchange(enabled, true) ? CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED : CUDA_SUCCESS;
     }},
    {"cuDevicePrimaryCtxRetain",
     [](const Call& c) { return give<CUcontext>(c.a, context_of(static_cast<int>(c.b), false)); }},
    {"cuCtxGetCurrent", [](const Call& c) { return give<CUcontext>(c.a, current()); }},
    {"cuCtxPushCurrent",
     [](const Call& c) {
       stack.push_back(reinterpret_cast<CUcontext>(c.a));
       return CUDA_SUCCESS;
     }},
    {"cuCtxPopCurrent",
     [](const Call& c) {
       *out<CUcontext>(c.a) = current();
       stack.pop_back();
       return CUDA_SUCCESS;
     }},
    {"cuCtxGetDevice", [](const Call& c) { return give<int>(c.a, device_of(current())); }},
    {"cuStreamGetCtx", [](const Call& c) { return give<CUcontext>(c.b, context_of(0, is_told("contexts"))); }},
    {"cuCtxGetStreamPriorityRange",
     [](const Call& c) {
       *out<int>(c.a) = 0;
       return give<int>(c.b, -5);
     }},
    {"cuStreamCreateWithPriority", [](const Call& c) { return make(out<CUstream>(c.a)); }},
    {"cuStreamIsCapturing", [](const Call& c) { return give<int>(c.b, captures.contains(c.a) ? 1 : 0); }},
    {"cuStreamGetCaptureInfo",
     [](const Call& c) {
       if (c.e != 0 && is_told("lossy")) return CUDA_ERROR_LOSSY_QUERY;
       return capture_info(c, c.f);
     },
     11030},
    {"cuStreamGetCaptureInfo",
     [](const Call& c) {
       if (c.e != 0 && c.f == 0 && is_told("lossy")) return CUDA_ERROR_LOSSY_QUERY;
       return capture_info(c, c.g);
     },
     12030},
    {"cuThreadExchangeStreamCaptureMode",
     [](const Call& c) {
       std::swap(*out<CUstreamCaptureMode>(c.a), capture_mode);
       return CUDA_SUCCESS;
     }},
    {"cuStreamBeginCapture", [](const Call& c) { return begin_capture(c.a, keep(std::make_shared<Graph>())); }},
    {"cuStreamBeginCaptureToGraph", [](const Call& c) { return begin_capture(c.a, out<Graph>(c.b)); }},
    {"cuStreamEndCapture",
     [](const Call& c) {
       const Capture ended = captures.at(c.a);
       captures.erase(c.a);
       *out<Graph*>(c.b) = ended.is_broken ? nullptr : ended.graph;
       if (!ended.is_broken) return CUDA_SUCCESS;
       use_bodies(*ended.graph);
       ended.graph->is_gone = true;
       return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
     }},
    {"cuStreamQuery",
     [](const Call& c) {
       const auto found = captures.find(c.a);
       if (found == captures.end()) return CUDA_SUCCESS;
       found->second.is_broken = true;
       return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
     }},
    {"cuGraphDestroy",
     [](const Call& c) {
       use_bodies(*out<Graph>(c.a));
       return CUDA_SUCCESS;
     }},
    {"cuGraphCreate", [](const Call& c) { return give<Graph*>(c.a, keep(std::make_shared<Graph>())); }},
    {"cuGraphAddNode",
     [](const Call& c) {  // conditional ones
       static CUgraph body;
       body = reinterpret_cast<CUgraph>(keep(std::make_shared<Graph>()));
       out<weir::cuda::ConditionalNodeParams>(c.f)->bodies = &body;
       out<Graph>(c.b)->bodies.push_back(reinterpret_cast<Graph*>(body));
       Node& node = *out<Graph>(c.b)->nodes.emplace_back(std::make_unique<Node>());
       node.is_conditional = true;
       return give<Node*>(c.a, &node);
     }},
    {"cuGraphGetNodes",
     [](const Call& c) {
       const Graph& graph = *out<Graph>(c.a);
       for (std::size_t i = 0; c.b != 0 && i < graph.nodes.size(); ++i) out<Node*>(c.b)[i] = graph.nodes[i].get();
       return give<std::size_t>(c.c, graph.nodes.size());
     }},
    {"cuGraphGetEdges", [](const Call& c) { return give<std::size_t>(c.d, 0); }, 10000},
    {"cuGraphGetEdges", [](const Call& c) { return give<std::size_t>(c.e, 0); }, 12030},
    {"cuGraphNodeGetType",
     [](const Call& c) {
       return give<CUgraphNodeType>(c.b, out<Node>(c.a)->allocated != 0   ? CU_GRAPH_NODE_TYPE_MEM_ALLOC
                                         : out<Node>(c.a)->freed != 0     ? CU_GRAPH_NODE_TYPE_MEM_FREE
                                         : out<Node>(c.a)->child          ? CU_GRAPH_NODE_TYPE_GRAPH
                                         : out<Node>(c.a)->is_conditional ? CU_GRAPH_NODE_TYPE_CONDITIONAL
                                                                          : CU_GRAPH_NODE_TYPE_HOST);
     }},
    {"cuGraphMemAllocNodeGetParams",
     [](const Call& c) {
       out<CUDA_MEM_ALLOC_NODE_PARAMS>(c.b)->dptr = out<Node>(c.a)->allocated;
       return CUDA_SUCCESS;
     }},
    {"cuGraphMemFreeNodeGetParams", [](const Call& c) { return give<Word>(c.b, out<Node>(c.a)->freed); }},
    {"cuGraphHostNodeGetParams", [](const Call& c) { return give<CUDA_HOST_NODE_PARAMS>(c.b, out<Node>(c.a)->host); }},
    {"cuGraphChildGraphNodeGetGraph", [](const Call& c) { return give<Graph*>(c.b, out<Node>(c.a)->child.get()); }},
    {"cuGraphAddChildGraphNode",
     [](const Call& c) {
       if (c.b == c.e) std::abort();  // the driver follows it without end
       out<Graph>(c.b)->nodes.push_back(std::make_unique<Node>(Node{{}, out<Graph>(c.e)->copy()}));
       return give<Node*>(c.a, out<Graph>(c.b)->nodes.back().get());
     }},
    {"cuGraphClone", [](const Call& c) { return give<Graph*>(c.a, keep(out<Graph>(c.b)->copy())); }},
    {"cuGraphInstantiateWithFlags",
     [](const Call& c) {
       use_bodies(*out<Graph>(c.b));
       return give<Graph*>(c.a, keep(out<Graph>(c.b)->copy()));
     }},
    {"cuGraphLaunch",
     [](const Call& c) {
       out<Graph>(c.a)->run();
       return CUDA_SUCCESS;
     }},
    {"cuMemPoolCreate", [](const Call& c) { return make(out<CUmemoryPool>(c.a)); }},
    {"cuEventCreate", [](const Call& c) { return make(out<CUevent>(c.a)); }},
    {"cuMemAlloc", [](const Call& c) { return give(c.a, std::malloc(c.b)); }},
    {"cuMemHostAlloc", [](const Call& c) { return give(c.a, std::malloc(c.b)); }},
    {"cuMemAllocAsync",
     [](const Call& c) {
       *out<Word>(c.a) = reinterpret_cast<Word>(std::malloc(c.b));
       if (const auto capture = captures.find(c.c); capture != captures.end()) {
         capture->second.graph->nodes.push_back(std::make_unique<Node>(Node{{}, nullptr, *out<Word>(c.a), 0}));
         memory_of_graphs.insert(*out<Word>(c.a));
       }
       return CUDA_SUCCESS;
     }},
    {"cuMemAllocFromPoolAsync", [](const Call& c) { return give(c.a, std::malloc(c.b)); }},
    {"cuMemAllocManaged", [](const Call& c) { return give(c.a, std::malloc(c.b)); }},
    {"cuMemFree", [](const Call& c) { return free_memory(c.a); }},
    {"cuMemFreeHost", [](const Call& c) { return free_memory(c.a); }},
    {"cuMemFreeAsync",
     [](const Call& c) {
       if (const auto capture = captures.find(c.b); capture != captures.end()) {
         capture->second.graph->nodes.push_back(std::make_unique<Node>(Node{{}, nullptr, 0, c.a}));
       } else if (!memory_of_graphs.contains(c.a)) {
         std::free(memory(c.a));
       }
       return CUDA_SUCCESS;
     }},
    {"cuMemcpyAsync",
     [](const Call& c) {
       std::memmove(memory(c.a), memory(c.b), c.c);
       return CUDA_SUCCESS;
     }},
    {"cuMemsetD8Async",
     [](const Call& c) {
       std::memset(memory(c.a), static_cast<int>(c.b), c.c);
       return CUDA_SUCCESS;
     }},
    {"cuLaunchHostFunc",
     [](const Call& c) {
       const auto function = reinterpret_cast<CUhostFn>(c.b);
       if (const auto capture = captures.find(c.a); capture != captures.end()) {
         capture->second.graph->nodes.push_back(std::make_unique<Node>(Node{{function, memory(c.c)}, nullptr}));
       } else {
         function(memory(c.c));
       }
       return CUDA_SUCCESS;
     }},
    {"cuStreamAddCallback",
     [](const Call& c) {
       reinterpret_cast<CUstreamCallback>(c.b)(reinterpret_cast<CUstream>(c.a), CUDA_SUCCESS, memory(c.c));
       return CUDA_SUCCESS;
     }},
    {"cuModuleLoadDataEx",
     [](const Call& c) {
       if (Script::instance().number("trace", 0) != 0) std::fprintf(stderr, "call image \"%.80s\"\n", out<char>(c.b));
       return load(out<CUmodule>(c.a), out<const char>(c.b));
     }},
    {"cuModuleGetFunction",
     [](const Call& c) { return find_function(out<CUfunction>(c.a), *out<Module>(c.b), out<const char>(c.c)); }},
    {"cuFuncSetAttribute", [](const Call&) { return current() != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT; }},
    {"cuFuncGetParamInfo", [](const Call&) { return CUDA_ERROR_INVALID_VALUE; }},
    {"cuModuleGetFunctionCount",
     [](const Call& c) { return give<unsigned>(c.a, static_cast<unsigned>(out<Module>(c.b)->kernels.size())); }},
    {"cuModuleEnumerateFunctions",
     [](const Call& c) {
       for (std::size_t i = 0; i < c.b; ++i) out<std::string*>(c.a)[i] = &out<Module>(c.c)->kernels[i];
       return CUDA_SUCCESS;
     }},
    {"cuFuncGetName", [](const Call& c) { return give<const char*>(c.a, out<std::string>(c.b)->c_str()); }},
    {"cuOccupancyMaxPotentialBlockSize",
     [](const Call& c) {
       *out<int>(c.a) = 132;
       *out<int>(c.b) = c.e == 4096 ? 128 : 256;
       return CUDA_SUCCESS;
     }},
};

// Every function that the backend may ask for, so that each has a thunk of its own.
struct Name {
  const char* name;
  int version;
};
constexpr Name names[] = {
#define WEIR_NAME(field, function, version, need) {#function, version},
    WEIR_CUDA_SYMBOLS(WEIR_NAME)
#undef WEIR_NAME
#define WEIR_NAME(field, function, version, parameters) {#function, version},
        WEIR_CUDA_NEWER_SYMBOLS(WEIR_NAME)
#undef WEIR_NAME
};
constexpr std::size_t name_count = sizeof(names) / sizeof(*names);

constexpr const Function* implementation_of(const Name& name) {
  for (const Function& function : functions) {
    const bool is_version = function.version == 0 || function.version == name.version;
    if (is_version && std::string_view(function.name) == name.name) return &function;
  }
  return nullptr;
}

bool on_trial_thread(const char* call) {
  static thread_local const bool is_trial = std::strcmp(call, "cuThreadExchangeStreamCaptureMode") == 0;  // the first call
  return is_trial;
}

/// Whether CUDA refuses the call beside a capture in global mode, as it was measured.
bool breaks_captures(std::string_view call) {
  constexpr std::string_view calls[] = {
      "cuMemAlloc",          "cuMemHostAlloc",          "cuMemAllocManaged", "cuMemFree",       "cuMemFreeHost",
      "cuMemHostUnregister", "cuMemFreeAsync",          "cuModuleUnload",    "cuMemPoolCreate", "cuMemPoolDestroy",
      "cuGraphExecDestroy",  "cuStreamSynchronize",     "cuStreamQuery",     "cuEventQuery",    "cuEventSynchronize",
      "cuMemAllocAsync",     "cuMemAllocFromPoolAsync", "cuMemPoolTrimTo"};
  return std::find(std::begin(calls), std::end(calls), call) != std::end(calls);
}

/// 1 for a function that makes an object, -1 for one that ends it.
int objects_of(std::string_view call) {
  constexpr std::string_view makers[] = {
      "cuStreamCreateWithPriority",  "cuStreamBeginCapture", "cuGraphCreate",   "cuGraphClone",
      "cuGraphInstantiateWithFlags", "cuModuleLoadDataEx",   "cuMemPoolCreate", "cuEventCreate",
      "cuIpcOpenEventHandle"};
  constexpr std::string_view enders[] = {"cuStreamDestroy", "cuGraphDestroy",   "cuGraphExecDestroy",
                                         "cuModuleUnload",  "cuMemPoolDestroy", "cuEventDestroy"};
  const auto is_one_of = [&](const auto& list) {
    return std::find(std::begin(list), std::end(list), call) != std::end(list);
  };
  return is_one_of(makers) ? 1 : is_one_of(enders) ? -1 : 0;
}

template <std::size_t Index>
CUresult thunk(Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h, Word i, Word j, Word k) {
  const Inside inside;
  const char* const name = names[Index].name;
  const bool is_trial = on_trial_thread(name);
  if (!is_trial && is_told("trace")) std::fprintf(stderr, "call %s \n", name);
  if (const int code = every_call_fails.load(); code != 0 && std::strstr(name, "GetError") == nullptr) {
    return static_cast<CUresult>(code);
  }
  if (const int failure = is_trial ? 0 : Script::instance().failure_of(name)) return static_cast<CUresult>(failure);
  const bool on_stream_or_event = std::strncmp(name, "cuStream", 8) == 0 || std::strncmp(name, "cuEvent", 7) == 0;
  const bool is_strict = is_told("strict");
  if (is_strict && on_stream_or_event && current() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (is_told("guarded") && capture_mode != CU_STREAM_CAPTURE_MODE_RELAXED && breaks_captures(name)) {
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  const Function* const function = implementation_of(names[Index]);
  const CUresult result = function != nullptr ? function->run({a, b, c, d, e, f, g, h, i, j, k}) : CUDA_SUCCESS;
  if (result == CUDA_SUCCESS) live += objects_of(name);
  return result;
}

/// The same with quick=1.
template <std::size_t Index>
CUresult quick_thunk(Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h, Word i, Word j, Word k) {
  ++quick_calls;
  constexpr const Function* function = implementation_of(names[Index]);
  if constexpr (function != nullptr) return function->run({a, b, c, d, e, f, g, h, i, j, k});
  return CUDA_SUCCESS;
}

template <std::size_t... Index>
void* find(const char* name, int version, std::index_sequence<Index...>) {
  void* found = nullptr;
  const bool is_quick = is_told("quick");
  const auto is_it = [&](const Name& n) { return std::strcmp(name, n.name) == 0 && version == n.version; };
  const auto address = [](auto* function) { return reinterpret_cast<void*>(function); };
  ((is_it(names[Index]) ? void(found = is_quick ? address(&quick_thunk<Index>) : address(&thunk<Index>)) : void()), ...);
  return found;
}

}  // namespace

#define WEIR_EXPORT extern "C" __attribute__((visibility("default")))

WEIR_EXPORT void weir_fail_every_call(int code) { every_call_fails = code; }
WEIR_EXPORT int weir_live_objects() { return live; }
WEIR_EXPORT int weir_inside() { return depth; }
WEIR_EXPORT std::uint64_t weir_calls() { return quick_calls; }

WEIR_EXPORT CUresult cuInit(unsigned) { return static_cast<CUresult>(Script::instance().failure_of("cuInit")); }

WEIR_EXPORT CUresult cuDriverGetVersion(int* version) {
  *version = Script::instance().number("version", 13000);
  return CUDA_SUCCESS;
}

WEIR_EXPORT CUresult cuGetProcAddress_v2(const char* symbol, void** function, int version, cuuint64_t,
                                         CUdriverProcAddressQueryResult* status) {
  const bool has = !Script::instance().is_missing(symbol) && version <= Script::instance().number("version", 13000);
  *function = has ? find(symbol, version, std::make_index_sequence<name_count>()) : nullptr;
  *status = *function != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return *function != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
