// SPDX-License-Identifier: Apache-2.0

// A stand-in for libamdhip64. It does work immediately, on the calling thread, in host memory. The instructions are those in
// script.hpp and:
//
//   trace=1          prints to standard error "call NAME A B C D E", and "freed N" for the N-th stream-ordered memory
//   foreign=N-M      the N-th to the M-th query reports that other code captures the stream
//   invalid_after=N  from the query after N on, that capture is invalid
//   tally=1          prints at the end "tally: ALLOCATED FREED of stream-ordered memory, DEAD calls" to standard error. Dead
//                    calls are frees on, and capture queries of, streams that were destroyed
//   delay=N          a call that must fail takes N microseconds
//   busy=N           streams and events are not ready for N queries, or until weir_be_ready() is called
//   gpu=N            the architecture is gfxN
//   attributes=N     every attribute of the device is N, except its architecture, warp size and shared memory
//   clusters=N       the device's property `clusterLaunch` is N, by default that of the attributes
//   peers=1          devices can address each other's memory
//   nodes=N          a capture has N nodes from its beginning; first_node=KIND: they have that kind and the following ones
//   silent=1         the end of an invalidated capture returns a graph
//   never_ask=1      ends the process if a query asks whether a stream captures
//
// It exports the same functions as the release that it imitates, by the linker's version script.

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "backends/hip/symbols.hpp"
#include "fake_hip_state.hpp"
#include "script.hpp"

using weir::test::Script;
using namespace fake;

