// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstdlib>

#include "files.hpp"

// Tests the program weir-kernels, run like a build system runs it.

using weir::test::Environment;
using weir::test::Files;
using weir::test::Outcome;

namespace {

Outcome tool(const std::vector<std::string>& arguments, Environment environment = {}) {
  environment.try_emplace("WEIR_PLUGIN_PATH", WEIR_TEST_PLUGINS);
  return weir::test::run(WEIR_TEST_TOOL, arguments, environment);
}

std::string content(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

constexpr const char* kernel = "#include \"n.cuh\"\nextern \"C\" __global__ void k(int* x) { x[threadIdx.x] = N + M; }\n";

/// A source with a header, and its image for one architecture.
struct Project {
  Files files;
  std::filesystem::path source = files.write("k.cu", kernel);
  std::filesystem::path header = files.write("n.cuh", "#define N 7\n");
  std::string image = (files.folder() / "image").string();

  Outcome make_image(const std::string& target, std::vector<std::string> more = {},
                     const Environment& environment = {}) const {
    std::vector<std::string> arguments = {"image",       "--for", target, "--output=" + image, "--depfile=" + image + ".d",
                                          "--define=M=1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    arguments.push_back(source.string());
    return tool(arguments, environment);
  }
};

}  // namespace

TEST_CASE("tool: a command line that is wrong is told so, with status 2") {
  const Files files;
  const std::string source = files.write("k.cu", "").string();
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{},
                                                    {"imag", source},
                                                    {"image", "--for", "cuda sm_90", source},
                                                    {"image", "--output", "x", source},
                                                    {"image", "--for", "cuda", "--output", "x", source},
                                                    {"image", "--for", "cuda sm_90", "--output", "x"},
                                                    {"image", "--for", "cuda sm_90", "--output", "x", source, source},
                                                    {"bundle", "--output", "x", "--standard", "98", source},
                                                    {"bundle", "--output", "x", "--option", "loose", source},
                                                    {"bundle", "--output", "x", "--nosuch", source},
                                                    {"bundle", "--output"}}) {
    const Outcome outcome = tool(arguments);
    CAPTURE(outcome.errors);
    CHECK(outcome.status == 2);
    CHECK(outcome.complains("weir-kernels --help"));
  }
  CHECK(tool({"--help"}).says("Exit status:"));
  CHECK(tool({"--version"}).says("weir-kernels "));
  CHECK(tool({"bundle", "--output", "/nonexistent/x", source}).complains("/nonexistent/x cannot be written"));
  CHECK(tool({"bundle", "--output", "x", "/nonexistent/k.cu"}).status == 1);
}

#ifdef WEIR_TEST_HAS_HOST
TEST_CASE("tool: an image for the CPU, the files that it was made of, and a bundle of it") {
  const Project project;
  const Outcome made = project.make_image("host native");
  CAPTURE(made.errors);
  REQUIRE(made.status == 0);
  CHECK(made.errors.empty());
  CHECK(content(project.image + ".d") ==
        project.image + ": " + project.source.string() + " \\\n  " + project.header.string() + "\n");
  CHECK(content(project.image)
            .find("\x7f"
                  "ELF") != std::string::npos);

  const std::string bundle = (project.files.folder() / "bundle").string();
  REQUIRE(
      tool({"bundle", "--output", bundle, "--define=M=1", "--standard=20", project.source.string(), project.image}).status ==
      0);
  CHECK(content(bundle).find(kernel) != std::string::npos);
  const std::string bare = (project.files.folder() / "bare").string();
  REQUIRE(tool({"bundle", "--output", bare, "--no-source", project.source.string(), project.image}).status == 0);
  CHECK(content(bare).find("__global__") == std::string::npos);
#ifdef WEIR_TEST_COMMAND
  const auto inspect = [](const std::string& file) {
    return weir::test::run(WEIR_TEST_COMMAND, {"kernels", "inspect", file});
  };
  const Outcome listing = inspect(bundle);
  CAPTURE(listing.output);
  CHECK(listing.status == 0);
  for (const char* const line :
       {"k.cu, ", "\n  image   host native ", "\n  source  82 B, C++20\n", "\n  define  M=1\n", "\n  header  n.cuh"}) {
    CAPTURE(line);
    CHECK(listing.says(line));
  }
  CHECK(inspect(bare).says("\n  source  not included\n"));
  // Within another file, twice; damaged; none at all.
  const std::string text = content(bundle);
  const Outcome twice = inspect(project.files.write("twice", "some program" + text + text + "more of it").string());
  CHECK(twice.count("k.cu, ") == 2);
  const Outcome cut = inspect(project.files.write("cut", text.substr(0, text.size() - 16)).string());
  CHECK(cut.status == 1);
  CHECK(cut.complains("the bundle at byte 0: it is damaged"));
  std::string broken = text;
  broken[32 + 4] = '\x7f';  // the size of the first name
  broken[32 + 7] = '\x7f';
  const Outcome damaged = inspect(project.files.write("damaged", "some program" + broken).string());
  CHECK(damaged.status == 1);
  CHECK(damaged.complains("the bundle at byte 12: it is damaged"));
  CHECK(inspect(WEIR_TEST_NO_LIBRARY).complains("contains no kernels of weir_add_kernels"));
  CHECK(inspect("/nonexistent/file").complains("/nonexistent/file cannot be read: No such file or directory"));
#endif
}

