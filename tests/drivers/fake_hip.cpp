// SPDX-License-Identifier: Apache-2.0

// A stand-in for libamdhip64. It carries out work at once, on the calling thread, in host memory; see script.hpp for what it can
// be told, and beside that
//
//   trace=1          on standard error: "call NAME A B C D E", and "freed N" where the N-th stream-ordered memory is
//   foreign=N-M      streams capture, by other code, when they are asked for the N-th to the M-th time; invalid_after=NUMBER:
//                    and are invalid after that question
//   tally=1          on standard error, at the end: "tally: ALLOCATED FREED of stream-ordered memory, DEAD calls": those frees and
//                    questions after captures that were for streams that had been destroyed
//   delay=NUMBER     a call that is to fail takes that many microseconds
//   busy=NUMBER      streams and events are not ready for that many questions
//   peers=1          devices can address each other's memory
//   module_device=N  the device of the functions that it is asked about
//   nodes=NUMBER     what is captured; first_node=KIND: of that kind and the next ones; joined=NUMBER: how many of them the
//                    stream depends on when the capture ends
//
// What it exports is what the release that it stands for does: the linker's version script says so.

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <thread>

#include "backends/hip/symbols.hpp"
#include "script.hpp"

using weir::test::Script;
using Word = std::uint64_t;  // what every parameter of these functions fits in

namespace {

int release() { return FAKE_RELEASE; }

thread_local int current_device = 0;
thread_local int last = 0;
std::atomic<int> questions{0};
std::atomic<int> every_call_fails{0};
int dummy[64];  // what handles point to
std::atomic<int> next_handle{0};
bool capturing = false;
Word capture_id = 7;
std::atomic<int> capture_questions{0};

/// Streams made here have numbers for handles, which nobody has twice.
class Streams {
 public:
  int make(hipStream_t* stream) {
    const std::lock_guard lock(mutex_);
    living_.insert(first + ++made_);
    *stream = reinterpret_cast<hipStream_t>(first + made_);
    return hipSuccess;
  }
  void destroy(Word stream) {
    const std::lock_guard lock(mutex_);
    living_.erase(stream);
  }
  bool was_destroyed(Word stream) {
    const std::lock_guard lock(mutex_);
    return first < stream && stream <= first + made_ && !living_.contains(stream);
  }

 private:
  static constexpr Word first = Word{1} << 60U;
  std::mutex mutex_;
  Word made_ = 0;
  std::set<Word> living_;
};
Streams& streams() {
  static auto* const all = new Streams;
  return *all;
}

struct Tally {
  std::atomic<int> allocated{0}, freed{0}, dead{0};
  void use(Word stream) { dead += streams().was_destroyed(stream) ? 1 : 0; }
  ~Tally() {
    if (Script::instance().number("tally", 0) == 0) return;
    std::fprintf(stderr, "tally: %d %d of stream-ordered memory, %d calls\n", allocated.load(), freed.load(), dead.load());
  }
} tally;

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
  Word a, b, c, d, e, f;
};

int attribute(int number, int* value) {
  const bool newer = number == 2 || number == 69 || number == 75 || number == 76 || number == 78 || number == 90;
  if (newer && release() < 600) return hipErrorInvalidValue;  // and the value is left as it was
  if (number == 74 || number == 75) {  // shared memory of a block: without asking, and at most, which is 0 up to 6.2
    *value = number == 75 && release() <= 602 ? 0 : 65536;
    return hipSuccess;
  }
  *value = number == 88 ? (release() >= 602 ? 1 : 0) : number == 23 ? 9 : number == 61 ? 0 : number == 87 ? 64 : 1;
  return hipSuccess;
}

int properties(void* to, std::size_t size, std::size_t name, const char* architecture) {
  std::memset(to, 0, size);
  std::strcpy(static_cast<char*>(to) + name, architecture);
  return hipSuccess;
}

int no_device_or(int result) {
  return Script::instance().number("devices", 1) > 0 ? result : static_cast<int>(hipErrorNoDevice);
}

int busy() {
  return questions.fetch_add(1) < Script::instance().number("busy", 0) ? hipErrorNotReady : hipSuccess;
}

struct Function {
  const char* name;
  Word (*run)(const Call&);
};