namespace {

int release() { return fake::release; }

thread_local int current_device = 0;
thread_local int last = 0;
std::atomic<int> questions{0};
std::atomic<bool> is_ready{false};
std::atomic<int> every_call_fails{0};
int dummy[64];  // what handles point to
// What hipStreamEndCapture leaves where it fails: its own variable, which it has not set (seen in 6.2 and 7.15).
Graph* const no_graph = reinterpret_cast<Graph*>(&dummy[63]);
std::atomic<int> next_handle{0};
World& world() { return World::instance(); }
int module_device = 0;
std::atomic<int> capture_questions{0};

struct Tally {
  std::atomic<int> allocated{0}, freed{0}, dead{0};
  void use(Word stream) { dead += world().was_destroyed(stream) ? 1 : 0; }
  ~Tally() {
    if (Script::instance().number("tally", 0) == 0) return;
    std::fprintf(stderr, "tally: %d %d of stream-ordered memory, %d calls\n", allocated.load(), freed.load(), dead.load());
  }
} tally;

/// From 6.2 on the runtime shuts down with its static objects.
std::atomic<bool> is_shut_down{false};  // no member: nothing need be written to an object that ends
struct ShutDown {
  ~ShutDown() { is_shut_down = true; }
} shut_down;

template <class Handle>
int make(Handle* handle) {
  *handle = reinterpret_cast<Handle>(&dummy[next_handle++ % 64]);
  return hipSuccess;
}
void* memory(Word address) { return reinterpret_cast<void*>(address); }
template <class T>
T* out(Word address) {
  return reinterpret_cast<T*>(address);
}

struct Call {
  Word a, b, c, d, e, f, g, h, i;
};

int attribute(int number, int* value) {
  if (number == 74 || number == 75) {  // shared memory of a block: without asking, and at most, which is 0 in 6.2
    *value = number == 75 && release() <= 602 ? 0 : 65536;
    return hipSuccess;
  }
  if (Script::instance().is_among("unknown_attributes", number)) return hipErrorInvalidValue;  // the value stays as it was
  *value = number == 23 ? 9 : number == 61 ? 0 : number == 87 ? 64 : Script::instance().number("attributes", 1);
  return hipSuccess;
}

int properties(void* to, std::size_t size, std::size_t name, const char* architecture) {
  std::memset(to, 0, size);
  const int clusters = Script::instance().number("clusters", Script::instance().number("attributes", 1));
  std::memcpy(static_cast<char*>(to) + 772, &clusters, sizeof(clusters));  // clusterLaunch
  std::strcpy(static_cast<char*>(to) + name, architecture);
  return hipSuccess;
}

int no_device_or(int result) {
  return Script::instance().number("devices", 1) > 0 ? result : static_cast<int>(hipErrorNoDevice);
}

int busy() {
  return !is_ready && questions.fetch_add(1) < Script::instance().number("busy", 0) ? hipErrorNotReady : hipSuccess;
}

struct StreamIsGone {};  // thrown, and the call's result is 709
Stream* stream_of(Word handle) {
  Stream* const stream = world().find(handle, current_device);
  if (stream == nullptr && release() < 700) throw StreamIsGone();
  if (stream == nullptr) crash("a stream is used that was destroyed");
  return stream;
}
Event* event_of(Word handle) { return out<Event>(handle); }
Graph* graph_of(Word handle) { return out<Graph>(handle); }
template <class T>
void give(Word address, T* object) {
  *out<T*>(address) = object;
}
void check_device(int device, const char* what) {
  if (current_device != device) crash(what);
}
/// An answer to a question after an event's or a stream's end, from an event that follows its stream.
void check_living(const Event* event) {
  if (event->of_made_stream && !world().living.contains(event->stream))
    crash("an event is asked whose stream was destroyed");
}
bool foreign(int question) { return Script::instance().is_among("foreign", question); }

/// What a question or a wait does to a stream that captures.
bool captures_and_breaks(Stream* stream) {
  if (stream->origin == nullptr) return false;
  stream->origin->is_broken = true;
  return true;
}

/// What a question after an event, or a wait for it, is answered while its stream captures, whenever the event was recorded.
/// The capture is broken. 2026 has this no more.
int refusal_of_older(Event* event) {
  if (release() >= 714 || event->stream == nullptr || event->stream->origin == nullptr) return hipSuccess;
  captures_and_breaks(event->stream);
  return hipErrorCapturedEvent;
}

int begin_capture(Stream* stream, Graph* graph, int mode) {
  if (stream->origin != nullptr) return hipErrorIllegalState;
  if (stream->is_invalidated && ++stream->begun > 1) return hipErrorStreamCaptureInvalidated;
  stream->origin = stream;
  stream->thread = std::this_thread::get_id();
  stream->capture = ++world().captures + 7;
  stream->mode = mode;
  stream->own_graph = graph == nullptr;
  stream->graph = graph != nullptr ? graph : new Graph;
  stream->parallel.clear();
  const int nodes = Script::instance().number("nodes", 0);
  for (int i = 0; i < nodes; ++i) world().submit(stream, Script::instance().number("first_node", 0) + i);
  return hipSuccess;
}

int end_capture(Stream* stream, Graph*& graph) {
  graph = nullptr;
  if (stream->origin != stream) {
    if (stream->origin != nullptr) return hipErrorStreamCaptureUnmatched;
    if (Script::instance().number("foreign", 0) == 0) return hipErrorIllegalState;
    graph = new Graph;
    return hipSuccess;
  }
  if (stream->mode != hipStreamCaptureModeRelaxed && stream->thread != std::this_thread::get_id())
    return hipErrorStreamCaptureWrongThread;  // and it goes on
  if (stream->is_broken && Script::instance().number("silent", 0) == 0) {
    world().leave_capture(stream->capture);
    stream->is_invalidated = release() < 714;  // until a capture that is in order ends
    return hipErrorStreamCaptureInvalidated;
  }
  std::vector<Stream*> path;
  world().follow(stream, path);
  std::vector<Node*> open = stream->graph->leaves();
  std::erase_if(open, [&](Node* node) {
    return std::find(stream->dependencies.begin(), stream->dependencies.end(), node) != stream->dependencies.end();
  });
  if (!open.empty()) return hipErrorStreamCaptureUnjoined;  // and all of them capture for ever
  graph = stream->graph;
  stream->is_invalidated = false;
  stream->begun = 0;
  world().leave_capture(stream->capture);
  return hipSuccess;
}

void destroy(Graph* graph) {
  for (Owned* owned : graph->owned) let_go(owned);
  for (Node* node : graph->nodes) delete node;
  delete graph;
}

/// Work that the stand-in carries out at once, or captures: a null node where it was to be done.
Node* submitted(Word stream, int kind) {
  return world().submit(stream_of(stream), kind);
}

bool wait_is_over(Word now, Word value, Word mask, unsigned flags) {
  switch (flags) {
    case 0: return (now & mask) >= value;
    case 1: return (now & mask) == value;
    case 2: return (now & mask & value) != 0;
    case 3: return (~(now | value) & mask) != 0;
    default: return false;
  }
}
int wait_for_value(bool over) {
  if (!over) std::fprintf(stderr, "a wait for a value never ends\n");
  return over ? hipSuccess : hipErrorInvalidValue;
}

int allocate_async(Word to, Word bytes, Word stream) {
  if (stream == 0) crash("the null stream is followed as a pointer");
  if (release() >= 701 && world().another_blocking_captures(stream_of(stream))) return hipErrorStreamCaptureUnsupported;
  *out<void*>(to) = std::malloc(bytes);
  **out<int*>(to) = ++tally.allocated;
  return hipSuccess;
}

struct Function {
  const char* name;
  Word (*run)(const Call&);
};

constexpr Function functions[] = {
    // Without a device, as 5.2.3: an invalid device each time.
    {"hipGetErrorName",
     [](const Call& c) -> Word {
       return reinterpret_cast<Word>(c.a == 700 ? "hipErrorIllegalAddress" : "hipErrorScripted");
     }},
    {"hipGetErrorString",
     [](const Call& c) -> Word {
       return reinterpret_cast<Word>(c.a == 700 ? "hipErrorIllegalAddress" : "hipErrorScripted");
     }},
    {"hipInit",
     [](const Call&) -> Word { return Script::instance().number("devices", 1) > 0 ? hipSuccess : hipErrorInvalidDevice; }},
    {"hipRuntimeGetVersion",
     [](const Call& c) -> Word {
       *out<int>(c.a) = Script::instance().number("version", release() / 100 * 10000000 + release() % 100 * 100000 + 21153);
       return 0;
     }},
    {"hipGetDeviceCount",
     [](const Call& c) -> Word {
       return no_device_or(*out<int>(c.a) = Script::instance().number("devices", 1)) == hipErrorNoDevice
                  ? static_cast<int>(hipErrorNoDevice)
                  : 0;
     }},
    {"hipGetDevice",
     [](const Call& c) -> Word {
       *out<int>(c.a) = current_device;
       return 0;
     }},
    {"hipSetDevice",
     [](const Call& c) -> Word {
       current_device = static_cast<int>(c.a);
       return 0;
     }},
    {"hipDeviceGetName",
     [](const Call& c) -> Word {
       std::strncpy(out<char>(c.a), "Stand-in", c.b);
       return 0;
     }},
    {"hipDeviceGetUuid",
     [](const Call& c) -> Word {
       std::memcpy(out<char>(c.a),
                   Script::instance().number("shared_uuid", 0) != 0 ? "XX\0\0\0\0\0\0\0\0\0\0\0\0\0" : "0123456789abcdef",
                   16);
       return 0;
     }},
    {"hipDeviceGetPCIBusId",
     [](const Call& c) -> Word {
       std::snprintf(out<char>(c.a), c.b, "0000:%02x:00.0", static_cast<int>(c.c));
       return 0;
     }},
    {"hipDeviceTotalMem",
     [](const Call& c) -> Word {
       *out<std::size_t>(c.a) = 1 << 30;
       return 0;
     }},
    {"hipDeviceGetAttribute", [](const Call& c) -> Word { return attribute(static_cast<int>(c.b), out<int>(c.a)); }},
    {"hipDeviceGetStreamPriorityRange",
     [](const Call& c) -> Word {
       *out<int>(c.a) = 1;
       *out<int>(c.b) = -1;
       return 0;
     }},
    {"hipGetDevicePropertiesR0600",
     [](const Call& c) -> Word {
       const std::string gpu = std::to_string(Script::instance().number("gpu", 942));
       return properties(memory(c.a), 1472, 1160, ("gfx" + gpu + (gpu.starts_with("9") ? ":sramecc+:xnack-" : "")).c_str());
     }},
    {"hipDeviceCanAccessPeer",
     [](const Call& c) -> Word {
       *out<int>(c.a) = Script::instance().number("peers", 0);
       return 0;
     }},
    // Taking access away is refused for every device in 6.2.
    {"hipMemPoolSetAccess",
     [](const Call& c) -> Word {
       return release() == 602 && out<hipMemAccessDesc>(c.b)->flags == 0 ? static_cast<int>(hipErrorInvalidDevice) : 0;
     }},
    // It looks the function up on the current device, and follows a null pointer where that is not the module's.
    // What the device takes, whatever the kernel was compiled for (7.15).
    {"hipModuleOccupancyMaxPotentialBlockSize",
     [](const Call& c) -> Word {
       *out<int>(c.a) = 8;
       *out<int>(c.b) = 1024;
       return 0;
     }},
    {"hipFuncGetAttribute",
     [](const Call& c) -> Word {
       check_device(module_device, "the current device is not the kernel's");
       *out<int>(c.a) = 64;
       return 0;
     }},
    {"hipStreamCreateWithPriority",
     [](const Call& c) -> Word {
       auto* const stream = new Stream{.device = current_device, .blocking = c.b == 0};
       world().living.insert(stream);
       give(c.a, stream);
       return 0;
     }},
    {"hipStreamDestroy",
     [](const Call& c) -> Word {
       Stream* const stream = stream_of(c.a);
       check_device(stream->device, "a stream is destroyed with another device current");
       if (stream->done < stream->submitted && Script::instance().number("busy", 0) > questions)
         crash("the end of a stream waits for its work");
       if (stream->capture != 0 && stream->origin == stream) {
         if (stream->mode != hipStreamCaptureModeRelaxed && stream->thread != std::this_thread::get_id())
           crash("a stream is destroyed that is in the list of another thread's captures");
         world().leave_capture(stream->capture);
       }
       if (world().living.erase(stream) != 0) world().ended.insert(stream);
       return 0;
     }},
    {"hipStreamQuery",
     [](const Call& c) -> Word {
       Stream* const stream = stream_of(c.a);
       if (captures_and_breaks(stream)) return hipErrorStreamCaptureUnsupported;
       const int result = busy();
       if (result == hipSuccess) stream->done = stream->submitted;
       return result;
     }},
    {"hipEventCreateWithFlags",
     [](const Call& c) -> Word {
       give(c.a, new Event{.takes_times = (c.b & hipEventDisableTiming) == 0});
       return 0;
     }},
    {"hipEventQuery",
     [](const Call& c) -> Word {
       Event* const event = event_of(c.a);
       check_living(event);
       if (const int refusal = refusal_of_older(event); refusal != hipSuccess) return refusal;
       const int result = busy();
       if (result == hipSuccess && event->stream != nullptr)
         event->stream->done = std::max(event->stream->done, event->number);
       return result;
     }},
    {"hipMalloc",
     [](const Call& c) -> Word {
       *out<void*>(c.a) = std::malloc(c.b);
       return 0;
     }},
    {"hipFree",
     [](const Call& c) -> Word {
       std::free(memory(c.a));
       return 0;
     }},
    // Portable and mapped; 8 is CUDA's read-only and AMD's coarse-grained memory.
    {"hipHostRegister", [](const Call& c) -> Word { return c.c == 3 ? 0 : static_cast<int>(hipErrorInvalidValue); }},
    {"hipHostGetDevicePointer",
     [](const Call& c) -> Word {
       *out<Word>(c.a) = c.b;
       return 0;
     }},
    {"hipHostMalloc",
     [](const Call& c) -> Word {
       *out<void*>(c.a) = std::malloc(c.b);
       return 0;
     }},
    {"hipHostFree",
     [](const Call& c) -> Word {
       std::free(memory(c.a));
       return 0;
     }},
    {"hipMallocAsync", [](const Call& c) -> Word { return allocate_async(c.a, c.b, c.c); }},
    {"hipMallocFromPoolAsync", [](const Call& c) -> Word { return allocate_async(c.a, c.b, c.d); }},
    {"hipFreeAsync",
     [](const Call& c) -> Word {
       if (c.b == 0) crash("the null stream is followed as a pointer");
       if (!world().was_destroyed(c.b) && release() >= 701 && world().another_blocking_captures(stream_of(c.b))) {
         return hipErrorStreamCaptureUnsupported;
       }
       if (Script::instance().number("trace", 0) != 0) std::fprintf(stderr, "freed %d\n", *out<int>(c.a));
       ++tally.freed;
       tally.use(c.b);
       std::free(memory(c.a));
       return 0;
     }},
    {"hipMemcpyAsync",
     [](const Call& c) -> Word {
       if (submitted(c.e, 1) == nullptr) std::memmove(memory(c.a), memory(c.b), c.c);
       return 0;
     }},
    {"hipMemsetD16Async",
     [](const Call& c) -> Word {
       if (submitted(c.d, 2) != nullptr) return 0;
       for (Word i = 0; i < c.c; ++i) out<std::uint16_t>(c.a)[i] = static_cast<std::uint16_t>(c.b);
       return 0;
     }},
    {"hipMemsetD32Async",
     [](const Call& c) -> Word {
       if (submitted(c.d, 2) != nullptr) return 0;
       for (Word i = 0; i < c.c; ++i) out<std::uint32_t>(c.a)[i] = static_cast<std::uint32_t>(c.b);
       return 0;
     }},
    {"hipStreamWriteValue32",
     [](const Call& c) -> Word {
       *out<std::uint32_t>(c.b) = static_cast<std::uint32_t>(c.c);
       return c.d == 0 ? 0 : static_cast<int>(hipErrorInvalidValue);
     }},
    // A mask that was not passed is whatever the register holds.
    {"hipStreamWaitValue32",
     [](const Call& c) -> Word {
       return wait_for_value(wait_is_over(*out<std::uint32_t>(c.b), static_cast<std::uint32_t>(c.c),
                                          static_cast<std::uint32_t>(c.e), static_cast<unsigned>(c.d)));
     }},
    {"hipStreamWaitValue64",
     [](const Call& c) -> Word {
       return wait_for_value(wait_is_over(*out<Word>(c.b), c.c, c.e, static_cast<unsigned>(c.d)));
     }},
    {"hipLaunchHostFunc",
     [](const Call& c) -> Word {
       const auto function = reinterpret_cast<void (*)(void*)>(c.b);
       if (Node* const node = submitted(c.a, 3)) {
         node->function = function;
         node->data = memory(c.c);
       } else {
         function(memory(c.c));
       }
       return 0;
     }},
    {"hipStreamAddCallback",
     [](const Call& c) -> Word {
       reinterpret_cast<hipStreamCallback_t>(c.b)(reinterpret_cast<hipStream_t>(c.a), hipSuccess, memory(c.c));
       return 0;
     }},
    // The handle is passed by value, on the stack.
    {"hipIpcOpenMemHandle",
     [](const Call& c) -> Word {
       *out<void*>(c.a) = std::malloc(64);
       return static_cast<unsigned>(c.b) == 1U ? 0 : static_cast<int>(hipErrorInvalidValue);
     }},
    {"hipIpcCloseMemHandle",
     [](const Call& c) -> Word {
       std::free(memory(c.a));
       return 0;
     }},
    {"hipStreamBeginCapture",
     [](const Call& c) -> Word { return begin_capture(stream_of(c.a), nullptr, static_cast<int>(c.b)); }},
    {"hipStreamEndCapture",
     [](const Call& c) -> Word {
       Graph* graph = nullptr;
       const int result = end_capture(stream_of(c.a), graph);
       give(c.b, result == hipSuccess ? graph : no_graph);
       return result;
     }},
    {"hipStreamIsCapturing",
     [](const Call& c) -> Word {
       tally.use(c.a);
       const int question = ++capture_questions;
       const bool valid = question <= Script::instance().number("invalid_after", 1 << 30);
       const bool captures = !world().was_destroyed(c.a) && stream_of(c.a)->origin != nullptr;
       if (Script::instance().number("never_ask", 0) != 0) crash("a stream is asked whether it captures");
       const bool broken = captures && stream_of(c.a)->origin->is_broken;
       *out<int>(c.b) = !captures && !foreign(question) ? 0 : valid && !broken ? 1 : 2;
       return 0;
     }},
    // What a stream that does not capture is not told stays as it was.
    {"hipStreamGetCaptureInfo_v2",
     [](const Call& c) -> Word {
       tally.use(c.a);
       const int question = ++capture_questions;
       const bool valid = question <= Script::instance().number("invalid_after", 1 << 30);
       Stream* const stream = world().was_destroyed(c.a) ? nullptr : stream_of(c.a);
       if (Script::instance().number("never_ask", 0) != 0) crash("a stream is asked whether it captures");
       const bool captures = stream != nullptr && stream->origin != nullptr;
       const bool broken = captures && stream->origin->is_broken;
       *out<int>(c.b) = !captures && !foreign(question) ? 0 : valid && !broken ? 1 : 2;
       if (*out<int>(c.b) != 1) return 0;
       static Graph unknown;
       if (c.c != 0) *out<Word>(c.c) = captures ? stream->capture : 7;
       if (c.d != 0) give(c.d, captures ? stream->graph : &unknown);
       if (c.e != 0) *out<Node**>(c.e) = captures ? stream->dependencies.data() : nullptr;
       if (c.f != 0) *out<std::size_t>(c.f) = captures ? stream->dependencies.size() : 0;
       return 0;
     }},
    {"hipGraphGetNodes",
     [](const Call& c) -> Word {
       const Graph& graph = *graph_of(c.a);
       *out<std::size_t>(c.c) = graph.nodes.size();
       if (c.b != 0) std::copy(graph.nodes.begin(), graph.nodes.end(), out<Node*>(c.b));
       return 0;
     }},
    {"hipGraphGetEdges",
     [](const Call& c) -> Word {
       const Graph& graph = *graph_of(c.a);
       *out<std::size_t>(c.d) = graph.edges.size();
       for (std::size_t i = 0; c.b != 0 && i < graph.edges.size(); ++i) {
         out<Node*>(c.b)[i] = graph.edges[i].first;
         out<Node*>(c.c)[i] = graph.edges[i].second;
       }
       return 0;
     }},
    {"hipGraphNodeGetType",
     [](const Call& c) -> Word {
       *out<int>(c.b) = out<Node>(c.a)->kind;
       return 0;
     }},
    {"hipGraphInstantiateWithFlags",
     [](const Call& c) -> Word {
       auto* const exec = new Exec{.device = current_device};
       for (Node* node : graph_of(c.b)->nodes) exec->nodes.push_back(*node);
       world().execs.insert(exec);
       give(c.a, exec);
       return 0;
     }},
    {"hipModuleLoadData",
     [](const Call& c) -> Word {
       module_device = current_device;
       return make(out<hipModule_t>(c.a));
     }},
    {"hipModuleGetFunction", [](const Call& c) -> Word { return make(out<hipFunction_t>(c.a)); }},
    {"hipModuleUnload",
     [](const Call&) -> Word {
       check_device(module_device, "a module is unloaded with another device current");
       world().unload("a module is unloaded under a graph that runs");
       return 0;
     }},
    {"hipModuleLaunchKernel",
     [](const Call& c) -> Word {
       Stream* const stream = stream_of(c.i);
       if (stream->device != module_device) crash("a kernel is launched on a device that its module is not for");
       world().submit(stream, 0);
       return 0;
     }},
    {"hipDrvLaunchKernelEx",
     [](const Call& c) -> Word {
       const auto& launch = *out<const weir::hip::NativeLaunch>(c.a);
       const auto& cluster = launch.attributes[0].value.cluster;
       std::fprintf(stderr, "clusters: grid %u %u %u, block %u %u %u, attribute %d of %u: %u %u %u\n", launch.grid[0],
                    launch.grid[1], launch.grid[2], launch.block[0], launch.block[1], launch.block[2],
                    launch.attributes[0].id, launch.attribute_count, cluster[0], cluster[1], cluster[2]);
       world().submit(stream_of(reinterpret_cast<Word>(launch.stream)), 0);
       return 0;
     }},
    {"hipStreamSynchronize",
     [](const Call& c) -> Word {
       Stream* const stream = stream_of(c.a);
       if (captures_and_breaks(stream)) return hipErrorStreamCaptureUnsupported;
       stream->done = stream->submitted;
       return 0;
     }},
    {"hipStreamGetFlags",
     [](const Call& c) -> Word {
       *out<unsigned>(c.b) = stream_of(c.a)->blocking ? 0 : 1;
       return 0;
     }},
    {"hipStreamGetAttribute",
     [](const Call& c) -> Word {
       *out<int>(c.c) = stream_of(c.a)->policy;
       return 0;
     }},
    {"hipStreamSetAttribute",
     [](const Call& c) -> Word {
       stream_of(c.a)->policy = *out<int>(c.c);
       return 0;
     }},
    {"hipEventDestroy",
     [](const Call& c) -> Word {
       delete event_of(c.a);
       return 0;
     }},
    {"hipEventRecord",
     [](const Call& c) -> Word {
       world().record(event_of(c.a), stream_of(c.b), release() < 604);
       return 0;
     }},
    {"hipStreamWaitEvent",
     [](const Call& c) -> Word {
       world().wait(stream_of(c.a), event_of(c.b));
       return 0;
     }},
    {"hipEventSynchronize",
     [](const Call& c) -> Word {
       Event* const event = event_of(c.a);
       check_living(event);
       if (const int refusal = refusal_of_older(event); refusal != hipSuccess) return refusal;
       if (event->stream != nullptr) event->stream->done = std::max(event->stream->done, event->number);
       return 0;
     }},
    {"hipEventElapsedTime",
     [](const Call& c) -> Word {
       check_living(event_of(c.b));
       check_living(event_of(c.c));
       for (const Event* event : {event_of(c.b), event_of(c.c)}) {
         if (!event->takes_times || event->stream == nullptr) return hipErrorInvalidHandle;
       }
       *out<float>(c.a) = 1;
       if (c.b != c.c) return 0;
       Event* const event = event_of(c.b);
       const int result = busy();
       if (result == hipSuccess && event->stream != nullptr)
         event->stream->done = std::max(event->stream->done, event->number);
       return result;
     }},
    {"hipMallocManaged",
     [](const Call& c) -> Word {
       *out<void*>(c.a) = std::malloc(c.b);
       return 0;
     }},
    {"hipMemPoolCreate",
     [](const Call& c) -> Word {
       if (world().any_strict_capture()) return hipErrorStreamCaptureUnsupported;
       return make(out<hipMemPool_t>(c.a));
     }},
    {"hipMemPoolDestroy",
     [](const Call&) -> Word {
       if (world().any_strict_capture()) return hipErrorStreamCaptureUnsupported;
       return 0;
     }},
    {"hipMemsetD8Async",
     [](const Call& c) -> Word {
       if (submitted(c.d, 2) == nullptr) std::memset(memory(c.a), static_cast<int>(c.b), c.c);
       return 0;
     }},
    {"hipStreamBeginCaptureToGraph",
     [](const Call& c) -> Word {
       const int result = begin_capture(stream_of(c.a), graph_of(c.b), static_cast<int>(c.f));
       for (Word i = 0; result == hipSuccess && i < c.e; ++i) stream_of(c.a)->dependencies.push_back(out<Node*>(c.c)[i]);
       return result;
     }},
    {"hipStreamUpdateCaptureDependencies",
     [](const Call& c) -> Word {
       Stream* const stream = stream_of(c.a);
       std::vector<Node*> nodes(out<Node*>(c.b), out<Node*>(c.b) + c.c);
       if (c.d == 0) nodes.insert(nodes.begin(), stream->dependencies.begin(), stream->dependencies.end());
       stream->dependencies = nodes;
       return 0;
     }},
    {"hipGraphHostNodeGetParams",
     [](const Call& c) -> Word {
       *out<hipHostNodeParams>(c.b) = {out<Node>(c.a)->function, out<Node>(c.a)->data};
       return 0;
     }},
    {"hipGraphAddChildGraphNode",
     [](const Call& c) -> Word {
       auto* const node = new Node{.kind = 4, .graph = graph_of(c.b), .data = memory(c.e)};
       graph_of(c.b)->nodes.push_back(node);
       for (Word i = 0; i < c.d; ++i) graph_of(c.b)->edges.emplace_back(out<Node*>(c.c)[i], node);
       give(c.a, node);
       return 0;
     }},
    {"hipGraphChildGraphNodeGetGraph",
     [](const Call& c) -> Word {
       *out<void*>(c.b) = out<Node>(c.a)->data;
       return 0;
     }},
    {"hipGraphClone",
     [](const Call& c) -> Word {
       auto* const copy = new Graph;
       std::map<Node*, Node*> copies;
       for (Node* node : graph_of(c.b)->nodes) {
         copy->nodes.push_back(copies[node] = new Node(*node));
         copy->nodes.back()->graph = copy;
       }
       for (const auto& [from, to] : graph_of(c.b)->edges) copy->edges.emplace_back(copies[from], copies[to]);
       copy->owned = graph_of(c.b)->owned;
       for (Owned* owned : copy->owned) ++owned->references;
       give(c.a, copy);
       return 0;
     }},
    {"hipGraphCreate",
     [](const Call& c) -> Word {
       give(c.a, new Graph);
       return 0;
     }},
    {"hipGraphDestroy",
     [](const Call& c) -> Word {
       if (out<Graph>(c.a) == no_graph) crash("a graph is destroyed that the failed end of a capture did not make");
       destroy(graph_of(c.a));
       return 0;
     }},
    {"hipGraphLaunch",
     [](const Call& c) -> Word {
       auto* const exec = out<Exec>(c.a);
       Stream* const stream = stream_of(c.b);
       if (exec->device != stream->device) crash("a graph is launched on another device");
       world().launch(exec, stream);
       for (const Node& node : exec->nodes) {
         if (node.function != nullptr) node.function(node.data);
       }
       return 0;
     }},
    {"hipGraphExecDestroy",
     [](const Call& c) -> Word {
       auto* const exec = out<Exec>(c.a);
       check_device(exec->device, "an executable is destroyed with another device current");
       if (world().is_running(exec)) crash("an executable is destroyed while it runs");
       world().execs.erase(exec);
       delete exec;
       return 0;
     }},
    {"hipUserObjectCreate",
     [](const Call& c) -> Word {
       give(c.a, new Owned{memory(c.b), reinterpret_cast<void (*)(void*)>(c.c), static_cast<int>(c.d)});
       return 0;
     }},
    {"hipUserObjectRelease",
     [](const Call& c) -> Word {
       let_go(out<Owned>(c.a));
       return 0;
     }},
    // One that is moved, the graph does not find again.
    {"hipGraphRetainUserObject",
     [](const Call& c) -> Word {
       if ((c.d & 1) != 0) return 0;
       ++out<Owned>(c.b)->references;
       graph_of(c.a)->owned.push_back(out<Owned>(c.b));
       return 0;
     }},
};

const Function* implementation_of(const char* name) {
  for (const Function& function : functions) {
    if (std::strcmp(function.name, name) == 0) return &function;
  }
  return nullptr;
}

/// Up to 6.2, a user object is looked for in a set of all, without the lock under which the set changes.
class UserObjectSet {
 public:
  class Use {
   public:
    Use(UserObjectSet& set, const char* name) {
      const auto is = [name](const char* function) { return std::strcmp(name, function) == 0; };
      if (release() >= 603) return;
      if (is("hipUserObjectRelease") || is("hipGraphRetainUserObject")) used_ = &set.looks;
      if (is("hipUserObjectCreate") || is("hipGraphDestroy") || is("hipGraphExecDestroy")) used_ = &set.changes;
      if (used_ == nullptr) return;
      ++*used_;
      // Long enough to meet another thread. A sleep would count as Weir's.
      const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(20);
      while (std::chrono::steady_clock::now() < end) {
      }
      if (set.looks != 0 && set.changes != 0) crash("a user object is looked for while another thread makes or ends one");
    }
    ~Use() {
      if (used_ != nullptr) --*used_;
    }

