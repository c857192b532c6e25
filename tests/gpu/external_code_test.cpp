// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <time.h>

#include <chrono>
#include <thread>

#include "driver.hpp"

// Tests Weir together with code that calls the driver directly.

using driver::error_of;
using weir::Errc;

namespace {

weir::Device& device() { return weir::cuda::device(0); }

/// External code makes the device's context current for what needs one.
class Current {
 public:
  explicit Current(weir::Stream& stream) { DRIVER(cuCtxPushCurrent_v2, cuCtxPushCurrent)(weir::cuda::context(stream)); }
  ~Current() {
    CUcontext popped = nullptr;
    DRIVER(cuCtxPopCurrent_v2, cuCtxPopCurrent)(&popped);
  }
};

/// A capture that Weir is not told of.
void begin_external_capture(CUstream stream, CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED) {
  REQUIRE(DRIVER(cuStreamBeginCapture_v2, cuStreamBeginCapture)(stream, mode) == CUDA_SUCCESS);
}

/// Ends one, and tells how many nodes it has.
std::size_t end_external_capture(CUstream stream) {
  CUgraph graph = nullptr;
  REQUIRE(DRIVER(cuStreamEndCapture, cuStreamEndCapture)(stream, &graph) == CUDA_SUCCESS);
  std::size_t nodes = 0;
  REQUIRE(DRIVER(cuGraphGetNodes, cuGraphGetNodes)(graph, nullptr, &nodes) == CUDA_SUCCESS);
  DRIVER(cuGraphDestroy, cuGraphDestroy)(graph);
  return nodes;
}

/// Holds a stream until it is opened.
class Gate {
 public:
  explicit Gate(weir::Stream& stream) : word_(device().allocate<std::uint32_t>(1, weir::MemoryKind::pinned)) {
    *word() = 0;
    stream.wait_value(word_.data(), std::uint32_t{1});
  }
  ~Gate() { open(); }
  void open() { *word() = 1; }

 private:
  volatile std::uint32_t* word() { return word_.data(); }
  weir::Buffer<std::uint32_t> word_;
};

}  // namespace

// The first case, because the device makes the object of its legacy default stream only once.
TEST_CASE("legacy stream: its first use while a blocking stream captures is refused, and the capture goes on") {
  const weir::StreamPtr blocking = device().create_stream({.blocking = true});
  const auto words = device().allocate<std::uint32_t>(1);
  blocking->begin_capture(weir::CaptureMode::relaxed);
  CHECK(error_of([&] { device().default_stream()->fill(words, 1U); }) == Errc::capture_implicit);
  blocking->fill(words, 2U);
  CHECK(blocking->end_capture()->node_count() == 1);
  device().default_stream()->fill(words, 3U);
  CHECK(device().default_stream()->read(words) == std::vector<std::uint32_t>{3});
}

