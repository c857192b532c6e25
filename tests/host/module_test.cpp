// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <thread>

#include "backends/cache/seal.hpp"
#include "backends/host/compile/compiler.hpp"
#include "backends/host/compile/elf_image.hpp"
#include "core/base/child_process.hpp"
#include "core/base/program_search.hpp"
#include "core/base/temporary_folder.hpp"
#include "tests/host/support.hpp"

// Tests modules of the host backend.

namespace weir::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* counter_source = R"(
__device__ int counter = 5;
__constant__ float weights[3] = {1, 2, 3};
static __device__ int hidden;
namespace inner { __device__ double nested; }
extern "C" __global__ void count() { ++counter; hidden = counter; }
extern "C" __global__ void weigh(float* out) { out[threadIdx.x] = weights[threadIdx.x]; })";

int read_int(const Span<std::byte>& memory) {
  int value = 0;
  REQUIRE(memory.size() == sizeof(value));
  std::memcpy(&value, memory.data(), sizeof(value));
  return value;
}

// What the last compilation left in the cache: the file, and the shared object in it, behind a header of 56 bytes.
std::vector<std::byte> newest_entry() {
  const fs::path folder = fs::path(::getenv("WEIR_CACHE_DIR")) / "host";
  fs::directory_entry newest;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!newest.exists() || entry.last_write_time() > newest.last_write_time()) newest = entry;
  }
  std::ifstream file(newest.path(), std::ios::binary);
  const std::vector<char> bytes(std::istreambuf_iterator<char>(file), {});
  const auto* const begin = reinterpret_cast<const std::byte*>(bytes.data());
  return {begin, begin + bytes.size()};
}

// The same as it would be compiled ahead of time.
std::vector<std::byte> newest_image() {
  const std::vector<std::byte> entry = newest_entry();
  std::vector<std::byte> image(entry.begin() + 56, entry.end());
  cache::seal(image);
  return image;
}

std::string load_error(std::span<const std::byte> image) {
  try {
    (void)host().load_module(image);
  } catch (const Error& error) {
    CHECK(error.errc() == Errc::invalid_image);
    return error.what();
  }
  return "";
}

// What the error kernel_not_found says, or nothing.
template <class F>
std::string answer(const F& ask) {
  try {
    ask();
  } catch (const Error& error) {
    CHECK(error.errc() == Errc::kernel_not_found);
    return error.what();
  }
  return "";
}

TEST_CASE("names that are not there are answered with those that are") {
  const auto module = host().compile(counter_source);
  const std::string kernels = answer([&] { (void)module->untyped_kernel("counter"); });
  CHECK(has(kernels, "'counter'"));
  CHECK(has(kernels, "count, weigh"));
  for (const char* name : {"count", "hidden", "stdout", "weir_host_module_10", "_ZN5inner6nested", ""}) {
    CAPTURE(name);
    const std::string variables = answer([&] { (void)module->global(name); });
    CHECK(has(variables, "weights"));
    CHECK_FALSE(has(variables, "the module has weir_"));
    CHECK_FALSE(has(variables, ", weir_"));
  }
  CHECK(module->global("_ZN5inner6nestedE").size() == 8);
  CHECK(module->global("inner::nested").data() == module->global("_ZN5inner6nestedE").data());
  CHECK(module->global("::inner::nested").size() == 8);
  CHECK(has(answer([&] { (void)module->global("inner::count"); }), "'inner::count'"));
  const auto empty = host().compile("int x;");
  CHECK(has(answer([&] { (void)empty->untyped_kernel("k"); }), "no kernels at all"));
}

TEST_CASE("overloaded kernels compile, and only asking for one by the bare name is an error") {
  const auto module = host().compile(
      "namespace n { __global__ void k(int* x) { *x = 1; } __global__ void k(float* x) { *x = 2; } }\n"
      "__global__ void other(int* x) { *x = 3; }");
  CHECK(has(answer([&] { (void)module->untyped_kernel("n::k"); }), "'n::k' is the name of several kernels"));
  const auto x = upload<int>({0});
  launch(module->untyped_kernel("other"), {1, 1}, x);
  CHECK(download(x)[0] == 3);
}

