// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/tools/run_program.hpp"
#include "weir/plugin/tool.hpp"
#include "weir/weir.hpp"

// Tests the calls that tools receive. The test adds a tool to this process, which records its calls.

namespace {

using weir::AccessKind;
using weir::MemoryAccess;
using weir::Operation;
using weir::OperationKind;

struct Seen {
  Operation operation;
  std::vector<MemoryAccess> accesses;
  std::string tag, kernel;
  bool is_after = false;
};

class Recorder final : public weir::Tool {
 public:
  void before(const Operation& operation) override {
    note(operation, false);
    if (on_before) on_before(operation);
  }
  void after(const Operation& operation) noexcept override { note(operation, true); }
  void begin_host_function(std::uint64_t operation) noexcept override { functions.push_back(operation); }
  void end_host_function(std::uint64_t operation) noexcept override { functions.push_back(operation); }
  bool watches_nodes() const noexcept override { return true; }
  void after_node(const weir::NodeRun& run) noexcept override {
    const std::lock_guard lock(mutex);
    nodes.push_back(run);
    nodes.back().kernel = "";  // valid during the call only
    kernels.emplace_back(run.kernel);
  }
  void begin_range(std::string_view name) noexcept override { ranges += std::string(name) + "("; }
  void end_range() noexcept override { ranges += ")"; }

  std::vector<Seen> take() {
    const std::lock_guard lock(mutex);
    return std::exchange(seen, {});
  }

  std::mutex mutex;
  std::vector<Seen> seen;
  std::vector<std::uint64_t> functions;
  std::vector<weir::NodeRun> nodes;
  std::vector<std::string> kernels;  // of these nodes
  std::string ranges;
  std::function<void(const Operation&)> on_before;

 private:
  void note(const Operation& operation, bool is_after) {
    const std::lock_guard lock(mutex);
    seen.push_back({operation,
                    {operation.accesses.begin(), operation.accesses.end()},
                    std::string(operation.tag),
                    operation.kernel != nullptr ? operation.kernel->name() : "",
                    is_after});
  }
};

/// Added before the registry is used.
Recorder& recorder() {
  static Recorder* const tool = [] {
    auto made = std::make_unique<Recorder>();
    Recorder* const result = made.get();
    weir::Tools::add(std::move(made));
    return result;
  }();
  (void)tool->take();
  tool->functions.clear();
  tool->nodes.clear();
  tool->kernels.clear();
  tool->ranges.clear();
  tool->on_before = nullptr;
  return *tool;
}

weir::Device& device() {
  recorder();
  return weir::device("host:0");
}

/// The kinds of the operations, each once.
std::vector<OperationKind> kinds_of(const std::vector<Seen>& seen) {
  std::vector<OperationKind> kinds;
  for (std::size_t i = 0; i < seen.size(); i += 2) kinds.push_back(seen[i].operation.kind);
  return kinds;
}

bool is(const MemoryAccess& access, const void* address, std::size_t bytes, AccessKind kind) {
  return access.address == address && access.bytes == bytes && access.kind == kind;
}

constexpr const char* source = R"(
__global__ void scale(unsigned int n, float a, const float* x, float* y) {
  const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i];
})";

}  // namespace

