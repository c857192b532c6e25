// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/temporary_folder.hpp"
#include "tests/host/isolated.hpp"
#include "tests/host/support.hpp"

/// Tests modules in which the work-group pass transforms some kernels and leaves others to fibers.
namespace weir::test {
namespace {

constexpr std::size_t numbers = std::size_t{1} << 14U;

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A line of a source: "//! NAME GRID.x .y .z BLOCK.x .y .z SHARED-BYTES TIER [N]". The tier is the work-group pass's choice,
// N the kernel's last argument.
struct Launch {
  std::string name;
  Dim3 grid, block;
  std::uint32_t shared_bytes = 0;
  std::string tier;
  int n = static_cast<int>(numbers);
};
std::vector<Launch> launches_of(const std::string& source) {
  std::vector<Launch> launches;
  std::istringstream lines(source);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("//! ")) continue;
    std::istringstream words(line.substr(4));
    Launch l;
    words >> l.name >> l.grid.x >> l.grid.y >> l.grid.z >> l.block.x >> l.block.y >> l.block.z >> l.shared_bytes >> l.tier;
    REQUIRE_MESSAGE(static_cast<bool>(words), line);
    if (int n = 0; words >> n) l.n = n;
    launches.push_back(l);
  }
  return launches;
}

ModulePtr compile(const char* tier, std::string_view source, const std::string& name) {
  const Variable chosen("WEIR_HOST_TIER", tier);
  CompileOptions options{.name = name, .cxx_standard = 20};
  // Without optimization it takes a third of the time. Numbers depend on it: on which products are rounded.
  if (std::string_view(tier) == "fibers" && name != "numbers.cu") options.extra = {"-O0"};
  options.defines = {{"KERNEL(name)", "extern \"C\" __global__ void name(int* out, const int* in, int n)"},
                     {"INDEX", "int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x; (void)i, (void)t"}};
  return host().compile(source, options);
}

struct Result {
  std::vector<int> numbers;
  std::string error;
};
Result run(const ModulePtr& module, const Launch& l) {
  Result result{std::vector<int>(numbers), ""};
  std::vector<int> in(numbers);
  std::uint32_t state = 1;
  for (int& value : in) value = static_cast<int>((state = state * 1664525U + 1013904223U) >> 20U);
  const auto inputs = upload(in);
  const auto outputs = upload(result.numbers);
  try {
    launch(module->untyped_kernel(l.name), {.grid = l.grid, .block = l.block, .shared_memory_bytes = l.shared_bytes},
           outputs.data(), static_cast<const int*>(inputs.data()), l.n);
  } catch (const Error& error) {
    result.error = error.what();
  }
  result.numbers = download(outputs);
  return result;
}

// What is written to the standard error meanwhile.
std::string said_while(const std::function<void()>& act) {
  std::FILE* const file = std::tmpfile();
  REQUIRE(file != nullptr);
  const int before = ::dup(2);
  ::dup2(::fileno(file), 2);
  act();
  ::dup2(before, 2);
  ::close(before);
  std::rewind(file);
  std::string text;
  for (int c; (c = std::fgetc(file)) != EOF;) text += static_cast<char>(c);
  std::fclose(file);
  return text;
}

TEST_CASE("each kernel gives the same by the pass and on fibers, and runs as its line says") {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(WEIR_TEST_WORKGROUP "/tiers")) {
    const std::string source = read(entry.path());
    const std::string name = entry.path().filename().string();
    CAPTURE(name);
    const ModulePtr fibers = compile("fibers", source, name);
    const ModulePtr pass = compile("pass", source, name);
    for (const Launch& l : launches_of(source)) {
      CAPTURE(l.name);
      const Result expected = run(fibers, l);
      const Result found = run(pass, l);
      CHECK(found.error == expected.error);
      if (expected.error.empty()) {
        const auto [e, f] = std::mismatch(expected.numbers.begin(), expected.numbers.end(), found.numbers.begin());
        CHECK_MESSAGE(e == expected.numbers.end(), "number ", e - expected.numbers.begin(), " is ", *f, " instead of ", *e);
      }
      CHECK(fibers->untyped_kernel(l.name)->properties().tier == "fibers");
      CHECK(pass->untyped_kernel(l.name)->properties().tier == l.tier);
    }
    ++files;
  }
  CHECK(files == 11);
}

