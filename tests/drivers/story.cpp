// SPDX-License-Identifier: Apache-2.0

// Performs the steps in its arguments on the default device, one after another, and prints the result of each: "STEP: ok",
// or "STEP: CODE | NATIVE | what()". For tests that need a driver's result in a separate process.

#include <dlfcn.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/saved/kernel_bundle_format.hpp"
#include "weir/weir.hpp"

namespace {

// How often the thread slept and made way: what it does between the questions of a wait.
thread_local int naps = 0, yields = 0;

/// The C library's function of that name, which this program's own stands before.
template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

std::atomic<int> allocations_until_failure{0};  // 0: none fails
int (*inside_driver)() = nullptr;               // whose allocations do not fail

}  // namespace

// std::this_thread's functions call these, in the plugins, too.
extern "C" __attribute__((visibility("default"))) int nanosleep(const timespec* time, timespec* left) {
  ++naps;
  return next<int(const timespec*, timespec*)>("nanosleep")(time, left);
}
extern "C" __attribute__((visibility("default"))) int sched_yield() noexcept {
  ++yields;
  return next<int()>("sched_yield")();
}

void* operator new(std::size_t size) {
  if (allocations_until_failure != 0 && inside_driver() == 0 && --allocations_until_failure == 0) throw std::bad_alloc();
  if (void* const block = std::malloc(size != 0 ? size : 1)) return block;
  throw std::bad_alloc();
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }

namespace {

struct World {
  weir::StreamPtr stream, second, third;
  weir::EventPtr event;
  weir::GraphPtr graph;
  weir::GraphExecPtr exec;
  weir::ModulePtr module;
  weir::KernelPtr kernel;
  weir::MemoryPoolPtr pool;
  weir::Buffer<unsigned> memory;
  std::deque<weir::AllocationPtr> async;
  std::jthread other;
  int ran = 0;
};

/// Three rows of two words.
weir::PitchedSpan<unsigned> rows(const World& w) { return {w.memory.data(), {2, 3}, 16, 0}; }

World kept_past_the_end;  // older than the plugin and the driver in this process, so destroyed after them

void* const per_thread_stream = reinterpret_cast<void*>(std::uintptr_t{2});  // CU_STREAM_PER_THREAD

bool is_hip() { return std::getenv("WEIR_BACKEND") == std::string("hip"); }

/// The function of that name of the stand-in for the driver.
template <class Function>
Function* of_driver(const char* name) {
  const char* const file = std::getenv(is_hip() ? "WEIR_HIP_RUNTIME" : "WEIR_CUDA_DRIVER");
  return reinterpret_cast<Function*>(::dlsym(::dlopen(file, RTLD_NOW | RTLD_NOLOAD), name));
}

/// A stream that other code made.
void* foreign_stream() {
  static int of_cuda = 0;  // what CUDA's stand-in does not look at
  static void* const handle = [] {
    void* made = &of_cuda;
    (void)weir::default_device();
    if (is_hip()) of_driver<int(void**, unsigned, int)>("hipStreamCreateWithPriority")(&made, 1, 0);
    return made;
  }();
  return handle;
}

/// A stream over it, with an owner that tells when it is let go of.
weir::StreamPtr wrap(weir::Ownership ownership) {
  const std::shared_ptr<const void> owner(foreign_stream(), [](const void*) { std::fprintf(stderr, "call let-go \n"); });
  return weir::default_device().wrap_stream(foreign_stream(), ownership, owner);
}

/// Uses the thread's default stream once more when the thread ends, behind all thread-local objects of Weir's.
struct AtThreadEnd {
  std::uint64_t id = 0;
  ~AtThreadEnd() {
    if (id == 0) return;
    const weir::StreamPtr stream = weir::default_device().per_thread_stream();
    std::printf("at the thread's end it is %s\n", stream->id() == id ? "the same" : "another");
  }
};

/// Tells when it goes.
struct Told {
  ~Told() { std::fprintf(stderr, "call told \n"); }
};

/// From here on the stand-in for the driver answers each call with that code.
void fail_every_call(int code) { of_driver<void(int)>("weir_fail_every_call")(code); }

/// "kernel:NAME": has the module's kernel of that name, and tells which of its parameters are floating-point numbers.
void find_kernel(World& world, const std::string& name) {
  world.kernel = world.module->untyped_kernel(name);
  const auto parameters = world.kernel->parameters();
  const bool known = std::ranges::any_of(parameters, [](auto& p) { return p.kind != weir::ParameterKind::unknown; });
  std::printf("kernel %s: kinds %s", world.kernel->name().c_str(), known ? "" : "unknown ");
  for (const weir::Parameter& parameter : parameters) {
    std::printf("%c", parameter.kind == weir::ParameterKind::unknown    ? '?'
                      : parameter.kind == weir::ParameterKind::floating ? 'f'
                                                                        : 'i');
  }
  std::printf("\n");
}

/// A call of external code's with the stream.
void call_natively(const char* function, weir::Stream& stream) {
  (void)of_driver<int(void*)>(function)(stream.share_native_handle());
}

/// A function of CUDA's stand-in, as external code calls it.
template <class... Args>
void call_cuda(const char* function, int version, Args... args) {
  void* found = nullptr;
  int status = 0;
  (void)of_driver<int(const char*, void**, int, std::uint64_t, int*)>("cuGetProcAddress_v2")(function, &found, version, 0,
                                                                                             &status);
  if (reinterpret_cast<int (*)(Args...)>(found)(args...) != 0) throw std::runtime_error(std::string(function) + " fails");
}

/// By a call of external code that captures forbid.
void break_capture(weir::Stream& stream) {
  try {
    call_cuda("cuStreamQuery", 2000, stream.native_handle());
  } catch (const std::runtime_error&) {
    // It is refused.
  }
}

weir::CompileOptions compile_options() {
  weir::CompileOptions options;
  std::istringstream names(std::getenv("WEIR_TEST_KERNELS") != nullptr ? std::getenv("WEIR_TEST_KERNELS") : "");
  for (std::string name; std::getline(names, name, ';');) options.kernels.push_back(name);
  if (const char* const folder = std::getenv("WEIR_TEST_INCLUDE")) options.include_directories = {folder};
  return options;
}

/// Does `make` with each of its allocations failing in turn, and says how many objects of the driver's that left behind.
template <class F>
void fail_allocations(const char* what, F&& make) {
  const auto live = of_driver<int()>("weir_live_objects");
  inside_driver = of_driver<int()>("weir_inside");
  // Some objects end on a thread of Weir's.
  const auto settled = [&] {
    int count = live();
    for (int same = 0; same < 10; ++same) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      if (live() != std::exchange(count, live())) same = 0;
    }
    return count;
  };
  (void)make();
  const int before = settled();
  for (int n = 1;; ++n) {
    allocations_until_failure = n;
    try {
      (void)make();
    } catch (const std::bad_alloc&) {
    }
    const bool is_through = allocations_until_failure.exchange(0) != 0;
    (void)make();
    if (!is_through) continue;
    std::printf("%s left %d\n", what, settled() - before);
    return;
  }
}

