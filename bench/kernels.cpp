// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <omp.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "weir/weir.hpp"

#ifdef WEIR_BENCH_OPENCL
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#endif

/// weir-bench-kernels [ROUNDS [WORD]]: kernels on the CPU beside OpenMP loops and an OpenCL runtime (PoCL), the same
/// algorithms, in turns in one run. With WORD, those whose name contains it. What is shown is the median of the rounds;
/// columns in parentheses are Weir's speed over the other's.
namespace {

using Clock = std::chrono::steady_clock;
double seconds_of(const std::function<void()>& work) {
  const auto begin = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}
/// The same once the work runs warm. Threads of OpenMP and of PoCL spin for a while after their work, and would take a
/// processor from what runs next.
double seconds_of_warm(const std::function<void()>& work) {
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  work();
  return seconds_of(work);
}
double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<long>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

// The same source for both: the words that differ are macros.
constexpr const char* cuda_words = R"(
#define KERNEL extern "C" __global__ void
#define GLOBAL
#define LOCAL __shared__
#define BARRIER __syncthreads()
#define LID threadIdx.x
#define LIDY threadIdx.y
#define GROUP (int)blockIdx.x
#define GROUPY (int)blockIdx.y
#define LSIZE blockDim.x
#define GID (blockIdx.x * blockDim.x + threadIdx.x)
#define EXP expf
#define RSQRT rsqrtf
#define MAXF fmaxf
)";
constexpr const char* opencl_words = R"(
#define KERNEL kernel void
#define GLOBAL global
#define LOCAL local
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE)
#define LID (int)get_local_id(0)
#define LIDY (int)get_local_id(1)
#define GROUP (int)get_group_id(0)
#define GROUPY (int)get_group_id(1)
#define LSIZE (int)get_local_size(0)
#define GID (int)get_global_id(0)
#define EXP exp
#define RSQRT rsqrt
#define MAXF fmax
)";
constexpr const char* source = R"(
KERNEL saxpy(int n, float a, GLOBAL const float* x, GLOBAL float* y) {
  const int i = GID;
  if (i < n) y[i] = a * x[i] + y[i];
}
KERNEL saxpy_strided(int n, float a, GLOBAL const float* x, GLOBAL float* y, int stride) {
  for (int i = GID; i < n; i += stride) y[i] = a * x[i] + y[i];
}
KERNEL product(GLOBAL const float* a, GLOBAL const float* b, GLOBAL float* c, int n) {
  LOCAL float as[16][16];
  LOCAL float bs[16][16];
  const int x = LID, y = LIDY, row = GROUPY * 16 + y, column = GROUP * 16 + x;
  float sum = 0;
  for (int t = 0; t < n; t += 16) {
    as[y][x] = a[row * n + t + x];
    bs[y][x] = b[(t + y) * n + column];
    BARRIER;
    for (int k = 0; k < 16; ++k) sum += as[y][k] * bs[k][x];
    BARRIER;
  }
  c[row * n + column] = sum;
}
KERNEL reduction(GLOBAL const float* in, GLOBAL float* out, int n) {
  LOCAL float s[256];
  const int t = LID, i = GID;
  s[t] = i < n ? in[i] : 0;
  BARRIER;
  for (int k = LSIZE / 2; k > 0; k /= 2) {
    if (t < k) s[t] += s[t + k];
    BARRIER;
  }
  if (t == 0) out[GROUP] = s[0];
}
KERNEL scan(GLOBAL const float* in, GLOBAL float* out) {
  LOCAL float s[512];
  const int t = LID, i = GID;
  int from = 0;
  s[t] = in[i];
  BARRIER;
  for (int d = 1; d < 256; d *= 2) {
    s[(256 - from) + t] = t >= d ? s[from + t] + s[from + t - d] : s[from + t];
    from = 256 - from;
    BARRIER;
  }
  out[i] = s[from + t];
}
KERNEL bodies(GLOBAL const float* x, GLOBAL const float* y, GLOBAL const float* z, GLOBAL float* force, int n) {
  LOCAL float sx[128];
  LOCAL float sy[128];
  LOCAL float sz[128];
  const int i = GID, t = LID;
  const float mx = x[i], my = y[i], mz = z[i];
  float f = 0;
  for (int first = 0; first < n; first += 128) {
    sx[t] = x[first + t];
    sy[t] = y[first + t];
    sz[t] = z[first + t];
    BARRIER;
    for (int k = 0; k < 128; ++k) {
      const float dx = sx[k] - mx, dy = sy[k] - my, dz = sz[k] - mz;
      const float r = RSQRT(dx * dx + dy * dy + dz * dz + 0.01f);
      f += dx * r * r * r;
    }
    BARRIER;
  }
  force[i] = f;
}
KERNEL stencil(GLOBAL const float* in, GLOBAL float* out, int width) {
  LOCAL float s[18][18];
  const int x = GROUP * 16 + LID, y = GROUPY * 16 + LIDY, lx = LID + 1, ly = LIDY + 1;
  GLOBAL const float* p = in + (y + 1) * (width + 2) + x + 1;
  s[ly][lx] = p[0];
  if (lx == 1) s[ly][0] = p[-1];
  if (lx == 16) s[ly][17] = p[1];
  if (ly == 1) s[0][lx] = p[-(width + 2)];
  if (ly == 16) s[17][lx] = p[width + 2];
  BARRIER;
  out[y * width + x] = 0.2f * (s[ly][lx] + s[ly - 1][lx] + s[ly + 1][lx] + s[ly][lx - 1] + s[ly][lx + 1]);
}
KERNEL softmax(GLOBAL const float* in, GLOBAL float* out, int columns) {
  LOCAL float s[256];
  const int t = LID;
  GLOBAL const float* row = in + GROUP * columns;
  float greatest = -1e30f;
  for (int c = t; c < columns; c += 256) greatest = MAXF(greatest, row[c]);
  s[t] = greatest;
  BARRIER;
  for (int k = 128; k > 0; k /= 2) {
    if (t < k) s[t] = MAXF(s[t], s[t + k]);
    BARRIER;
  }
  greatest = s[0];
  BARRIER;
  float sum = 0;
  for (int c = t; c < columns; c += 256) sum += EXP(row[c] - greatest);
  s[t] = sum;
  BARRIER;
  for (int k = 128; k > 0; k /= 2) {
    if (t < k) s[t] += s[t + k];
    BARRIER;
  }
  const float scale = 1 / s[0];
  for (int c = t; c < columns; c += 256) out[GROUP * columns + c] = EXP(row[c] - greatest) * scale;
}
)";

