// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <hip/hip_runtime_api.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "backends/gpu/kernel_names.hpp"
#include "backends/hip/code_object.hpp"
#include "backends/hip/device_node.hpp"
#include "backends/hip/hiprtc.hpp"
#include "tests/unit/subprocess.hpp"
#include "weir/interop/hip.hpp"
#include "weir/weir.hpp"

// Tests with the real HIP runtime and the real HIPRTC from Debian's packages, on a machine without an AMD device. The plugin
// must open the runtime and report that no device exists, and HIPRTC must compile Weir's kernels. The tests do not show that
// these kernels run.

namespace {

// The types that weir/interop/hip.hpp declares are those of HIP's own header.
template <class Own, class T>
constexpr bool is_handle = std::is_same_v<Own, T>;
static_assert(is_handle<decltype(weir::hip::stream(std::declval<weir::Stream&>())), hipStream_t>);
static_assert(is_handle<decltype(weir::hip::event(std::declval<const weir::Event&>())), hipEvent_t>);
static_assert(is_handle<decltype(weir::hip::graph(std::declval<const weir::Graph&>())), hipGraph_t>);
static_assert(is_handle<decltype(weir::hip::graph_exec(std::declval<const weir::GraphExec&>())), hipGraphExec_t>);
static_assert(is_handle<decltype(weir::hip::module(std::declval<const weir::Module&>())), hipModule_t>);
static_assert(is_handle<decltype(weir::hip::function(std::declval<const weir::Kernel&>())), hipFunction_t>);
static_assert(is_handle<decltype(weir::hip::memory_pool(std::declval<const weir::MemoryPool&>())), hipMemPool_t>);

using weir::hip::Compiler;

std::optional<weir::detail::Library>& runtime() {
  static std::optional<weir::detail::Library> library;
  return library;
}
int release = 0;

const Compiler& compiler() {
  static const Compiler& opened = *Compiler::open(*runtime(), release).release();
  return opened;
}

weir::gpu::CompiledProgram compile(const std::string& architecture, const std::string& source,
                                   const weir::CompileOptions& options = {}) {
  std::string log;
  return compiler().compile(architecture, source, options, "test", "test", log);
}

std::vector<std::byte> image_of(const std::string& architecture, const std::string& source,
                                const weir::CompileOptions& options = {}) {
  return compile(architecture, source, options).image;
}

// The text of the kernels that stand in a source file as a raw string.
std::string kernels_in(const std::string& file) {
  std::ifstream in(std::string(WEIR_TEST_SOURCES) + "/" + file);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const std::size_t begin = text.find("R\"(");
  REQUIRE_MESSAGE(begin != std::string::npos, file << " has no raw string");
  return text.substr(begin + 3, text.find(")\"", begin) - begin - 3);
}

// An ELF file for an AMD GPU, and which one.
unsigned target_of(const std::vector<std::byte>& image) {
  const auto byte = [&](std::size_t i) { return std::to_integer<unsigned>(image.at(i)); };
  CHECK(byte(0) == 0x7F);
  CHECK(byte(1) == 'E');
  constexpr unsigned machine_amdgpu = 224;
  CHECK(byte(18) == machine_amdgpu);
  return byte(48);  // e_flags: EF_AMDGPU_MACH
}

std::string error_of(const std::string& architecture, const std::string& source, const weir::CompileOptions& options,
                     weir::Errc code) {
  try {
    compile(architecture, source, options);
  } catch (const weir::Error& error) {
    CHECK(error.errc() == code);
    return error.what();
  }
  FAIL("it compiled for ", architecture);
  return {};
}

constexpr const char* trivial = "extern \"C\" __global__ void k(int* p) { *p = 1; }";

}  // namespace