TEST_CASE("tool: an error has file, line and column, in the source and in a header") {
  const Project project;
  project.files.write("n.cuh", "#define N 7\nint broken = ;\n");
  const Outcome header = project.make_image("host native");
  CHECK(header.status == 1);
  CHECK(header.complains("\n" + project.header.string() + ":2:14: error: "));
  CHECK(header.complains(project.source.string() + ": error: "));
  CHECK_FALSE(std::filesystem::exists(project.image));
  project.files.write("n.cuh", "#define N nothing\n");
  CHECK(project.make_image("host native").complains(project.source.string() + ":2:"));
  project.files.write("n.cuh", "#define N 7\n");
  CHECK(project.make_image("host no such processor").complains("is not an architecture of the host"));
}
#endif

TEST_CASE("tool: without a compiler an image is an error, or with --optional a warning") {
  const Project project;
  for (const auto& [target, variable] :
       {std::pair{"cuda sm_90", "WEIR_NVRTC"}, {"hip gfx90a", "WEIR_HIP_RUNTIME"}, {"host native", "WEIR_HOST_CXX"}}) {
    const std::string made_for = target;  // Clang before 16 captures no structured bindings
    CAPTURE(made_for);
    const Environment without = {{variable, "/nonexistent/compiler"}, {"WEIR_PLUGIN_PATH", WEIR_TEST_PLUGINS}};
    const Outcome refused = project.make_image(target, {}, without);
    CAPTURE(refused.errors);
    CHECK(refused.status == 1);
    const Outcome warned = project.make_image(target, {"--optional"}, without);
    CHECK(warned.status == 0);
    CHECK(warned.complains(project.source.string() + ": warning: left out the image for " + target));
    CHECK(std::filesystem::file_size(project.image) == 32);  // a bundle of nothing
    std::filesystem::remove(project.image);
  }
  CHECK(project.make_image("nosuch x").status == 1);
}