constexpr Function functions[] = {
    // Without a device, as 5.2.3: an invalid device each time.
    {"hipGetErrorName", [](const Call& c) -> Word { return reinterpret_cast<Word>(c.a == 700 ? "hipErrorIllegalAddress" : "hipErrorScripted"); }},
    {"hipGetErrorString", [](const Call& c) -> Word { return reinterpret_cast<Word>(c.a == 700 ? "hipErrorIllegalAddress" : "hipErrorScripted"); }},
    {"hipInit", [](const Call&) -> Word { return Script::instance().number("devices", 1) > 0 ? hipSuccess : hipErrorInvalidDevice; }},
    {"hipRuntimeGetVersion", [](const Call& c) -> Word {
       *out<int>(c.a) = Script::instance().number("version", release() / 100 * 10000000 + release() % 100 * 100000 + 21153);
       return 0;
     }},
    {"hipGetDeviceCount", [](const Call& c) -> Word { return no_device_or(*out<int>(c.a) = Script::instance().number("devices", 1)) == hipErrorNoDevice ? static_cast<int>(hipErrorNoDevice) : 0; }},
    {"hipGetDevice", [](const Call& c) -> Word { *out<int>(c.a) = current_device; return 0; }},
    {"hipSetDevice", [](const Call& c) -> Word { current_device = static_cast<int>(c.a); return 0; }},
    {"hipDeviceGetName", [](const Call& c) -> Word { std::strncpy(out<char>(c.a), "Stand-in", c.b); return 0; }},
    {"hipDeviceGetUuid", [](const Call& c) -> Word { std::memcpy(out<char>(c.a), Script::instance().number("shared_uuid", 0) != 0 ? "XX\0\0\0\0\0\0\0\0\0\0\0\0\0" : "0123456789abcdef", 16); return 0; }},
    {"hipDeviceGetPCIBusId", [](const Call& c) -> Word { std::snprintf(out<char>(c.a), c.b, "0000:%02x:00.0", static_cast<int>(c.c)); return 0; }},
    {"hipDeviceTotalMem", [](const Call& c) -> Word { *out<std::size_t>(c.a) = 1 << 30; return 0; }},
    {"hipDeviceGetAttribute", [](const Call& c) -> Word { return attribute(static_cast<int>(c.b), out<int>(c.a)); }},
    {"hipDeviceGetStreamPriorityRange", [](const Call& c) -> Word { *out<int>(c.a) = 1; *out<int>(c.b) = -1; return 0; }},
    // The plain name is the old layout's, also where there is a newer one.
    {"hipGetDeviceProperties", [](const Call& c) -> Word { return properties(memory(c.a), 792, 396, "gfx906:sramecc-:xnack-"); }},
    {"hipGetDevicePropertiesR0000", [](const Call& c) -> Word { return properties(memory(c.a), 792, 396, "gfx906:sramecc-:xnack-"); }},
    {"hipGetDevicePropertiesR0600", [](const Call& c) -> Word { return properties(memory(c.a), 1472, 1160, "gfx942:sramecc+:xnack-"); }},
    {"hipDeviceCanAccessPeer", [](const Call& c) -> Word { *out<int>(c.a) = Script::instance().number("peers", 0); return 0; }},
    // Taking access away is refused for every device in 6.2.
    {"hipMemPoolSetAccess", [](const Call& c) -> Word { return release() == 602 && out<hipMemAccessDesc>(c.b)->flags == 0 ? static_cast<int>(hipErrorInvalidDevice) : 0; }},
    // It looks the function up on the current device, and follows a null pointer where that is not the module's.
    {"hipFuncGetAttribute", [](const Call& c) -> Word {
       if (current_device != Script::instance().number("module_device", current_device)) std::abort();
       *out<int>(c.a) = 64;
       return 0;
     }},
    {"hipStreamCreateWithPriority", [](const Call& c) -> Word { return streams().make(out<hipStream_t>(c.a)); }},
    {"hipStreamDestroy", [](const Call& c) -> Word { streams().destroy(c.a); return 0; }},
    {"hipStreamQuery", [](const Call&) -> Word { return busy(); }},
    {"hipEventCreateWithFlags", [](const Call& c) -> Word { return make(out<hipEvent_t>(c.a)); }},
    {"hipEventQuery", [](const Call&) -> Word { return busy(); }},
    {"hipMalloc", [](const Call& c) -> Word { *out<void*>(c.a) = std::malloc(c.b); return 0; }},
    {"hipFree", [](const Call& c) -> Word { std::free(memory(c.a)); return 0; }},
    // Portable and mapped; 8 is CUDA's read-only and AMD's coarse-grained memory.
    {"hipHostRegister", [](const Call& c) -> Word { return c.c == 3 ? 0 : static_cast<int>(hipErrorInvalidValue); }},
    {"hipHostGetDevicePointer", [](const Call& c) -> Word { *out<Word>(c.a) = c.b; return 0; }},
    {"hipHostMalloc", [](const Call& c) -> Word { *out<void*>(c.a) = std::malloc(c.b); return 0; }},
    {"hipHostFree", [](const Call& c) -> Word { std::free(memory(c.a)); return 0; }},
    {"hipMallocAsync", [](const Call& c) -> Word {
       *out<void*>(c.a) = std::malloc(c.b);
       **out<int*>(c.a) = ++tally.allocated;
       return c.c != 0 ? 0 : static_cast<int>(hipErrorInvalidHandle);
     }},
    {"hipFreeAsync", [](const Call& c) -> Word {
       if (Script::instance().number("trace", 0) != 0) std::fprintf(stderr, "freed %d\n", *out<int>(c.a));
       ++tally.freed;
       tally.use(c.b);
       std::free(memory(c.a));
       return 0;
     }},
    {"hipMemcpyAsync", [](const Call& c) -> Word { std::memmove(memory(c.a), memory(c.b), c.c); return 0; }},
    {"hipMemsetD16Async", [](const Call& c) -> Word { for (Word i = 0; i < c.c; ++i) out<std::uint16_t>(c.a)[i] = static_cast<std::uint16_t>(c.b); return 0; }},
    {"hipMemsetD32Async", [](const Call& c) -> Word { for (Word i = 0; i < c.c; ++i) out<std::uint32_t>(c.a)[i] = static_cast<std::uint32_t>(c.b); return 0; }},
    {"hipStreamWriteValue32", [](const Call& c) -> Word { *out<std::uint32_t>(c.b) = static_cast<std::uint32_t>(c.c); return c.d == 0 ? 0 : static_cast<int>(hipErrorInvalidValue); }},
    // A mask that was not passed is whatever the register holds.
    {"hipStreamWaitValue32", [](const Call& c) -> Word { return static_cast<std::uint32_t>(c.e) == 0xFFFFFFFFU ? 0 : static_cast<int>(hipErrorInvalidValue); }},
    {"hipStreamWaitValue64", [](const Call& c) -> Word { return c.e == ~Word{0} ? 0 : static_cast<int>(hipErrorInvalidValue); }},
    {"hipLaunchHostFunc", [](const Call& c) -> Word { reinterpret_cast<void (*)(void*)>(c.b)(memory(c.c)); return 0; }},
    {"hipStreamAddCallback", [](const Call& c) -> Word {
       reinterpret_cast<hipStreamCallback_t>(c.b)(reinterpret_cast<hipStream_t>(c.a), hipSuccess, memory(c.c));
       return 0;
     }},
    // The flag that there is was 0 up to 5.7, and is 1 since. The handle is passed by value, on the stack.
    {"hipIpcOpenMemHandle", [](const Call& c) -> Word {
       *out<void*>(c.a) = std::malloc(64);
       return static_cast<unsigned>(c.b) == (release() < 600 ? 0U : 1U) ? 0 : static_cast<int>(hipErrorInvalidValue);
     }},
    {"hipIpcCloseMemHandle", [](const Call& c) -> Word { std::free(memory(c.a)); return 0; }},
    {"hipStreamBeginCapture", [](const Call&) -> Word { capturing = true; ++capture_id; return 0; }},
    {"hipStreamEndCapture", [](const Call& c) -> Word { capturing = false; return make(out<hipGraph_t>(c.b)); }},
    {"hipStreamIsCapturing", [](const Call& c) -> Word {
       tally.use(c.a);
       const int question = ++capture_questions;
       const bool valid = question <= Script::instance().number("invalid_after", 1 << 30);
       *out<int>(c.b) = !capturing && !Script::instance().is_among("foreign", question) ? 0 : valid ? 1 : 2;
       return 0;
     }},
    // What a stream that does not capture is not told stays as it was.
    {"hipStreamGetCaptureInfo_v2", [](const Call& c) -> Word {
       tally.use(c.a);
       const int question = ++capture_questions;
       const bool valid = question <= Script::instance().number("invalid_after", 1 << 30);
       const bool captures = capturing || Script::instance().is_among("foreign", question);
       *out<int>(c.b) = !captures ? 0 : valid ? 1 : 2;
       if (!captures || !valid) return 0;
       if (c.c != 0) *out<Word>(c.c) = capture_id;
       if (c.d != 0) make(out<hipGraph_t>(c.d));
       static void* nodes[64];
       for (int i = 0; i < 64; ++i) nodes[i] = &dummy[i];
       if (c.e != 0) *out<void**>(c.e) = nodes;
       if (c.f != 0) *out<std::size_t>(c.f) = static_cast<std::size_t>(Script::instance().number("joined", 64));
       return 0;
     }},
    // Nodes of the kinds from `first_node` on, in no order.
    {"hipGraphGetNodes", [](const Call& c) -> Word {
       const int nodes = Script::instance().number("nodes", 0);
       *out<std::size_t>(c.c) = static_cast<std::size_t>(nodes);
       for (int i = 0; c.b != 0 && i < nodes; ++i) out<void*>(c.b)[i] = &dummy[i];
       return 0;
     }},
    {"hipGraphGetEdges", [](const Call& c) -> Word { *out<std::size_t>(c.d) = 0; return 0; }},
    {"hipGraphNodeGetType", [](const Call& c) -> Word {
       *out<int>(c.b) = Script::instance().number("first_node", 0) + static_cast<int>(out<int>(c.a) - dummy);
       return 0;
     }},
    {"hipGraphInstantiateWithFlags", [](const Call& c) -> Word { return make(out<hipGraphExec_t>(c.a)); }},
    {"hipModuleLoadData", [](const Call& c) -> Word { return make(out<hipModule_t>(c.a)); }},
    {"hipModuleGetFunction", [](const Call& c) -> Word { return make(out<hipFunction_t>(c.a)); }},
};