TEST_CASE("tools: each operation is told before and after, with what it touches") {
  const auto stream = device().create_stream();
  const auto x = device().allocate<float>(100), y = device().allocate<float>(100);
  Recorder& tool = recorder();
  {
    const weir::ScopedRange outer("step");
    const weir::ScopedRange inner("copy");
    stream->copy(y, x);
  }
  stream->fill(weir::PitchedSpan<float>{x.data(), {8, 3}, 64, 0}, 0.0F);
  stream->synchronize();
  const auto seen = tool.take();
  CHECK(tool.ranges == "step(copy())");
  REQUIRE(kinds_of(seen) == std::vector{OperationKind::copy, OperationKind::fill, OperationKind::synchronize});
  for (std::size_t i = 0; i < seen.size(); ++i) CHECK(seen[i].is_after == (i % 2 == 1));
  CHECK(seen[0].operation.id == seen[1].operation.id);
  CHECK(seen[0].operation.stream == stream.get());
  CHECK(seen[0].operation.device == &device());
  CHECK(seen[0].tag == "copy");
  REQUIRE(seen[0].accesses.size() == 2);
  CHECK(is(seen[0].accesses[0], x.data(), 400, AccessKind::read));
  CHECK(is(seen[0].accesses[1], y.data(), 400, AccessKind::write));
  CHECK(seen[2].operation.id > seen[0].operation.id);
  CHECK(seen[2].tag.empty());
  REQUIRE(seen[2].accesses.size() == 1);
  CHECK(is(seen[2].accesses[0], x.data(), 32, AccessKind::write));
  CHECK(seen[2].accesses[0].pitch == 64);
  CHECK(seen[2].accesses[0].rows == 3);
  CHECK(seen[4].operation.thread == seen[0].operation.thread);
}

TEST_CASE("tools: what a kernel touches is told by its arguments, its parameters and the program") {
  const auto stream = device().create_stream();
  const auto kernel = device().compile(source, {.kernels = {"scale"}})->untyped_kernel("scale");
  const weir::TypedKernel<void(unsigned int, float, const float*, float*)> typed(kernel);
  const auto without_const = device()
                                 .compile("__global__ void any(unsigned int, float, float*, float*) {}")
                                 ->kernel<void(unsigned int, float, float*, float*)>("any");
  const auto x = device().allocate<float>(100), y = device().allocate<float>(100);
  Recorder& tool = recorder();
  stream->launch(kernel, {1, 128}, 100U, 2.0F, x, y);
  stream->launch(kernel, {1, 128}, 50U, 2.0F, weir::accesses::reads(x), weir::accesses::writes(y));
  stream->launch(typed, {1, 128}, 10U, 2.0F, x.subspan(10, 10), y.data());
  weir::accesses::touches(weir::accesses::writes(y.subspan(50, 50)));
  stream->launch(typed, {1, 128}, 10U, 2.0F, x, y);
  const unsigned int count = 10;
  const float factor = 2.0F;
  const float* from = x.data();
  float* to = y.data();
  void* const addresses[] = {const_cast<unsigned int*>(&count), const_cast<float*>(&factor), &from, &to};
  const weir::Parameter parameters[] = {{4}, {4}, {8}, {8}};
  stream->launch_raw(*kernel, {1, 128}, addresses, parameters);
  stream->launch(typed, {1, 128}, 10U, 2.0F, x, weir::accesses::writes(y));
  stream->launch(without_const, {1, 128}, 10U, 2.0F, weir::accesses::reads(x), y);
  weir::accesses::touches(weir::accesses::writes(x));
  CHECK_THROWS_AS(stream->launch(typed, {1, 1U << 20}, 10U, 2.0F, x, y), weir::Error);
  stream->launch(typed, {1, 128}, 10U, 2.0F, x, y);
  stream->synchronize();
  const auto seen = tool.take();
  REQUIRE(seen.size() == 18);
  for (int i = 0; i < 12; i += 2) {
    CHECK(seen[i].operation.kind == OperationKind::kernel);
    CHECK(seen[i].kernel == "scale");
  }
  REQUIRE(seen[0].accesses.size() == 2);
  CHECK(is(seen[0].accesses[0], x.data(), 400, AccessKind::read));  // the kernel's own symbol says so
  CHECK(is(seen[0].accesses[1], y.data(), 400, AccessKind::read_write));
  CHECK(is(seen[2].accesses[1], y.data(), 400, AccessKind::write));
  CHECK(is(seen[4].accesses[0], x.data() + 10, 40, AccessKind::read));
  CHECK(is(seen[4].accesses[1], y.data(), 4, AccessKind::read_write));  // of a plain pointer one element is known
  REQUIRE(seen[6].accesses.size() == 1);
  CHECK(is(seen[6].accesses[0], y.data() + 50, 200, AccessKind::write));
  REQUIRE(seen[8].accesses.size() == 2);
  CHECK(is(seen[8].accesses[0], x.data(), 1, AccessKind::read));
  CHECK(is(seen[8].accesses[1], y.data(), 1, AccessKind::read_write));
  CHECK(is(seen[10].accesses[0], x.data(), 400, AccessKind::read));
  CHECK(is(seen[10].accesses[1], y.data(), 400, AccessKind::write));
  CHECK(is(seen[12].accesses[0], x.data(), 400, AccessKind::read));
  CHECK(is(seen[12].accesses[1], y.data(), 400, AccessKind::read_write));
  CHECK(seen[14].accesses.size() == 2);  // what was declared for the launch that was refused has gone with it
}

