// SPDX-License-Identifier: Apache-2.0

// A libamdhip64 whose answers a test can change: it stands before the bridge (tests/bridge), which behaves like the release
// that it imitates, over the driver on the CPU (tests/cpu_cuda). Work is done when a call returns, unless the script says
// async=1. Any text is loaded as the module of fake_kernels.cpp. The instructions are those in script.hpp and:
//
//   async=1          work is done on other threads
//   trace=1          prints to standard error "call NAME A B C D E", and "freed" for stream-ordered memory that was freed
//   break=N          before the N-th query whether a stream captures, other code invalidates that capture
//   delay=N          a call that must fail takes N microseconds
//   busy=N           streams and events are not ready for N queries, or until weir_be_ready() is called
//   gpu=N            the architecture is gfxN
//   attributes=N     every attribute of the device is N, except its architecture, warp size and shared memory
//   clusters=N       the device's property `clusterLaunch` is N, by default that of the attributes
//   shared_uuid=1    the device's UUID is the one that several devices may report
//   first_node=KIND  a graph's nodes have that kind and the following ones
//   silent=1         the end of an invalidated capture returns a graph
//
// It exports the same functions as the release that it imitates, by the linker's version script.

#include <dlfcn.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "backends/hip/symbols.hpp"
#include "script.hpp"

namespace fake {
extern const int release;  // 602 is 6.2
extern const char* const bridge;
}  // namespace fake

namespace {

using weir::test::Script;
using Word = std::uint64_t;  // every parameter of these functions fits in it, or in several
using Words = std::array<Word, 14>;
using Function = Word (*)(Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word);

int number(const char* word, int otherwise = 0) { return Script::instance().number(word, otherwise); }

[[noreturn]] void crash(const char* what) {
  std::fprintf(stderr, "the runtime crashes: %s\n", what);
  std::abort();
}

/// Opened when this library is, so that the order in which static objects and handlers end is that of AMD's runtime.
struct Bridge {
  Bridge() {
    ::setenv("CPU_CUDA_DEVICES", std::to_string(number("devices", 1)).c_str(), 1);
    if (number("async") == 0) ::setenv("WEIR_BRIDGE_IMMEDIATE", "1", 1);
    (void)::dlopen(FAKE_CUDA, RTLD_NOW);  // has the name by which the bridge opens it
    library = ::dlopen(fake::bridge, RTLD_NOW);
    if (library == nullptr) crash(::dlerror());
  }
  void* library;
} const bridge;

Word call(const char* name, const Words& w) {
  const auto function = reinterpret_cast<Function>(::dlsym(bridge.library, name));
  if (function == nullptr) crash(name);
  return function(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11], w[12], w[13]);
}

template <class T>
T* out(Word address) {
  return reinterpret_cast<T*>(address);
}
Word word(const void* pointer) { return reinterpret_cast<Word>(pointer); }

thread_local int last = 0;
std::atomic<int> questions{0}, capture_questions{0};
std::atomic<bool> is_ready{false};
std::atomic<int> every_call_fails{0};

Word busy() { return !is_ready && questions.fetch_add(1) < number("busy") ? hipErrorNotReady : hipSuccess; }

std::string& module_image() {
  static auto* const image = [] {
    std::ifstream in(FAKE_KERNELS, std::ios::binary);
    return new std::string(std::istreambuf_iterator<char>(in), {});
  }();
  return *image;
}

/// Objects end with the device current on which they were made.
struct MadeOn {
  std::mutex mutex;
  std::map<Word, int> devices;
}& made_on = *new MadeOn;

int current_device() {
  int device = 0;
  (void)call("hipGetDevice", {word(&device)});
  return device;
}
void note_making(Word object) {
  const int device = current_device();
  const std::lock_guard lock(made_on.mutex);
  made_on.devices[object] = device;
}
void check_ending(Word object) {
  const int device = current_device();
  const std::lock_guard lock(made_on.mutex);
  const auto found = made_on.devices.find(object);
  if (found != made_on.devices.end() && found->second != device) crash("an object is ended with another device current");
}

