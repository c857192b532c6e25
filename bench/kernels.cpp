// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <fmt/format.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "kernel_sources.hpp"
#include "weir/weir.hpp"

#ifdef WEIR_BENCH_OPENCL
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#endif

namespace {

constexpr const char* usage =
    R"(weir-bench-kernels [--processor-time] [--march=NAME] [--bundles=FOLDER] [ROUNDS [WORD]]
weir-bench-kernels --compile FILE

Kernels on the CPU beside loops with OpenMP and beside an OpenCL runtime (PoCL): the same results, in turns in one run.
With WORD, those whose name contains it. What is shown is work in a second, by the median of the rounds; in parentheses,
Weir's over the other's.

  --processor-time  a second of a processor's time, which other programs on the machine change less than a second
  --march=NAME      for that processor, as the compiler calls it: x86-64-v3 or native; PoCL always compiles for this one
  --bundles=FOLDER  takes kernels that weir-kernels compiled, for a machine without Clang: FOLDER/FILE.bundle, and with
                    --define RESTRICT= FOLDER/FILE-plain.bundle
  --compile FILE    compiles bench/kernels/FILE.cu with an empty cache, and ends
)";

bool by_processor_time = false;

double now() {
  timespec t{};
  ::clock_gettime(by_processor_time ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}
/// Returns how many processors this process may use, such as 1 under `taskset -c 0`.
int usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}
/// Returns the time of work with warm caches. It sleeps first, because threads of OpenMP and PoCL spin for a while after
/// their work and would occupy processors.
double seconds_of(const std::function<void()>& work) {
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  work();
  const double begin = now();
  work();
  return now() - begin;
}
double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<long>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

#ifdef WEIR_BENCH_OPENCL
class OpenCl {
 public:
  OpenCl() {
    cl_uint platforms = 0;
    cl_platform_id platform = nullptr;
    if (clGetPlatformIDs(1, &platform, &platforms) != CL_SUCCESS || platforms == 0) return;
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &device_, nullptr) != CL_SUCCESS) return;
    char name[256] = {};
    clGetPlatformInfo(platform, CL_PLATFORM_VERSION, sizeof(name) - 1, name, nullptr);
    name_ = name;
    context_ = clCreateContext(nullptr, 1, &device_, nullptr, nullptr, nullptr);
    queue_ = clCreateCommandQueue(context_, device_, 0, nullptr);
    program_ = clCreateProgramWithSource(context_, 1, &sources::opencl, nullptr, nullptr);
    if (clBuildProgram(program_, 1, &device_, "-cl-mad-enable", nullptr, nullptr) != CL_SUCCESS)
      throw std::runtime_error("OpenCL: the kernels do not build");
  }
  bool usable() const { return queue_ != nullptr; }
  const std::string& name() const { return name_; }

  cl_kernel kernel(const char* name) const { return clCreateKernel(program_, name, nullptr); }
  cl_mem buffer(std::vector<float>& values) const {
    return clCreateBuffer(context_, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, values.size() * 4, values.data(), nullptr);
  }
  template <class... Args>
  void enqueue(cl_kernel kernel, const weir::LaunchConfig& config, const Args&... args) const {
    cl_uint i = 0;
    (clSetKernelArg(kernel, i++, sizeof(args), &args), ...);
    const std::size_t local[] = {config.block.x, config.block.y};
    const std::size_t global[] = {config.grid.x * local[0], config.grid.y * local[1]};
    if (clEnqueueNDRangeKernel(queue_, kernel, 2, nullptr, global, local, 0, nullptr, nullptr) != CL_SUCCESS)
      throw std::runtime_error("OpenCL: a kernel cannot be run");
  }
  void finish() const { clFinish(queue_); }

 private:
  cl_device_id device_ = nullptr;
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
  cl_program program_ = nullptr;
  std::string name_;
};
#endif

