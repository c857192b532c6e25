// SPDX-License-Identifier: Apache-2.0
#include <cuda.h>
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <atomic>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "newer.hpp"
#include "tests/unit/subprocess.hpp"

// Tests that the bridge behaves like AMD's library of each release, as far as a plugin depends on it. If a plugin did one of
// these things wrong, it would fail on the bridge. The cases need an NVIDIA GPU.

namespace {

// Beside the folder of this program, as everything in a build tree is.
std::string program() { return std::filesystem::read_symlink("/proc/self/exe"); }
std::string bridge_folder() { return std::filesystem::path(program()).parent_path().parent_path() / "lib" / "bridge"; }

class Release {
 public:
  explicit Release(const char* name) : name_(name) {
    const std::string major = name_.substr(0, name_.find('.'));
    const std::string folder = bridge_folder() + "/" + name_;
    library_ = ::dlopen((folder + "/libamdhip64.so." + major).c_str(), RTLD_NOW | RTLD_LOCAL);
    compiler_ =
        std::stoi(major) >= 7 ? ::dlopen((folder + "/libhiprtc.so." + major).c_str(), RTLD_NOW | RTLD_LOCAL) : library_;
    REQUIRE_MESSAGE(library_ != nullptr, ::dlerror());
    REQUIRE(compiler_ != nullptr);
  }
  bool has(const char* symbol) const { return ::dlsym(library_, symbol) != nullptr; }
  void* find(const char* symbol) const {
    void* const found = ::dlsym(std::strncmp(symbol, "hiprtc", 6) == 0 ? compiler_ : library_, symbol);
    REQUIRE_MESSAGE(found != nullptr, name_ << " has no " << symbol);
    return found;
  }