TEST_CASE("tools: on the CPU a kernel's code says through which pointers it only reads, or only counts") {
  using weir::UpdateKind;
  struct Kernel {
    const char* code;
    std::uint64_t reads = 0, atomic = 0;   // parameter i as bit i; what is not proved counts as written
    std::vector<UpdateKind> updates = {};  // of those in `atomic`
  };
  const Kernel kernels[] = {
      {"(int* c) { atomicAdd(c, 1); }", 0, 1, {UpdateKind::add_32}},
      {"(float* c, float* x, int n) { if (threadIdx.x < n) atomicAdd(c, x[threadIdx.x]); }", 2, 1, {UpdateKind::add_float}},
      {"(unsigned* h, unsigned char* x, int n) { for (int i = threadIdx.x; i < n; ++i) atomicAdd(&h[x[i]], 1u); }",
       2,
       1,
       {UpdateKind::add_32}},
      {"(int* c, int v) { atomicMax(c, v); }", 0, 1, {UpdateKind::max_32}},
      {"(unsigned long long* lo, unsigned* hi, int* n, double* s, int v)"
       " { atomicMin(lo, v); atomicMax(hi, v); atomicSub(n, v); atomicAdd(s, v); }",
       0,
       15,
       {UpdateKind::min_unsigned_64, UpdateKind::max_unsigned_32, UpdateKind::add_32, UpdateKind::add_double}},
      {"(int* a, unsigned* b, unsigned long long* c, int v) { atomicAnd(a, v); atomicOr(b, v); atomicXor(c, v); }",
       0,
       7,
       {UpdateKind::bit_and, UpdateKind::bit_or, UpdateKind::bit_xor}},
      {"(int* c) { __shared__ int s; if (threadIdx.x == 0) s = 0; __syncthreads(); atomicAdd(&s, 1); __syncthreads();"
       " if (threadIdx.x == 0) atomicAdd(c, s); }",
       0,
       1,
       {UpdateKind::add_32}},
      {"(int* c, int* out) { out[atomicAdd(c, 1)] = 1; }", 0, 1, {UpdateKind::add_32}},
      {"(int* a, int* b, int* c, int* d, int* e, int* f, int* g, int* h, int* i) { atomicAdd(a, 1); atomicAdd(b, 1);"
       " atomicAdd(c, 1); atomicAdd(d, 1); atomicAdd(e, 1); atomicAdd(f, 1); atomicAdd(g, 1); atomicAdd(h, 1);"
       " atomicAdd(i, 1); }",
       0,
       255,  // of eight pointers the kind is kept
       std::vector<UpdateKind>(8, UpdateKind::add_32)},
      {"(int* x, int* y) { y[threadIdx.x] = x[threadIdx.x]; }", 1, 0},
      // Not these.
      {"(int* c) { atomicExch(c, 0); }"},
      {"(int* c) { atomicAnd(c, 0); }"},
      {"(int* c) { atomicCAS(c, 0, 1); }"},
      {"(unsigned* c) { atomicInc(c, 10u); }"},
      {"(unsigned* c) { atomicDec(c, 10u); }"},
      {"(int* c) { int old = *c, seen; do { seen = old; old = atomicCAS(c, seen, 7); } while (old != seen); }"},
      {"(int* c) { int old = 0, seen; do { seen = old; old = atomicCAS(c, seen, seen + 1); } while (old != seen); }"},
      {"(int* c) { atomicAdd(c, 1); atomicMax(c + 1, 1); }"},
      {"(int* c) { atomicAdd(c, 1); atomicAdd((unsigned long long*)c, 1ull); }"},
      {"(int* c) { atomicMax(c, 1); atomicMax((unsigned*)c, 1u); }"},
      {"(int* c, int* out) { *out = atomicAdd(c, 0); }", 1, 0},
      {"(int* c, int* out) { *out = __atomic_load_n(c, __ATOMIC_RELAXED); }", 1, 0},
      {"(int* c, int* out) { *out = __atomic_load_n(c, __ATOMIC_RELAXED); atomicAdd(c + 1, 1); }"},
      {"(int* c, int* out) { atomicAdd(c, 1); *out = *c; }"},
      {"(int* c) { if (threadIdx.x == 0) *c = 0; __syncthreads(); atomicAdd(c, 1); }"},
      {"(int* a, int* b, int k) { int* p = k ? a : b; atomicAdd(p, 1); *p = 2; }"},
      {"(int** a, int* b) { *a = b; atomicAdd(b, 1); }"},
      {"(int** a, int* b) { atomicAdd(*a, 1); *b = 1; }", 1, 0},  // what it leads to was never told
      {"(long long* a, int* b) { atomicAdd((int*)*a, 1); atomicAdd((unsigned long long*)a, (unsigned long long)b); }"},
  };
  std::string all;  // in one source, since a compilation takes long
  for (const Kernel& kernel : kernels)
    all += "extern \"C\" __global__ void k" + std::to_string(&kernel - kernels) + kernel.code + "\n";
  const auto module = device().compile(all);
  for (const Kernel& kernel : kernels) {
    CAPTURE(std::string(kernel.code));
    const auto made = module->untyped_kernel("k" + std::to_string(&kernel - kernels));
    if (made->properties().tier != "workgroup") continue;  // there is no work-group pass
    std::uint64_t reads = 0, atomic = 0;
    std::vector<UpdateKind> updates;
    for (std::size_t i = 0; i < made->parameters().size(); ++i) {
      const weir::Parameter& parameter = made->parameters()[i];
      if (parameter.access == weir::AccessKind::read) reads |= std::uint64_t{1} << i;
      if (parameter.access != weir::AccessKind::atomic) continue;
      atomic |= std::uint64_t{1} << i;
      updates.push_back(parameter.update);
    }
    CHECK(reads == kernel.reads);
    CHECK(atomic == kernel.atomic);
    CHECK(updates == kernel.updates);
  }
}