TEST_CASE("hip runtime T16: where the kernel's driver is there, each variable that may hide devices is named") {
  char node[] = "/tmp/weir-kfd-XXXXXX";
  const int file = ::mkstemp(node);
  REQUIRE(file >= 0);
  ::close(file);
  for (const char* const name :
       {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"}) {
    ::unsetenv(name);
  }
  CHECK(weir::hip::why_no_device(node).find("can be opened") != std::string::npos);
  ::setenv("CUDA_VISIBLE_DEVICES", "0", 1);
  ::setenv("ROCR_VISIBLE_DEVICES", "1", 1);
  CHECK(weir::hip::why_no_device(node) == "devices may be hidden: ROCR_VISIBLE_DEVICES=1, CUDA_VISIBLE_DEVICES=0");
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  ::unsetenv("ROCR_VISIBLE_DEVICES");
  ::unlink(node);
  CHECK(weir::hip::why_no_device(node).find("is missing") != std::string::npos);
}

TEST_CASE("hip runtime: one before ROCm 6.2 is refused, by its version and the oldest that is taken") {
  if (release >= 602) return;
  const std::string version = "HIP " + std::to_string(release / 100) + "." + std::to_string(release % 100) + ".";
  const weir::test::Outcome o = weir::test::run(WEIR_TEST_STORY, {"info"}, {{"WEIR_BACKEND", "hip"}});
  INFO(o.output, o.errors);
  CHECK(o.says("state: driver_too_old"));
  CHECK(o.says("it is " + version));
  CHECK(o.says("; Weir needs ROCm 6.2 or later: update ROCm"));
}

TEST_CASE("hip runtime T10: the plugin opens it, tells its version, and why there is no device") {
  const weir::test::Outcome o = weir::test::run(WEIR_TEST_STORY, {"info"}, {{"WEIR_BACKEND", "hip"}});
  INFO(o.output, o.errors);
  REQUIRE(o.status == 0);
  if (::access("/dev/kfd", F_OK) != 0) {
    CHECK(o.says("state: no_device"));
    CHECK(o.says("HIP " + std::to_string(release / 100) + "." + std::to_string(release % 100) + "."));
    CHECK(o.says("reports no device; /dev/kfd is missing: the kernel driver amdgpu is not loaded"));
    CHECK(o.says("would have modules: native"));
    CHECK(o.says("would have graph_conditional_nodes: absent HIP has no conditional nodes"));
    CHECK(o.says("would have runtime_compilation: native"));
  } else {
    CHECK((o.says("state: usable") || o.says("/dev/kfd cannot be opened") || o.says("/dev/kfd can be opened")));
  }
  CHECK(o.says(": opened"));
}

TEST_CASE("hiprtc T12: Weir's kernels compile for gfx906, gfx90a and gfx1030 without a device") {
  const std::pair<const char*, weir::CompileOptions> kernels[] = {
      {"examples/saxpy/saxpy.cpp", {}},
      {"examples/entropy/kernels.cpp", {.defines = {{"INTERLEAVED", "1"}, {"THREADS", "64"}}}},
      {"examples/entropy/kernels.cpp", {.defines = {{"INTERLEAVED", "0"}, {"THREADS", "64"}}, .fast_math = true}},
      {"tests/conformance/support.cpp", {.cxx_standard = 20}},
  };
  // EF_AMDGPU_MACH, by LLVM's table.
  const std::pair<const char*, unsigned> targets[] = {{"gfx906", 0x2F}, {"gfx90a", 0x3F}, {"gfx1030", 0x36}};
  for (const auto& kernel : kernels) {
    const std::string source = kernels_in(kernel.first);
    for (const auto& target : targets) {
      CAPTURE(kernel.first);
      CAPTURE(target.first);
      CHECK(target_of(image_of(target.first, source, kernel.second)) == target.second);
    }
  }
}

TEST_CASE("hiprtc T12: features of an architecture, as devices tell theirs, are taken") {
  for (const char* const architecture : {"gfx90a:sramecc+:xnack-", "gfx90a:xnack+", "gfx906:sramecc+:xnack-"}) {
    CAPTURE(architecture);
    CHECK(compiler().refusal(architecture).empty());
    CHECK(image_of(architecture, trivial).size() > 64);
  }
}

TEST_CASE("hiprtc T12: an architecture that would end the process is refused before the call") {
  for (const char* const architecture : {"compute_90", "sm_90", "gfx", "", "gfx90a:xnack", "gfx90a:", "gfx90a xnack-"}) {
    CAPTURE(architecture);
    CHECK_FALSE(compiler().refusal(architecture).empty());
    error_of(architecture, trivial, {}, weir::Errc::invalid_argument);
  }
  CHECK_FALSE(compiler().refusal("gfx9999").empty());
  CHECK(compiler().refusal("gfx11-generic").find("a target for several architectures") != std::string::npos);
  error_of("gfx9999", trivial, {}, weir::Errc::compiler_not_found);
  for (const char* const option : {"--gpu-architecture=sm_90", "--offload-arch=gfx9999", "-arch=sm_90", "-mcpu=gfx906"}) {
    CAPTURE(option);
    const std::string text = error_of("gfx90a", trivial, {.extra = {option}}, weir::Errc::invalid_argument);
    CHECK(text.find(option) != std::string::npos);
  }
}

TEST_CASE("hiprtc: what does not compile is told in the compiler's own words") {
  const std::string text = error_of("gfx1030", "extern \"C\" __global__ void k() { no_such_thing(); }",
                                    {.name = "broken.cu"}, weir::Errc::compilation_failed);
  CHECK(text.find("broken.cu") != std::string::npos);
  CHECK(text.find("no_such_thing") != std::string::npos);
  CHECK(
      error_of("gfx906", trivial, {.extra = {"--no-such-option"}}, weir::Errc::compilation_failed).find("no-such-option") !=
      std::string::npos);
}

TEST_CASE("hiprtc: <cstddef> and <cstdint> have what the compiler's own have") {
  const std::string source = R"(
#include <cstddef>
#include <cstdint>
#include <stddef.h>
#include <stdint.h>
struct Pair { int first, second; };
static_assert(offsetof(Pair, second) == 4 && alignof(std::max_align_t) >= 8);
static_assert(INT32_MAX == 2147483647 && UINT64_MAX == ~UINT64_C(0) && INT8_MIN == -128 && SIZE_MAX == ~std::size_t{0});
static_assert(sizeof(std::intmax_t) == 8 && sizeof(std::uint_fast32_t) >= 4 && sizeof(int_least16_t) == 2);
static_assert(sizeof(std::int8_t) == 1 && sizeof(std::uint16_t) == 2 && sizeof(std::int32_t) == 4 &&
              sizeof(std::uint64_t) == 8 && sizeof(std::uintptr_t) == sizeof(void*) && sizeof(std::size_t) == 8);
static_assert(PTRDIFF_MAX == INTPTR_MAX);
extern "C" __global__ void k(int* p, std::byte* q) {
  std::nullptr_t none = nullptr;
  int* const nowhere = NULL;
  if (p == none || p == nowhere) return;
  q[threadIdx.x] = (q[threadIdx.x] << 1) | std::byte{1};
  p[threadIdx.x] = std::to_integer<int>(q[threadIdx.x]);
})";
  for (const int standard : {17, 20}) {
    CHECK(image_of("gfx90a", source, {.cxx_standard = standard}).size() > 64);
  }
}