TEST_CASE("a module's variables are one for the kernels that are formed and those that are not") {
  const ModulePtr module = compile("pass", R"(
__device__ int seen;
static __device__ int hidden;
__constant__ int factor;
__device__ int down(int k) { return k == 0 ? (int)threadIdx.x : down(k - 1) * 2 + k; }
extern "C" __global__ void formed(int* out) { atomicAdd(&seen, factor); atomicAdd(&hidden, 1); out[threadIdx.x] = hidden; }
extern "C" __global__ void refused(int* out) {
  out[threadIdx.x] = down(3);
  atomicAdd(&seen, factor);
  __syncthreads();
  out[threadIdx.x] = hidden;
})",
                                   "variables.cu");
  CHECK(module->untyped_kernel("formed")->properties().tier == "workgroup");
  CHECK(module->untyped_kernel("refused")->properties().tier == "fibers");
  *reinterpret_cast<int*>(module->global("factor").data()) = 3;
  const auto out = upload(std::vector<int>(64));
  launch(module->untyped_kernel("formed"), {.grid = {2}, .block = {64}}, out.data());
  CHECK(*reinterpret_cast<int*>(module->global("seen").data()) == 2 * 64 * 3);
  launch(module->untyped_kernel("refused"), {.grid = {1}, .block = {64}}, out.data());
  CHECK(*reinterpret_cast<int*>(module->global("seen").data()) == 3 * 64 * 3);
  CHECK(download(out) == std::vector<int>(64, 128));
}

// The line of "// here" in a kernel's body.
std::string marked_line(const std::string& source, const std::string& kernel) {
  const std::size_t mark = source.find("// here", source.find("void " + kernel + "("));
  return std::to_string(1 + std::count(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(mark), '\n'));
}

TEST_CASE("the log says which kernel runs on fibers, and why and where; the rest of the file is formed") {
  const std::string source = read(WEIR_TEST_WORKGROUP "/refused.cu");
  ModulePtr module;
  const std::string said = said_while([&] { module = compile("pass", source, "refused.cu"); });
  CAPTURE(said);
  for (const char* kernel : {"by_virtual_call", "by_recursion", "by_array", "by_flag", "by_lock", "by_lanes_in_a_loop"}) {
    CAPTURE(kernel);
    CHECK(module->untyped_kernel(kernel)->properties().tier == "fibers");
    const std::size_t remark = said.find(std::string(kernel) + " runs on fibers: ");
    REQUIRE(remark != std::string::npos);
    CHECK(has(said.substr(remark, said.find('\n', remark) - remark), "(refused.cu:" + marked_line(source, kernel) + ")"));
  }
  CHECK(has(said, "by_recursion runs on fibers: it calls a recursive function"));
  CHECK(has(said, "by_size runs on fibers: each of its threads needs"));
  CHECK(module->untyped_kernel("counting")->properties().tier == "workgroup");
  const auto next = upload(std::vector<int>(1)), sum = upload(std::vector<int>(1));
  launch(module->untyped_kernel("counting"), {.grid = {2}, .block = {64}}, next, sum, 1000);
  CHECK(sum.data()[0] == 1000 * 999 / 2);
}