/// The memory that all versions of a kernel use: Weir's, the OpenMP loop and OpenCL's.
struct Data {
  std::shared_ptr<weir::Buffer<float>> buffer;
#ifdef WEIR_BENCH_OPENCL
  cl_mem memory = nullptr;
#endif
};

struct Case {
  std::string name;
  double work;  // amount of work of one run, in `unit`
  const char* unit;
  Data result;
  std::function<void()> weir;
  std::vector<std::function<void()>> openmp;  // one function for each compiler
  std::function<void()> opencl;
};

class Bench {
 public:
  /// `word`: only cases whose names contain it are run.
  Bench(const std::string& folder, const std::string& march, std::string bundles, std::string word)
      : bundles_(std::move(bundles)), word_(std::move(word)) {
    if (march != "native") options_.extra.push_back("-march=" + march);
    for (const char* compiler : {"GCC", "Clang"}) {
      const std::string path = fmt::format("{}/weir-bench-openmp-{}-{}.so", folder, compiler, march);
      if (!std::filesystem::exists(path)) continue;
      void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (library == nullptr) throw std::runtime_error(::dlerror());
      loops_.emplace_back(fmt::format("OpenMP, {}", compiler), library);
    }
  }

  Data random(std::size_t n) {
    std::vector<float> values(n);
    for (float& f : values) f = distribution_(generator_);
    Data data{std::make_shared<weir::Buffer<float>>(device_.allocate<float>(n))};
    std::copy(values.begin(), values.end(), data.buffer->data());
#ifdef WEIR_BENCH_OPENCL
    if (cl_.usable()) data.memory = cl_.buffer(values);
#endif
    return data;
  }

  /// The kernel of a case. `config` and the arguments are the same for Weir and OpenCL.
  struct Kernel {
    const char* name;
    const char* opencl_name;  // null if there is none
    weir::LaunchConfig config;
    int repeats = 1;
    bool plain_pointers = false;  // for everyday.cu: compile it without __restrict__
  };
  template <class... Args>
  Case& add(const std::string& name, double work, const char* unit, const Data& result, const Kernel& kernel,
            const Args&... arguments) {
    Case c{name, work * kernel.repeats, unit, result, {}, {}, {}};
    c.weir = [=, this] {
      const weir::KernelPtr& of_weir = find(kernel.name, kernel.plain_pointers);
      for (int r = 0; r < kernel.repeats; ++r) stream_->launch(of_weir, kernel.config, of_device(arguments)...);
      stream_->synchronize();
    };
#ifdef WEIR_BENCH_OPENCL
    if (cl_.usable() && kernel.opencl_name != nullptr) {
      c.opencl = [=, this, of_opencl = cl_.kernel(kernel.opencl_name)] {
        for (int r = 0; r < kernel.repeats; ++r) cl_.enqueue(of_opencl, kernel.config, of_opencl_device(arguments)...);
        cl_.finish();
      };
    }
#endif
    cases_.push_back(c);
    return cases_.back();
  }
  /// Adds an OpenMP loop that computes the same result as a case.
  template <class... Args>
  void beside(Case& c, int repeats, const char* name, const Args&... arguments) {
    for (const auto& [side, library] : loops_) {
      auto* const loop = reinterpret_cast<void (*)(decltype(of_host(arguments))...)>(::dlsym(library, name));
      if (loop == nullptr) throw std::runtime_error(fmt::format("no loop is called {}", name));
      c.openmp.push_back([=] {
        for (int r = 0; r < repeats; ++r) loop(of_host(arguments)...);
      });
    }
  }

  bool wants(const std::string& name) const { return name.find(word_) != std::string::npos; }