/// A bundle of images for the words of a list, "cuda sm_80,cuda compute_90,source". Each image is a text that names its
/// word.
std::vector<std::byte> bundle_of(const std::string& list) {
  weir::detail::BundleWriter writer;
  bool has_source = false;
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) {
    if (word == "source") has_source = true;
    if (word != "source") writer.add(weir::detail::record::image, word, "for " + word);
  }
  writer.add(weir::detail::record::source, "story.cu", has_source ? "extern \"C\" __global__ void k() {}\n" : "");
  return writer.bundle();
}

/// "until:FUNCTION:N": waits until the stand-in's function has been called that often. "next:FUNCTION:OTHER": until it has
/// been called after the last call of the other.
void wait_for_calls(const std::string& step) {
  const std::size_t first = step.find(':') + 1, colon = step.rfind(':');
  const std::string function = step.substr(first, colon - first), rest = step.substr(colon + 1);
  const int found = step.starts_with("next:")
                        ? of_driver<int(const char*, const char*)>("weir_wait_for_next")(function.c_str(), rest.c_str())
                        : of_driver<int(const char*, int)>("weir_wait_for")(function.c_str(), std::stoi(rest));
  if (found == 0) throw std::runtime_error("waited in vain");
}

void print_features(const weir::Device& device) {
  for (const weir::Feature feature : weir::all_features()) {
    const weir::FeatureState& state = device.feature(feature);
    std::printf("feature %s: %s %s\n", std::string(to_string(feature)).c_str(),
                std::string(to_string(state.support)).c_str(), state.reason.c_str());
  }
}

void print_done(bool is_done) { std::printf("done: %d\n", is_done ? 1 : 0); }

template <class F>
void on_four_threads(const F& work) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work);
}