TEST_CASE("hiprtc: instances of templates are made by their names, and what the linker calls them is told") {
  const std::string source = R"(
template <class T, int N>
__global__ void blur(const T* in, T* out, T scale) {
  out[threadIdx.x] = in[threadIdx.x] * N * scale;
}
namespace image { __global__ void flip(float* p) { *p = 1; } }
)";
  const weir::gpu::CompiledProgram program = compile("gfx90a", source, {.kernels = {"blur<float, 3>", "image::flip"}});
  CHECK(program.names == std::vector<std::pair<std::string, std::string>>{{"blur<float, 3>", "_Z4blurIfLi3EEvPKT_PS0_S0_"},
                                                                           {"image::flip", "_ZN5image4flipEPf"}});
  const auto kernels = weir::hip::kernels_of(program.image, "gfx90a");
  REQUIRE(kernels.size() == 2);
  CHECK(weir::gpu::name_of("_Z4blurIfLi3EEvPKT_PS0_S0_") == "blur<float,3>");
  CHECK(error_of("gfx90a", source, {.kernels = {"nothing<float>"}}, weir::Errc::compilation_failed).find("nothing") !=
        std::string::npos);
}

TEST_CASE("hiprtc: what was compiled comes from the cache; not where a header may be the system's") {
  const weir::test::TemporaryFolder temporary;
  const std::string& folder = temporary.path();
  ::setenv("WEIR_CACHE_DIR", folder.c_str(), 1);
  const auto entries = [&] {
    std::error_code error;
    return std::distance(std::filesystem::directory_iterator(folder + "/hip", error), std::filesystem::directory_iterator());
  };
  const auto cached = [&](const std::string& source, const weir::CompileOptions& options) {
    return compiler().compile_cached("gfx90a", source, options, "test", "test");
  };
  std::ofstream(folder + "/own.h") << "#define VALUE 3\n";
  const std::string source =
      "#include <cstdint>\n#include \"own.h\"\ntemplate <class T> __global__ void k(T* p) { *p = VALUE; }";
  const weir::CompileOptions options{.include_directories = {folder}, .kernels = {"k<int>"}};
  const auto first = cached(source, options);
  CHECK(entries() == 1);
  const auto second = cached(source, options);
  CHECK(entries() == 1);
  CHECK(first.image == second.image);
  CHECK(second.names == first.names);
  CHECK(second.names.at(0).second == "_Z1kIiEvPT_");
  cached("#include <endian.h>\n" + source, options);
  CHECK(entries() == 1);
  std::ofstream(folder + "/own.h") << "#define VALUE 4\n";
  CHECK(cached(source, options).image != first.image);
  CHECK(entries() == 2);
}