TEST_CASE("tools: the prelude's own loops add") {
  constexpr const char* source = R"(
#include <cuda_bf16.h>
#include <cuda_fp16.h>
extern "C" __global__ void k(half* a, half2* b, __nv_bfloat16* c, __nv_bfloat162* d, half* e, half x, half2 xx,
                             __nv_bfloat16 y, __nv_bfloat162 yy) {
  atomicAdd(a, x);
  atomicAdd(b, xx);
  atomicAdd(c, y);
  atomicAdd(d, yy);
  unsigned short old = 0, seen;
  do {
    seen = old;
    __atomic_compare_exchange_n((unsigned short*)e, &old, seen + 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  } while (old != seen);
})";
  const auto kernel = device().compile(source)->untyped_kernel("k");
  if (kernel->properties().tier != "workgroup") return;  // there is no work-group pass
  const auto parameters = kernel->parameters();
  CHECK(parameters[0].update == weir::UpdateKind::add_half);
  CHECK(parameters[1].update == weir::UpdateKind::add_half);
  CHECK(parameters[2].update == weir::UpdateKind::add_bfloat16);
  CHECK(parameters[3].update == weir::UpdateKind::add_bfloat16);
  CHECK(parameters[4].update == weir::UpdateKind::unknown);
}

TEST_CASE("tools: what a tool throws is the caller's, and the operation is not made") {
  const auto stream = device().create_stream();
  const auto x = device().allocate<int>(4, weir::MemoryKind::pinned);
  stream->fill(x, 1);
  stream->synchronize();
  Recorder& tool = recorder();
  tool.on_before = [](const Operation& operation) {
    if (operation.kind == OperationKind::fill) throw weir::Error(weir::Errc::out_of_memory, "test", "", "refused");
  };
  CHECK_THROWS_AS(stream->fill(x, 2), weir::Error);
  tool.on_before = nullptr;
  stream->synchronize();
  CHECK(x.host()[0] == 1);
  const auto seen = tool.take();
  CHECK(seen[0].operation.kind == OperationKind::fill);
  CHECK_FALSE(seen[1].is_after);  // `after` is told to those alone whose `before` returned
}