const std::map<std::string, std::function<void(World&)>> steps = {
    {"open", [](World&) { weir::default_device(); }},
    {"info",
     [](World&) {
       const weir::BackendInfo& info = weir::Registry::instance().probe(std::getenv("WEIR_BACKEND"));
       std::printf("state: %s\nreason: %s\n", std::string(to_string(info.state)).c_str(), info.reason.c_str());
       for (const weir::LoadAttempt& attempt : info.attempts) {
         std::printf("tried: %s: %s\n", attempt.path.c_str(), attempt.outcome.c_str());
       }
       for (const weir::Feature feature : weir::all_features()) {
         if (!info.features) break;
         const weir::FeatureState& state = info.features->state(feature);
         std::printf("would have %s: %s %s\n", std::string(to_string(feature)).c_str(),
                     std::string(to_string(state.support)).c_str(), state.reason.c_str());
       }
     }},
    {"properties",
     [](World&) {
       const weir::DeviceProperties& p = weir::default_device().properties();
       std::printf("architecture: %s\nuuid: %s\npci: %s\nwarp size: %d\n", p.architecture.c_str(), p.uuid.c_str(),
                   p.pci_bus_id.c_str(), p.warp_size);
     }},
    {"features", [](World&) { print_features(weir::default_device()); }},
    {"wrap", [](World& w) { w.stream = weir::default_device().wrap_stream(foreign_stream(), weir::Ownership::borrow); }},
    {"wrap-kept", [](World& w) { w.stream = wrap(weir::Ownership::borrow); }},
    {"adopt-kept", [](World& w) { w.stream = wrap(weir::Ownership::adopt); }},
    {"borrow",
     [](World& w) { (void)weir::default_device().wrap_stream(w.stream->share_native_handle(), weir::Ownership::borrow); }},
    {"mark", [](World&) { std::fprintf(stderr, "call mark \n"); }},
    {"ready", [](World&) { of_driver<void()>("weir_be_ready")(); }},
    {"waits", [](World&) { std::printf("naps: %d, yields: %d\n", std::exchange(naps, 0), std::exchange(yields, 0)); }},
    {"stream", [](World& w) { w.stream = weir::default_device().create_stream(); }},
    {"event", [](World& w) { w.event = weir::default_device().create_event(); }},
    {"drop-event", [](World& w) { w.event.reset(); }},
    {"allocate", [](World& w) { w.memory = weir::default_device().allocate<unsigned>(64); }},
    {"drop-memory", [](World& w) { w.memory.reset(); }},
    {"pinned", [](World&) { (void)weir::default_device().allocate<unsigned>(64, weir::MemoryKind::pinned); }},
    {"record", [](World& w) { w.stream->record(*w.event); }},
    {"register",
     [](World&) {
       std::vector<std::byte> memory(4096);
       (void)weir::default_device().register_host(memory.data(), memory.size());
     }},
    {"wait", [](World& w) { w.stream->wait(*w.event); }},
    {"wait-stream", [](World& w) { weir::default_device().create_stream()->wait(*w.stream); }},
    {"query", [](World& w) { std::printf("complete: %d\n", w.stream->is_complete() ? 1 : 0); }},
    {"native-handle", [](World& w) { (void)w.stream->share_native_handle(); }},
    {"describe", [](World& w) { std::printf("%s\n", w.stream->describe().c_str()); }},
    {"synchronize", [](World& w) { w.stream->synchronize(); }},
    {"synchronize-briefly", [](World& w) { print_done(w.stream->synchronize_for(std::chrono::milliseconds(20))); }},
    {"synchronize-within-a-minute", [](World& w) { print_done(w.stream->synchronize_for(std::chrono::minutes(1))); }},
    {"device-briefly",
     [](World&) { print_done(weir::default_device().synchronize_for(std::chrono::milliseconds(20))); }},
    {"event-briefly", [](World& w) { print_done(w.event->synchronize_for(std::chrono::milliseconds(20))); }},
    {"pending", [](World& w) { std::printf("pending: %s\n", w.stream->pending().describe().c_str()); }},
    {"health", [](World&) { std::printf("health: %s\n", weir::default_device().health().describe().c_str()); }},
    {"second-device", [](World&) { weir::default_device().backend().device(1).create_stream()->synchronize(); }},
    {"other-backend",
     [](World&) {
       weir::Device& host = weir::device("host:0");
       const weir::Buffer<unsigned> memory = host.allocate<unsigned>(64);
       const weir::StreamPtr stream = host.create_stream();
       stream->fill(memory, 1U);
       stream->synchronize();
     }},
    {"device-faults", [](World&) { fail_every_call(700); }},
    {"pool-use", [](World& w) { (void)w.pool->used_bytes(); }},
    {"fill", [](World& w) { w.stream->fill(w.memory, 1U); }},
    {"copy", [](World& w) { w.stream->copy_bytes(w.memory.data(), w.memory.data() + 32, 128); }},
    {"host-function", [](World& w) { w.stream->launch_host_function([&w] { ++w.ran; }); }},
    {"callback", [](World& w) { w.stream->add_callback([&w](weir::Stream&, std::error_code) { ++w.ran; }); }},
    {"ran", [](World& w) { std::printf("ran: %d\n", w.ran); }},
    {"fill-2d", [](World& w) { w.stream->fill(rows(w), 7); }},
    {"fill-2d-with-zeros", [](World& w) { w.stream->fill(rows(w), 0); }},
    {"fill-2d-shown",
     [](World& w) {
       for (int i = 0; i < 12; ++i) w.memory.data()[i] = 0;
       w.stream->fill(rows(w), 7);
       std::printf("words:");
       for (int i = 0; i < 12; ++i) std::printf(" %u", w.memory.data()[i]);
       std::printf("\n");
     }},
    {"wait-values",
     [](World& w) {
       w.memory.data()[0] = 5;
       w.memory.data()[1] = 0;
       auto* const wide = reinterpret_cast<std::uint64_t*>(w.memory.data());
       w.stream->wait_value(w.memory.data(), 5U, weir::WaitCondition::eq);
       w.stream->wait_value(w.memory.data(), 6U, weir::WaitCondition::bit_and);
       w.stream->wait_value(w.memory.data(), 6U, weir::WaitCondition::bit_nor);
       w.stream->wait_value(wide, std::uint64_t{5}, weir::WaitCondition::eq);
       w.stream->wait_value(wide, std::uint64_t{6}, weir::WaitCondition::bit_and);
     }},
    {"device-copy", [](World& w) { weir::default_device().copy_bytes(w.memory.data(), w.memory.data() + 32, 128); }},
    {"priorities",
     [](World&) {
       const weir::PriorityRange range = weir::default_device().priority_range();
       std::printf("least: %d, greatest: %d\n", range.least, range.greatest);
     }},
    {"policy-block", [](World& w) { w.stream->set_synchronization_policy(weir::SynchronizationPolicy::block); }},
    {"policy-yield", [](World& w) { w.stream->set_synchronization_policy(weir::SynchronizationPolicy::yield); }},
    {"policy-spin", [](World& w) { w.stream->set_synchronization_policy(weir::SynchronizationPolicy::spin); }},
    {"blocking-event", [](World& w) { w.event = weir::default_device().create_event({.blocking_sync = true}); }},
    {"complete", [](World& w) { std::printf("complete: %d\n", w.event->is_complete() ? 1 : 0); }},
    {"begin-relaxed", [](World& w) { w.stream->begin_capture(weir::CaptureMode::relaxed); }},
    {"end-into-graph", [](World& w) { w.graph = w.stream->end_capture(); }},
    {"topology",
     [](World& w) {
       const weir::Topology topology = w.graph->topology();
       std::printf("edges:");
       for (const auto& [from, to] : topology.edges) std::printf(" %u-%u", from, to);
       std::printf("\n");
     }},
    {"second-waits", [](World& w) { w.second->wait(*w.stream); }},
    {"waits-for-second", [](World& w) { w.stream->wait(*w.second); }},
    {"third", [](World& w) { w.third = weir::default_device().create_stream(); }},
    {"third-waits", [](World& w) { w.third->wait(*w.second); }},
    {"second-waits-for-third", [](World& w) { w.second->wait(*w.third); }},
    {"second-fill", [](World& w) { w.second->fill(w.memory, 1U); }},
    {"third-fill", [](World& w) { w.third->fill(w.memory, 1U); }},
    {"drop-second", [](World& w) { w.second.reset(); }},
    {"blocking-second", [](World& w) { w.second = weir::default_device().create_stream({.blocking = true}); }},
    {"second-begin", [](World& w) { w.second->begin_capture(weir::CaptureMode::relaxed); }},
    {"second-begin-global", [](World& w) { w.second->begin_capture(weir::CaptureMode::global); }},
    {"second-end", [](World& w) { (void)w.second->end_capture(); }},
    {"drop-pool", [](World& w) { w.pool.reset(); }},
    {"drop-kernel",
     [](World& w) {
       w.kernel.reset();
       w.module.reset();
     }},
    {"kernel-graph", [](World& w) { w.graph = w.stream->capture([&w](weir::Stream& s) { s.launch(w.kernel, {}); }); }},
    {"fill-graph", [](World& w) { w.graph = w.stream->capture([&w](weir::Stream& s) { s.fill(w.memory, 1U); }); }},
    {"told-graph",  // its host function owns what tells when it goes
     [](World& w) {
       w.graph = w.stream->capture(
           [&w](weir::Stream& s) { s.launch_host_function([&w, told = std::make_unique<Told>()] { ++w.ran; }); });
     }},
    {"update", [](World& w) { w.exec->update(*w.graph); }},
    {"let-go-of-graph", [](World& w) { w.graph.reset(); }},
    {"clone", [](World& w) { w.graph = w.graph->clone(); }},
    {"long-batch",  // more than the driver takes in one call
     [](World& w) {
       w.stream->batch_memory_operations(std::vector(300, weir::MemoryOperation::write(w.memory.data(), 5)));
     }},
    {"write-batch",
     [](World& w) {
       unsigned* const word = w.memory.data();
       using Op = weir::MemoryOperation;
       w.stream->batch_memory_operations(std::vector{Op::write(word, 5), Op::write(word + 1, 6)});
       std::printf("words: %u %u\n", word[0], word[1]);
     }},
    {"open-memory", [](World&) { (void)weir::default_device().open_allocation({}, 64); }},
    {"default-async", [](World&) { (void)weir::default_device().default_stream()->allocate_bytes_async(256); }},
    {"default-fill", [](World& w) { weir::default_device().default_stream()->fill(w.memory, 1U); }},
    {"capture-fills",
     [](World& w) {
       w.stream->begin_capture();
       for (int i = 0; i < 4; ++i) w.stream->fill(w.memory, 1U);
       const weir::Topology topology = w.stream->end_capture()->topology();
       std::printf("nodes:");
       for (const weir::NodeKind kind : topology.nodes) std::printf(" %s", std::string(to_string(kind)).c_str());
       std::printf("\n");
     }},
    {"begin-capture", [](World& w) { w.stream->begin_capture(); }},
    {"host-function-that-owns",
     [](World& w) {
       const auto owned = std::make_shared<int>(0);
       try {
         w.stream->launch_host_function([owned] { ++*owned; });
       } catch (const weir::Error& error) {
         std::printf("refused: %s\n", error.what());
       }
       std::printf("owners: %ld\n", owned.use_count());
     }},
    {"end-capture", [](World& w) { (void)w.stream->end_capture(); }},
    {"cooperative",
     [](World& w) {
       const weir::ModulePtr module = weir::default_device().load_module(std::as_bytes(std::span("an image")));
       w.stream->launch(module->untyped_kernel("k"), {.cooperative = true});
     }},
    {"clusters",
     [](World& w) {
       const weir::ModulePtr module = weir::default_device().load_module(std::as_bytes(std::span("an image")));
       w.stream->launch(module->untyped_kernel("k"), {.grid = {8}, .block = {32}, .cluster = {4}});
     }},
    {"driver-last-error",
     [](World&) {
       std::printf("last error: %d\n", of_driver<int()>("hipGetLastError")());
     }},
    {"second", [](World& w) { w.second = weir::default_device().create_stream(); }},
    {"second-record", [](World& w) { w.second->record(*w.event); }},
    {"second-wait", [](World& w) { w.second->wait(*w.event); }},
    {"graph",
     [](World& w) {
       w.graph = w.stream->capture([&w](weir::Stream& s) {
         s.launch_host_function([&w] {
           if (++w.ran % 2 == 1) throw std::runtime_error("thrown in run " + std::to_string(w.ran));
         });
       });
     }},
    {"graph-that-leaves-memory",
     [](World& w) {
       w.graph = w.stream->capture([&w](weir::Stream& s) { w.memory = s.allocate_async<unsigned>(64); });
       w.memory.reset();
     }},
    {"parent-graph",
     [](World& w) {
       const weir::GraphPtr child = std::exchange(w.graph, nullptr);
       w.graph = w.stream->capture([&](weir::Stream& s) { s.add_child_graph(*child); });
     }},
    {"instantiate", [](World& w) { w.exec = w.graph->instantiate(); }},
    {"upload",
     [](World& w) {
       w.exec = w.stream->capture([](weir::Stream&) {})->instantiate();
       w.exec->upload(*w.stream);
     }},
    {"launch-graph", [](World& w) { w.exec->launch(*w.stream); }},
    {"second-launch-graph", [](World& w) { w.exec->launch(*w.second); }},
    {"graph-with-a-condition",
     [](World& w) {
       w.graph = w.stream->capture([&w](weir::Stream& s) { s.capture_if(w.memory.data(), [](weir::Stream&) {}); });
     }},
    {"condition", [](World& w) { w.stream->capture_if(w.memory.data(), [](weir::Stream&) {}); }},
    {"pageable-copy",
     [](World& w) {
       static const std::uint32_t word = 7;
       w.stream->copy(weir::Span(w.memory.data(), 1), std::span(&word, 1));
     }},
    {"broken-body",
     [](World& w) {
       w.stream->capture_if(w.memory.data(), [](weir::Stream& body) { break_capture(body); });
     }},
    {"broken-body-in-a-loop",
     [](World& w) {
       w.stream->capture_while(w.memory.data(), [&w](weir::Stream& outer) {
         outer.capture_while(w.memory.data(), [](weir::Stream& body) { break_capture(body); });
       });
     }},
    {"throwing-loop-in-a-body",
     [](World& w) {
       w.stream->capture_if(w.memory.data(), [&w](weir::Stream& outer) {
         outer.capture_while(w.memory.data(), [](weir::Stream&) { throw std::runtime_error("thrown in the body"); });
       });
     }},
    {"broken-bodies-of-a-broken-body",
     [](World& w) {
       w.stream->capture_if(w.memory.data(), [&w](weir::Stream& outer) {
         try {
           outer.capture_if(w.memory.data(), [](weir::Stream& body) { break_capture(body); });
         } catch (const weir::Error&) {
           break_capture(outer);
         }
       });
     }},
    {"break-capture", [](World& w) { break_capture(*w.stream); }},
    {"unjoined-body",
     [](World& w) {
       w.stream->capture_if(w.memory.data(), [&w](weir::Stream& body) { body.add_child_graph(*w.graph); });
     }},
    {"memory-runs-out-in-a-condition",
     [](World& w) {
       const auto capture = [&] {
         w.stream->begin_capture();
         try {
           w.stream->capture_if(w.memory.data(), [](weir::Stream&) {});
         } catch (const std::bad_alloc&) {
           allocations_until_failure = 0;
           try {
              (void)w.stream->end_capture();
            } catch (const weir::Error&) {
              // Without a whole body the condition broke it.
            }
           throw;
         }
         (void)w.stream->end_capture();
       };
       fail_allocations("condition", capture);
     }},
    {"memory-runs-out",
     [](World& w) {
       weir::Device& device = weir::default_device();
       const auto capture = [&] { return w.stream->capture([](weir::Stream& s) { s.launch_host_function([] {}); }); };
       const weir::GraphPtr graph = capture();
       fail_allocations("capture", capture);
       fail_allocations("resume", [&] {
         w.stream->resume_capture(graph);
         (void)w.stream->end_capture();
       });
       fail_allocations("clone", [&] { (void)graph->clone(); });
       fail_allocations("instantiate", [&] { (void)graph->instantiate(); });
       fail_allocations("stream", [&] { (void)device.create_stream(); });
       fail_allocations("event", [&] { (void)device.create_event({.interprocess = true}); });
       fail_allocations("opened event", [&] { (void)device.open_event({}); });
       fail_allocations("pool", [&] { (void)device.create_memory_pool(); });
       fail_allocations("module", [&] { (void)device.load_module(std::as_bytes(std::span("an image"))); });
     }},
    {"drop-graph",
     [](World& w) {
       w.exec.reset();
       w.graph.reset();
     }},
    {"resume", [](World& w) { w.stream->resume_capture(w.graph); }},
    {"add-to-itself", [](World& w) { w.stream->add_child_graph(*w.graph); }},
    {"add-captured", [](World& w) { w.stream->add_child_graph(*w.stream->capture_info().graph); }},
    {"node-count", [](World& w) { std::printf("nodes: %zu\n", w.graph->node_count()); }},
    {"module", [](World& w) { w.module = weir::default_device().load_module(std::as_bytes(std::span("an image"))); }},
    {"kernel", [](World& w) { w.kernel = w.module->untyped_kernel("a_kernel"); }},
    {"kernel-properties", [](World& w) { std::printf("registers: %u\n", w.kernel->properties().registers_per_thread); }},
    {"launch", [](World& w) { w.stream->launch(w.kernel, {}); }},
    {"launch-shared", [](World& w) { w.stream->launch(w.kernel, {.shared_memory_bytes = 1024}); }},
    {"pool", [](World& w) { w.pool = weir::default_device().create_memory_pool(); }},
    {"pool-async", [](World& w) { w.async.push_back(w.stream->allocate_bytes_async(256, w.pool)); }},
    {"peer-on", [](World&) { weir::default_device().enable_peer_access(weir::default_device().backend().device(1)); }},
    {"peer-off", [](World&) { weir::default_device().disable_peer_access(weir::default_device().backend().device(1)); }},
    {"let-peer-in", [](World&) { weir::default_device().backend().device(1).enable_peer_access(weir::default_device()); }},
    {"id", [](World& w) { std::printf("id: %llu\n", static_cast<unsigned long long>(w.stream->id())); }},
    {"per-thread-at-thread-end",
     [](World&) {
       std::jthread([] {
         static thread_local AtThreadEnd end;
         end.id = weir::default_device().per_thread_stream()->id();
       }).join();
     }},
    {"default-id",
     [](World&) {
       // Each by a wrapper of its own.
       std::printf("id: %llu\n", static_cast<unsigned long long>(
                                     weir::default_device().wrap_stream(nullptr, weir::Ownership::borrow)->id()));
     }},
    {"driver-shuts-down", [](World&) { fail_every_call(4); }},
    {"context-goes", [](World&) { fail_every_call(201); }},
    {"context-goes-709", [](World&) { fail_every_call(709); }},
    {"keep-to-the-end",  // what static objects hold when the process ends
     [](World& w) {
       static World kept;
       kept = std::move(w);
       w = World();
     }},
    {"event-synchronize", [](World& w) { w.event->synchronize(); }},
    {"async", [](World& w) { (void)w.stream->allocate_bytes_async(256); }},
    {"drop-stream-beside", [](World& w) { std::jthread([stream = std::exchange(w.stream, nullptr)] {}); }},
    {"drop-async-beside", [](World& w) { w.other = std::jthread([memory = std::exchange(w.async.at(0), {})] {}); }},
    {"join", [](World& w) { w.other.join(); }},
    {"keep-async", [](World& w) { w.async.push_back(w.stream->allocate_bytes_async(256)); }},
    {"many-threads",
     [](World&) {
       on_four_threads([] {
         for (int i = 0; i < 100; ++i) {
           weir::StreamPtr owner = weir::default_device().create_stream();
           void* const handle = owner->share_native_handle();
           weir::StreamPtr borrowed = weir::default_device().wrap_stream(handle, weir::Ownership::borrow);
           weir::AllocationPtr first = owner->allocate_bytes_async(64), second = borrowed->allocate_bytes_async(64),
                               third = owner->allocate_bytes_async(64);
           first.reset();
           second.reset();
           if (i % 2 == 0) borrowed->close();
           borrowed.reset();
           third.reset();
         }
       });
     }},
    {"many-executables",  // of one graph, and copies of it
     [](World& w) {
       on_four_threads([&w] {
         const weir::GraphExecPtr other = w.graph->clone()->instantiate();
         for (int i = 0; i < 50; ++i) {
           const weir::GraphExecPtr exec = w.graph->instantiate();
           (void)w.graph->clone();
           other->update(*w.graph);
         }
       });
     }},
    {"many-captured-functions",  // each thread's graphs own theirs
     [](World&) {
       on_four_threads([] {
         const weir::StreamPtr stream = weir::default_device().create_stream();
         for (int i = 0; i < 100; ++i) {
           const weir::GraphPtr graph = stream->capture([](weir::Stream& s) { s.launch_host_function([] {}); });
           graph->instantiate()->launch(*stream);
         }
       });
     }},
    {"many-host-functions",  // on streams that are dropped before those have run
     [](World&) {
       static std::atomic<int> sum{0};
       on_four_threads([] {
         for (int i = 0; i < 200; ++i) {
           const weir::StreamPtr stream = weir::default_device().create_stream();
           for (int j = 0; j < 10; ++j) {
             std::array<char, 128> captured{};
             captured[127] = 1;
             stream->launch_host_function([captured] { sum += captured[127]; });
           }
         }
       });
       weir::default_device().synchronize();
       std::printf("sum: %d\n", sum.load());
     }},
    {"compile",
     [](World& w) {
       w.module = weir::default_device().compile(std::getenv("WEIR_TEST_SOURCE"), compile_options());
     }},
    {"compile-beside-the-end",  // on a thread that main does not wait for
     [](World&) {
       weir::default_device();
       std::atomic<bool>& begins = *new std::atomic<bool>(false);
       std::thread([&begins] {
         try {
           for (;;) {
             begins = true;
             const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
             (void)weir::default_device().compile("extern \"C\" __global__ void k() {}\n// " + std::to_string(now));
           }
         } catch (const std::exception& e) {
           std::fprintf(stderr, "compile-beside-the-end: %s\n", e.what());
         }
       }).detach();
       while (!begins) std::this_thread::yield();
       std::this_thread::sleep_for(std::chrono::milliseconds(100));
     }},
    {"compile-ahead",
     [](World& w) {
       const auto image =
           weir::Registry::instance().compile_image("cuda", "sm_90", std::getenv("WEIR_TEST_SOURCE"), compile_options());
       w.module = weir::default_device().load_module(image);
     }},
    {"suggest", [](World& w) {
       std::printf("suggested: %u and %u\n", w.kernel->suggested_block_size(), w.kernel->suggested_block_size(4096));
     }},
    {"per-thread", [](World& w) { w.stream = weir::default_device().per_thread_stream(); }},
    {"end-natively",  // as external code does with the stream's handle
     [](World& w) {
       void* graph = nullptr;
       call_cuda("cuStreamEndCapture", 10000, w.stream->share_native_handle(), &graph);
     }},
    {"second-native-handle", [](World& w) { (void)w.second->share_native_handle(); }},
    {"begin-natively", [](World&) { call_cuda("cuStreamBeginCapture", 10010, per_thread_stream, 2); }},
    {"end-natively-and-launch-twice",
     [](World&) {
       void *graph = nullptr, *exec = nullptr;
       call_cuda("cuStreamEndCapture", 10000, per_thread_stream, &graph);
       call_cuda("cuGraphInstantiateWithFlags", 11040, &exec, graph, 0ULL);
       for (int i = 0; i < 2; ++i) call_cuda("cuGraphLaunch", 10000, exec, per_thread_stream);
     }},
    {"destroy-natively", [](World& w) { call_natively("hipStreamDestroy", *w.stream); }},
    {"capture-natively",
     [](World& w) { (void)of_driver<int(void*, int)>("hipStreamBeginCapture")(w.stream->native_handle(), 2); }},
    {"synchronize-natively", [](World& w) { call_natively("hipStreamSynchronize", *w.stream); }},
    {"drop-async",
     [](World& w) {
       w.async.at(0).reset();
       w.async.pop_front();
     }},
    {"close", [](World& w) { w.stream->close(); }},
    {"release", [](World& w) { (void)w.stream->release_handle(); }},
    {"drop-stream", [](World& w) { w.stream.reset(); }},
    {"end-at-once", [](World&) { std::_Exit(std::fflush(stdout)); }},
    {"keep-past-the-end", [](World& w) { kept_past_the_end = std::move(w); }},
    {"load-bundle",
     [](World& w) {
       const std::vector<std::byte> bytes = bundle_of(std::getenv("WEIR_TEST_IMAGES"));
       w.module = weir::default_device().load(weir::KernelBundle(bytes));
     }},
    {"load", [](World&) { (void)weir::default_device().load_module(std::as_bytes(std::span("no image"))); }},
};

}  // namespace

int main(int argc, char** argv) {
  World world;
  for (int i = 1; i < argc; ++i) {
    const bool waits = std::string(argv[i]).starts_with("until:") || std::string(argv[i]).starts_with("next:");
    const bool finds = std::string(argv[i]).starts_with("kernel:");
    const auto step = steps.find(argv[i]);
    if (step == steps.end() && !waits && !finds) {
      std::fprintf(stderr, "no step '%s'\n", argv[i]);
      return 99;
    }
    try {
      if (finds) {
        find_kernel(world, argv[i] + 7);
      } else if (waits) {
        wait_for_calls(argv[i]);
      } else {
        step->second(world);
      }
      std::printf("%s: ok\n", argv[i]);
    } catch (const weir::Error& error) {
      std::printf("%s: %s | %s | %s\n", argv[i], std::string(to_string(error.errc())).c_str(), error.native().name.c_str(),
                  error.what());
    } catch (const std::exception& exception) {
      std::printf("%s: exception | %s\n", argv[i], exception.what());
    }
    std::fflush(stdout);
  }
  return 0;
}
