// SPDX-License-Identifier: Apache-2.0

// The fresh process of tests of the host backend. Performs the test in its first argument and prints the result; prints an
// exception as "error: TEXT".

#include <signal.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <latch>
#include <map>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "weir/weir.hpp"

namespace {

using weir::Device;
using weir::StreamPtr;

Device& host() { return weir::device("host:0"); }

template <class F>
void attempt(F&& f) {
  try {
    f();
  } catch (const std::exception& error) {
    std::printf("error: %s\n", error.what());
  }
  std::fflush(stdout);
}

// --- Work, each kind of which begins something in the backend -----------------------------------------------------------

void fill() {
  const StreamPtr stream = host().create_stream();
  const auto buffer = host().allocate<std::uint32_t>(1000);
  stream->fill(buffer, 7U);
  stream->synchronize();
  std::printf("filled with %u\n", buffer.data()[999]);
}

void compile() {
  const StreamPtr stream = host().create_stream();
  const auto module = host().compile("extern \"C\" __global__ void k(int* x) { x[threadIdx.x] = 40 + threadIdx.x; }");
  const auto buffer = host().allocate<int>(4);
  stream->launch(module->untyped_kernel("k"), {.block = {4, 1, 1}}, buffer);
  stream->synchronize();
  std::printf("compiled: %d\n", buffer.data()[2]);
}

void call() {
  const StreamPtr stream = host().create_stream();
  stream->launch_host_function([] { std::puts("called"); });
  stream->synchronize();
}

void wait_value() {
  const StreamPtr stream = host().create_stream();
  const auto word = host().allocate<std::uint32_t>(1);
  *word.data() = 0;
  stream->wait_value(word.data(), 1U);
  host().create_stream()->write_value(word.data(), 1U);
  stream->synchronize();
  std::puts("waited");
}

void replay() {
  const StreamPtr stream = host().create_stream();
  const auto buffer = host().allocate<std::uint32_t>(1000);
  const auto graph = stream->capture([&](weir::Stream& s) { s.fill(buffer, 9U); })->instantiate();
  graph->launch(*stream);
  host().per_thread_stream()->synchronize();
  stream->synchronize();
  std::printf("replayed: %u\n", buffer.data()[999]);
}

void scopes() {
  const StreamPtr outer = host().create_stream(), inner = host().create_stream();
  std::optional<weir::StreamScope> first(std::in_place, outer), second(std::in_place, inner);
  first.reset();
  const bool inner_left = *weir::current_stream(host()) == *inner;
  second.reset();
  const bool none_left = *weir::current_stream(host()) == *host().default_stream();
  std::printf("scopes: %s\n", inner_left && none_left ? "right" : "wrong");
}

void all() {
  for (const auto work : {fill, compile, call, wait_value, replay, scopes}) attempt(work);
}

// --- After main, and at a thread's end ------------------------------------------------------------------------------------

struct AtItsEnd {
  std::function<void()> work;
  ~AtItsEnd() {
    if (work) attempt(work);
  }
};

AtItsEnd static_object;

void begin_before(const std::string& how_far) {
  if (how_far == "opened") (void)host();
  if (how_far == "used") all();
}

void after_main(const std::string& how_far) {
  static_object.work = all;
  begin_before(how_far);
}

void in_atexit(const std::string& how_far) {
  std::atexit(all);
  begin_before(how_far);
}

void at_thread_end(const std::string& how_far) {
  std::thread([&] {
    thread_local AtItsEnd object;  // made first, so that it ends last
    object.work = all;
    begin_before(how_far);
  }).join();
}

void scopes_that_outlive(const std::string&) {
  static std::optional<weir::StreamScope> scope_of_process;
  scope_of_process.emplace(host().create_stream());
  std::thread([] {
    thread_local std::optional<weir::StreamScope> scope_of_thread;
    scope_of_thread.emplace(host().create_stream());
  }).join();
  std::puts("outlived");
}

// --- Signals --------------------------------------------------------------------------------------------------------------

/// The threads of this process, but this one, that would take the signal.
int threads_that_take(int signal) {
  int threads = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    if (task.path().filename() == std::to_string(::gettid())) continue;
    std::ifstream status(task.path() / "status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("SigBlk:"))
        threads += (std::stoull(line.substr(7), nullptr, 16) >> (signal - 1) & 1) == 0 ? 1 : 0;
    }
  }
  return threads;
}