  void run(int rounds) {
    std::string setting = fmt::format("{} threads", usable_processors());
#ifdef WEIR_BENCH_OPENCL
    if (cl_.usable()) setting += "; " + cl_.name();
#endif
    fmt::print("{}\n| kernel | Weir |", setting);
    for (const auto& loops : loops_) fmt::print(" {} |", loops.first);
    fmt::print(" OpenCL | unit |\n");
    for (const Case& c : cases_) {
      if (!wants(c.name)) continue;
      check(c);
      std::vector<const std::function<void()>*> sides{&c.weir};
      for (const auto& side : c.openmp) sides.push_back(&side);
      sides.push_back(&c.opencl);
      std::vector<std::vector<double>> times(sides.size());
      for (int r = 0; r < rounds; ++r) {
        for (std::size_t s = 0; s < sides.size(); ++s) {
          if (*sides[s]) times[s].push_back(seconds_of(*sides[s]));
        }
      }
      const double processors = by_processor_time ? usable_processors() : 1;
      const auto speed = [&](const std::vector<double>& of_side) { return c.work * processors / median(of_side); };
      fmt::print("| {} |", c.name);
      for (const std::vector<double>& of_side : times) {
        if (of_side.empty()) {
          fmt::print(" – |");
        } else if (&of_side == times.data()) {
          fmt::print(" {:.4g} |", speed(of_side));
        } else {
          fmt::print(" {:.4g} ({:.2f}) |", speed(of_side), speed(times[0]) / speed(of_side));
        }
      }
      fmt::print(" {} |\n", c.unit);
      std::fflush(stdout);
    }
  }

 private:
  const weir::KernelPtr& find(const std::string& name, bool plain_pointers) {
    weir::KernelPtr& kernel = kernels_[{name, plain_pointers}];
    for (const auto& [source, text] : sources::cuda) {
      if (kernel != nullptr || std::strstr(text, (" " + name + "(").c_str()) == nullptr) continue;
      weir::ModulePtr& module = modules_[{source, plain_pointers}];
      weir::CompileOptions options = options_;
      if (plain_pointers) options.extra.push_back("-DRESTRICT=");
      if (module == nullptr && !bundles_.empty()) {
        module = device_.load(
            weir::KernelBundle(file(fmt::format("{}/{}{}.bundle", bundles_, source, plain_pointers ? "-plain" : ""))));
      }
      if (module == nullptr) module = device_.compile(text, options);
      kernel = module->untyped_kernel(name);
    }
    return kernel;
  }

  static std::vector<std::byte> file(const std::string& path) {
    std::vector<std::byte> bytes(std::filesystem::file_size(path));
    std::ifstream(path, std::ios::binary)
        .read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return bytes;
  }

  template <class T>
  static const T& of_device(const T& value) {
    return value;
  }
  static const weir::Buffer<float>& of_device(const Data& data) { return *data.buffer; }
  template <class T>
  static T of_host(const T& value) {
    return value;
  }
  static float* of_host(const Data& data) { return data.buffer->data(); }
#ifdef WEIR_BENCH_OPENCL
  template <class T>
  static const T& of_opencl_device(const T& value) {
    return value;
  }
  static const cl_mem& of_opencl_device(const Data& data) { return data.memory; }
#endif

  // Checks that Weir's result is equal to the loops' results.
  static void check(const Case& c) {
    if (c.openmp.empty()) return;
    const auto memory = [&] { return c.result.buffer->data(); };
    const std::size_t count = c.result.buffer->size();
    const std::vector<float> before(memory(), memory() + count);
    c.weir();
    const std::vector<float> ours(memory(), memory() + count);
    std::copy(before.begin(), before.end(), memory());
    c.openmp[0]();
    for (std::size_t i = 0; i < count; ++i) {
      const float a = ours[i], b = memory()[i];
      if (std::memcmp(&a, &b, 4) == 0 || std::abs(a - b) <= 1e-3F * std::max(1.0F, std::abs(b))) continue;
      throw std::runtime_error(fmt::format("{}: element {} is {} and should be {}", c.name, i, a, b));
    }
  }

