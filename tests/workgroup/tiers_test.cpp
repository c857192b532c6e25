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
#include "tests/host/support.hpp"

/// Tests modules in which the work-group pass transforms some kernels and leaves others to fibers.
namespace weir::test {
namespace {

constexpr std::size_t numbers = std::size_t{1} << 14U;

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A line of a source: "//! NAME GRID.x .y .z BLOCK.x .y .z SHARED-BYTES TIER".
struct Launch {
  std::string name;
  Dim3 grid, block;
  std::uint32_t shared_bytes = 0;
  std::string tier;
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
    launches.push_back(l);
  }
  return launches;
}

ModulePtr compile(const char* tier, std::string_view source, const std::string& name) {
  const Variable chosen("WEIR_HOST_TIER", tier);
  return host().compile(source, {.name = name, .cxx_standard = 20});
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
           outputs.data(), static_cast<const int*>(inputs.data()), static_cast<int>(numbers));
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
  for (const auto& entry : std::filesystem::directory_iterator(WEIR_TEST_TIERS)) {
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

TEST_CASE("the log says which kernel runs on fibers, and why and where") {
  const std::string said = said_while([] {
    (void)compile("pass",
            "__device__ int down(int k) {\n  return k == 0 ? (int)threadIdx.x : down(k - 1) * 2 + k;\n}\n"
            "extern \"C\" __global__ void told(int* out) {\n  out[threadIdx.x] = down(5);\n}\n",
            "told.cu");
  });
  CHECK_MESSAGE(has(said, "told runs on fibers: it calls a recursive function"), said);
  CHECK_MESSAGE(has(said, "(told.cu:5)"), said);
}

TEST_CASE("a mistake on fibers is told by its line") {
  const ModulePtr module = compile("pass", R"(
__device__ int down(int k) { return k == 0 ? (int)threadIdx.x : down(k - 1) * 2 + k; }
extern "C" __global__ void barriers(int* out) {
  out[threadIdx.x] = down(2);
  if (threadIdx.x < 7) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}
extern "C" __global__ void lanes(int* out) {
  out[threadIdx.x] = down(2);
  if (threadIdx.x < 7) out[0] = __shfl_sync(~0u, out[threadIdx.x], 1);
  __syncthreads();
})",
                                   "mistakes.cu");
  const auto out = upload(std::vector<int>(64));
  const auto error_of = [&](const char* kernel) -> std::string {
    CHECK(module->untyped_kernel(kernel)->properties().tier == "fibers");
    try {
      launch(module->untyped_kernel(kernel), {.grid = {1}, .block = {64}}, out.data());
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  CHECK(has(error_of("barriers"), "mistakes.cu:6: 7 of the 64 threads"));
  CHECK(has(error_of("barriers"), "others wait in __syncthreads at mistakes.cu:8"));
  CHECK(has(error_of("lanes"), "mistakes.cu:13: thread 0 of block (0, 0, 0) calls __shfl_sync for lanes"));
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
  for (const char* variable : {"WEIR_BACKEND", "WEIR_DEVICE", "WEIR_DISABLE_FEATURES", "WEIR_HOST_WARP_SIZE"})
    ::unsetenv(variable);
  const weir::detail::TemporaryFolder cache;
  ::setenv("WEIR_CACHE_DIR", cache.path().c_str(), 1);
  ::setenv("WEIR_LOG", "info", 1);
  return doctest::Context(argc, argv).run();
}