TEST_CASE("a mistake is told by its line, on fibers and by the pass") {
  for (const std::string tier : {"fibers", "workgroup"}) {
    CAPTURE(tier);
    const std::string index = tier == "fibers" ? "down(2)" : "threadIdx.x";
    const ModulePtr module = compile("pass",
                                     R"(
__device__ int down(int k) { return k == 0 ? (int)threadIdx.x : down(k - 1) * 2 + k; }
extern "C" __global__ void barriers(int* out) {
  out[threadIdx.x] = )" + index + R"(;
  if (threadIdx.x < 7) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}
extern "C" __global__ void lanes(int* out) {
  out[threadIdx.x] = )" + index + R"(;
  if (threadIdx.x < 7) out[0] = __shfl_sync(~0u, out[threadIdx.x], 1);
  __syncthreads();
}
extern "C" __global__ void some(int* out) {
  out[threadIdx.x] = __shfl_xor_sync(~0u, )" +
                                         index + R"(, 1);
  if (threadIdx.x % 32 < 8) __syncthreads();
  out[threadIdx.x] += 1;
  __syncthreads();
})",
                                     "mistakes.cu");
    const auto out = upload(std::vector<int>(64));
    const auto error_of = [&](const char* kernel, unsigned threads) -> std::string {
      CHECK(module->untyped_kernel(kernel)->properties().tier == (kernel == std::string("barriers") ? "fibers" : tier));
      try {
        launch(module->untyped_kernel(kernel), {.grid = {1}, .block = {threads}}, out.data());
      } catch (const Error& error) {
        return error.what();
      }
      return "";
    };
    CHECK(has(error_of("barriers", 64), "mistakes.cu:6: 7 of the 64 threads"));
    CHECK(has(error_of("barriers", 64), "others wait in __syncthreads at mistakes.cu:8"));
    CHECK(error_of("barriers", 7) == "");
    for (const unsigned threads : {64U, 50U}) {
      const std::string error = error_of("lanes", threads);
      CAPTURE(error);
      CHECK(has(error, "mistakes.cu:13: thread 0 of block (0, 0, 0) calls __shfl_sync for lanes"));
      CHECK(has(error, "(0xffffff80)"));
      CHECK(has(error_of("some", threads), "mistakes.cu:18: "));
    }
    CHECK(error_of("lanes", 7) == "");
    CHECK(error_of("some", 8) == "");
  }
}

TEST_CASE("whole warps may call a barrier at different places") {
  const ModulePtr module = compile("pass", R"(
extern "C" __global__ void fill_and_count(int* out) {
  __shared__ int filled[64];
  if (threadIdx.x < 64) {
    filled[threadIdx.x] = 2;
    __syncthreads();
    return;
  }
  __shared__ int sums[32];
  __syncthreads();
  const int lane = threadIdx.x - 64;
  sums[lane] = filled[lane] + filled[lane + 32];
  __syncthreads();
  out[lane] = sums[31 - lane] + lane;
})",
                                   "warps.cu");
  CHECK(module->untyped_kernel("fill_and_count")->properties().tier == "fibers");
  const auto out = upload(std::vector<int>(32));
  launch(module->untyped_kernel("fill_and_count"), {.grid = {1}, .block = {96}}, out.data());
  for (int i = 0; i < 32; ++i) CHECK(out.data()[i] == 4 + i);
}

#ifdef __x86_64__
// Without AVX-512, masked accesses are several times slower. They also show that a guard was not taken out of the row.
TEST_CASE("the guard of a stencil, between whose comparisons parameters are loaded, leaves no masked access") {
  const Variable chosen("WEIR_HOST_TIER", "pass");
  const std::vector<std::byte> image = Registry::instance().compile_image("host", "x86-64-v3", R"(
extern "C" __global__ void stencil(const float* in, float* out, int w, int h) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x > 0 && x < w - 1 && y > 0 && y < h - 1) {
    const int at = y * w + x;
    out[at] = 0.25f * (in[at - 1] + in[at + 1] + in[at - w] + in[at + w]);
  }
})");
  const detail::TemporaryFolder folder;
  const std::string file = folder.path() + "/image";
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(image.data()), static_cast<std::streamsize>(image.size()));
  std::FILE* const listing = ::popen(("objdump -d " + file).c_str(), "r");
  REQUIRE(listing != nullptr);
  int masked = 0, whole = 0;
  char line[512];
  while (std::fgets(line, sizeof(line), listing) != nullptr) {
    const std::string_view text = line;
    masked += text.find("vmaskmov") != text.npos;
    whole += text.find("vmovups %ymm") != text.npos;
  }
  ::pclose(listing);
  CHECK(masked == 0);
  CHECK(whole > 0);
}
#endif

}  // namespace
}  // namespace weir::test

int main(int argc, char** argv) {
  ::unsetenv("WEIR_HOST_WARP_SIZE");
  ::setenv("WEIR_LOG", "info", 1);
  return weir::test::run_isolated(argc, argv);
}
