// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>
#include <omp.h>
#include <tbb/flow_graph.h>
#include <tbb/parallel_for.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "weir/weir.hpp"

#ifdef WEIR_BENCH_OPENCL
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#endif

/// weir-bench-peers: compares the cost of a work queue on the CPU in Weir's host backend, oneTBB's flow graph, OpenMP's
/// tasks and an OpenCL queue (PoCL). All run the same operations in one process, in random order. Each number is the time
/// from the first call to the end of the last operation, divided by the number of operations.
namespace {

constexpr int operations = 5'000;
constexpr int blocks = 4'096, elements = 1 << 20;

constexpr const char* cuda_source = R"(
extern "C" __global__ void nothing() {}
extern "C" __global__ void saxpy(int n, float a, const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
})";

weir::Device& device() { return weir::device("host:0"); }

/// The objects of one side, created on first use and never destroyed.
struct Weir {
  weir::StreamPtr first = device().create_stream(), second = device().create_stream();
  weir::ModulePtr module = device().compile(cuda_source);
  weir::KernelPtr nothing = module->untyped_kernel("nothing"), saxpy = module->untyped_kernel("saxpy");
  weir::Buffer<float> x = device().allocate<float>(elements), y = device().allocate<float>(elements);
};
Weir& weir_side() {
  static auto* const side = new Weir;
  return *side;
}

namespace flow = tbb::flow;
struct Tbb {
  flow::graph graph;
  flow::function_node<int, int> first{graph, flow::serial, [](int i) { return i; }};
  flow::function_node<int, int> pair{graph, flow::serial, [](int i) { return i; }},
      second{graph, flow::serial, [](int i) { return i; }};
  Tbb() { flow::make_edge(pair, second); }
};
Tbb& tbb_side() {
  static auto* const side = new Tbb;
  return *side;
}

struct Arrays {
  std::vector<float> x = std::vector<float>(elements, 1), y = std::vector<float>(elements, 1);
};
Arrays& arrays() {
  static auto* const both = new Arrays;
  return *both;
}

#ifdef WEIR_BENCH_OPENCL
class OpenCl {
 public:
  OpenCl() {
    cl_platform_id platform = nullptr;
    cl_uint platforms = 0;
    if (clGetPlatformIDs(1, &platform, &platforms) != CL_SUCCESS || platforms == 0) return;
    cl_device_id device = nullptr;
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &device, nullptr) != CL_SUCCESS) return;
    char text[256] = {};
    clGetPlatformInfo(platform, CL_PLATFORM_VERSION, sizeof(text) - 1, text, nullptr);
    name = text;
    context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
    first = clCreateCommandQueue(context, device, 0, nullptr);
    second = clCreateCommandQueue(context, device, 0, nullptr);
    const char* source = R"(
      kernel void nothing() {}
      kernel void saxpy(int n, float a, global const float* x, global float* y) {
        const int i = get_global_id(0);
        if (i < n) y[i] = a * x[i] + y[i];
      })";
    const cl_program program = clCreateProgramWithSource(context, 1, &source, nullptr, nullptr);
    if (clBuildProgram(program, 1, &device, "", nullptr, nullptr) != CL_SUCCESS)
      throw std::runtime_error("OpenCL does not build");
    nothing = clCreateKernel(program, "nothing", nullptr);
    saxpy = clCreateKernel(program, "saxpy", nullptr);
    const cl_mem x = buffer(), y = buffer();
    const int n = elements;
    const float a = 1e-6F;
    clSetKernelArg(saxpy, 0, sizeof(n), &n);
    clSetKernelArg(saxpy, 1, sizeof(a), &a);
    clSetKernelArg(saxpy, 2, sizeof(x), &x);
    clSetKernelArg(saxpy, 3, sizeof(y), &y);
  }
  void launch(cl_command_queue queue, cl_kernel kernel, std::size_t threads, std::size_t block,
              const cl_event* wait = nullptr, cl_event* event = nullptr) const {
    if (clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &threads, &block, wait != nullptr ? 1 : 0, wait, event) !=
        CL_SUCCESS)
      throw std::runtime_error("OpenCL does not run a kernel");
  }

  std::string name;
  cl_context context = nullptr;
  cl_command_queue first = nullptr, second = nullptr;
  cl_kernel nothing = nullptr, saxpy = nullptr;

 private:
  cl_mem buffer() const { return clCreateBuffer(context, CL_MEM_READ_WRITE, elements * sizeof(float), nullptr, nullptr); }
};
OpenCl& opencl_side() {
  static auto* const side = new OpenCl;
  return *side;
}
#endif