TEST_CASE("tool: instances of a template are made for every backend, and their names stand in image and bundle") {
  const Files files;
  const std::string source = files
                                 .write("t.cu",
                                        "using Real = float;\n"
                                        "template <class T, int N> __global__ void blur(T* x) { x[threadIdx.x] *= N; }\n")
                                 .string();
  const std::string image = (files.folder() / "image").string();
  const auto make = [&](const std::string& target, const std::string& name, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"image", "--optional", "--for", target, "--output", image, "--kernel", name};
    arguments.insert(arguments.end(), more.begin(), more.end());
    arguments.push_back(source);
    return tool(arguments);
  };
  for (const auto& [target, symbol] : {std::pair{"cuda sm_90", "_Z4blurIfLi3EEvPT_"},
                                       {"cuda compute_90", "_Z4blurIfLi3EEvPT_"},
                                       {"hip gfx90a", "_Z4blurIfLi3EEvPT_"},
                                       {"host native", "blur<Real,3>"}}) {
    const std::string made_for = target;  // Clang before 16 captures no structured bindings
    CAPTURE(made_for);
    const Outcome made = make(target, "blur<Real, 3>");
    CAPTURE(made.errors);
    REQUIRE(made.status == 0);
    if (made.complains("left out")) continue;
    CHECK(content(image).find(symbol) != std::string::npos);
    // The expression and its symbol, too, for a driver that does not tell a module's kernels.
    CHECK((content(image).find("\x89WEIRKN\n") != std::string::npos) == (std::string_view(target) != "host native"));
    const Outcome wrong = make(target, "blurr<Real, 3>");
    CHECK(wrong.status == 1);
    CHECK(wrong.complains("blurr"));
  }
  if (const char* const nvcc = std::getenv("WEIR_TEST_NVCC")) {
    REQUIRE(make("cuda sm_90", "blur<Real, 3>", {"--compiler", nvcc}).status == 0);
    CHECK(content(image).find("_Z4blurIfLi3EEvPT_") != std::string::npos);
  }
  const std::string bundle = (files.folder() / "bundle").string();
  REQUIRE(tool({"bundle", "--output", bundle, "--kernel=blur<Real, 3>", source, image}).status == 0);
#ifdef WEIR_TEST_COMMAND
  CHECK(weir::test::run(WEIR_TEST_COMMAND, {"kernels", "inspect", bundle}).says("\n  kernel  blur<Real, 3>\n"));
#endif
}

#ifdef WEIR_TEST_HAS_CUDA
TEST_CASE("tool: machine code and PTX for NVIDIA, without a GPU") {
  const Project project;
  const Outcome code = project.make_image("cuda sm_90", {"--optional"});
  if (code.complains("left out")) {
    MESSAGE("there is no NVRTC: skipped");
    return;
  }
  CHECK(content(project.image)
            .find("\x7f"
                  "ELF") != std::string::npos);
  CHECK(project.make_image("cuda compute_80").status == 0);
  CHECK(content(project.image).find(".target sm_80") != std::string::npos);
  CHECK(project.make_image("cuda sm_12").complains("cannot compile for sm_12, but for "));
  CHECK(project.make_image("cuda 90").complains("'90' is not an architecture of NVIDIA"));
  project.files.write("n.cuh", "#define N 7\nint broken = ;\n");
  CHECK(project.make_image("cuda sm_90").complains(project.header.string() + ":2: error: "));
  const auto told = [](const Outcome& outcome, const std::string& text) {
    CAPTURE(outcome.errors);
    CHECK(outcome.complains(text));
    const std::size_t first = outcome.errors.find(": error: ");  // the last one says that the source does not compile
    CHECK(outcome.errors.find(": error: ", first + 1) == outcome.errors.rfind(": error: "));
  };
  project.files.write("n.cuh",
                      "__device__ int f() {\n  int lane;\n  asm(\"mov.u32 %0, %%lane;\" : \"=r\"(lane));\n"
                      "  return lane;\n}\n#define N f()\n");
  told(project.make_image("cuda sm_90"), project.header.string() +
                                             ":3: error: Arguments mismatch for instruction 'mov'\n"
                                             "    asm(\"mov.u32 %0, %%lane;\" : \"=r\"(lane));\n");
  project.files.write("n.cuh", "#define N 7\n");
  told(project.make_image("cuda sm_90", {"--kernel=q<int>"}),
       project.source.string() + ": error: identifier \"q\" is undefined, in 'q<int>' of CompileOptions::kernels\n");
}
#endif