TEST_CASE("external capture: on a handle of Weir's stream is noticed, and misuse does not end it") {
  const weir::StreamPtr stream = device().create_stream();
  CUstream const native = weir::cuda::stream(*stream);
  REQUIRE(DRIVER(cuStreamBeginCapture_v2, cuStreamBeginCapture)(native, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) ==
          CUDA_SUCCESS);
  CHECK(stream->is_capturing());
  CHECK(error_of([&] { stream->synchronize(); }) == Errc::capture_unsupported);
  CHECK(error_of([&] { (void)stream->is_complete(); }) == Errc::capture_unsupported);
  CHECK(error_of([&] { stream->add_callback([](weir::Stream&, std::error_code) {}); }) == Errc::capture_unsupported);
  CHECK(driver::capture_status(native) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
  int ran = 0;
  stream->launch_host_function([&ran] { ++ran; });
  CUgraph graph = nullptr;
  REQUIRE(DRIVER(cuStreamEndCapture, cuStreamEndCapture)(native, &graph) == CUDA_SUCCESS);
  const Current current(*stream);
  CUgraphExec exec = nullptr;
  REQUIRE(DRIVER(cuGraphInstantiateWithFlags, cuGraphInstantiate)(&exec, graph, 0) == CUDA_SUCCESS);
  for (int i = 0; i < 3; ++i) REQUIRE(DRIVER(cuGraphLaunch, cuGraphLaunch)(exec, native) == CUDA_SUCCESS);
  stream->synchronize();
  CHECK(ran == 3);
  DRIVER(cuGraphExecDestroy, cuGraphExecDestroy)(exec);
  DRIVER(cuGraphDestroy, cuGraphDestroy)(graph);
}

TEST_CASE("external capture: a stream that is wrapped while it captures tells its flags only afterwards") {
  const Current current(*device().create_stream());
  CUstream native = nullptr;
  REQUIRE(DRIVER(cuStreamCreate, cuStreamCreate)(&native, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
  begin_external_capture(native);
  const weir::StreamPtr stream = weir::cuda::wrap(device(), native, weir::Ownership::adopt);
  CHECK(error_of([&] { (void)stream->is_non_blocking(); }) == Errc::capture_unsupported);
  CHECK(error_of([&] { (void)stream->id(); }) == Errc::capture_unsupported);
  CHECK(stream->priority() == 0);
  CHECK(driver::capture_status(native) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
  CHECK(end_external_capture(native) == 0);
  CHECK(stream->is_non_blocking());
  CHECK(stream->id() != 0);
}

TEST_CASE("external capture: the strictest one lives on while Weir copies, allocates and asks for the time between events") {
  const Current current(*device().create_stream());
  const weir::StreamPtr stream = device().create_stream();
  const auto source = device().allocate<std::uint32_t>(4), target = device().allocate<std::uint32_t>(4);
  const weir::EventPtr begin = stream->record({.timing = true}), end = stream->record({.timing = true});
  stream->fill(source, 7U);
  stream->synchronize();
  CUstream native = nullptr;
  REQUIRE(DRIVER(cuStreamCreate, cuStreamCreate)(&native, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
  begin_external_capture(native, CU_STREAM_CAPTURE_MODE_GLOBAL);
  std::vector<std::uint32_t> host(4);
  device().copy(target, source);
  device().copy(host, target);
  CHECK(host == std::vector<std::uint32_t>(4, 7));
  CHECK(end->elapsed_since(*begin).count() >= 0);
  CHECK(device().allocate<int>(16).size() == 16);
  CHECK(driver::capture_status(native) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
  CHECK(end_external_capture(native) == 0);
  DRIVER(cuStreamDestroy_v2, cuStreamDestroy)(native);
}

TEST_CASE("external capture: after its end, Weir can capture a stream that was wrapped during it") {
  const Current current(*device().create_stream());
  CUstream native = nullptr;
  REQUIRE(DRIVER(cuStreamCreate, cuStreamCreate)(&native, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
  begin_external_capture(native);
  const weir::StreamPtr stream = weir::cuda::wrap(device(), native, weir::Ownership::adopt);
  CHECK(end_external_capture(native) == 0);
  const auto memory = device().allocate<std::uint32_t>(1);
  CHECK(stream->capture([&](weir::Stream& s) { s.fill(memory, 1U); })->node_count() == 1);
}

TEST_CASE(
    "external capture: stream-ordered memory that is dropped in one is freed once it has ended, and the capture goes on") {
  const weir::MemoryPoolPtr pool = device().create_memory_pool();
  const weir::StreamPtr stream = device().create_stream();
  CUstream const native = weir::cuda::stream(*stream);
  auto memory = stream->allocate_async<std::uint32_t>(1000, pool);
  stream->fill(memory, 1U);
  begin_external_capture(native);
  memory.reset();
  CHECK(driver::capture_status(native) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
  CHECK(end_external_capture(native) == 0);
  CHECK(pool->used_bytes() >= 4000);
  SUBCASE("when memory is wanted again") { stream->allocate_async<std::uint32_t>(1000, pool).reset(); }
  SUBCASE("when the stream is released") {
    const weir::StreamPtr adopted =
        weir::cuda::wrap(device(), static_cast<CUstream>(stream->release_handle()), weir::Ownership::adopt);
    adopted->synchronize();
  }
  SUBCASE("when the stream ends") {
    stream->synchronize();
    stream->close();
  }
  device().synchronize();
  CHECK(pool->used_bytes() == 0);
}

TEST_CASE(
    "external capture: of a thread's default stream, it goes on when another thread drops memory of that stream, or "
    "allocates") {
  const weir::MemoryPoolPtr pool = device().create_memory_pool();
  const weir::StreamPtr stream = device().per_thread_stream();
  auto memory = stream->allocate_async<std::uint32_t>(1000, pool);
  const Current current(*stream);
  begin_external_capture(CU_STREAM_PER_THREAD);
  SUBCASE("dropped here") { memory.reset(); }
  SUBCASE("dropped there") {
    std::thread([&] { memory.reset(); }).join();
  }
  std::thread([] { device().create_stream()->allocate_async<int>(16).reset(); }).join();
  CHECK(driver::capture_status(CU_STREAM_PER_THREAD) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
  CHECK(end_external_capture(CU_STREAM_PER_THREAD) == 0);
  stream->synchronize();
  device().synchronize();
  CHECK(pool->used_bytes() == 0);
}

TEST_CASE(
    "external capture: begun on a stream whose capture by Weir external code has ended, it outlives the wrapper of that "
    "one") {
  const weir::StreamPtr owner = device().create_stream();
  CUstream const native = weir::cuda::stream(*owner);
  weir::StreamPtr wrapper = weir::cuda::wrap(device(), native);
  wrapper->begin_capture(weir::CaptureMode::relaxed);
  CHECK(end_external_capture(native) == 0);
  begin_external_capture(native);
  wrapper.reset();
  CHECK(driver::capture_status(native) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
  CHECK(end_external_capture(native) == 0);
  owner->synchronize();
}

TEST_CASE("external capture: frees that one capture defers do not hold up those of another") {
  const weir::MemoryPoolPtr pool = device().create_memory_pool();
  const weir::StreamPtr streams[] = {device().create_stream(), device().create_stream()};
  for (const weir::StreamPtr& stream : streams) {
    auto memory = stream->allocate_async<std::uint32_t>(1000, pool);
    begin_external_capture(weir::cuda::stream(*stream));
  }
  CHECK(end_external_capture(weir::cuda::stream(*streams[1])) == 0);
  const weir::StreamPtr adopted =
      weir::cuda::wrap(device(), static_cast<CUstream>(streams[1]->release_handle()), weir::Ownership::adopt);
  adopted->synchronize();
  CHECK(driver::capture_status(weir::cuda::stream(*streams[0])) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
  CHECK(end_external_capture(weir::cuda::stream(*streams[0])) == 0);
  streams[0]->close();
  device().synchronize();
  CHECK(pool->used_bytes() == 0);
}

TEST_CASE("external capture: memory of a stream that joined one by an event is not freed into it") {
  const weir::MemoryPoolPtr pool = device().create_memory_pool();
  const weir::StreamPtr origin = device().create_stream();
  const weir::StreamPtr drawn = device().create_stream();
  auto memory = drawn->allocate_async<std::uint32_t>(1000, pool);
  drawn->synchronize();
  CUstream const native = weir::cuda::stream(*origin);
  begin_external_capture(native);
  drawn->wait(*origin->record());
  memory.reset();
  CHECK(end_external_capture(native) == 0);
  drawn->allocate_async<int>(16).reset();
  device().synchronize();
  CHECK(pool->used_bytes() == 0);
}

TEST_CASE("external record: Weir waits for an event that external code recorded, also a reused one") {
  const weir::StreamPtr stream = device().create_stream(), other = device().create_stream();
  const auto word = device().allocate<std::uint32_t>(1, weir::MemoryKind::pinned);
  for (int life = 0; life < 3; ++life) {
    CAPTURE(life);
    { (void)stream->record(); }  // so that the event below comes from the pool, with a record of its own
    *word.data() = 0;
    const weir::EventPtr event = device().create_event();
    CHECK(event->is_complete());
    Gate gate(*stream);
    weir::detail::fill_elements(*stream, word.data(), 7, 4, 1);
    REQUIRE(DRIVER(cuEventRecord, cuEventRecord)(weir::cuda::event(*event), weir::cuda::stream(*stream)) == CUDA_SUCCESS);
    CHECK_FALSE(event->is_complete());
    other->wait(*event);
    CHECK_FALSE(other->is_complete());
    gate.open();
    other->synchronize();
    CHECK(*word.data() == 7);
    CHECK(event->is_complete());
  }
}

TEST_CASE("contexts: Weir works on its own device and restores the thread's current context") {
  CUcontext external = nullptr;
  auto* const create = driver::find<CUresult (*)(CUcontext*, unsigned, CUdevice)>("cuCtxCreate_v2");
  REQUIRE(create(&external, 0, weir::cuda::device_number(device())) == CUDA_SUCCESS);
  const auto current = [] {
    CUcontext context = nullptr;
    DRIVER(cuCtxGetCurrent, cuCtxGetCurrent)(&context);
    return context;
  };
  const auto work = [&] {
    const weir::StreamPtr stream = device().create_stream(), other = device().create_stream();
    auto memory = device().allocate<std::uint32_t>(64);
    auto result = device().allocate<std::uint32_t>(64, weir::MemoryKind::pinned);
    stream->fill(memory, 5U);
    other->wait(*stream);
    const weir::EventPtr event = other->record({.timing = true});
    const auto graph = other->capture([&](weir::Stream& s) { s.copy(result, memory); })->instantiate();
    graph->launch(*other);
    other->launch_host_function([] {});
    other->synchronize();
    CHECK(event->is_complete());
    CHECK(result.host()[63] == 5);
    const weir::StreamPtr legacy = device().default_stream(), per_thread = device().per_thread_stream();
    legacy->fill(memory, 6U);
    per_thread->wait(*legacy);
    per_thread->copy(result, memory);
    per_thread->synchronize();
    CHECK(result.host()[0] == 6);
    auto scratch = other->allocate_async<std::uint32_t>(1024);
    other->fill(scratch, 1U);
  };
  CHECK(current() == external);
  work();
  CHECK(current() == external);
  std::thread([&] {
    CHECK(current() == nullptr);
    work();
    CHECK(current() == nullptr);
  }).join();
  DRIVER(cuCtxDestroy_v2, cuCtxDestroy)(external);
}

TEST_CASE("device flags: a program that asks for sleeping waits gets them from Device::synchronize, too") {
  using namespace std::chrono_literals;
  const weir::StreamPtr stream = device().create_stream();
  CUdevice const number = weir::cuda::device_number(device());
  const auto set_flags = DRIVER(cuDevicePrimaryCtxSetFlags_v2, cuDevicePrimaryCtxSetFlags);
  unsigned flags_before = 0;
  int active = 0;
  REQUIRE(DRIVER(cuDevicePrimaryCtxGetState, cuDevicePrimaryCtxGetState)(number, &flags_before, &active) == CUDA_SUCCESS);
  REQUIRE(set_flags(number, CU_CTX_SCHED_BLOCKING_SYNC) == CUDA_SUCCESS);
  stream->launch_host_function([] { std::this_thread::sleep_for(400ms); });
  const auto own_time = [] {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
  };
  const auto before = own_time();
  device().synchronize();
  CHECK(own_time() - before < 200ms);
  CHECK(stream->is_complete());
  CHECK(set_flags(number, flags_before & CU_CTX_SCHED_MASK) == CUDA_SUCCESS);
}

TEST_CASE("handles: each object gives its handle, and a wrapped stream equals the original") {
  const weir::StreamPtr stream = device().create_stream();
  CHECK(weir::cuda::stream(*stream) != nullptr);
  CHECK(weir::cuda::context(*stream) != nullptr);
  CHECK(*weir::cuda::wrap(device(), weir::cuda::stream(*stream)) == *stream);
  CHECK(weir::cuda::wrap(device(), nullptr)->kind() == weir::StreamKind::legacy_default);
  CHECK(*weir::cuda::wrap(device(), CU_STREAM_LEGACY) == *device().default_stream());
  CHECK(*weir::cuda::wrap(device(), CU_STREAM_PER_THREAD) == *device().per_thread_stream());
  const auto graph = stream->capture([](weir::Stream&) {});
  CHECK(weir::cuda::graph(*graph) != nullptr);
  CHECK(weir::cuda::graph_exec(*graph->instantiate()) != nullptr);
  CHECK(weir::cuda::memory_pool(*device().default_memory_pool()) != nullptr);
  const auto memory = device().allocate_bytes(64);
  CHECK(weir::cuda::address(*memory) == reinterpret_cast<std::uintptr_t>(memory->data()));
}

TEST_CASE("external stream: a stream of another context is refused with the reason") {
  CUdevice native = 0;
  REQUIRE(DRIVER(cuDeviceGet, cuDeviceGet)(&native, 0) == CUDA_SUCCESS);
  const auto create = driver::find<CUresult (*)(CUcontext*, unsigned, CUdevice)>("cuCtxCreate_v2");
  CUcontext context = nullptr;
  REQUIRE(create(&context, 0, native) == CUDA_SUCCESS);
  CUstream stream = nullptr;
  REQUIRE(DRIVER(cuStreamCreate, cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
  CUcontext popped = nullptr;
  REQUIRE(DRIVER(cuCtxPopCurrent_v2, cuCtxPopCurrent)(&popped) == CUDA_SUCCESS);
  try {
    (void)device().wrap_stream(stream, weir::Ownership::borrow);
    FAIL("it was taken");
  } catch (const weir::Error& error) {
    CHECK(error.errc() == Errc::invalid_argument);
    CHECK(std::string(error.what()).find("another context") != std::string::npos);
  }
  CHECK(DRIVER(cuCtxDestroy_v2, cuCtxDestroy)(context) == CUDA_SUCCESS);
}