/// Adds a benchmark. `all` performs `count` operations and waits for them.
void add(const std::string& name, double count, const std::function<void()>& all) {
  benchmark::RegisterBenchmark(
      name.c_str(),
      [all, count](benchmark::State& state) {
        all();
        for (auto _ : state) {
          const auto begin = std::chrono::steady_clock::now();
          all();
          state.SetIterationTime(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / count);
        }
      })
      ->UseManualTime()
      ->Iterations(3);
}

void add_queue() {
  const std::string name = "empty functions in order/";
  add(name + "Weir", operations, [] {
    weir::Stream& s = *weir_side().first;
    for (int i = 0; i < operations; ++i) s.launch_host_function([] {});
    s.synchronize();
  });
  add(name + "oneTBB", operations, [] {
    Tbb& t = tbb_side();
    for (int i = 0; i < operations; ++i) t.first.try_put(i);
    t.graph.wait_for_all();
  });
  add(name + "OpenMP", operations, [] {
    [[maybe_unused]] int x = 0;
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < operations; ++i) {
#pragma omp task depend(inout : x)
      benchmark::ClobberMemory();
    }
  });
}

void add_two_queues() {
  const std::string name = "a function on a queue, then one on another/";
  add(name + "Weir", operations, [] {
    weir::Stream &a = *weir_side().first, &b = *weir_side().second;
    for (int i = 0; i < operations; ++i) {
      a.launch_host_function([] {});
      b.wait(a);
      b.launch_host_function([] {});
    }
    b.synchronize();
  });
  add(name + "oneTBB", operations, [] {
    Tbb& t = tbb_side();
    for (int i = 0; i < operations; ++i) t.pair.try_put(i);
    t.graph.wait_for_all();
  });
  add(name + "OpenMP", operations, [] {
    [[maybe_unused]] int x = 0, y = 0;
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < operations; ++i) {
#pragma omp task depend(inout : x)
      benchmark::ClobberMemory();
#pragma omp task depend(in : x) depend(inout : y)
      benchmark::ClobberMemory();
    }
  });
}