// Threads are started while nothing is blocked. Then the program means to wait for a signal, which would end it.
void signals(const std::string&) {
  all();
  {  // an object that is let go of in a host function, for which there is a thread, too
    const StreamPtr stream = host().create_stream();
    stream->launch_host_function([memory = host().allocate<int>(1)] {});
    stream->synchronize();
  }
  std::printf("threads that take SIGUSR1: %d\n", threads_that_take(SIGUSR1));
  std::printf("threads that take SIGSEGV: %s\n", threads_that_take(SIGSEGV) > 0 ? "some" : "none");
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  ::kill(::getpid(), SIGUSR1);
  int received = 0;
  ::sigwait(&set, &received);
  std::printf("received: %d\n", received == SIGUSR1 ? 1 : 0);
}

// --- Out of memory --------------------------------------------------------------------------------------------------------

enum class Who { nobody, this_thread, others };
std::atomic<Who> who{Who::nobody};
std::atomic<long> until_failure{0};
thread_local bool is_main = false;

bool fails_now() {
  const Who of = who.load(std::memory_order_relaxed);
  if (of == Who::nobody || (of == Who::this_thread) != is_main) return false;
  return until_failure.fetch_sub(1, std::memory_order_relaxed) == 1;
}

void* take(std::size_t bytes, std::size_t alignment) {
  if (fails_now()) return nullptr;
  return alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__
             ? std::malloc(bytes != 0 ? bytes : 1)
             : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

struct Failing {
  Failing(Who of, long which) {
    until_failure = which;
    who = of;
  }
  ~Failing() { who = Who::nobody; }
};

// A fork and a join, a host function and kernels in one capture, which is replayed. The streams are whole whatever fails.
void capture_and_replay(const weir::KernelPtr& kernel, const weir::Buffer<int>& buffer) {
  const StreamPtr stream = host().create_stream(), fork = host().create_stream();
  struct Large {
    std::byte bytes[200];
  };
  try {
    const auto graph = stream->capture([&](weir::Stream& s) {
      fork->wait(s);
      fork->fill(buffer, 1);
      fork->launch_host_function([large = Large{}] { (void)large; });
      s.launch(kernel, {.block = {4, 1, 1}}, buffer);
      s.wait(*fork);
      s.launch(kernel, {.grid = {64, 1, 1}, .block = {4, 1, 1}}, buffer);
    });
    const auto executable = graph->instantiate();
    executable->launch(*stream);
    stream->synchronize();
  } catch (...) {
    who = Who::nobody;
    for (weir::Stream* s : {stream.get(), fork.get()}) {
      if (s->is_capturing()) std::puts("a stream goes on capturing");
      s->fill(buffer, 77);
      s->synchronize();
      if (std::exchange(buffer.data()[999], 0) != 77) std::puts("a stream does nothing any longer");
    }
    throw;
  }
}

// Enough work on a held stream that it needs more room than its own, and streams that wait for one another.
void enqueue(const weir::KernelPtr& kernel, const weir::Buffer<int>& buffer) {
  const StreamPtr stream = host().create_stream(), other = host().create_stream({.blocking = true});
  std::latch open(1);
  struct Opener {
    std::latch& latch;
    weir::Stream& stream;
    ~Opener() {
      latch.count_down();
      stream.synchronize();
    }
  };
  bool held = false;
  try {
    const Opener opener{open, *stream};
    stream->launch_host_function([&open] { open.wait(); });
    held = true;
    for (int i = 0; i < 200; ++i) stream->fill(buffer, i);
    other->wait(*stream);
    other->launch(kernel, {.grid = {64, 1, 1}, .block = {4, 1, 1}}, buffer);
    const auto event = other->record({.timing = true});
    stream->wait(*event);
    host().default_stream()->fill(buffer, 3);
    const auto memory = stream->allocate_async<int>(100);
    stream->fill(memory, 3);
  } catch (...) {
    if (!held) open.count_down();
    throw;
  }
  host().synchronize();
}

using Scenario = std::function<void(const weir::KernelPtr&, const weir::Buffer<int>&)>;

// Each allocation of the scenario fails in its turn, in one process.
void fail_each(const char* name, Who of, const Scenario& scenario) {
  const auto module = host().compile("extern \"C\" __global__ void k(int* x) { x[threadIdx.x] = 5; }");
  const auto kernel = module->untyped_kernel("k");
  const auto buffer = host().allocate<int>(1000);
  for (int i = 0; i < 3; ++i) scenario(kernel, buffer);
  long failures = 0;
  for (long which = 1;; ++which) {
    {
      const Failing failing(of, which);
      try {
        scenario(kernel, buffer);
      } catch (const std::bad_alloc&) {
      } catch (const std::exception& error) {
        who = Who::nobody;
        const auto* const known = dynamic_cast<const weir::Error*>(&error);
        const bool for_a_block = known != nullptr && known->errc() == weir::Errc::out_of_memory;
        if (!for_a_block) std::printf("%s: allocation %ld: %s\n", name, which, error.what());
      }
    }
    if (until_failure > 0) break;
    ++failures;
    // What there is goes on working.
    const StreamPtr stream = host().create_stream();
    stream->launch(kernel, {.block = {4, 1, 1}}, buffer);
    stream->synchronize();
    if (buffer.data()[3] != 5) std::printf("%s: allocation %ld: broken afterwards\n", name, which);
  }
  std::printf("%s: over\n", name);
  if (of == Who::this_thread && failures == 0) std::printf("%s: nothing was allocated\n", name);
}

void out_of_memory(const std::string& whose) {
  is_main = true;
  const Who of = whose == "others" ? Who::others : Who::this_thread;
  fail_each("capture_and_replay", of, capture_and_replay);
  fail_each("enqueue", of, enqueue);
}

/// The limit does not hold for root.
void no_threads(const std::string&) {
  const rlimit none{0, 0};
  if (::setrlimit(RLIMIT_NPROC, &none) != 0 || (::geteuid() == 0 && ::setuid(65534) != 0)) return;
  attempt([] { (void)host(); });
}

// Each allocation that a worker makes for a kernel fails in its turn: the threads of a block keep two arrays across a
// barrier.
void kernel_without_memory(const std::string&) {
  is_main = true;
  const auto module = host().compile(R"(
extern "C" __global__ void reverse(int* x) {
  extern __shared__ int shared[];
  int own[700];
  for (int i = 0; i < 700; ++i) own[i] = threadIdx.x + i;
  shared[threadIdx.x] = own[x[0]];
  __syncthreads();
  x[threadIdx.x + 1] = shared[255 - threadIdx.x] + own[x[0] + 1];
})");
  const auto kernel = module->untyped_kernel("reverse");
  const auto buffer = host().allocate<int>(257);
  int failures = 0;
  for (long which = 1;; ++which) {
    const StreamPtr stream = host().create_stream();
    stream->fill(buffer, 0);
    stream->synchronize();
    {
      const Failing failing(Who::others, which);
      try {
        stream->launch(kernel, {.block = {256, 1, 1}, .shared_memory_bytes = 1024}, buffer);
        stream->synchronize();
      } catch (const weir::Error& error) {
        if (error.errc() == weir::Errc::out_of_memory) ++failures;
      } catch (const std::bad_alloc&) {  // what is not the kernel's
      }
    }
    if (until_failure > 0) break;
  }
  std::printf("kernels without memory: %s, the last element: %d\n", failures > 1 ? "some" : "none", buffer.data()[256]);
}

// --- Compiling with raised privileges -------------------------------------------------------------------------------------

void compile_privileged(const std::string&) {
  std::printf("privileged: %s\n", ::getauxval(AT_SECURE) != 0 ? "yes" : "no");
  compile();
}

// --- Loops that workers share -------------------------------------------------------------------------------------------

void shared_loops(const std::string&) {
  constexpr std::size_t streams = 3, sizes[streams] = {200'000, 60'000, 20'000};
  constexpr int times = 6000;
  const auto module = host().compile(
      "extern \"C\" __global__ void add(int n, int* x) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) ++x[i]; "
      "}");
  const auto kernel = module->untyped_kernel("add");
  std::vector<StreamPtr> queues;
  std::vector<weir::Buffer<int>> buffers;
  for (const std::size_t size : sizes) {
    queues.push_back(host().create_stream());
    buffers.push_back(host().allocate<int>(size));
    queues.back()->fill(buffers.back(), 0);
  }
  // One stream alone, then all of them.
  for (const std::size_t first : {streams - 1, std::size_t{0}}) {
    for (int time = 0; time < times; ++time) {
      for (std::size_t i = first; i < streams; ++i)
        queues[i]->launch(kernel, weir::grid_for(sizes[i]), static_cast<int>(sizes[i]), buffers[i]);
    }
    for (const StreamPtr& queue : queues) queue->synchronize();
  }
  for (std::size_t i = 0; i < streams; ++i) {
    const int expected = i + 1 == streams ? 2 * times : times;
    const auto wrong = std::count_if(buffers[i].data(), buffers[i].data() + sizes[i], [&](int x) { return x != expected; });
    std::printf("%zu elements, wrong: %td\n", sizes[i], wrong);
  }
}

// --- Which stream's work comes first ------------------------------------------------------------------------------------

constexpr const char* order_source = R"(
extern "C" __global__ void count(int* x, int steps) {
  volatile float v = 1;
  for (int i = 0; i < steps; ++i) v = v * 0.5f + 1;
  __threadfence();
  ++x[0];
}
extern "C" __global__ void note(int* x) { x[1] = x[0]; }
extern "C" __global__ void write(int* x, int number) {
  if (blockIdx.x == 0 && threadIdx.x == 0) x[++x[0]] = number;
}
)";

// With one worker: how many of the kernels of a stream, or of a graph, run before one of another stream.
void others_come_in_between(const std::string& priority) {
  constexpr int kernels = 200, steps = 200'000;  // of about a millisecond
  const auto module = host().compile(order_source);
  const auto count = module->untyped_kernel("count"), note = module->untyped_kernel("note");
  const auto buffer = host().allocate<int>(2);
  const StreamPtr busy = host().create_stream({.priority = weir::Priority::normal});
  const StreamPtr other =
      host().create_stream({.priority = priority == "high" ? weir::Priority::high : weir::Priority::normal});
  const auto launch_all = [&](weir::Stream& stream) {
    for (int i = 0; i < kernels; ++i) stream.launch(count, {}, buffer, steps);
  };
  const auto graph = busy->capture(launch_all)->instantiate();
  for (const bool as_graph : {false, true}) {
    busy->fill(buffer, 0);
    busy->synchronize();
    if (as_graph) {
      graph->launch(*busy);
    } else {
      launch_all(*busy);
    }
    while (__atomic_load_n(buffer.data(), __ATOMIC_ACQUIRE) == 0) std::this_thread::yield();
    other->launch(note, {}, buffer);
    other->synchronize();
    busy->synchronize();
    std::printf("before a kernel of another stream: %s\n", buffer.data()[1] < kernels / 2 ? "few" : "many");
  }
}

// The order of the kernels of four streams, of as many blocks as workers like to share.
void order_of_kernels(const std::string&) {
  const auto module = host().compile(order_source);
  const auto write = module->untyped_kernel("write");
  const auto buffer = host().allocate<int>(1000);
  std::vector<StreamPtr> streams;
  for (int i = 0; i < 4; ++i) streams.push_back(host().create_stream());
  streams[0]->fill(buffer, 0);
  streams[0]->synchronize();
  for (int time = 0; time < 10; ++time) {
    for (int i = 0; i < 4; ++i) streams[i]->launch(write, {.grid = {16, 1, 1}, .block = {32, 1, 1}}, buffer, i);
  }
  for (const StreamPtr& stream : streams) stream->synchronize();
  for (int i = 0; i < buffer.data()[0]; ++i) std::printf("%d", buffer.data()[1 + i]);
  std::printf("\n");
}

// Threads that need more stack than they have; then the stream goes on.
void overflow(const std::string&) {
  const auto module = host().compile(R"(
__device__ int deep(int n) { int a[256]; int* volatile p = a; p[n % 256] = n; return n == 0 ? 0 : deep(n - 1) + p[n % 256]; }
extern "C" __global__ void k(int* out, int thread, int depth) {
  __syncthreads();
  out[threadIdx.x] = deep(threadIdx.x == thread ? depth : 3);
}
extern "C" __global__ void array(int* out, int n) {
  char large[600000];
  char* volatile p = large;
  for (int i = 0; i < n; ++i) p[i * 1000] = i;
  out[threadIdx.x] = p[0];
})");
  const StreamPtr stream = host().create_stream();
  const auto out = host().allocate<int>(64);
  const auto run = [&](const char* name, auto... arguments) {
    attempt([&] {
      stream->launch(module->untyped_kernel(name), {1, 64}, out, arguments...);
      stream->synchronize();
      std::printf("%s ended with %d\n", name, out.data()[9]);
    });
  };
  run("k", 9, 100000);
  run("array", 600);
  run("k", 9, 4);
}

// A kernel's fault and its assertion; then, if the program is to have one of its own, that.
void faults(const std::string& whose) {
  if (whose == "handled") {
    ::signal(SIGSEGV, [](int) {
      std::puts("the program's own handler");
      std::fflush(stdout);
      ::_exit(7);
    });
  }
  const auto module = host().compile(R"(
extern "C" __global__ void check(int* out, int n) { assert(n == 0); out[0] = 1; }
extern "C" __global__ void write(int* out, int n) { out[threadIdx.x + n] = 2; })");
  const StreamPtr stream = host().create_stream();
  const auto out = host().allocate<int>(1);
  int* const nowhere = nullptr;
  for (const char* name : {"check", "write"}) {
    attempt([&] {
      stream->launch(module->untyped_kernel(name), {}, name == std::string("check") ? out.data() : nowhere, 1);
      stream->synchronize();
    });
  }
  stream->launch(module->untyped_kernel("check"), {}, out, 0);
  stream->synchronize();
  std::printf("out: %d\n", out.data()[0]);
  std::fflush(stdout);
  int* volatile own = nullptr;
  if (whose != "kernel") *own = 1;
}

// 60 threads on memory for 60 numbers: once as they should be, and once each one element further on.
void out_of_range(const std::string& where) {
  const auto module = host().compile(R"(
extern "C" __global__ void write(int* out, int n) {
  out[threadIdx.x + n] = 1;
}
extern "C" __global__ void share(int* out, int n) {
  __shared__ int s[60];
  s[threadIdx.x + n] = 1;
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x];
})");
  const StreamPtr stream = host().create_stream();
  const auto kernel = module->untyped_kernel(where == "shared" ? "share" : "write");
  const auto memory = host().allocate<int>(60);
  const auto from_pool = stream->allocate_async<int>(60);
  for (const int n : {0, 1}) {
    stream->launch(kernel, {.block = {60}}, where == "pool" ? from_pool.data() : memory.data(), n);
    stream->synchronize();
    std::printf("%d is in range\n", n);
    std::fflush(stdout);
  }
}