  weir::Device& device_ = weir::device("host:0");
  weir::StreamPtr stream_ = device_.create_stream();
  std::string bundles_, word_;
  weir::CompileOptions options_;
  std::map<std::pair<std::string, bool>, weir::ModulePtr> modules_;
  std::map<std::pair<std::string, bool>, weir::KernelPtr> kernels_;
  std::vector<std::pair<std::string, void*>> loops_;
#ifdef WEIR_BENCH_OPENCL
  OpenCl cl_;
#endif
  std::mt19937 generator_{1};
  std::uniform_real_distribution<float> distribution_{-1, 1};
  std::deque<Case> cases_;
};

void add_cases(Bench& bench) {
  constexpr unsigned threads = 256;
  const auto saxpy = [&](const char* name, const char* kernel, std::size_t bytes, unsigned blocks) {
    if (!bench.wants(name)) return;
    const std::size_t count = bytes / 4;
    const int n = static_cast<int>(count), repeats = static_cast<int>((std::size_t{128} << 20U) / bytes);
    const Data x = bench.random(count), y = bench.random(count);
    Case& c = bench.add(name, 12e-9 * n, "GB/s", y, {kernel, kernel, {blocks, threads}, repeats}, n, 1e-3F, x, y);
    bench.beside(c, repeats, "saxpy", n, 1e-3F, x, y);
  };
  saxpy("saxpy 16 KiB", "saxpy", std::size_t{16} << 10U, 16);
  saxpy("saxpy 256 KiB", "saxpy", std::size_t{256} << 10U, 256);
  saxpy("saxpy 4 MiB", "saxpy", std::size_t{4} << 20U, 4096);
  saxpy("saxpy 4 MiB, grid-stride", "saxpy_strided", std::size_t{4} << 20U, 64);
  saxpy("saxpy 128 MiB", "saxpy", std::size_t{128} << 20U, 131072);
  {
    constexpr int n = 512;
    const Data a = bench.random(n * n), b = bench.random(n * n), c = bench.random(n * n);
    for (const auto& [name, kernel, tile] : {std::tuple("product 512, tiles of 16", "product", 16U),
                                             std::tuple("product 512, register tiles", "product_registers", 64U)}) {
      Case& made =
          bench.add(name, 2e-9 * n * n * n, "GFLOP/s", c, {kernel, kernel, {{n / tile, n / tile}, {16, 16}}}, a, b, c, n);
      bench.beside(made, 1, "product", a, b, c, n);
    }
  }
  {
    constexpr int n = 4 << 20, columns = 2048, rows = n / columns;
    constexpr unsigned blocks = n / threads;
    const Data in = bench.random(n), out = bench.random(n), few = bench.random(n / 32), counts = bench.random(n / 32);
    const auto add_sums = [&](const char* name, const char* kernel, int length) {
      Case& c = bench.add(name, 4e-9 * n, "GB/s", few, {kernel, "tree_sum", {blocks, threads}}, in, few, n);
      bench.beside(c, 1, "sums", in, few, n, length);
    };
    add_sums("sums of 256, a tree", "tree_sum", 256);
    add_sums("sums of 256, shuffles", "shuffle_sum", 256);
    add_sums("sums of 32, shuffles", "warp_sums", 32);
    // The kernel computes 64 partial sums, the loop their sum.
    Case& c = bench.add("sum, grid-stride", 4e-9 * n, "GB/s", in, {"strided_sum", nullptr, {64, threads}}, in, few, n);
    bench.beside(c, 1, "total", in, few, n);
    for (const auto& [name, kernel] :
         {std::pair("scan of 256, barriers", "scan"), std::pair("scan of 256, shuffles", "shuffle_scan")})
      bench.beside(bench.add(name, 8e-9 * n, "GB/s", out, {kernel, "scan", {blocks, threads}}, in, out), 1, "scan", in, out,
                   n);
    bench.beside(bench.add("softmax 2048 x 2048, barriers", 1e-9 * n, "10^9 elements/s", out,
                           {"softmax", "softmax", {rows, threads}}, in, out, columns),
                 1, "softmax", in, out, rows, columns);
    bench.beside(bench.add("softmax 2048 x 2048, shuffles", 1e-9 * n, "10^9 elements/s", out,
                           {"warp_softmax", nullptr, {rows / 8, threads}}, in, out, columns),
                 1, "softmax", in, out, rows, columns);
    const Data weight = bench.random(columns), bias = bench.random(columns);
    bench.beside(bench.add("layer norm 2048 x 2048", 1e-9 * n, "10^9 elements/s", out,
                           {"layer_norm", "layer_norm", {rows, threads}}, in, weight, bias, out, columns),
                 1, "layer_norm", in, weight, bias, out, rows, columns);
    bench.beside(bench.add("histogram of 256", 1e-9 * n, "10^9 elements/s", few, {"histogram", "histogram", {64, threads}},
                           in, few, n),
                 1, "histogram", in, few, n);
    bench.beside(bench.add("compaction in warps", 1e-9 * n, "10^9 elements/s", counts,
                           {"compaction", nullptr, {blocks, threads}}, in, out, counts, n),
                 1, "compaction", in, out, counts, n);
  }
  {
    constexpr int tokens = 512, heads = 4;
    constexpr std::size_t count = std::size_t{tokens} * heads * 64;
    const Data q = bench.random(count), k = bench.random(count), v = bench.random(count), out = bench.random(count);
    bench.beside(bench.add("attention, 4 heads of 512 tokens", 256e-9 * heads * tokens * tokens, "GFLOP/s", out,
                           {"attention", "attention", {{tokens / 64, heads}, 64}}, q, k, v, out, tokens),
                 1, "attention", q, k, v, out, heads, tokens);
  }
  {
    constexpr int n = 4096;
    const Data x = bench.random(n), y = bench.random(n), z = bench.random(n), force = bench.random(n);
    bench.beside(bench.add("n-body 4096", 1e-9 * n * n, "10^9 pairs/s", force, {"bodies", "bodies", {n / 128, 128}}, x, y, z,
                           force, n),
                 1, "bodies", x, y, z, force, n);
  }
  {
    constexpr int width = 2048;
    const Data in = bench.random((width + 2) * (width + 2)), out = bench.random(width * width);
    bench.beside(bench.add("stencil 2048 x 2048", 8e-9 * width * width, "GB/s", out,
                           {"stencil", "stencil", {{width / 16, width / 16}, {16, 16}}}, in, out, width),
                 1, "stencil", in, out, width);
  }
}