// --- Code objects -----------------------------------------------------------------------------------------------------

namespace {

using Sizes = std::vector<std::size_t>;

constexpr const char* described = R"(
struct Pair { double d; short s; };
extern "C" __global__ void first(bool a, unsigned short b, int c, Pair d, const float* e, long long f) {
  ((float*)e)[c] = a + b + d.d + f;
}
extern "C" __global__ void second() {}
__global__ void third(char3 a, int* p) { *p = a.x + gridDim.x; }
)";

Sizes sizes_of(const std::vector<std::byte>& image, const std::string& architecture, std::string_view kernel) {
  for (const weir::gpu::ImageKernel& k : weir::hip::kernels_of(image, architecture)) {
    if (k.name == kernel) return k.parameter_sizes;
  }
  FAIL("no kernel ", std::string(kernel));
  return {};
}

void append(std::vector<std::byte>& to, std::uint64_t number) {
  for (int i = 0; i < 8; ++i, number >>= 8U) to.push_back(static_cast<std::byte>(number & 0xFFU));
}
void append(std::vector<std::byte>& to, std::string_view text) {
  for (const char c : text) to.push_back(static_cast<std::byte>(c));
}

}  // namespace

TEST_CASE("code objects: the sizes of a kernel's parameters are read, and not what the compiler adds for itself") {
  for (const char* const architecture : {"gfx906", "gfx90a:sramecc+:xnack-", "gfx1030"}) {
    CAPTURE(architecture);
    const auto image = image_of(architecture, described);
    CHECK(weir::hip::kernels_of(image, architecture).size() == 3);
    CHECK(sizes_of(image, architecture, "first") == Sizes{1, 2, 4, 16, 8, 8});
    CHECK(sizes_of(image, architecture, "second") == Sizes{});
    CHECK(sizes_of(image, architecture, "_Z5third15HIP_vector_typeIcLj3EEPi") == Sizes{3, 8});
  }
}