// --- The same with OpenMP, on plain loops -------------------------------------------------------------------------------

namespace openmp {

void saxpy(int n, float a, const float* __restrict x, float* __restrict y) {
#pragma omp parallel for simd
  for (int i = 0; i < n; ++i) y[i] = a * x[i] + y[i];
}
void product(const float* __restrict a, const float* __restrict b, float* __restrict c, int n) {
#pragma omp parallel for
  for (int row = 0; row < n; row += 16) {
    for (int column = 0; column < n; column += 16) {
      float sum[16][16] = {};
      for (int t = 0; t < n; t += 16) {
        for (int y = 0; y < 16; ++y) {
          for (int k = 0; k < 16; ++k) {
#pragma omp simd
            for (int x = 0; x < 16; ++x) sum[y][x] += a[(row + y) * n + t + k] * b[(t + k) * n + column + x];
          }
        }
      }
      for (int y = 0; y < 16; ++y) {
        for (int x = 0; x < 16; ++x) c[(row + y) * n + column + x] = sum[y][x];
      }
    }
  }
}
void reduction(const float* in, float* out, int n) {
#pragma omp parallel for
  for (int block = 0; block < n / 256; ++block) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int t = 0; t < 256; ++t) sum += in[block * 256 + t];
    out[block] = sum;
  }
}
void scan(const float* in, float* out, int n) {
#pragma omp parallel for
  for (int block = 0; block < n / 256; ++block) {
    float sum = 0;
    for (int t = 0; t < 256; ++t) out[block * 256 + t] = sum += in[block * 256 + t];
  }
}
void bodies(const float* x, const float* y, const float* z, float* force, int n) {
#pragma omp parallel for
  for (int i = 0; i < n; ++i) {
    const float mx = x[i], my = y[i], mz = z[i];
    float f = 0;
#pragma omp simd reduction(+ : f)
    for (int k = 0; k < n; ++k) {
      const float dx = x[k] - mx, dy = y[k] - my, dz = z[k] - mz;
      const float r = 1 / std::sqrt(dx * dx + dy * dy + dz * dz + 0.01F);
      f += dx * r * r * r;
    }
    force[i] = f;
  }
}
void stencil(const float* __restrict in, float* __restrict out, int width) {
#pragma omp parallel for
  for (int y = 0; y < width; ++y) {
    const float* p = in + (y + 1) * (width + 2) + 1;
#pragma omp simd
    for (int x = 0; x < width; ++x)
      out[y * width + x] = 0.2F * (p[x] + p[x - width - 2] + p[x + width + 2] + p[x - 1] + p[x + 1]);
  }
}
void softmax(const float* __restrict in, float* __restrict out, int rows, int columns) {
#pragma omp parallel for
  for (int r = 0; r < rows; ++r) {
    const float* row = in + r * columns;
    float greatest = -1e30F, sum = 0;
#pragma omp simd reduction(max : greatest)
    for (int c = 0; c < columns; ++c) greatest = row[c] > greatest ? row[c] : greatest;
#pragma omp simd reduction(+ : sum)
    for (int c = 0; c < columns; ++c) sum += out[r * columns + c] = std::exp(row[c] - greatest);
    const float scale = 1 / sum;
#pragma omp simd
    for (int c = 0; c < columns; ++c) out[r * columns + c] *= scale;
  }
}

}  // namespace openmp