TEST_CASE("tools: no free is refused, whatever a tool throws") {
  const auto stream = device().create_stream();
  auto x = device().allocate<int>(4), y = stream->allocate_async<int>(4);
  Recorder& tool = recorder();
  tool.on_before = [](const Operation&) { throw 1; };
  x.reset();
  y.reset();
  tool.on_before = nullptr;
  stream->synchronize();
}

TEST_CASE("tools: a tool that refuses the end of a capture loses the graph, and the stream works on") {
  const auto stream = device().create_stream();
  const auto x = device().allocate<float>(100);
  Recorder& tool = recorder();
  tool.on_before = [](const Operation& operation) {
    if (operation.kind == OperationKind::end_capture) throw std::runtime_error("not today");
  };
  stream->begin_capture();
  stream->fill(x, 1.0F);
  CHECK_THROWS_WITH((void)stream->end_capture(), "not today");
  tool.on_before = nullptr;
  CHECK_FALSE(stream->is_capturing());
  stream->fill(x, 3.0F);
  CHECK(stream->read(x).front() == 3.0F);
  CHECK(stream->capture([&](weir::Stream& s) { s.fill(x, 2.0F); })->node_count() == 1);
}

TEST_CASE("tools: what a tool does itself is shown to no tool") {
  const auto stream = device().create_stream(), other = device().create_stream();
  const auto x = device().allocate<int>(4);
  Recorder& tool = recorder();
  tool.on_before = [&](const Operation&) {
    (void)other->record();
    other->launch_host_function([] {});
    other->add_callback([](weir::Stream&, std::error_code) {});
  };
  stream->fill(x, 1);
  tool.on_before = nullptr;
  CHECK(tool.take().size() == 2);
  other->synchronize();
  CHECK(tool.functions.empty());
}

TEST_CASE("tools: order, captures and graphs") {
  const auto a = device().create_stream(), b = device().create_stream();
  const auto x = device().allocate<int>(4);
  Recorder& tool = recorder();
  const auto event = a->record();
  b->wait(event);
  b->wait(a);
  b->wait(b);  // does nothing
  CHECK(event->is_complete());
  auto seen = tool.take();
  REQUIRE(kinds_of(seen) ==
          std::vector{OperationKind::record, OperationKind::wait_event, OperationKind::wait_stream, OperationKind::query});
  CHECK(seen[0].operation.event == event.get());
  CHECK(seen[4].operation.awaited == seen[0].operation.stream_key);
  CHECK(seen[7].operation.is_complete);

  const auto graph = a->capture([&](weir::Stream& stream) { stream.fill(x, 1); });
  const auto exec = graph->instantiate();
  exec->launch(*a);
  a->synchronize();
  seen = tool.take();
  REQUIRE(kinds_of(seen) == std::vector{OperationKind::begin_capture, OperationKind::fill, OperationKind::end_capture,
                                        OperationKind::instantiate, OperationKind::launch_graph,
                                        OperationKind::synchronize});
  CHECK(seen[1].operation.capture != 0);
  CHECK(seen[2].operation.capture == seen[1].operation.capture);
  CHECK(seen[5].operation.capture == seen[1].operation.capture);
  CHECK(seen[5].operation.new_graph == graph.get());
  CHECK(seen[7].operation.graph == graph.get());
  CHECK(seen[7].operation.exec == exec.get());
  CHECK(seen[8].operation.exec == exec.get());
  CHECK(seen[8].operation.capture == 0);
}