void debug(const std::string&) {
  weir::CompileOptions options;
  options.debug = true;
  const auto module = host().compile(R"(extern "C" __global__ void scale(int* x, int by) {
  int own = threadIdx.x + 40;
  x[threadIdx.x] = own * by;
  __syncthreads();
})",
                                     options);
  const StreamPtr stream = host().create_stream();
  const auto x = host().allocate<int>(4);
  stream->launch(module->untyped_kernel("scale"), {.block = {4}}, x, 3);
  stream->synchronize();
  std::printf("x: %d\n", x.data()[2]);
}

void barriers(const std::string& which) {
  const std::string barrier = which == "barrier" ? "__syncthreads();" : "";
  const auto module = host().compile("extern \"C\" __global__ void k(int* x) { x[threadIdx.x] = 1; " + barrier + " }");
  const StreamPtr stream = host().create_stream();
  const auto x = host().allocate<int>(64);
  for (int i = 0; i < 3; ++i) {
    stream->launch(module->untyped_kernel("k"), {.block = {64}}, x);
    stream->synchronize();
  }
}

const std::map<std::string, void (*)(const std::string&)> parts = {
    {"barriers", barriers},
    {"debug", debug},
    {"out_of_range", out_of_range},
    {"faults", faults},
    {"overflow", overflow},
    {"kernel_without_memory", kernel_without_memory},
    {"others_come_in_between", others_come_in_between},
    {"order_of_kernels", order_of_kernels},
    {"shared_loops", shared_loops},
    {"after_main", after_main},
    {"in_atexit", in_atexit},
    {"at_thread_end", at_thread_end},
    {"scopes_that_outlive", scopes_that_outlive},
    {"signals", signals},
    {"out_of_memory", out_of_memory},
    {"no_threads", no_threads},
    {"compile_privileged", compile_privileged},
};

}  // namespace

void* operator new(std::size_t bytes) {
  void* const memory = take(bytes, 1);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  void* const memory = take(bytes, static_cast<std::size_t>(alignment));
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return take(bytes, 1); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

int main(int argc, char** argv) {
  const auto part = argc > 1 ? parts.find(argv[1]) : parts.end();
  if (part == parts.end()) return 99;
  attempt([&] { part->second(argc > 2 ? argv[2] : ""); });
}