const Function* implementation_of(const char* name) {
  for (const Function& function : functions) {
    if (std::strcmp(function.name, name) == 0) return &function;
  }
  return nullptr;
}

Word run(const char* name, const Call& call) {
  if (Script::instance().number("trace", 0) != 0) {
    const auto show = [](Word w) { return w < 0x10000 ? static_cast<long long>(w) : -1LL; };
    std::fprintf(stderr, "call %s %lld %lld %lld %lld %lld\n", name, show(call.a), show(call.b), show(call.c), show(call.d), show(call.e));
  }
  Word result = static_cast<Word>(Script::instance().failure_of(name));
  if (result == 0 && std::strstr(name, "GetError") == nullptr) result = static_cast<Word>(every_call_fails.load());
  if (result != 0) {
    std::this_thread::sleep_for(std::chrono::microseconds(Script::instance().number("delay", 0)));
    if (std::strcmp(name, "hipFreeAsync") == 0) tally.use(call.b);
  } else {
    const Function* const function = implementation_of(name);
    result = function != nullptr ? function->run(call) : 0;
  }
  // The last call's code, up to 6.4; the last error that nobody has asked for, since 7.0.
  const bool failed = result != hipSuccess && result != hipErrorNotReady && result < 2000;
  if (failed || release() < 700) last = failed ? static_cast<int>(result) : 0;
  return result;
}

}  // namespace

// The functions under the runtime's names, which the headers have given to others: the assembler does not mind.
#define FAKE_HIP(function)                                                                                                \
  extern "C" __attribute__((visibility("default"))) Word fake_##function(Word, Word, Word, Word, Word, Word) __asm__(#function); \
  extern "C" Word fake_##function(Word a, Word b, Word c, Word d, Word e, Word f) {                                        \
    return run(#function, {a, b, c, d, e, f});                                                                           \
  }
#define FAKE_HIP_SYMBOL(field, function, since, more) FAKE_HIP(function)
WEIR_HIP_SYMBOLS(FAKE_HIP_SYMBOL)
WEIR_HIP_NEWER_SYMBOLS(FAKE_HIP_SYMBOL)

extern "C" __attribute__((visibility("default"))) void weir_fail_every_call(int code) { every_call_fails = code; }

extern "C" __attribute__((visibility("default"))) int fake_last_error() __asm__("hipGetLastError");
extern "C" int fake_last_error() {
  const int error = last;
  last = 0;
  return error;
}