void add_launches() {
  const std::string one = "kernel of one thread in order/", many = "empty kernel of 4096 blocks/", saxpy = "saxpy of 4 MiB/";
  add(one + "Weir", operations, [] {
    weir::Stream& s = *weir_side().first;
    for (int i = 0; i < operations; ++i)
      s.launch(weir_side().nothing, weir::LaunchConfig{.grid = {1, 1, 1}, .block = {1, 1, 1}});
    s.synchronize();
  });
  constexpr int repeats = 20;
  add(many + "Weir", repeats, [] {
    weir::Stream& s = *weir_side().first;
    for (int i = 0; i < repeats; ++i)
      s.launch(weir_side().nothing, weir::LaunchConfig{.grid = {blocks, 1, 1}, .block = {64, 1, 1}});
    s.synchronize();
  });
  add(saxpy + "Weir", repeats, [] {
    Weir& w = weir_side();
    for (int i = 0; i < repeats; ++i) w.first->launch(w.saxpy, weir::grid_for(elements), elements, 1e-6F, w.x, w.y);
    w.first->synchronize();
  });
  add(many + "oneTBB", repeats, [] {
    for (int i = 0; i < repeats; ++i) {
      tbb::parallel_for(0, blocks, [](int) { benchmark::ClobberMemory(); });
    }
  });
  add(saxpy + "oneTBB", repeats, [] {
    for (int r = 0; r < repeats; ++r) {
      tbb::parallel_for(tbb::blocked_range<int>(0, elements),
                        [x = arrays().x.data(), y = arrays().y.data()](const auto& range) {
                          for (int i = range.begin(); i < range.end(); ++i) y[i] = 1e-6F * x[i] + y[i];
                        });
    }
  });
  add(many + "OpenMP", repeats, [] {
    for (int r = 0; r < repeats; ++r) {
#pragma omp parallel for
      for (int i = 0; i < blocks; ++i) benchmark::ClobberMemory();
    }
  });
  add(saxpy + "OpenMP", repeats, [] {
    const float* const x = arrays().x.data();
    float* const y = arrays().y.data();
    for (int r = 0; r < repeats; ++r) {
#pragma omp parallel for simd
      for (int i = 0; i < elements; ++i) y[i] = 1e-6F * x[i] + y[i];
    }
  });
#ifdef WEIR_BENCH_OPENCL
  if (opencl_side().first == nullptr) return;
  add(one + "OpenCL", operations, [] {
    const OpenCl& c = opencl_side();
    for (int i = 0; i < operations; ++i) c.launch(c.first, c.nothing, 1, 1);
    clFinish(c.first);
  });
  add(many + "OpenCL", repeats, [] {
    const OpenCl& c = opencl_side();
    for (int i = 0; i < repeats; ++i) c.launch(c.first, c.nothing, static_cast<std::size_t>(blocks) * 64, 64);
    clFinish(c.first);
  });
  add(saxpy + "OpenCL", repeats, [] {
    const OpenCl& c = opencl_side();
    for (int i = 0; i < repeats; ++i) c.launch(c.first, c.saxpy, elements, 256);
    clFinish(c.first);
  });
  const std::string across = "kernel on a queue, then one on another/";
  add(across + "Weir", operations, [] {
    Weir& w = weir_side();
    const weir::LaunchConfig single{.grid = {1, 1, 1}, .block = {1, 1, 1}};
    for (int i = 0; i < operations; ++i) {
      w.first->launch(w.nothing, single);
      w.second->wait(*w.first);
      w.second->launch(w.nothing, single);
    }
    w.second->synchronize();
  });
  add(across + "OpenCL", operations, [] {
    const OpenCl& c = opencl_side();
    for (int i = 0; i < operations; ++i) {
      cl_event event = nullptr;
      c.launch(c.first, c.nothing, 1, 1, nullptr, &event);
      c.launch(c.second, c.nothing, 1, 1, &event);
      clReleaseEvent(event);
    }
    clFlush(c.first);
    clFinish(c.second);
  });
#endif
}

}  // namespace

int main(int argc, char** argv) try {
  // The second of two adjacent benchmarks profits from warm caches and clocks, so run them in random order.
  std::vector<std::string> arguments(argv, argv + argc);
  arguments.insert(arguments.begin() + 1, {"--benchmark_enable_random_interleaving=true", "--benchmark_repetitions=21"});
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  int count = static_cast<int>(pointers.size());
  add_queue();
  add_two_queues();
  add_launches();
  benchmark::Initialize(&count, pointers.data());
  if (benchmark::ReportUnrecognizedArguments(count, pointers.data())) return 2;
  benchmark::AddCustomContext("device", device().properties().name);
  benchmark::AddCustomContext("threads", std::to_string(omp_get_max_threads()));
#ifdef WEIR_BENCH_OPENCL
  benchmark::AddCustomContext("OpenCL", opencl_side().name);
#endif
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "weir-bench-peers: %s\n", e.what());
  return 1;
}