 private:
  std::string name_;
  void* library_;
  void* compiler_;
};

// HIP(release, hipStreamQuery)(stream): the release's function of that name.
#define HIP(release, function) (reinterpret_cast<decltype(&::function)>((release).find(#function)))
// Functions that the headers overload in C++.
using Allocate = hipError_t (*)(void**, size_t, hipStream_t);

template <class T>
T* pinned(const Release& hip, std::size_t count = 16) {
  void* memory = nullptr;
  REQUIRE(HIP(hip, hipHostMalloc)(&memory, count * sizeof(T), 0) == hipSuccess);
  std::memset(memory, 0, count * sizeof(T));
  return static_cast<T*>(memory);
}

hipStream_t stream(const Release& hip) {
  hipStream_t made = nullptr;
  REQUIRE(HIP(hip, hipStreamCreateWithFlags)(&made, hipStreamNonBlocking) == hipSuccess);
  return made;
}

hipFunction_t kernel(const Release& hip) {
  constexpr const char* source = "extern \"C\" __global__ void put(unsigned* p, unsigned v) { *p = v; }";
  hiprtcProgram program = nullptr;
  REQUIRE(HIP(hip, hiprtcCreateProgram)(&program, source, "put.cu", 0, nullptr, nullptr) == HIPRTC_SUCCESS);
  const char* options[] = {"--offload-arch=gfx90a:sramecc+:xnack-", "-O3", "-std=c++17"};
  REQUIRE(HIP(hip, hiprtcCompileProgram)(program, 3, options) == HIPRTC_SUCCESS);
  size_t size = 0;
  REQUIRE(HIP(hip, hiprtcGetCodeSize)(program, &size) == HIPRTC_SUCCESS);
  std::string code(size, '\0');
  REQUIRE(HIP(hip, hiprtcGetCode)(program, code.data()) == HIPRTC_SUCCESS);
  REQUIRE(HIP(hip, hiprtcDestroyProgram)(&program) == HIPRTC_SUCCESS);
  hipModule_t module = nullptr;
  hipFunction_t function = nullptr;
  REQUIRE(HIP(hip, hipModuleLoadData)(&module, code.data()) == hipSuccess);
  REQUIRE(HIP(hip, hipModuleGetFunction)(&function, module, "put") == hipSuccess);
  return function;
}

hipError_t launch(const Release& hip, hipFunction_t function, hipStream_t on, unsigned* to, unsigned value) {
  void* arguments[] = {&to, &value};
  return HIP(hip, hipModuleLaunchKernel)(function, 1, 1, 1, 1, 1, 1, 0, on, arguments, nullptr);
}

bool becomes(const volatile unsigned* word, unsigned value) {
  for (int i = 0; i < 2000 && *word != value; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return *word == value;
}

size_t node_count(const Release& hip, hipGraph_t graph) {
  size_t count = 0;
  CHECK(HIP(hip, hipGraphGetNodes)(graph, nullptr, &count) == hipSuccess);
  return count;
}

hipGraph_t capture(const Release& hip, hipStream_t on, const std::function<void()>& what) {
  hipGraph_t graph = nullptr;
  REQUIRE(HIP(hip, hipStreamBeginCapture)(on, hipStreamCaptureModeRelaxed) == hipSuccess);
  what();
  REQUIRE(HIP(hip, hipStreamEndCapture)(on, &graph) == hipSuccess);
  return graph;
}

constexpr unsigned all = 0xFFFFFFFFU;

}  // namespace

TEST_CASE("bridge: a release exports what it has, and nothing newer") {
  const Release middle("6.2"), newer("7.1");
  CHECK(middle.has("hiprtcCompileProgram"));
  CHECK(middle.has("hipLaunchHostFunc"));
  CHECK_FALSE(middle.has("hipStreamBatchMemOp"));
  CHECK(newer.has("hipStreamGetId"));
  CHECK_FALSE(newer.has("hiprtcCompileProgram"));
  int version = 0;
  CHECK(HIP(middle, hipRuntimeGetVersion)(&version) == hipSuccess);
  CHECK(version / 100000 == 602);
}

TEST_CASE("bridge T2 T3: what a release does not capture is done at once") {
  for (const char* const name : {"6.2", "10.0"}) {
    CAPTURE(name);
    const Release hip(name);
    const hipFunction_t put = kernel(hip);
    const hipStream_t s = stream(hip);
    auto* const words = pinned<unsigned>(hip);
    const hipGraph_t graph = capture(hip, s, [&] {
      CHECK(launch(hip, put, s, words, 7) == hipSuccess);
      CHECK(HIP(hip, hipStreamWriteValue32)(s, words + 1, 8, 0) == hipSuccess);
    });
    const bool captures_writes = std::string(name) == "10.0";
    if (!captures_writes) CHECK(becomes(words + 1, 8));
    CHECK(node_count(hip, graph) == 1U + (captures_writes ? 1U : 0U));
    CHECK(words[0] == 0);
  }
}

TEST_CASE("bridge T4: the mask of a wait is honoured") {
  const Release hip("7.1");
  const hipStream_t s = stream(hip);
  auto* const words = pinned<unsigned>(hip);
  words[0] = 0x3412;
  CHECK(HIP(hip, hipStreamWaitValue32)(s, words, 0x12, hipStreamWaitValueEq, 0xFF) == hipSuccess);
  CHECK(HIP(hip, hipStreamSynchronize)(s) == hipSuccess);
  CHECK(HIP(hip, hipStreamWaitValue32)(s, words, 0x12, hipStreamWaitValueEq, all) == hipSuccess);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK(HIP(hip, hipStreamQuery)(s) == hipErrorNotReady);
  *const_cast<volatile unsigned*>(words) = 0x12;
  CHECK(HIP(hip, hipStreamSynchronize)(s) == hipSuccess);
}

TEST_CASE("bridge T6: >= is not cyclic, and flags are HIP's own") {
  const Release hip("7.1");
  const hipStream_t s = stream(hip);
  auto* const words = pinned<unsigned>(hip);
  words[0] = 5;  // cyclically, five past the value
  CHECK(HIP(hip, hipStreamWaitValue32)(s, words, 0xFFFFFFF0U, hipStreamWaitValueGte, all) == hipSuccess);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK(HIP(hip, hipStreamQuery)(s) == hipErrorNotReady);
  *const_cast<volatile unsigned*>(words) = all;
  CHECK(HIP(hip, hipStreamSynchronize)(s) == hipSuccess);
  CHECK(HIP(hip, hipStreamWaitValue32)(s, words, 0, 1U << 30U, all) == hipErrorInvalidValue);
  CHECK(HIP(hip, hipStreamWriteValue32)(s, words, 0, 1) == hipErrorInvalidValue);
}

TEST_CASE("bridge T8: each thread has device 0, and no trace of a CUDA context stays") {
  const Release hip("6.2");
  hipError_t result = hipErrorUnknown;
  CUcontext context = nullptr;
  std::thread([&] {
    void* memory = nullptr;
    result = reinterpret_cast<hipError_t (*)(void**, size_t)>(hip.find("hipMalloc"))(&memory, 256);
    const auto current =
        reinterpret_cast<CUresult (*)(CUcontext*)>(::dlsym(::dlopen("libcuda.so.1", RTLD_NOW), "cuCtxGetCurrent"));
    current(&context);
  }).join();
  CHECK(result == hipSuccess);
  CHECK(context == nullptr);
}

TEST_CASE("bridge T11: a capture that goes wrong leaves its stream behind, save in the newest releases") {
  for (const char* const name : {"6.2", "10.0"}) {
    CAPTURE(name);
    const Release hip(name);
    const hipStream_t s = stream(hip);
    hipGraph_t graph = nullptr;
    hipStreamCaptureStatus status{};
    REQUIRE(HIP(hip, hipStreamBeginCapture)(s, hipStreamCaptureModeThreadLocal) == hipSuccess);
    CHECK(HIP(hip, hipStreamSynchronize)(s) == hipErrorStreamCaptureUnsupported);
    CHECK(HIP(hip, hipStreamEndCapture)(s, &graph) == hipErrorStreamCaptureInvalidated);
    CHECK(HIP(hip, hipStreamIsCapturing)(s, &status) == hipSuccess);
    CHECK(status == (name[0] == '6' ? hipStreamCaptureStatusInvalidated : hipStreamCaptureStatusNone));
    // A capture that is in order puts it right.
    capture(hip, s, [] {});
    CHECK(HIP(hip, hipStreamSynchronize)(s) == hipSuccess);
  }
  const Release hip("7.1");
  const hipStream_t origin = stream(hip), forked = stream(hip);
  auto* const words = pinned<unsigned>(hip);
  hipEvent_t event = nullptr;
  hipGraph_t graph = nullptr;
  hipStreamCaptureStatus status{};
  REQUIRE(HIP(hip, hipEventCreateWithFlags)(&event, hipEventDisableTiming) == hipSuccess);
  REQUIRE(HIP(hip, hipStreamBeginCapture)(origin, hipStreamCaptureModeRelaxed) == hipSuccess);
  REQUIRE(HIP(hip, hipEventRecord)(event, origin) == hipSuccess);
  REQUIRE(HIP(hip, hipStreamWaitEvent)(forked, event, 0) == hipSuccess);
  REQUIRE(HIP(hip, hipMemsetD32Async)(words, 1, 1, forked) == hipSuccess);
  CHECK(HIP(hip, hipStreamEndCapture)(origin, &graph) == hipErrorStreamCaptureUnjoined);
  CHECK(HIP(hip, hipStreamIsCapturing)(origin, &status) == hipSuccess);
  CHECK(status == hipStreamCaptureStatusActive);
}

TEST_CASE("bridge T13 T20 T21: host functions' attributes, identity, priorities") {
  const Release hip("7.1");
  CHECK(HIP(hip, hipFuncSetAttribute)(kernel(hip), hipFuncAttributeMaxDynamicSharedMemorySize, 1024) != hipSuccess);
  hipUUID uuid{};
  REQUIRE(HIP(hip, hipDeviceGetUuid)(&uuid, 0) == hipSuccess);
  for (const char c : uuid.bytes) CHECK(std::isxdigit(static_cast<unsigned char>(c)) != 0);
  int least = 0, greatest = 0, priority = 0;
  REQUIRE(HIP(hip, hipDeviceGetStreamPriorityRange)(&least, &greatest) == hipSuccess);
  CHECK(least == 1);
  CHECK(greatest == -1);
  hipStream_t s = nullptr;
  REQUIRE(HIP(hip, hipStreamCreateWithPriority)(&s, hipStreamNonBlocking, -100) == hipSuccess);
  CHECK(HIP(hip, hipStreamGetPriority)(s, &priority) == hipSuccess);
  CHECK(priority == -1);
}

TEST_CASE("bridge T18: the last error, by release") {
  for (const char* const name : {"6.4", "7.0"}) {
    CAPTURE(name);
    const Release hip(name);
    int count = 0;
    CHECK(HIP(hip, hipEventQuery)(nullptr) == hipErrorInvalidHandle);
    CHECK(HIP(hip, hipGetDeviceCount)(&count) == hipSuccess);
    CHECK(HIP(hip, hipGetLastError)() == (name[0] == '6' ? hipSuccess : hipErrorInvalidHandle));
    CHECK(HIP(hip, hipGetLastError)() == hipSuccess);
  }
}

TEST_CASE("bridge: a question after an event that is older than its stream's capture breaks that up to 7.2") {
  for (const char* const name : {"6.2", "7.2", "7.14"}) {
    CAPTURE(name);
    const Release hip(name);
    const std::string release = name;
    const bool breaks = release != "7.14";
    const hipStream_t s = stream(hip);
    hipEvent_t event = nullptr;
    REQUIRE(HIP(hip, hipEventCreateWithFlags)(&event, 0) == hipSuccess);
    REQUIRE(HIP(hip, hipEventRecord)(event, s) == hipSuccess);
    REQUIRE(HIP(hip, hipEventSynchronize)(event) == hipSuccess);
    for (const bool waits : {false, true}) {
      CAPTURE(waits);
      hipGraph_t graph = nullptr;
      float none = 1;
      REQUIRE(HIP(hip, hipStreamBeginCapture)(s, hipStreamCaptureModeRelaxed) == hipSuccess);
      CHECK(HIP(hip, hipEventElapsedTime)(&none, event, event) == hipSuccess);
      const hipError_t answer = waits ? HIP(hip, hipEventSynchronize)(event) : HIP(hip, hipEventQuery)(event);
      CHECK(answer == (breaks ? hipErrorCapturedEvent : hipSuccess));
      CHECK(HIP(hip, hipStreamEndCapture)(s, &graph) == (breaks ? hipErrorStreamCaptureInvalidated : hipSuccess));
      if (!breaks) continue;
      // A capture that is in order puts the stream right.
      CHECK(HIP(hip, hipStreamBeginCapture)(s, hipStreamCaptureModeRelaxed) == hipSuccess);
      CHECK(HIP(hip, hipStreamEndCapture)(s, &graph) == hipSuccess);
    }
  }
}

TEST_CASE("bridge: a stream is not drawn into the capture of one that shares its hardware queue") {
  const Release hip("6.2");
  const auto fill = HIP(hip, hipMemsetD32Async);
  unsigned* const words = pinned<unsigned>(hip);
  const hipStream_t captures = stream(hip);
  std::vector<hipStream_t> others;  // twice as many as there are queues
  for (int i = 0; i < 8; ++i) others.push_back(stream(hip));
  std::atomic<int> drawn_in{0};
  std::atomic<bool> has_ended{false};
  const auto submit = [&](std::size_t first) {
    for (std::size_t i = first; !has_ended && drawn_in == 0; i = (i + 2) % others.size()) {
      hipStreamCaptureStatus status{};
      fill(words + 1, 1, 1, others[i]);
      HIP(hip, hipStreamIsCapturing)(others[i], &status);
      if (status != hipStreamCaptureStatusNone) ++drawn_in;
    }
  };
  std::thread even(submit, 0), odd(submit, 1);
  int failed = 0;
  for (int round = 0; round < 60000 && drawn_in == 0; ++round) {
    hipGraph_t graph = nullptr;
    fill(words, 1, 1, captures);
    failed += HIP(hip, hipStreamBeginCapture)(captures, hipStreamCaptureModeRelaxed) == hipSuccess ? 0 : 1;
    failed += HIP(hip, hipStreamEndCapture)(captures, &graph) == hipSuccess ? 0 : 1;
    HIP(hip, hipGraphDestroy)(graph);
  }
  has_ended = true;
  even.join();
  odd.join();
  CHECK(drawn_in == 0);
  CHECK(failed == 0);
}

TEST_CASE("bridge: a clone owns the user objects of its graph") {
  const Release hip("6.2");
  static unsigned ended = 0;
  ended = 0;
  int data = 0;
  hipGraph_t graph = nullptr, clone = nullptr;
  hipUserObject_t object = nullptr;
  REQUIRE(HIP(hip, hipGraphCreate)(&graph, 0) == hipSuccess);
  REQUIRE(HIP(hip, hipUserObjectCreate)(&object, &data, [](void*) { ++ended; }, 1, 1) == hipSuccess);
  REQUIRE(HIP(hip, hipGraphRetainUserObject)(graph, object, 1, 0) == hipSuccess);
  REQUIRE(HIP(hip, hipUserObjectRelease)(object, 1) == hipSuccess);
  REQUIRE(HIP(hip, hipGraphClone)(&clone, graph) == hipSuccess);
  CHECK(ended == 0);
  REQUIRE(HIP(hip, hipGraphDestroy)(graph) == hipSuccess);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // a driver may take its time
  CHECK(ended == 0);
  REQUIRE(HIP(hip, hipGraphDestroy)(clone) == hipSuccess);
  CHECK(becomes(&ended, 1));
}

TEST_CASE("bridge: the end of a thread waits for the work of its default stream") {
  const Release hip("7.2");
  (void)stream(hip);
  struct Gate {
    std::atomic<bool> is_entered{false}, is_open{false};
    static void wait(void* self) {
      auto* const gate = static_cast<Gate*>(self);
      gate->is_entered = true;
      while (!gate->is_open) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  } gate;
  std::atomic<bool> has_ended{false};
  std::thread other([&] {
    std::thread([&] {
      HIP(hip, hipLaunchHostFunc)(reinterpret_cast<hipStream_t>(std::uintptr_t{2}), &Gate::wait, &gate);
    }).join();
    has_ended = true;
  });
  while (!gate.is_entered) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK_FALSE(has_ended);
  gate.is_open = true;
  other.join();
}

TEST_CASE("bridge: host functions in captures fail in the first 7.0") {
  const Release hip("7.0");
  const hipStream_t s = stream(hip);
  hipGraph_t graph = nullptr;
  REQUIRE(HIP(hip, hipStreamBeginCapture)(s, hipStreamCaptureModeRelaxed) == hipSuccess);
  CHECK(HIP(hip, hipLaunchHostFunc)(s, [](void*) {}, nullptr) == hipErrorStreamCaptureUnsupported);
  CHECK(HIP(hip, hipStreamEndCapture)(s, &graph) == hipSuccess);
}

TEST_CASE("bridge T12 T15 T17: what AMD's library would crash in ends the process") {
  for (const char* const crime : {"destroyed-stream", "null-stream-allocation", "wrong-architecture", "call-after-the-end",
                                  "user-objects-of-two-threads"}) {
    CAPTURE(crime);
    const weir::test::Outcome o = weir::test::run(program(), {std::string("--crime=") + crime});
    CHECK(o.status == 128 + 6);
    CHECK(o.complains("AMD's library would crash here"));
  }
  CHECK(weir::test::run(program(), {"--crime=user-objects-of-two-threads-of-6.4"}).status == 0);
}

namespace {

void commit(const std::string& crime) {
  if (crime == "destroyed-stream") {
    const Release hip("7.0");
    hipStream_t s = nullptr;
    HIP(hip, hipStreamCreateWithFlags)(&s, 0);
    HIP(hip, hipStreamDestroy)(s);
    HIP(hip, hipStreamQuery)(s);
  } else if (crime == "null-stream-allocation") {
    const Release hip("6.2");
    void* memory = nullptr;
    reinterpret_cast<Allocate>(hip.find("hipMallocAsync"))(&memory, 256, nullptr);
  } else if (crime == "wrong-architecture") {
    const Release hip("6.2");
    hiprtcProgram program = nullptr;
    HIP(hip, hiprtcCreateProgram)(&program, "", "empty.cu", 0, nullptr, nullptr);
    const char* options[] = {"--gpu-architecture=sm_90"};
    HIP(hip, hiprtcCompileProgram)(program, 1, options);
  } else if (crime.rfind("user-objects-of-two-threads", 0) == 0) {
    const Release hip(crime == "user-objects-of-two-threads" ? "6.2" : "6.4");
    (void)stream(hip);
    static int data = 0;
    hipUserObject_t object = nullptr;
    HIP(hip, hipUserObjectCreate)(&object, &data, [](void*) {}, 1, 1);
    std::thread other([&] {
      for (int i = 0; i < 1000; ++i) {
        hipUserObject_t another = nullptr;
        HIP(hip, hipUserObjectCreate)(&another, &data, [](void*) {}, 1, 1);
      }
    });
    for (int i = 0; i < 1000; ++i) {
      hipGraph_t graph = nullptr;
      HIP(hip, hipGraphCreate)(&graph, 0);
      HIP(hip, hipGraphRetainUserObject)(graph, object, 1, 0);
    }
    other.join();
  } else if (crime.rfind("call-after-the-end", 0) == 0) {
    static decltype(&::hipGetDevice) get_device = nullptr;
    // Registered before the library is opened, and so called after its end.
    std::atexit([] {
      int device = 0;
      (void)get_device(&device);
    });
    const Release hip("6.4");  // `main` has opened 6.2
    get_device = HIP(hip, hipGetDevice);
  }
}

}  // namespace

int main(int argc, char** argv) {
  int count = 0;
  {
    const std::string path = bridge_folder() + "/6.2/libamdhip64.so.6";
    void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      std::fprintf(stderr, "%s\n", ::dlerror());
      return 1;
    }
    reinterpret_cast<decltype(&::hipGetDeviceCount)>(::dlsym(library, "hipGetDeviceCount"))(&count);
  }
  if (count == 0) {
    std::puts("skipped: there is no NVIDIA GPU");
    return 77;
  }
  const std::string option = argc > 1 ? argv[1] : "";
  doctest::Context context(argc, argv);
  if (option.rfind("--crime=", 0) == 0) {
    context.setAsDefaultForAssertsOutOfTestCases();
    context.setAssertHandler([](const doctest::AssertData& assertion) {
      if (assertion.m_failed) std::fprintf(stderr, "failed: %s\n", assertion.m_expr);
    });
    commit(option.substr(8));
    return 0;
  }
  return context.run();
}
