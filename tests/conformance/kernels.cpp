// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "capture.hpp"

/// Kernels: compiling, launching, arguments, shapes, misuse. The sources use only the part that CUDA C++ and HIP C++ have in
/// common.
namespace conformance::kernels_cases {

TEST_SUITE_BEGIN("kernels");

struct KernelCapture : Capture {
  bool is_possible() { return needs_kernels() && Capture::is_possible(); }
};
struct HeldKernels : Held {
  bool is_possible() { return needs_kernels() && hold(); }
};

CASE(WithKernels, "S1 S43 launch: every element once, behind and before the stream's copies") {
  constexpr unsigned n = 100003;  // no multiple of any block
  std::vector<float> x(n), y(n), expected(n);
  for (unsigned i = 0; i < n; ++i) {
    x[i] = static_cast<float>(i % 1000);
    y[i] = static_cast<float>(i % 7);
    expected[i] = y[i] + 2.0F * x[i];
  }
  const auto dx = device().allocate<float>(n);
  const auto dy = device().allocate<float>(n);
  s->copy(dx, x);
  s->copy(dy, y);
  s->launch(kernels().axpy, grid_for(n), n, 2.0F, dx, dy);
  s->copy(y, dy);
  s->synchronize();
  CHECK(y == expected);
}

CASE(KernelCapture, "S37 launch: a kernel in a graph, launched a hundred times, adds up exactly") {
  const GraphPtr graph = s->capture([&](Stream& c) {
    c.launch(kernels().add, {}, board.cell(0), 1U);
    c.launch(kernels().add, {}, board.cell(1), 3U);
  });
  CHECK(graph->topology().nodes == std::vector<NodeKind>{NodeKind::kernel, NodeKind::kernel});
  const GraphExecPtr exec = graph->instantiate();
  const StreamPtr other = device().create_stream();
  for (int i = 0; i < 100; ++i) exec->launch(i % 2 == 0 ? *s : *other);
  other->wait(*s);
  s->wait(*other);
  CHECK(board.read(*s, {0, 1}) == Values{100, 300});
}

CASE(KernelCapture, "S8 S37 compile: a kernel that is compiled in a capture can be captured, in every mode") {
  for (const CaptureMode mode : {CaptureMode::global, CaptureMode::thread_local_, CaptureMode::relaxed}) {
    s->begin_capture(mode);
    // Text of its own, so that no module of it is there yet.
    const std::string value = std::to_string(70 + int(mode));
    const std::string source = "extern \"C\" __global__ void put(unsigned* p) { *p = " + value + "; }";
    s->launch(device().compile(source)->untyped_kernel("put"), {}, board.cell(0));
    board.show(*s, 0);
    run(s->end_capture(), *s);
    CHECK(board[0] == 70 + unsigned(mode));
  }
}

CASE(KernelCapture, "S37 update: of a kernel's arguments") {
  const auto captured = [&](std::size_t cell, unsigned value) {
    return s->capture([&](Stream& c) { c.launch(kernels().add, {}, board.cell(cell), value); });
  };
  const GraphExecPtr exec = captured(0, 1)->instantiate();
  const GraphPtr next = captured(1, 5);
  if (!needs(*s, {Feature::graph_update}, [&] { exec->update(*next); })) return;
  exec->launch(*s);
  exec->update(*next);
  exec->launch(*s);
  exec->launch(*s);
  CHECK(board.read(*s, {0, 1}) == Values{1, 10});
}

CASE(HeldKernels, "S22 S23 launch: kernels of different streams are ordered by waits") {
  for (int i = 0; i < 50; ++i) {
    a->launch(kernels().add, {}, board.cell(0), 1U);
    b->wait(*a);
    b->launch(kernels().add, {}, board.cell(0), 1U);
    a->wait(*b);
  }
  board.show(*a, 0);
  gate.finish(*a);
  CHECK(board[0] == 100);
}

CASE(HeldKernels, "S1 launch: arguments are taken when it is called, not when it runs") {
  {
    unsigned value = 4;
    a->launch(kernels().add, {}, board.cell(0), value);
    value = 1000;
    void* address = board.cell(1).data();
    std::array<void*, 2> addresses = {&address, &value};
    const weir::Parameter sizes[] = {{sizeof(void*)}, {sizeof(unsigned)}};
    value = 5;
    a->launch_raw(*kernels().add, {}, addresses, sizes);
    value = 2000;
    address = nullptr;
    addresses = {};
  }
  gate.open();
  CHECK(board.read(*a, {0, 1}) == Values{4, 5});
}

CASE(WithKernels, "S1 launch: arguments of every size and alignment, a struct and null among them") {
  struct Pair {
    double d;
    std::int16_t s;
  };
  const char* const source = R"(
struct Pair { double d; short s; };
extern "C" __global__ void k(bool a, signed char b, unsigned short c, int d, unsigned long long e, float f, double g, Pair h,
                             const int* i, unsigned char j, double* out, long long k) {
  out[0] = a; out[1] = b; out[2] = c; out[3] = d; out[4] = (double)e; out[5] = f; out[6] = g; out[7] = h.d; out[8] = h.s;
  out[9] = i == nullptr; out[10] = j; out[11] = (double)k;
}
)";
  const auto kernel = device().compile(source)->untyped_kernel("k");
  const auto out = device().allocate<double>(12);
  s->launch(kernel, {}, true, static_cast<signed char>(-2), static_cast<unsigned short>(65535), -4,
            static_cast<unsigned long long>(1ULL << 40U), 5.5F, -6.25, Pair{7.75, -8}, static_cast<const int*>(nullptr),
            static_cast<unsigned char>(10), out, static_cast<long long>(-11));
  CHECK(s->read(out) ==
        std::vector<double>{1, -2, 65535, -4, static_cast<double>(1ULL << 40U), 5.5, -6.25, 7.75, -8, 1, 10, -11});
}