TEST_CASE("tools: host functions and the host's accesses") {
  const auto stream = device().create_stream();
  const auto x = device().allocate<int>(4, weir::MemoryKind::pinned);
  Recorder& tool = recorder();
  stream->launch_host_function([&] { x.host()[0] = 1; });
  stream->synchronize();
  x.host()[1] = 1;
  const auto seen = tool.take();
  std::vector<Seen> accesses;
  std::uint64_t function = 0;
  for (const Seen& each : seen) {
    if (each.operation.kind == OperationKind::host_function) function = each.operation.id;
    if (each.operation.kind == OperationKind::host_access && !each.is_after) accesses.push_back(each);
  }
  REQUIRE(accesses.size() == 2);
  CHECK(accesses[0].operation.host_function == function);
  CHECK(accesses[1].operation.host_function == 0);
  CHECK(accesses[1].operation.allocation == x.allocation().get());
  CHECK(is(accesses[1].accesses[0], x.data(), 16, AccessKind::read_write));
  CHECK(tool.functions == std::vector<std::uint64_t>{function, function});
}

TEST_CASE("tools: the nodes of a launch are told as they end, and those of a graph within it before that one") {
  const auto stream = device().create_stream();
  const auto x = device().allocate<float>(100), y = device().allocate<float>(100);
  const auto rounds = device().allocate<std::uint32_t>(1);
  const auto kernel = device().compile(source, {.kernels = {"scale"}})->untyped_kernel("scale");
  const auto inner = stream->capture([&](weir::Stream& s) { s.fill(x, 1.0F); });
  const auto exec = stream
                        ->capture([&](weir::Stream& s) {
                          s.add_child_graph(*inner);
                          s.launch(kernel, {1, 128}, 100U, 2.0F, x, y);
                          s.capture_if(rounds.data(), [&](weir::Stream& body) { body.copy(x, y); });
                        })
                        ->instantiate();
  stream->fill(rounds, 1U);
  Recorder& tool = recorder();
  exec->launch(*stream);
  exec->launch(*stream);
  stream->synchronize();
  const auto seen = tool.take();
  REQUIRE(tool.nodes.size() == 10);
  for (std::size_t i = 0; i < 10; ++i) {
    const weir::NodeRun& node = tool.nodes[i];
    const weir::NodeRun* const launch = &tool.nodes[i / 5 * 5];  // the first node of that launch
    constexpr weir::NodeKind kinds[] = {weir::NodeKind::fill, weir::NodeKind::child_graph, weir::NodeKind::kernel,
                                        weir::NodeKind::copy, weir::NodeKind::conditional};
    CAPTURE(i);
    CHECK(node.launch == seen[i / 5 * 2].operation.id);
    CHECK(node.kind == kinds[i % 5]);
    CHECK(tool.kernels[i] == (i % 5 == 2 ? "scale" : ""));
    CHECK(node.bytes == (i % 5 == 0 || i % 5 == 3 ? 400U : 0U));
    CHECK(node.parent == (i % 5 == 0 ? launch[1].node : i % 5 == 3 ? launch[4].node : nullptr));
    CHECK(node.begin <= node.end);
    if (i % 5 == 0) CHECK(launch[1].begin <= node.begin);
    if (i % 5 == 3) CHECK(launch[4].begin <= node.begin);
    if (i % 5 != 0) CHECK(tool.nodes[i - 1].end <= node.end);
  }
}

TEST_CASE("tools: memory comes and goes") {
  const auto stream = device().create_stream();
  Recorder& tool = recorder();
  {
    const auto x = device().allocate<int>(4);
    const auto y = stream->allocate_async<int>(8);
  }
  const auto seen = tool.take();
  REQUIRE(kinds_of(seen) ==
          std::vector{OperationKind::allocate, OperationKind::allocate, OperationKind::free, OperationKind::free});
  CHECK(seen[1].operation.stream == nullptr);
  CHECK(seen[3].operation.stream == stream.get());
  CHECK(seen[4].operation.stream == stream.get());
  CHECK(seen[4].accesses[0].address == seen[3].accesses[0].address);
  CHECK(seen[6].accesses[0].address == seen[1].accesses[0].address);
  CHECK(seen[6].accesses[0].bytes == 16);
}