TEST_CASE("code objects: of a bundle, the device's own is read") {
  const auto one = image_of("gfx90a", described);
  const auto other = image_of("gfx1030", "extern \"C\" __global__ void other(int*) {}");
  std::vector<std::byte> bundle;
  append(bundle, "__CLANG_OFFLOAD_BUNDLE__");
  append(bundle, std::uint64_t{3});
  std::uint64_t offset = 4096;
  for (const auto& [target, size] : {std::pair<std::string, std::size_t>{"host-x86_64-unknown-linux--", 0},
                                     {"hipv4-amdgcn-amd-amdhsa--gfx1030", other.size()},
                                     {"hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-", one.size()}}) {
    append(bundle, offset);
    append(bundle, std::uint64_t{size});
    append(bundle, std::uint64_t{target.size()});
    append(bundle, target);
    offset += size;
  }
  bundle.resize(4096);
  bundle.insert(bundle.end(), other.begin(), other.end());
  bundle.insert(bundle.end(), one.begin(), one.end());
  CHECK(sizes_of(bundle, "gfx90a:sramecc+:xnack-", "first").size() == 6);
  CHECK(sizes_of(bundle, "gfx1030", "other") == Sizes{8});
  CHECK(weir::hip::kernels_of(bundle, "gfx906").empty());
}

TEST_CASE("code objects: one that does not hold together, or is none, tells nothing and does no harm") {
  const auto image = image_of("gfx90a", described);
  CHECK(weir::hip::kernels_of({}, "gfx90a").empty());
  CHECK(weir::hip::kernels_of(std::vector<std::byte>(64), "gfx90a").empty());
  for (std::size_t size = 0; size < image.size(); ++size) {
    const std::vector<std::byte> cut(image.begin(), image.begin() + static_cast<std::ptrdiff_t>(size));
    for (const weir::gpu::ImageKernel& k : weir::hip::kernels_of(cut, "gfx90a")) REQUIRE(k.parameter_sizes.size() <= 6);
  }
  std::uint32_t random = 1;
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::byte> changed = image;
    for (int i = 0; i < 3; ++i) {
      random = random * 1664525U + 1013904223U;
      changed[(random >> 8U) % 3500] = static_cast<std::byte>(random >> 24U);  // headers and notes lie there
    }
    REQUIRE(weir::hip::kernels_of(changed, "gfx90a").size() < 1000);
  }
  // A document of nothing but arrays within arrays.
  std::vector<std::byte> deep = image;
  const std::string_view text(reinterpret_cast<const char*>(image.data()), image.size());
  const std::size_t document = text.find("AMDGPU") + 8;
  REQUIRE(document < image.size());
  std::fill(deep.begin() + static_cast<std::ptrdiff_t>(document),
            deep.begin() + static_cast<std::ptrdiff_t>(document) + 1024, std::byte{0x91});
  CHECK(weir::hip::kernels_of(deep, "gfx90a").empty());
}

int main(int argc, char** argv) {
  std::vector<weir::LoadAttempt> attempts;
  const std::vector<std::string> names = {"libamdhip64.so.10", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"};
  runtime() = weir::detail::Library::open(names, attempts);
  if (!runtime()) {
    std::puts("skipped: there is no libamdhip64 on this machine");
    return 77;
  }
  int version = 0;
  runtime()->find_as<int (*)(int*)>("hipRuntimeGetVersion")(&version);
  release = version / 10000000 * 100 + version / 100000 % 100;
  doctest::Context context(argc, argv);
  if (release < 602) context.addFilter("test-case", "*is refused*");  // Debian 12's: nothing else works with it
  return context.run();
}