CASE(WithKernels, "S1 launch: indices in three dimensions of grid and block") {
  const char* const source = R"(
extern "C" __global__ void k(unsigned* out) {
  unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
  unsigned z = blockIdx.z * blockDim.z + threadIdx.z;
  unsigned width = gridDim.x * blockDim.x, height = gridDim.y * blockDim.y;
  out[(z * height + y) * width + x] = x + 100 * y + 10000 * z + 1000000 * gridDim.z;
}
)";
  const auto kernel = device().compile(source)->untyped_kernel("k");
  const LaunchConfig config{.grid = {2, 3, 4}, .block = {4, 2, 3}};
  const unsigned width = 8, height = 6, depth = 12;
  const auto out = device().allocate<std::uint32_t>(width * height * depth);
  s->fill(out, 0U);
  s->launch(kernel, config, out);
  const Values back = s->read(out);
  for (unsigned z = 0; z < depth; ++z) {
    for (unsigned y = 0; y < height; ++y) {
      for (unsigned x = 0; x < width; ++x) {
        REQUIRE(back[(z * height + y) * width + x] == x + 100 * y + 10000 * z + 4000000);
      }
    }
  }
}

CASE(WithKernels, "S1 launch: two numbers are blocks and threads, as between chevrons") {
  const auto kernel = device().compile(R"(
extern "C" __global__ void shape(unsigned* out) {
  out[0] = gridDim.x; out[1] = gridDim.y; out[2] = gridDim.z;
  out[3] = blockDim.x; out[4] = blockDim.y; out[5] = blockDim.z;
}
)")->untyped_kernel("shape");
  const auto out = device().allocate<std::uint32_t>(6);
  using Shape = Values;
  s->launch(kernel, {4, 32}, out);
  CHECK(s->read(out) == Shape{4, 1, 1, 32, 1, 1});
  s->launch(kernel, {{4, 2}, 32}, out);
  CHECK(s->read(out) == Shape{4, 2, 1, 32, 1, 1});
  s->launch(kernel, {std::size_t{3}, {8, 4}}, out);
  CHECK(s->read(out) == Shape{3, 1, 1, 8, 4, 1});
  s->launch(kernel, {}, out);
  CHECK(s->read(out) == Shape{1, 1, 1, 1, 1, 1});
}

CASE(WithKernels, "S1 launch: every kind of span is passed as its address") {
  const auto memory = device().allocate<std::uint32_t>(4);
  s->fill(memory, 1U);
  s->launch(kernels().add, {}, memory, 1U);
  s->launch(kernels().add, {}, memory.subspan(1, 1), 2U);
  s->launch(kernels().add, {}, std::span(memory.data() + 2, 1), 3U);
  s->launch(kernels().add, {}, std::span<std::uint32_t, 1>(memory.data() + 3, 1), 4U);
  CHECK(s->read(memory) == Values{2, 3, 4, 5});
}