// Adds the kernels of everyday.cu, with and without __restrict__.
void add_everyday_cases(Bench& bench) {
  constexpr unsigned threads = 256;
  // sizes that fit the second-level or the third-level cache
  constexpr int n = 1 << 20, width = 512, columns = 1024, rows = 1024;
  const Data in = bench.random(n), out = bench.random(n);
  const Data weight = bench.random(columns), bias = bench.random(columns);
  for (const bool plain : {false, true}) {
    const auto of = [&](const char* kernel, const weir::LaunchConfig& config, int repeats = 1) {
      return Bench::Kernel{kernel, nullptr, config, repeats, plain};
    };
    const auto named = [&](const std::string& name) { return name + (plain ? "" : ", restrict"); };
    for (const auto& [name, kernel, count, blocks] :
         {std::tuple("guarded saxpy 64 KiB", "guarded_saxpy", 1 << 14, 64U),
          std::tuple("guarded saxpy 4 MiB", "guarded_saxpy", n, n / threads),
          std::tuple("saxpy 4 MiB, early return", "returning_saxpy", n, n / threads),
          std::tuple("saxpy 4 MiB, in a function", "calling_saxpy", n, n / threads),
          std::tuple("strided saxpy 4 MiB", "strided_saxpy", n, 64U)}) {
      const int repeats = 16 * n / count;
      bench.beside(
          bench.add(named(name), 12e-9 * count, "GB/s", out, of(kernel, {blocks, threads}, repeats), count, 1e-3F, in, out),
          repeats, "saxpy", count, 1e-3F, in, out);
    }
    bench.beside(bench.add(named("sigmoid 4 MiB"), 8e-9 * n, "GB/s", out, of("sigmoid", {n / threads, threads}), in, out, n),
                 1, "sigmoid", in, out, n);
    for (const auto& [name, kernel, loop] :
         {std::tuple("image 512 x 512, and", "image_and", "image"), std::tuple("image 512 x 512, or", "image_or", "image"),
          std::tuple("image 512 x 512, nested", "image_nested", "image"),
          std::tuple("inner stencil 512 x 512", "inner_stencil", "inner_stencil")}) {
      bench.beside(bench.add(named(name), 8e-9 * width * width, "GB/s", out,
                             of(kernel, {{width / 32, width / 8}, {32, 8}}, 32), in, out, width, width),
                   32, loop, in, out, width, width);
    }
    bench.beside(
        bench.add(named("sums of 256, down"), 4e-9 * n, "GB/s", out, of("down_sum", {n / threads, threads}), in, out, n), 1,
        "sums", in, out, n, static_cast<int>(threads));
    // The kernel computes 64 partial sums, the loop their sum.
    bench.beside(
        bench.add(named("strided sum, down"), 4e-9 * n, "GB/s", in, of("strided_down_sum", {64, threads}), in, out, n), 1,
        "total", in, out, n);
    bench.beside(bench.add(named("softmax 1024 x 1024, a warp a row"), 1e-9 * rows * columns, "10^9 elements/s", out,
                           of("row_softmax", {rows / 8, threads}), in, out, rows, columns),
                 1, "softmax", in, out, rows, columns);
    bench.beside(bench.add(named("layer norm 1024 x 1024"), 1e-9 * rows * columns, "10^9 elements/s", out,
                           of("block_layer_norm", {rows, threads}), in, weight, bias, out, columns),
                 1, "layer_norm", in, weight, bias, out, rows, columns);
  }
}