#ifdef WEIR_TEST_HAS_HIP
TEST_CASE("tool: a code object for AMD, without a GPU") {
  const Project project;
  const Outcome code = project.make_image("hip gfx90a", {"--optional"});
  if (code.complains("left out")) {
    MESSAGE("there is no HIPRTC: skipped");
    return;
  }
  CAPTURE(code.errors);
  CHECK(content(project.image)
            .find("\x7f"
                  "ELF") != std::string::npos);
  CHECK(project.make_image("hip gfx9999").complains("cannot compile for gfx9999"));
  CHECK(project.make_image("hip sm_90").complains("'sm_90' is not an architecture of AMD"));
  project.files.write("n.cuh", "#define N 7\nint broken = ;\n");
  CHECK(project.make_image("hip gfx90a").complains(project.header.string() + ":2:14: error: "));
}
#endif

#ifdef WEIR_TEST_CLANG
TEST_CASE("tool: Clang alone makes PTX for NVIDIA and a code object for AMD") {
  const Project project;
  const auto make = [&](const std::string& target) { return project.make_image(target, {"--clang", WEIR_TEST_CLANG}); };
  const Outcome ptx = make("cuda compute_80");
  CAPTURE(ptx.errors);
  REQUIRE(ptx.status == 0);
  CHECK(content(project.image).find(".visible .entry k(") != std::string::npos);
  CHECK(make("cuda sm_80").complains("Clang compiles to PTX, not to machine code for sm_80: write 80-virtual"));

  // What a warp does, shared memory, and a function that is more than an instruction.
  constexpr const char* warp_source =
      "#include \"n.cuh\"\nextern \"C\" __global__ void k(float* x) { __shared__ float s[64]; "
      "s[threadIdx.x] = __shfl_xor_sync(~0ull, x[threadIdx.x], N); __syncthreads(); "
      "if (__any_sync(~0ull, s[0] > 0)) atomicAdd(x, FUNCTION(s[1])); }\n";
  project.files.write("k.cu", warp_source);
  const auto with = [&](const std::string& target, const char* function) {
    return project.make_image(target, {"--clang", WEIR_TEST_CLANG, std::string("--define=FUNCTION=") + function});
  };
  const Outcome warp = with("cuda compute_80", "sqrtf");
  CAPTURE(warp.errors);
  REQUIRE(warp.status == 0);
  for (const char* const instruction : {"shfl.sync", "bar.sync", "vote.sync", "atom.global.add.f32", "sqrt.rn.f32"}) {
    CAPTURE(instruction);
    CHECK(content(project.image).find(instruction) != std::string::npos);
  }
  const Outcome sine = with("cuda compute_80", "sinf");
  CHECK((sine.status == 0 || sine.complains("from CUDA's libdevice.10.bc, which was not found on this machine")));
  CHECK(with("cuda compute_80", "no_such_function").complains(project.source.string() + ":2:"));

  // Another thread may write there before the barrier.
  project.files.write("k.cu",
                      "extern \"C\" __global__ void k(int* __restrict__ x) { const int before = x[0]; "
                      "__syncthreads(); x[threadIdx.x + 1] = x[0] - before; }\n");
  CHECK(make("cuda compute_80").status == 0);
  const std::string meeting = content(project.image);
  CHECK(meeting.find("ld.global") != meeting.rfind("ld.global"));
  project.files.write("k.cu", warp_source);

  const Outcome amd = with("hip gfx1030", "sqrtf");
  CAPTURE(amd.errors);
  if (amd.complains("lld")) return;  // AMD's code objects are linked by the lld of the same release
  REQUIRE(amd.status == 0);
  CHECK(content(project.image)
            .find("\x7f"
                  "ELF") != std::string::npos);
  CHECK(content(project.image).find("k.kd") != std::string::npos);
}
#endif

TEST_CASE("tool: a folder in place of a file is told to be one") {
  const Files files;
  const std::string folder = files.folder().string(), source = files.write("k.cu", kernel).string();
  const Outcome image = tool({"image", "--for", "host x86-64", "--output=" + folder + "/image", folder});
  CHECK(image.status == 1);
  CHECK_MESSAGE(image.errors == folder + " is a folder, not a file\n", image.errors);
  files.write("n.cuh", "");
  const Outcome bundle = tool({"bundle", "--output=" + folder + "/bundle", source, folder});
  CHECK(bundle.status == 1);
  CHECK_MESSAGE(bundle.errors == folder + " is a folder, not a file\n", bundle.errors);
}