CASE(WithKernels, "S1 launch: addresses and sizes must be there, and as many of the one as of the other") {
  const auto memory = device().allocate<std::uint32_t>(1);
  s->fill(memory, 1U);
  void* address = memory.data();
  std::uint32_t value = 4;
  void* arguments[2] = {&address, &value};
  const weir::Parameter sizes[3] = {{sizeof(address)}, {sizeof(value)}, {4}};
  const weir::Kernel& add = *kernels().add;
  CHECK_REFUSED(Errc::invalid_argument, s->launch_raw(add, {}, arguments, std::span(sizes).first(1)));
  CHECK_REFUSED(Errc::invalid_argument, s->launch_raw(add, {}, arguments, sizes));
  CHECK_REFUSED(Errc::invalid_argument, s->launch_raw(add, {}, {}, std::span(sizes).first(2)));
  void* missing[2] = {&address, nullptr};
  CHECK_REFUSED_SAYING(Errc::invalid_argument, "the address of argument 2 of 2 is null",
                       s->launch_raw(add, {}, missing, std::span(sizes).first(2)));
  s->launch_raw(add, {}, arguments, std::span(sizes).first(2));
  CHECK(s->read(memory) == Values{5});
}

CASE(WithKernels, "S1 launch: the largest blocks and large grids") {
  const auto largest = static_cast<unsigned>(device().properties().max_threads_per_block);
  REQUIRE(largest >= 1);
  const unsigned n = largest * 3 + 1;
  const auto out = device().allocate<std::uint32_t>(n);
  for (const unsigned block : {1U, 33U, largest}) {
    s->fill(out, 0U);
    s->launch(kernels().iota, grid_for(n, block), n, block, out);
    const Values back = s->read(out);
    CHECK(back.front() == block);
    CHECK(back.back() == block + n - 1);
  }
}

TEST_CASE("S1 grid_for: covers every element, and refuses what cannot be launched") {
  CHECK(grid_for(1000, 256).grid == Dim3{4, 1, 1});
  CHECK(grid_for(1024, 256).grid == Dim3{4, 1, 1});
  CHECK(grid_for(1025, 256).grid == Dim3{5, 1, 1});
  CHECK(grid_for(1, 64).block == Dim3{64, 1, 1});
  CHECK(grid_for(0).grid == Dim3{1, 1, 1});
  CHECK_REFUSED(Errc::invalid_argument, grid_for(1, 0));
  CHECK_REFUSED(Errc::invalid_argument, grid_for(std::size_t{1} << 40U, 256));
}

CASE(WithKernels, "S1 launch: an impossible shape is an error, and the stream goes on working") {
  const auto& limits = device().properties();
  const auto block_x = static_cast<unsigned>(limits.max_threads_per_block);
  std::vector<LaunchConfig> impossible = {
      {.grid = {0, 1, 1}, .block = {1, 1, 1}},
      {.grid = {1, 0, 1}, .block = {1, 1, 1}},
      {.grid = {1, 1, 1}, .block = {0, 1, 1}},
      {.grid = {1, 1, 1}, .block = {1, 1, 0}},
      {.grid = {1, 1, 1}, .block = {block_x + 1, 1, 1}},
      {.grid = {1, 1, 1}, .block = {limits.max_block.x, 2, limits.max_block.z}},
      {.grid = {1, 1, 1}, .block = {1, 1, limits.max_block.z + 1}},
      {.grid = {1, limits.max_grid.y + 1, 1}, .block = {1, 1, 1}},
  };
  for (const LaunchConfig& config : impossible) {
    INFO("grid ", weir::to_string(config.grid), ", block ", weir::to_string(config.block));
    CHECK_REFUSED(Errc::invalid_argument, s->launch(kernels().add, config, board.cell(0), 1U));
  }
  const auto launch = [&](const auto& grid) { s->launch(kernels().add, {grid, 1}, board.cell(0), 1U); };
  CHECK_REFUSED_SAYING(Errc::invalid_argument, "an extent cannot be -1", launch(-1));
  // A grid of no blocks, if the upper half were lost.
  CHECK_REFUSED_SAYING(Errc::invalid_argument, "an extent cannot be 4294967296", launch(std::size_t{1} << 32U));
  CHECK(board.read(*s, 0) == 0);
}