// --- OpenCL -------------------------------------------------------------------------------------------------------------

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
  }
  bool usable() const { return queue_ != nullptr; }
  const std::string& name() const { return name_; }

  void build() {
    const std::string text = std::string(opencl_words) + source;
    const char* pointer = text.c_str();
    program_ = clCreateProgramWithSource(context_, 1, &pointer, nullptr, nullptr);
    if (clBuildProgram(program_, 1, &device_, "-cl-mad-enable", nullptr, nullptr) != CL_SUCCESS)
      throw std::runtime_error("OpenCL: the kernels do not build");
  }
  cl_kernel kernel(const char* name) { return clCreateKernel(program_, name, nullptr); }
  cl_mem buffer(const std::vector<float>& values) {
    return clCreateBuffer(context_, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, values.size() * 4,
                          const_cast<float*>(values.data()), nullptr);
  }
  template <class... Args>
  void run(cl_kernel kernel, int dimensions, std::size_t gx, std::size_t gy, std::size_t lx, std::size_t ly,
           const Args&... args) {
    cl_uint i = 0;
    (clSetKernelArg(kernel, i++, sizeof(args), &args), ...);
    const std::size_t global[] = {gx, gy}, local[] = {lx, ly};
    if (clEnqueueNDRangeKernel(queue_, kernel, static_cast<cl_uint>(dimensions), nullptr, global, local, 0, nullptr,
                               nullptr) != CL_SUCCESS) {
      throw std::runtime_error("OpenCL: a kernel cannot be run");
    }
    clFinish(queue_);
  }

 private:
  cl_device_id device_ = nullptr;
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
  cl_program program_ = nullptr;
  std::string name_;
};
#endif