TEST_CASE("read: a global capture that begins behind its copy does not keep it from waiting") {
  const auto stream = device().create_stream(), other = device().create_stream();
  const auto memory = device().allocate<int>(1000);
  stream->fill(memory, 7);
  recorder().on_before = [&](const Operation& operation) {
    if (operation.kind == OperationKind::copy) other->begin_capture(weir::CaptureMode::global);
  };
  std::vector<int> read;
  CHECK_NOTHROW(read = stream->read(memory));
  CHECK(read == std::vector<int>(1000, 7));
  recorder();
  CHECK(other->is_capturing());
  (void)other->end_capture();
}

TEST_CASE("a capture that another thread is about to end is not there to be discarded") {
  const auto stream = device().create_stream();
  stream->begin_capture(weir::CaptureMode::relaxed);
  weir::Errc refused{};
  recorder().on_before = [&](const Operation& operation) {
    if (operation.kind != OperationKind::end_capture) return;
    std::thread([&] {
      try {
        stream->discard_capture();
      } catch (const weir::Error& error) {
        refused = error.errc();
      }
    }).join();
  };
  CHECK(stream->end_capture() != nullptr);
  CHECK(refused == weir::Errc::not_capturing);
  recorder();
}

TEST_CASE("read: an error of a tool that refuses its wait comes when the copy is done") {
  const auto stream = device().create_stream();
  const auto memory = device().allocate<int>(1000);
  stream->fill(memory, 7);
  std::promise<void> refused;
  stream->launch_host_function([&] {  // the copy is behind it
    refused.get_future().wait();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  });
  recorder().on_before = [&](const Operation& operation) {
    if (operation.kind != OperationKind::synchronize) return;
    refused.set_value();
    throw weir::Error(weir::Errc::backend_failure, "the tool", "", "no wait");
  };
  std::vector<int> read(1000);
  CHECK_THROWS_WITH_AS(weir::detail::read_bytes(*stream, read.data(), memory.data(), 4000), doctest::Contains("no wait"),
                       weir::Error);
  CHECK(read == std::vector<int>(1000, 7));
  recorder();
  stream->synchronize();
}

TEST_CASE("tools: a tool cannot come late, and one that is not there is an error") {
  device();
  CHECK(weir::Tools::any());
  CHECK_THROWS_WITH_AS(weir::Tools::add(std::make_unique<Recorder>()), doctest::Contains("add tools at the beginning"),
                       weir::Error);
  const auto child = [](const char* tools) { return weir::test::run_program("right_halves", {{"WEIR_TOOLS", tools}}); };
  CHECK(child("race,timeline,race").complains("'race' is listed twice; list each tool once"));
  CHECK(child("nosuch").complains("tool nosuch: its library libweir_tool_nosuch.so was not found"));
  CHECK(child("").complains("WEIR_TOOLS=''"));
  CHECK(child("../race").complains("'../race' is not a valid name of a tool"));
  CHECK(child("race").status == 0);
}

TEST_CASE("tools: a tool, or a backend, whose file is cut short is an error, and no signal") {
  const weir::test::TemporaryFolder temporary;
  for (const std::string name : {"libweir_tool_race.so", "libweir_host.so"}) {
    const std::string copy = temporary.copy(std::filesystem::path(WEIR_TEST_RACE).parent_path() / name, name);
    const std::uintmax_t step = std::filesystem::file_size(copy) / 12;
    for (std::uintmax_t size = std::filesystem::file_size(copy) - 1; size > step; size -= step) {
      CAPTURE(size);
      std::filesystem::resize_file(copy, size);
      const auto outcome =
          weir::test::run_program("right_halves", {{"WEIR_TOOLS", "race"}, {"WEIR_PLUGIN_PATH", temporary.path()}});
      CHECK(outcome.status == 1);
      CHECK(outcome.complains(copy + " cannot be used: it is truncated: "));
    }
    std::filesystem::remove(copy);
  }
}