CASE(WithKernels, "S1 launch: arguments that are not the kernel's are an error, where the driver can tell") {
  if (!kernels().add->has_parameter_sizes()) return skip("the driver does not tell a kernel's parameters");
  const auto parameters = kernels().add->parameters();
  REQUIRE(parameters.size() == 2);
  CHECK((parameters[0].size == sizeof(void*) && parameters[1].size == sizeof(unsigned)));
  CHECK_REFUSED(Errc::invalid_argument, s->launch(kernels().add, {}));
  CHECK_REFUSED(Errc::invalid_argument, s->launch(kernels().add, {}, board.cell(0)));
  CHECK_REFUSED(Errc::invalid_argument, s->launch(kernels().add, {}, board.cell(0), 1U, 2U));
  CHECK_REFUSED(Errc::invalid_argument, s->launch(kernels().add, {}, 1U, board.cell(0)));
  CHECK_REFUSED_SAYING(Errc::invalid_argument, "argument 2 of 2 takes 4 bytes, but one of 8 was passed",
                       s->launch(kernels().add, {}, board.cell(0), std::uint64_t{1}));
  CHECK(board.read(*s, 0) == 0);
}

CASE(WithKernels,
     "S1 launch: a floating-point number for another number, or the other way round, is an error where that is known") {
  const auto kernel =
      device()
          .compile("__global__ void k(unsigned* p, unsigned n, float x) { *p = n + (unsigned)x; }", {.kernels = {"k"}})
          ->untyped_kernel("k");
  if (kernel->parameters()[0].kind == weir::ParameterKind::unknown)
    return skip("the backend does not tell which parameters are floating-point numbers");
  CHECK_REFUSED(Errc::invalid_argument, s->launch(kernel, {}, board.cell(0), 1.0F, 2.0F));
  CHECK_REFUSED(Errc::invalid_argument, s->launch(kernel, {}, board.cell(0), 1U, 2U));
  CHECK_REFUSED_SAYING(Errc::invalid_argument,
                       "argument 2 of 3 is not a floating-point number in the kernel, but one was passed",
                       s->launch(kernel, {}, board.cell(0), 1.0F, 2U));
  s->launch(kernel, {}, board.cell(0), -1, 2.0F);  // the sign is nobody's concern: the bits are the same
  CHECK(board.read(*s, 0) == 1);
}

CASE(WithKernels, "S1 typed kernel: arguments are converted to the parameters' types") {
  const auto module = device().compile(R"(
extern "C" __global__ void k(double* out, float a, long long b, const double* in, unsigned char c, bool d) {
  out[0] = a; out[1] = (double)b; out[2] = in[0]; out[3] = c; out[4] = d;
}
)");
  const auto kernel = module->kernel<void(double*, float, long long, const double*, unsigned char, bool)>("k");
  CHECK(kernel->name() == "k");
  CHECK(kernel.kernel()->module() == module);
  const auto out = device().allocate<double>(5);
  const auto in = device().allocate<double>(1);
  const std::vector<double> seven_and_a_half = {7.5};
  s->copy(in, seven_and_a_half);
  const int seven = -7;
  s->launch(kernel, {}, out, 2.25, seven, in, 200, true);
  CHECK(s->read(out) == std::vector<double>{2.25, -7, 7.5, 200, 1});
  s->launch(kernel, {.grid = 1, .block = 1}, out.data(), 4, 5U, weir::Span<const double>(in), static_cast<unsigned char>(6),
            false);
  CHECK(s->read(out) == std::vector<double>{4, 5, 7.5, 6, 0});
}

CASE(KernelCapture, "S37 typed kernel: in a graph") {
  const weir::TypedKernel<void(unsigned*, unsigned)> add(kernels().add);
  run(s->capture([&](Stream& c) {
    c.launch(add, {}, board.cell(0), 3);
    board.show(c, 0);
  }), *s);
  CHECK(board[0] == 3);
}

CASE(WithKernels,
     "S1 typed kernel: a type that is not the kernel's is an error when it is made, where the parameters are known") {
  const weir::ModulePtr& module = kernels().module;
  CHECK_REFUSED(Errc::kernel_not_found, module->kernel<void(unsigned*, unsigned)>("no_such_kernel"));
  CHECK_REFUSED(Errc::invalid_argument, s->launch(weir::TypedKernel<void()>(), {}));
  if (!kernels().add->has_parameter_sizes()) return skip("the driver does not tell a kernel's parameters");
  CHECK_REFUSED(Errc::invalid_argument, module->kernel<void(unsigned*)>("add"));
  CHECK_REFUSED(Errc::invalid_argument, module->kernel<void()>("add"));
  CHECK_REFUSED(Errc::invalid_argument, module->kernel<void(unsigned*, unsigned, unsigned)>("add"));
  const Refusal sizes = refusal_of([&] { (void)module->kernel<void(unsigned*, double)>("add"); });
  CHECK_MESSAGE(sizes.says("its parameters are 2 of 8 and 4 bytes, but those of the requested type are 2 of 8 and 8 bytes"),
                sizes.text);
  if (kernels().add->parameters()[0].kind == weir::ParameterKind::unknown) return;
  CHECK_REFUSED_SAYING(Errc::invalid_argument, "its parameter 2 of 2 is not a floating-point number",
                       module->kernel<void(unsigned*, float)>("add"));
}