struct Case {
  std::string name;
  double work;  // of a run, in units
  const char* unit;
  std::function<void()> weir, openmp, opencl;
};

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 21;
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("weir-bench-{}", ::getpid());
  std::filesystem::create_directories(folder / "pocl");
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
  ::setenv("WEIR_CACHE_DIR", (folder / "weir").c_str(), 1);
  ::setenv("POCL_CACHE_DIR", (folder / "pocl").c_str(), 1);

  weir::Device& device = weir::device("host:0");
  const auto stream = device.create_stream();
  const std::string text = std::string(cuda_words) + source;
  weir::ModulePtr module;
  const double cold = seconds_of([&] { module = device.compile(text); });
  const double cached = seconds_of([&] { module = device.compile(text); });

  std::mt19937 generator(1);
  std::uniform_real_distribution<float> distribution(-1, 1);
  const auto random = [&](std::size_t n) {
    std::vector<float> v(n);
    for (float& f : v) f = distribution(generator);
    return v;
  };
  const auto upload = [&](const std::vector<float>& v) {
    auto b = device.allocate<float>(v.size());
    std::copy(v.begin(), v.end(), b.data());
    return b;
  };
  const auto launch = [&](const weir::KernelPtr& kernel, const weir::LaunchConfig& config, const auto&... args) {
    stream->launch(kernel, config, args...);
    stream->synchronize();
  };

#ifdef WEIR_BENCH_OPENCL
  OpenCl cl;
  double cl_cold = 0, cl_cached = 0;
  const auto first_runs = [&] {
    cl.build();
    cl_mem b = cl.buffer(random(4096));
    const int n = 16;
    const float a = 1;
    cl.run(cl.kernel("saxpy"), 1, 256, 1, 256, 1, n, a, b, b);
    cl.run(cl.kernel("product"), 2, 16, 16, 16, 16, b, b, b, n);
    const int count = 256;
    cl.run(cl.kernel("reduction"), 1, 256, 1, 256, 1, b, b, count);
    cl.run(cl.kernel("scan"), 1, 256, 1, 256, 1, b, b);
    const int bodies = 128;
    cl.run(cl.kernel("bodies"), 1, 128, 1, 128, 1, b, b, b, b, bodies);
    cl.run(cl.kernel("stencil"), 2, 16, 16, 16, 16, b, b, n);
    cl.run(cl.kernel("softmax"), 1, 256, 1, 256, 1, b, b, count);
    clReleaseMemObject(b);
  };
  if (cl.usable()) {
    cl_cold = seconds_of(first_runs);
    cl_cached = seconds_of(first_runs);
  }