   private:
    std::atomic<int>* used_ = nullptr;
  };

 private:
  std::atomic<int> looks{0}, changes{0};
} user_objects;

Word run(const char* name, const Call& call) {
  const UserObjectSet::Use use(user_objects, name);
  if (is_shut_down) crash("it is called after its static objects were destroyed");
  char trace[200] = "";
  if (Script::instance().number("trace", 0) != 0) {
    const auto show = [](Word w) { return w < 0x10000 ? static_cast<long long>(w) : -1LL; };
    std::snprintf(trace, sizeof(trace), "call %s %lld %lld %lld %lld %lld\n", name, show(call.a), show(call.b), show(call.c),
                  show(call.d), show(call.e));
  }
  Word result = static_cast<Word>(Script::instance().failure_of(name, trace));
  if (result == 0 && std::strstr(name, "GetError") == nullptr) result = static_cast<Word>(every_call_fails.load());
  if (result != 0) {
    std::this_thread::sleep_for(std::chrono::microseconds(Script::instance().number("delay", 0)));
    if (std::strcmp(name, "hipFreeAsync") == 0) tally.use(call.b);
    const std::lock_guard lock(world().mutex);
    if (std::strcmp(name, "hipStreamEndCapture") == 0) give(call.b, no_graph);
    if (std::strcmp(name, "hipStreamEndCapture") == 0 && result == hipErrorStreamCaptureInvalidated) {
      Stream* const stream = stream_of(call.a);
      world().leave_capture(stream->capture);
      stream->is_invalidated = release() < 714;  // until a capture that is in order ends
    }
  } else {
    const Function* const function = implementation_of(name);
    // Held for host functions, too, as a runtime may: they must not call it.
    const std::lock_guard lock(world().mutex);
    try {
      result = function != nullptr ? function->run(call) : 0;
    } catch (const StreamIsGone&) {
      result = hipErrorContextIsDestroyed;
    }
  }
  // The last call's code, up to 6.4, whatever it says; the last error that nobody has asked for, since 7.0.
  const bool is_code = result < 2000 && std::strstr(name, "GetError") == nullptr;
  const bool failed = is_code && result != hipSuccess && result != hipErrorNotReady;
  if (failed || release() < 700) last = is_code ? static_cast<int>(result) : 0;
  return result;
}

}  // namespace