/// What is asked of the bridge, and its answer, as the script wants them.
Word answer(std::string_view name, Words& w) {
  const auto is = [name](std::string_view other) { return name == other; };
  if (is("hipModuleLoadData") && *out<char>(w[1]) != '\x7f') w[1] = word(module_image().data());
  if (is("hipStreamIsCapturing") || is("hipStreamGetCaptureInfo_v2")) {
    if (++capture_questions == number("break")) (void)call("hipStreamQuery", {w[0]});
  }
  if (is("hipDeviceGetAttribute")) {
    const int which = static_cast<int>(w[1]);
    const bool is_own = which == 23 || which == 61 || which == 74 || which == 75 || which == 87;
    if (Script::instance().is_among("unknown_attributes", which)) return hipErrorInvalidValue;  // the value stays as it was
    if (!is_own && number("attributes", -1) != -1) {
      *out<int>(w[0]) = number("attributes");
      return hipSuccess;
    }
  }
  if (is("hipDrvLaunchKernelEx")) {  // which the driver on the CPU lacks
    const auto& launch = *out<const weir::hip::NativeLaunch>(w[0]);
    const auto& cluster = launch.attributes[0].value.cluster;
    std::fprintf(stderr, "clusters: grid %u %u %u, block %u %u %u, attribute %d of %u: %u %u %u\n", launch.grid[0],
                 launch.grid[1], launch.grid[2], launch.block[0], launch.block[1], launch.block[2], launch.attributes[0].id,
                 launch.attribute_count, cluster[0], cluster[1], cluster[2]);
    return hipSuccess;
  }
  if (is("hipStreamDestroy") || is("hipGraphExecDestroy") || is("hipModuleUnload")) check_ending(w[0]);

  Word result = call(name.data(), w);
  if (name.find("GetError") != std::string_view::npos) return result;
  result = static_cast<unsigned>(result);
  if (is("hipStreamEndCapture") && result == hipErrorStreamCaptureInvalidated && number("silent") != 0) {
    return call("hipGraphCreate", {w[1], 0});
  }
  if (result != hipSuccess) return result;
  if (is("hipStreamCreateWithPriority") || is("hipGraphInstantiateWithFlags") || is("hipModuleLoadData")) {
    note_making(*out<Word>(w[0]));
  }
  const bool asks_by_time = is("hipEventElapsedTime") && w[1] == w[2];
  if (is("hipStreamQuery") || is("hipEventQuery") || asks_by_time) return busy();
  if (is("hipFreeAsync") && number("trace") != 0) std::fprintf(stderr, "freed \n");
  if (is("hipRuntimeGetVersion")) {
    *out<int>(w[0]) = number("version", fake::release / 100 * 10000000 + fake::release % 100 * 100000 + 21153);
  }
  if (is("hipDeviceGetUuid") && number("shared_uuid") != 0) std::memcpy(out<char>(w[0]), "XX\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
  if (is("hipGetDevicePropertiesR0600")) {
    const int clusters = number("clusters", number("attributes", 1));
    std::memcpy(out<char>(w[0]) + 772, &clusters, sizeof(clusters));  // clusterLaunch
    const std::string gpu = std::to_string(number("gpu", 942));
    std::strcpy(out<char>(w[0]) + 1160, ("gfx" + gpu + (gpu.starts_with("9") ? ":sramecc+:xnack-" : "")).c_str());
  }
  // What the device takes, whatever the kernel was compiled for (7.15).
  if (is("hipModuleOccupancyMaxPotentialBlockSize")) *out<int>(w[1]) = 1024;
  if (is("hipGraphNodeGetType") && number("first_node", -1) != -1) {
    static auto& kinds = *new std::map<Word, int>;
    *out<int>(w[1]) = kinds.try_emplace(w[0], number("first_node") + static_cast<int>(kinds.size())).first->second;
  }
  return hipSuccess;
}

Word run(const char* name, Words w) {
  char trace[200] = "";
  if (number("trace") != 0) {
    const auto show = [](Word value) { return value < 0x10000 ? static_cast<long long>(value) : -1LL; };
    std::snprintf(trace, sizeof(trace), "call %s %lld %lld %lld %lld %lld\n", name, show(w[0]), show(w[1]), show(w[2]),
                  show(w[3]), show(w[4]));
  }
  const bool is_code = std::strstr(name, "GetError") == nullptr;
  Word result = static_cast<Word>(Script::instance().failure_of(name, trace));
  if (result == 0 && is_code) result = static_cast<Word>(every_call_fails.load());
  if (result != 0) {
    std::this_thread::sleep_for(std::chrono::microseconds(number("delay")));
    // Its own variable, which it has not set (seen in 6.2 and 7.15).
    if (std::strcmp(name, "hipStreamEndCapture") == 0) *out<Word>(w[1]) = 0x5a5a;
  } else {
    result = answer(name, w);
  }
  // The last call's code, up to 6.4, whatever it says; the last error that nobody has asked for, since 7.0.
  const bool failed = is_code && result != hipSuccess && result != hipErrorNotReady;
  if (failed || fake::release < 700) last = is_code ? static_cast<int>(result) : 0;
  return result;
}

}  // namespace

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

// The functions under the runtime's names, which the headers have given to others: the assembler does not mind. Arguments
// that a caller did not pass, beyond the six in registers, are words of its own stack: there, and not looked at.
#define FAKE_HIP(function)                                                                                                \
  FAKE_EXPORT Word fake_##function(Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word,          \
                                   Word) __asm__(#function);                                                              \
  extern "C" Word fake_##function(Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h, Word i, Word j, Word k, \
                                  Word l, Word m, Word n) {                                                               \
    return run(#function, {a, b, c, d, e, f, g, h, i, j, k, l, m, n});                                                    \
  }
#define FAKE_HIP_SYMBOL(field, function, ...) FAKE_HIP(function)
WEIR_HIP_SYMBOLS(FAKE_HIP_SYMBOL)
WEIR_HIP_NEWER_SYMBOLS(FAKE_HIP_SYMBOL)

FAKE_EXPORT int fake_last_error() __asm__("hipGetLastError");
extern "C" int fake_last_error() {
  if (number("trace") != 0) std::fprintf(stderr, "call hipGetLastError \n");
  return std::exchange(last, 0);
}

FAKE_EXPORT void weir_fail_every_call(int code) { every_call_fails = code; }
FAKE_EXPORT int weir_wait_for(const char* function, int calls) {
  return Script::instance().wait_for(function, calls) ? 1 : 0;
}
FAKE_EXPORT int weir_wait_for_next(const char* function, const char* other) {
  return Script::instance().wait_for_next(function, other) ? 1 : 0;
}
FAKE_EXPORT void weir_be_ready() { is_ready = true; }