#else
#define OPENCL(...)
#endif

  std::vector<Case> cases;
  for (const std::size_t bytes :
       {std::size_t{16} << 10U, std::size_t{256} << 10U, std::size_t{4} << 20U, std::size_t{128} << 20U}) {
    const std::size_t count = bytes / 4;
    const int n = static_cast<int>(count), repeats = static_cast<int>((std::size_t{128} << 20U) / bytes);
    const auto x = random(count), y = random(count);
    auto dx = std::make_shared<weir::Buffer<float>>(upload(x)), dy = std::make_shared<weir::Buffer<float>>(upload(y));
    auto ox = std::make_shared<weir::Buffer<float>>(upload(x)), oy = std::make_shared<weir::Buffer<float>>(upload(y));
    Case c{fmt::format("saxpy {} KiB", bytes >> 10U), 12.0 * static_cast<double>(n) * repeats * 1e-9, "GB/s", {}, {}, {}};
    c.weir = [=, kernel = module->kernel("saxpy")] {
      for (int r = 0; r < repeats; ++r) stream->launch(kernel, weir::grid_for(count), n, 1e-3F, *dx, *dy);
      stream->synchronize();
    };
    c.openmp = [=] {
      for (int r = 0; r < repeats; ++r) openmp::saxpy(n, 1e-3F, ox->data(), oy->data());
    };
#ifdef WEIR_BENCH_OPENCL
    if (cl.usable()) {
      const cl_mem bx = cl.buffer(x), by = cl.buffer(y);
      const cl_kernel kernel = cl.kernel("saxpy");
      const float a = 1e-3F;
      c.opencl = [=, &cl] {
        for (int r = 0; r < repeats; ++r) cl.run(kernel, 1, (count + 255) / 256 * 256, 1, 256, 1, n, a, bx, by);
      };
    }
#endif
    cases.push_back(c);
    if (bytes != std::size_t{4} << 20U) continue;
    c.name = "saxpy 4 MiB, grid-stride";
    const int stride = 64 * 256;
    c.weir = [=, kernel = module->kernel("saxpy_strided")] {
      for (int r = 0; r < repeats; ++r) stream->launch(kernel, {64, 256}, n, 1e-3F, *dx, *dy, stride);
      stream->synchronize();
    };
#ifdef WEIR_BENCH_OPENCL
    if (cl.usable()) {
      const cl_mem bx = cl.buffer(x), by = cl.buffer(y);
      const cl_kernel kernel = cl.kernel("saxpy_strided");
      const float a = 1e-3F;
      c.opencl = [=, &cl] {
        for (int r = 0; r < repeats; ++r)
          cl.run(kernel, 1, static_cast<std::size_t>(stride), 1, 256, 1, n, a, bx, by, stride);
      };
    }
#endif
    cases.push_back(c);
  }
  {
    constexpr int n = 512;
    const auto a = random(n * n), b = random(n * n), d = random(n * n);
    auto da = std::make_shared<weir::Buffer<float>>(upload(a)), db = std::make_shared<weir::Buffer<float>>(upload(b)),
         dc = std::make_shared<weir::Buffer<float>>(upload(d));
    Case c{"product 512, tiles of 16", 2.0 * n * n * n * 1e-9, "GFLOP/s", {}, {}, {}};
    c.weir = [=, k = module->kernel("product")] { launch(k, {{n / 16, n / 16}, {16, 16}}, *da, *db, *dc, n); };
    c.openmp = [=] { openmp::product(da->data(), db->data(), dc->data(), n); };
#ifdef WEIR_BENCH_OPENCL
    if (cl.usable()) {
      const cl_mem ba = cl.buffer(a), bb = cl.buffer(b), bc = cl.buffer(d);
      c.opencl = [=, &cl, k = cl.kernel("product")] { cl.run(k, 2, n, n, 16, 16, ba, bb, bc, n); };
    }
#endif
    cases.push_back(c);
  }
  {
    constexpr int n = 4 << 20;
    const auto in = random(n), out = random(n);
    auto di = std::make_shared<weir::Buffer<float>>(upload(in)), dout = std::make_shared<weir::Buffer<float>>(upload(out));
    Case c{"reduction 4 Mi", 4.0 * n * 1e-9, "GB/s", {}, {}, {}};
    c.weir = [=, k = module->kernel("reduction")] { launch(k, {n / 256, 256}, *di, *dout, n); };
    c.openmp = [=] { openmp::reduction(di->data(), dout->data(), n); };
    Case s{"scan of 256, 4 Mi", 8.0 * n * 1e-9, "GB/s", {}, {}, {}};
    s.weir = [=, k = module->kernel("scan")] { launch(k, {n / 256, 256}, *di, *dout); };
    s.openmp = [=] { openmp::scan(di->data(), dout->data(), n); };
    constexpr int columns = 2048, rows = n / columns;
    Case m{"softmax 2048 x 2048", 1e-9 * n, "10^9 elements/s", {}, {}, {}};
    m.weir = [=, k = module->kernel("softmax")] { launch(k, {rows, 256}, *di, *dout, columns); };
    m.openmp = [=] { openmp::softmax(di->data(), dout->data(), rows, columns); };
#ifdef WEIR_BENCH_OPENCL
    if (cl.usable()) {
      const cl_mem bi = cl.buffer(in), bo = cl.buffer(out);
      c.opencl = [=, &cl, k = cl.kernel("reduction")] { cl.run(k, 1, n, 1, 256, 1, bi, bo, n); };
      s.opencl = [=, &cl, k = cl.kernel("scan")] { cl.run(k, 1, n, 1, 256, 1, bi, bo); };
      m.opencl = [=, &cl, k = cl.kernel("softmax")] {
        cl.run(k, 1, static_cast<std::size_t>(rows) * 256, 1, 256, 1, bi, bo, columns);
      };
    }
#endif
    cases.insert(cases.end(), {c, s, m});
  }
  {
    constexpr int n = 4096;
    const auto x = random(n), y = random(n), z = random(n);
    auto dx = std::make_shared<weir::Buffer<float>>(upload(x)), dy = std::make_shared<weir::Buffer<float>>(upload(y)),
         dz = std::make_shared<weir::Buffer<float>>(upload(z)), df = std::make_shared<weir::Buffer<float>>(upload(x));
    Case c{"n-body 4096", 1e-9 * n * n, "10^9 pairs/s", {}, {}, {}};
    c.weir = [=, k = module->kernel("bodies")] { launch(k, {n / 128, 128}, *dx, *dy, *dz, *df, n); };
    c.openmp = [=] { openmp::bodies(dx->data(), dy->data(), dz->data(), df->data(), n); };
#ifdef WEIR_BENCH_OPENCL
    if (cl.usable()) {
      const cl_mem bx = cl.buffer(x), by = cl.buffer(y), bz = cl.buffer(z), bf = cl.buffer(x);
      c.opencl = [=, &cl, k = cl.kernel("bodies")] { cl.run(k, 1, n, 1, 128, 1, bx, by, bz, bf, n); };
    }
#endif
    cases.push_back(c);
  }
  {
    constexpr int width = 2048;
    const auto in = random((width + 2) * (width + 2)), out = random(width * width);
    auto di = std::make_shared<weir::Buffer<float>>(upload(in)), dout = std::make_shared<weir::Buffer<float>>(upload(out));
    Case c{"stencil 2048 x 2048", 8.0 * width * width * 1e-9, "GB/s", {}, {}, {}};
    c.weir = [=, k = module->kernel("stencil")] { launch(k, {{width / 16, width / 16}, {16, 16}}, *di, *dout, width); };
    c.openmp = [=] { openmp::stencil(di->data(), dout->data(), width); };
#ifdef WEIR_BENCH_OPENCL
    if (cl.usable()) {
      const cl_mem bi = cl.buffer(in), bo = cl.buffer(out);
      c.opencl = [=, &cl, k = cl.kernel("stencil")] { cl.run(k, 2, width, width, 16, 16, bi, bo, width); };
    }
#endif
    cases.push_back(c);
  }

  fmt::print("{} threads; compile cold {:.0f} ms, cached {:.2f} ms", omp_get_max_threads(), cold * 1e3, cached * 1e3);