// The functions under the runtime's names, which the headers have given to others: the assembler does not mind. Arguments
// that a caller did not pass, beyond the six in registers, are words of its own stack: there, and not looked at.
#define FAKE_HIP(function)                                                                                  \
  extern "C" __attribute__((visibility("default")))                                                         \
  Word fake_##function(Word, Word, Word, Word, Word, Word, Word, Word, Word) __asm__(#function);            \
  extern "C" Word fake_##function(Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h, Word i) { \
    return run(#function, {a, b, c, d, e, f, g, h, i});                                                     \
  }
#define FAKE_HIP_SYMBOL(field, function, ...) FAKE_HIP(function)
WEIR_HIP_SYMBOLS(FAKE_HIP_SYMBOL)
WEIR_HIP_NEWER_SYMBOLS(FAKE_HIP_SYMBOL)

extern "C" __attribute__((visibility("default"))) void weir_fail_every_call(int code) { every_call_fails = code; }
extern "C" __attribute__((visibility("default"))) int weir_wait_for(const char* function, int calls) {
  return Script::instance().wait_for(function, calls) ? 1 : 0;
}
extern "C" __attribute__((visibility("default"))) int weir_wait_for_next(const char* function, const char* other) {
  return Script::instance().wait_for_next(function, other) ? 1 : 0;
}
extern "C" __attribute__((visibility("default"))) void weir_be_ready() { is_ready = true; }

extern "C" __attribute__((visibility("default"))) int fake_last_error() __asm__("hipGetLastError");
extern "C" int fake_last_error() {
  const int error = last;
  last = 0;
  return error;
}