CASE(KernelCapture, "S31 launch: a wrong one inside a capture is refused, and the capture goes on") {
  s->begin_capture();
  s->launch(kernels().add, {}, board.cell(0), 1U);
  CHECK_REFUSED(Errc::invalid_argument, s->launch(kernels().add, {.grid = {0, 0, 0}, .block = {}}, board.cell(0), 1U));
  board.show(*s, 0);
  const GraphPtr graph = s->end_capture();
  CHECK(graph->node_count() == 2);
  run(graph, *s);
  CHECK(board[0] == 1);
}

CASE(WithKernels, "S1 kernel: keeps its module alive, and tells its name and limits") {
  weir::ModulePtr module = device().compile("extern \"C\" __global__ void seven(unsigned* p) { *p = 7; }");
  CHECK(&module->device() == &device());
  const weir::KernelPtr kernel = module->untyped_kernel("seven");
  CHECK(kernel->module() == module);
  module.reset();
  CHECK(kernel->name() == "seven");
  CHECK(&kernel->device() == &device());
  const weir::KernelProperties properties = kernel->properties();
  CHECK(properties.max_threads_per_block > 0);
  CHECK(properties.max_threads_per_block <= static_cast<unsigned>(device().properties().max_threads_per_block));
  CHECK(kernel->max_active_blocks(1) > 0);
  s->launch(kernel, {}, board.cell(0));
  CHECK(board.read(*s, 0) == 7);
}

CASE(WithKernels, "S1 kernel: of C++ linkage, and of instances of templates, by their names") {
  const weir::ModulePtr module = device().compile(
      R"(
namespace image {
template <class T, int N> __global__ void scaled(T* out, T by) { *out = by * N; }
template <class T> __global__ void sum(T* out) {
  __shared__ T part[32];
  part[threadIdx.x] = (T)threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) { T total = 0; for (int i = 0; i < 32; ++i) total += part[i]; *out = total; }
}
template __global__ void sum<unsigned>(unsigned*);
__constant__ unsigned offset = 1000;
__global__ void plain(unsigned* out) { *out = offset; }
}
)",
      {.kernels = {"image::scaled<unsigned, 3>", "image::scaled<float,2>", "image::plain", "image::sum<unsigned>"}});
  s->launch(module->untyped_kernel("image::scaled<unsigned,3>"), {}, board.cell(0), 7U);
  s->launch(module->kernel<void(float*, float)>("image::scaled<float, 2>"), {},
            reinterpret_cast<float*>(board.cell(1).data()), 1.5);
  s->launch(module->untyped_kernel("image::plain"), {}, board.cell(2));
  s->launch(module->untyped_kernel("image::scaled< unsigned int, 3u >"), {}, board.cell(3), 5U);
  if (device().supports(Feature::block_cooperation))
    s->launch(module->untyped_kernel("image::sum<unsigned>"), {1, 32}, board.cell(4));
  CHECK(board.read(*s, 0) == 21);
  CHECK(board.read(*s, 1) == 0x40400000U);  // 3.0F
  CHECK(board.read(*s, {2, 3}) == Values{1000, 15});
  if (device().supports(Feature::block_cooperation)) CHECK(board.read(*s, 4) == 31 * 32 / 2);
  CHECK_REFUSED_SAYING(Errc::kernel_not_found, "CompileOptions::kernels",
                       module->untyped_kernel("image::scaled<double, 3>"));
  CHECK_REFUSED(Errc::compilation_failed,
                device().compile("__global__ void k() {}", {.kernels = {"no_such_template<int>"}}));
  CHECK_REFUSED(Errc::invalid_argument, device().compile("__global__ void k() {}", {.kernels = {""}}));
}

CASE(WithKernels, "S1 kernel: its instances share the variables of their module") {
  const weir::ModulePtr module = device().compile(R"(
extern "C" { __device__ unsigned shared_by_all = 3; }
template <int N> __global__ void read(unsigned* out) { *out = shared_by_all * N; }
)",
                                                  {.kernels = {"read<1>", "read<2>"}});
  const std::uint32_t value = 50;
  s->copy_bytes(module->global("shared_by_all").data(), &value, sizeof(value));
  s->launch(module->untyped_kernel("read<1>"), {}, board.cell(0));
  s->launch(module->untyped_kernel("read<2>"), {}, board.cell(1));
  CHECK(board.read(*s, {0, 1}) == Values{50, 100});
}