TEST_CASE("a template without an instance: the error says how to make one") {
  const auto module = host().compile("template <class T> __global__ void k(T* x, int n) { x[n] = 0; }");
  for (const char* name : {"k<float>", "k"}) {
    const std::string text = answer([&] { (void)module->untyped_kernel(name); });
    CHECK(has(text, "there is no kernel '" + std::string(name) + "'"));
    CHECK(has(text, "CompileOptions::kernels"));
  }
}

TEST_CASE("two modules of one source share no variables") {
  const auto one = host().compile(counter_source), two = host().compile(counter_source);
  launch(one->untyped_kernel("count"), {.grid = {10, 1, 1}, .block = {1, 1, 1}});
  CHECK(read_int(two->global("counter")) == 5);
  CHECK(one->global("counter").data() != two->global("counter").data());
}

TEST_CASE("many modules at once, from many threads, are each their own") {
  std::vector<ModulePtr> modules(64);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = t; i < modules.size(); i += 4) modules[i] = host().compile(counter_source);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<const std::byte*> places;
  for (const ModulePtr& module : modules) places.insert(module->global("counter").data());
  CHECK(places.size() == modules.size());
}

TEST_CASE("a module is unloaded with its last owner, and a kernel is one") {
  // The launcher's templates must not keep the object for the process's life.
  auto module = host().compile(counter_source);
  const void* const inside = module->global("counter").data();
  Dl_info info{};
  auto kernel = module->untyped_kernel("count");
  module.reset();
  CHECK(::dladdr(inside, &info) != 0);
  launch(kernel, {});
  kernel.reset();
  CHECK(::dladdr(inside, &info) == 0);
}

TEST_CASE("loading holds no file open") {
  const auto open_files = [] { return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()); };
  (void)host().compile(counter_source);
  const auto before = open_files();
  std::vector<ModulePtr> modules;
  for (int i = 0; i < 10; ++i) modules.push_back(host().compile(counter_source));
  CHECK(open_files() == before);
}