/// A cache folder for this process. The destructor removes it.
class CacheFolder {
 public:
  CacheFolder() : path_(std::filesystem::temp_directory_path() / fmt::format("weir-bench-{}", ::getpid())) {
    std::filesystem::create_directories(path_ / "pocl");
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
    ::setenv("WEIR_CACHE_DIR", (path_ / "weir").c_str(), 1);
    ::setenv("POCL_CACHE_DIR", (path_ / "pocl").c_str(), 1);
  }
  CacheFolder(const CacheFolder&) = delete;
  ~CacheFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

 private:
  std::filesystem::path path_;
};

}  // namespace

int main(int argc, char** argv) try {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const CacheFolder cache;
  std::string march = "native", bundles;
  std::vector<std::string> rest;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--processor-time") {
      by_processor_time = true;
    } else if (arguments[i].starts_with("--march=")) {
      march = arguments[i].substr(8);
    } else if (arguments[i].starts_with("--bundles=")) {
      bundles = arguments[i].substr(10);
    } else if (arguments[i] == "--compile" && i + 1 < arguments.size()) {
      for (const auto& [name, text] : sources::cuda) {
        if (name == arguments[i + 1]) return weir::device("host:0").compile(text) != nullptr ? 0 : 1;
      }
      throw std::invalid_argument(fmt::format("there is no source {}.cu", arguments[i + 1]));
    } else if (arguments[i].starts_with("-")) {
      std::fputs(usage, stderr);
      return 2;
    } else {
      rest.push_back(arguments[i]);
    }
  }
  Bench bench(std::filesystem::read_symlink("/proc/self/exe").parent_path(), march, bundles, rest.size() < 2 ? "" : rest[1]);
  add_cases(bench);
  add_everyday_cases(bench);
  bench.run(rest.empty() ? 21 : std::stoi(rest[0]));
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "weir-bench-kernels: %s\n", e.what());
  return 1;
}