CASE(WithKernels, "S1 compile: a second time it is the same, and a header that was changed is noticed") {
  const auto folder = std::filesystem::temp_directory_path() / ("weir-conformance-cache-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  std::size_t cell = 0;
  for (const unsigned value : {11U, 11U, 12U, 11U}) {
    std::ofstream(folder / "changing_header_of_the_suite.h") << "#define VALUE " << value << "\n";
    const auto kernel = device().compile("#include \"changing_header_of_the_suite.h\"\n"
                                         "template <class T> __global__ void k(T* p) { *p = VALUE; }",
                                         {.include_directories = {folder.string()}, .kernels = {"k<unsigned>"}})
                            ->untyped_kernel("k<unsigned>");
    s->launch(kernel, {}, board.cell(cell));
    CHECK(board.read(*s, cell) == value);
    ++cell;
  }
  std::filesystem::remove_all(folder);
}

CASE(WithKernels, "S1 kernel: the suggested size of a block can be launched, and its occupancy is told") {
  constexpr unsigned n = 10007;
  const auto out = device().allocate<std::uint32_t>(n);
  const weir::Kernel& iota = *kernels().iota;
  const std::uint32_t threads = iota.suggested_block_size();
  CHECK(threads >= 1);
  CHECK(threads <= iota.properties().max_threads_per_block);
  CHECK(iota.max_active_blocks(threads) >= 1);
  s->launch(iota, grid_for(n, threads), n, 5U, out);
  const Values back = s->read(out);
  CHECK(back.front() == 5);
  CHECK(back.back() == 5 + n - 1);
  if (!device().supports(Feature::block_cooperation)) return;
  const std::size_t most = device().properties().shared_memory_per_block_optin;
  CHECK(iota.max_active_blocks(1, most) >= 1);
  CHECK(iota.max_active_blocks(1, most + 1) == 0);
  CHECK(iota.suggested_block_size(1024) >= 1);
  CHECK_REFUSED(Errc::invalid_argument, (void)iota.suggested_block_size(most + 1));
  const auto bounded =
      device().compile("extern \"C\" __global__ void __launch_bounds__(64) k(unsigned* p) { *p = 1; }")->untyped_kernel("k");
  CHECK(bounded->suggested_block_size() <= 64);
  CHECK(bounded->properties().max_threads_per_block == 64);
}

CASE(WithKernels, "S1 launch: a block can have all the shared memory that the device allows, without a further call") {
  if (!device().supports(Feature::block_cooperation)) return;
  const auto kernel = device().compile(R"(
extern "C" __global__ void k(unsigned n, unsigned* out) {
  extern __shared__ unsigned values[];
  for (unsigned i = threadIdx.x; i < n; i += blockDim.x) values[i] = i;
  __syncthreads();
  if (threadIdx.x == 0) *out = values[0] + values[n - 1];
}
)")->untyped_kernel("k");
  const auto bytes = static_cast<std::uint32_t>(device().properties().shared_memory_per_block_optin);
  const std::uint32_t count = bytes / 4;
  s->launch(kernel, {.grid = 2, .block = 64, .shared_memory_bytes = bytes}, count, board.cell(0));
  CHECK(board.read(*s, 0) == count - 1);
}

CASE(WithKernels, "S1 kernel: of a name that the module has not, is an error that names it") {
  CHECK_REFUSED_SAYING(Errc::kernel_not_found, "no_such_kernel", kernels().module->untyped_kernel("no_such_kernel"));
  CHECK_REFUSED(Errc::kernel_not_found, kernels().module->global("no_such_variable"));
}

CASE(WithKernels, "S1 compile: a source that does not compile is an error with the compiler's log") {
  const Refusal refusal = refusal_of([] {
    (void)device().compile("extern \"C\" __global__ void k(int* p) { *p = undeclared_thing; }",
                           {.name = "broken_source.cu"});
  });
  CHECK_MESSAGE(refusal.is(Errc::compilation_failed), refusal.text);
  CHECK(refusal.says("undeclared_thing"));
  CHECK(refusal.says("broken_source.cu"));
  CHECK_REFUSED(Errc::invalid_argument, device().compile("", {.cxx_standard = 3}));
  CHECK_WORKS(*device().create_stream());
}

CASE(WithKernels, "S1 compile: macros, include folders, standards, debugging and fast arithmetic") {
  const auto folder = std::filesystem::temp_directory_path() / ("weir-conformance-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "constant_of_the_suite.h") << "#define FROM_HEADER 30\n";
  std::size_t cell = 0;
  for (const int standard : {14, 17, 20}) {
    for (const bool debug : {false, true}) {
      const auto kernel = device()
                              .compile(
                                  "#include \"constant_of_the_suite.h\"\n"
                                  "extern \"C\" __global__ void k(unsigned* p) { *p = FROM_HEADER + VALUE + (FLAG); }",
                                  {.defines = {{"VALUE", "4"}, {"FLAG", "5 - 3"}},
                                   .include_directories = {folder.string()},
                                   .cxx_standard = standard,
                                   .fast_math = !debug,
                                   .debug = debug})
                              ->untyped_kernel("k");
      s->launch(kernel, {}, board.cell(cell));
      CHECK(board.read(*s, cell) == 36);
      ++cell;
    }
  }
  std::filesystem::remove_all(folder);
}

TEST_CASE("S1 compile: what is no macro's name, a value of several lines, a relative folder, or half a name is refused") {
  const char* const source = "extern \"C\" __global__ void k(unsigned* p) { *p = TWICE(VALUE); }";
  const auto compile = [&](std::string name, std::string value) {
    return device().compile(source, {.defines = {{"TWICE(x)", "((x) + (x))"}, {std::move(name), std::move(value)}}});
  };
  if (!needs(device(), {Feature::runtime_compilation}, [&] { (void)compile("VALUE", "4"); })) return;
  for (const char* const name : {"A B", "", "1A", "A=B", "A-B", "A(x", "A)", "VALUE\n", " VALUE", "(x)"}) {
    CAPTURE(name);
    CHECK_REFUSED(Errc::invalid_argument, compile(name, "1"));
  }
  CHECK_REFUSED(Errc::invalid_argument, compile("VALUE", "1\n#define OTHER 2"));
  CHECK_REFUSED(Errc::invalid_argument, device().compile("", {.include_directories = {"include"}}));
  CHECK_REFUSED(Errc::invalid_argument, compile("VALUE", "4")->untyped_kernel(std::string_view("k\0k", 3)));
  Board board;
  const StreamPtr s = device().create_stream();
  s->launch(compile("VALUE", "4")->untyped_kernel("k"), {}, board.cell(0));
  CHECK(board.read(*s, 0) == 8);
}

CASE(WithKernels, "S1 module: variables of the device") {
  const auto module = device().compile(R"(
extern "C" {
__device__ unsigned table[4] = {1, 2, 3, 4};
__constant__ unsigned factor = 10;
__global__ void k(unsigned* p) { *p = factor * (table[0] + table[3]); }
}
)");
  const Span<std::byte> table = module->global("table");
  const Span<std::byte> factor = module->global("factor");
  CHECK(table.size() == 16);
  CHECK(factor.size() == 4);
  const auto kernel = module->untyped_kernel("k");
  s->launch(kernel, {}, board.cell(0));
  board.show(*s, 0);
  const Values values = {5, 6, 7, 8};
  const std::uint32_t hundred = 100;
  s->copy_bytes(table.data(), values.data(), 16);
  s->copy_bytes(factor.data(), &hundred, 4);
  s->launch(kernel, {}, board.cell(1));
  board.show(*s, 1);
  s->synchronize();
  CHECK(board.shown({0, 1}) == Values{50, 1300});
}

TEST_CASE("S1 module: an image that is none is an error") {
  const std::array<std::byte, 64> nonsense{};
  if (!needs(device(), {Feature::modules}, [&] { (void)device().load_module(nonsense); })) return;
  CHECK_REFUSED(Errc::invalid_image, device().load_module(nonsense));
  CHECK_REFUSED(Errc::invalid_image, device().load_module({}));
  CHECK_WORKS(*device().create_stream());
}

CASE(WithKernels, "S27 launch: from many threads, on one stream and on many") {
  const StreamPtr shared = device().create_stream();
  in_parallel(4, [&](std::size_t t) {
    const StreamPtr mine = device().create_stream();
    for (int i = 0; i < 100; ++i) {
      shared->launch(kernels().add, {}, board.cell(0), 1U);
      mine->launch(kernels().add, {}, board.cell(t + 1), 1U);
    }
    mine->synchronize();
  });
  CHECK(board.read(*shared, 0) == 400);
  for (std::size_t i = 1; i < 5; ++i) CHECK(board.read(*shared, i) == 100);
}

CASE(WithKernels, "S1 launch: shared memory, barriers and atomics within a block") {
  const LaunchConfig config{.grid = {4}, .block = {64}, .shared_memory_bytes = 64 * sizeof(unsigned)};
  if (!needs(*s, {Feature::block_cooperation}, [&] { s->launch(kernels().add, config, board.cell(0), 1U); })) return;
  const auto kernel = device().compile(R"(
extern "C" __global__ void reverse_sum(const unsigned* in, unsigned* out, unsigned* sum) {
  extern __shared__ unsigned values[];
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  values[threadIdx.x] = in[i];
  __syncthreads();
  unsigned v = values[blockDim.x - 1 - threadIdx.x];
  out[i] = v;
  atomicAdd(sum, v);
}
)")->untyped_kernel("reverse_sum");
  const auto in = device().allocate<std::uint32_t>(256);
  const auto out = device().allocate<std::uint32_t>(256);
  const Values source = numbers(256);
  s->copy(in, source);
  s->launch(kernel, config, in, out, board.cell(1));
  const Values back = s->read(out);
  for (unsigned i = 0; i < 256; ++i) REQUIRE(back[i] == i / 64 * 64 + 63 - i % 64);
  CHECK(board.read(*s, 1) == 256 * 255 / 2);
  CHECK_REFUSED(Errc::invalid_argument,
                s->launch(kernel, {.grid = {1}, .block = {64}, .shared_memory_bytes = 0x7FFFFFFF}, in, out, board.cell(1)));
}

CASE(WithKernels, "S1 kernel: objects of one kernel share its limit of shared memory, which questions do not lower") {
  const weir::ModulePtr module = device().compile(R"(
extern "C" __global__ void count(unsigned* sum, unsigned words) {
  extern __shared__ unsigned block[];
  block[words - 1] = 1;
  *sum += block[words - 1];
})");
  const auto most = static_cast<std::uint32_t>(device().properties().shared_memory_per_block_optin) / 4 * 4;
  const auto less = std::min(most, 60000U);
  const auto first = module->untyped_kernel("count"), second = module->untyped_kernel("count");
  const auto sum = device().allocate<unsigned>(1);
  s->fill(sum, 0U);
  const auto launch = [&](const weir::KernelPtr& kernel, std::uint32_t bytes) {
    s->launch(kernel, {.grid = {1}, .block = {1}, .shared_memory_bytes = bytes}, sum, bytes / 4);
  };
  launch(first, most);
  launch(second, less);
  launch(first, most);
  CHECK(module->untyped_kernel("count")->max_active_blocks(32, less) > 0);
  launch(first, most);
  CHECK(s->read(sum) == std::vector<unsigned>{4});
}

CASE(WithKernels, "S1 launch: cooperative") {
  const LaunchConfig config{.grid = {2}, .block = {32}, .cooperative = true};
  if (!needs(*s, {Feature::cooperative_launch}, [&] { s->launch(kernels().add, config, board.cell(0), 1U); })) return;
  s->launch(kernels().add, config, board.cell(0), 6U);
  CHECK(board.read(*s, 0) == 6);
}

CASE(WithKernels, "S1 kernel: a name without a character is an error, and spaces around a name do not matter") {
  const weir::ModulePtr module = kernels().module;
  for (const char* const name : {"", " ", "\t \n"}) {
    CAPTURE(name);
    CHECK_REFUSED_SAYING(Errc::kernel_not_found, "the kernel's name is empty", module->untyped_kernel(name));
  }
  CHECK(module->untyped_kernel("  add\t")->name() == "add");
}

CASE(WithKernels, "S1 module: dropped by the thread that is to let its kernel's stream go on") {
  if (!needs_gate(*s)) return;
  board.set(*s, 0, 5);
  for (const bool is_launched_behind : {true, false}) {
    Gate gate;
    weir::KernelPtr kernel =
        device().compile("extern \"C\" __global__ void one(unsigned* p) { *p += 1; }")->untyped_kernel("one");
    if (!is_launched_behind) s->launch(kernel, {}, board.cell(0));
    if (!is_launched_behind) s->synchronize();
    gate.hold(*s);
    if (is_launched_behind) s->launch(kernel, {}, board.cell(0));
    kernel.reset();
    gate.finish(*s);
  }
  CHECK(board.read(*s, 0) == 7);
}

}  // namespace conformance::kernels_cases