TEST_CASE("a module for the debugger is a file as long as it lives") {
  const detail::TemporaryFolder folder;
  const Variable place("TMPDIR", folder.path().c_str());
  CompileOptions options;
  options.debug = true;
  auto module = host().compile(counter_source, options);
  Dl_info info{};
  REQUIRE(::dladdr(module->global("counter").data(), &info) != 0);
  CHECK(has(info.dli_fname, folder.path()));
  CHECK(fs::exists(info.dli_fname));
  module.reset();
  CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("an image is loaded like a source, and each time anew") {
  (void)host().compile("__device__ int marker = 77; extern \"C\" __global__ void only_here(int* x) { *x = ++marker; }");
  const std::vector<std::byte> image = newest_image();
  const auto one = host().load_module(image), two = host().load_module(image);
  const auto x = upload(std::vector<int>(1));
  launch(one->untyped_kernel("only_here"), {}, x);
  CHECK(x.data()[0] == 78);
  launch(two->untyped_kernel("only_here"), {}, x);
  CHECK(x.data()[0] == 78);
}

TEST_CASE("a file of the cache is an image, and a damaged one is none") {
  (void)host().compile("extern \"C\" __global__ void to_be_sent(int* x) { *x = 9; }");
  std::vector<std::byte> entry = newest_entry();
  const auto x = upload(std::vector<int>(1));
  launch(host().load_module(entry)->untyped_kernel("to_be_sent"), {}, x);
  CHECK(x.data()[0] == 9);
  CHECK(has(load_error(std::span(entry).first(entry.size() - 1)), "should have"));
  CHECK(has(load_error(std::span(entry).first(20)), "is not an entry"));
  entry.back() ^= std::byte{1};
  CHECK(has(load_error(entry), "is damaged"));
}

TEST_CASE("a module needs the C++ library only if a kernel does, where Clang links it") {
  const auto needs_library = [] {
    const std::vector<std::byte> image = newest_entry();
    return has({reinterpret_cast<const char*>(image.data()), image.size()}, "libstdc++.so");
  };
  (void)host().compile(counter_source, {.name = "plain.cu"});
  if (has(host().backend().versions().compiler, "clang")) CHECK_FALSE(needs_library());
  const ModulePtr module = host().compile(R"(
namespace std { __device__ unsigned long _Hash_bytes(const void*, unsigned long, unsigned long); }
extern "C" __global__ void hash(unsigned long* x) { *x = std::_Hash_bytes("text", 4, 7); })");
  CHECK(needs_library());
  const auto buffer = host().allocate<unsigned long>(1);
  launch(module->untyped_kernel("hash"), {}, buffer);
  CHECK(*buffer.data() == std::_Hash_bytes("text", 4, 7));
}

TEST_CASE("an image that is none is refused with what is wrong") {
  const std::string text = "//\n// Generated by NVIDIA NVVM Compiler\n.version 8.0\n";
  CHECK(has(load_error(std::as_bytes(std::span(text))), "not an ELF file"));
  (void)host().compile("extern \"C\" __global__ void to_be_cut() {}");
  const std::vector<std::byte> image = newest_image();
  CHECK(has(load_error(std::span(image).first(image.size() - 1)), "truncated"));
  CHECK(has(load_error(std::span(image).first(4096)), "truncated"));
  CHECK(has(load_error(std::span(image).first(image.size() - 24)), "the hash at its end is missing"));
  const std::string library = "/lib/x86_64-linux-gnu/libm.so.6";
  if (fs::exists(library)) {
    std::ifstream file(library, std::ios::binary);
    const std::vector<char> bytes(std::istreambuf_iterator<char>(file), {});
    CHECK(has(load_error(std::as_bytes(std::span(bytes))), "a shared object that Device::compile did not make"));
  }
}

TEST_CASE("an image that was compiled ahead of time is not loaded with any byte changed") {
  std::vector<std::byte> image = Registry::instance().compile_image(
      "host", "x86-64", "extern \"C\" __global__ void ahead_of_time(int* x) { *x = 7; }", {});
  CHECK(host().load_module(image)->untyped_kernel("ahead_of_time") != nullptr);
  for (std::size_t i = 0; i < image.size(); i += image.size() / 300) {
    CAPTURE(i);
    image[i] ^= std::byte{4};
    CHECK(load_error(image) != "");
    image[i] ^= std::byte{4};
  }
}

TEST_CASE("an image of another revision or for another processor is refused before its code runs") {
  const auto build = [](const std::string& source) {
    const detail::TemporaryFolder folder;
    std::ofstream(folder.path() + "/x.cpp") << "#include <stdlib.h>\nstruct A { A() { abort(); } } a;\n" << source;
    const auto outcome = detail::run_child({host::find_compiler().path, "-shared", "-fPIC", "-o", "x.so", "x.cpp"},
                                           folder.path(), detail::program_environment(host::find_compiler().path));
    CAPTURE(outcome.output);
    REQUIRE(outcome.status == 0);
    std::ifstream file(folder.path() + "/x.so", std::ios::binary);
    const std::vector<char> bytes(std::istreambuf_iterator<char>(file), {});
    const auto* const begin = reinterpret_cast<const std::byte*>(bytes.data());
    return std::vector<std::byte>(begin, begin + bytes.size());
  };
  CHECK(has(load_error(build("extern \"C\" { int weir_host_module_999; }")), "another release of Weir"));
  CHECK(has(load_error(build("extern \"C\" { int weir_host_module_10; extern const char weir_host_cpu_features[]; "
                             "const char weir_host_cpu_features[] = \" no_such_feature sse9\"; }")),
            "a processor with no_such_feature sse9, which this processor lacks"));
}

}  // namespace
}  // namespace weir::test