#ifdef WEIR_BENCH_OPENCL
  if (cl.usable()) fmt::print("; {}: cold {:.0f} ms, cached {:.0f} ms", cl.name(), cl_cold * 1e3, cl_cached * 1e3);
#endif
  fmt::print("\n{:26} {:>9} {:>18} {:>18}\n", "", "Weir", "OpenMP", "OpenCL");
  for (const Case& c : cases) {
    if (argc > 2 && c.name.find(argv[2]) == std::string::npos) continue;
    std::vector<double> weir, openmp, opencl;
    c.weir();
    c.openmp();
    if (c.opencl) c.opencl();
    for (int r = 0; r < rounds; ++r) {
      weir.push_back(seconds_of_warm(c.weir));
      openmp.push_back(seconds_of_warm(c.openmp));
      if (c.opencl) opencl.push_back(seconds_of_warm(c.opencl));
    }
    const double w = c.work / median(weir), o = c.work / median(openmp);
    fmt::print("{:26} {:9.2f} {:9.2f} ({:6.2f})", c.name, w, o, w / o);
    if (c.opencl) fmt::print(" {:9.2f} ({:6.2f})", c.work / median(opencl), w / (c.work / median(opencl)));
    fmt::print("  {}\n", c.unit);
    std::fflush(stdout);
  }
  std::filesystem::remove_all(folder);
  return 0;
}
