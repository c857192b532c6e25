// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "weir/interop/cuda.hpp"
#include "weir/interop/hip.hpp"
#include "weir/weir.hpp"

// Opens CUDA and HIP in one process and runs work on both: CUDA on an NVIDIA GPU, HIP on the same GPU through the bridge.

namespace {

constexpr unsigned count = 1 << 16;
constexpr const char* source = R"(
extern "C" __global__ void add(unsigned n, unsigned v, unsigned* p) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] += v;
})";

// What one vendor does for itself.
struct Work {
  explicit Work(weir::Device& d)
      : device(d),
        stream(d.create_stream()),
        memory(d.allocate<unsigned>(count)),
        kernel(d.compile(source)->untyped_kernel("add")) {
    stream->fill(memory, 0U);
  }
  void add(unsigned value) { stream->launch(kernel, weir::grid_for(count), count, value, memory); }
  std::vector<unsigned> result() {
    std::vector<unsigned> host(count);
    stream->copy(host, memory);
    stream->synchronize();
    return host;
  }
  bool is(unsigned value) {
    for (const unsigned v : result()) {
      if (v != value) return false;
    }
    return true;
  }

  weir::Device& device;
  weir::StreamPtr stream;
  weir::Buffer<unsigned> memory;
  weir::KernelPtr kernel;
};

}  // namespace

TEST_CASE("two vendors: work of each on one thread, in turns") {
  Work cuda(weir::device("cuda:0")), hip(weir::device("hip:0"));
  for (unsigned i = 1; i <= 100; ++i) {
    cuda.add(i);
    hip.add(2 * i);
  }
  CHECK(cuda.is(5050));
  CHECK(hip.is(10100));
}

TEST_CASE("two vendors: work of each on several threads at once") {
  Work cuda(weir::device("cuda:0")), hip(weir::device("hip:0"));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) ((i + t) % 2 == 0 ? cuda : hip).add(1);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(cuda.is(200));
  CHECK(hip.is(200));
}

TEST_CASE("two vendors: each captures while the other works") {
  Work cuda(weir::device("cuda:0")), hip(weir::device("hip:0"));
  const weir::GraphExecPtr of_cuda = cuda.stream->capture([&](weir::Stream&) {
    cuda.add(1);
    hip.add(5);
  })->instantiate();
  const weir::GraphExecPtr of_hip = hip.stream->capture([&](weir::Stream&) {
    hip.add(2);
    cuda.add(7);
  })->instantiate();
  for (int i = 0; i < 10; ++i) {
    of_cuda->launch(*cuda.stream);
    of_hip->launch(*hip.stream);
  }
  CHECK(cuda.is(7 + 10));
  CHECK(hip.is(5 + 20));
}

TEST_CASE("two vendors: neither waits for the other's, takes the other's objects, or is equal to them") {
  Work cuda(weir::device("cuda:0")), hip(weir::device("hip:0"));
  const auto refused = [](weir::Errc code, auto&& call) {
    try {
      call();
    } catch (const weir::Error& error) {
      CHECK(error.errc() == code);
      return;
    }
    CHECK_MESSAGE(false, "it was not refused");
  };
  refused(weir::Errc::unsupported, [&] { cuda.stream->wait(*hip.stream); });
  refused(weir::Errc::unsupported, [&] { hip.stream->wait(*cuda.stream->record()); });
  refused(weir::Errc::wrong_device, [&] { hip.stream->launch(cuda.kernel, weir::grid_for(count), count, 1U, hip.memory); });
  refused(weir::Errc::wrong_device, [&] { cuda.stream->capture([](weir::Stream&) {})->instantiate()->launch(*hip.stream); });
  CHECK_FALSE(*cuda.stream == *hip.stream);
  CHECK_FALSE(*weir::device("cuda:0").default_stream() == *weir::device("hip:0").default_stream());
  CHECK(cuda.is(0));
  CHECK(hip.is(0));
}

TEST_CASE("two vendors: handles go out and in by one line each, and none of the other vendor's") {
  Work cuda(weir::device("cuda:0")), hip(weir::device("hip:0"));
  const weir::StreamPtr cuda_again = weir::cuda::wrap(weir::cuda::device(0), weir::cuda::stream(*cuda.stream));
  const weir::StreamPtr hip_again = weir::hip::wrap(weir::hip::device(0), weir::hip::stream(*hip.stream));
  CHECK(*cuda_again == *cuda.stream);
  CHECK(*hip_again == *hip.stream);
  hip_again->launch(hip.kernel, weir::grid_for(count), count, 3U, hip.memory);
  CHECK(hip.is(3));
  CHECK(weir::hip::function(*hip.kernel) != nullptr);
  CHECK(weir::hip::device_number(hip.device) == 0);
  CHECK_THROWS_AS(weir::hip::stream(*cuda.stream), weir::Error);
  CHECK_THROWS_AS(weir::cuda::stream(*hip.stream), weir::Error);
  CHECK_THROWS_AS(weir::hip::wrap(cuda.device, nullptr), weir::Error);
}

int main(int argc, char** argv) {
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
  const std::string bridge = program.parent_path().parent_path() / "lib" / "bridge" / "7.1" / "libamdhip64.so.7";
  ::setenv("WEIR_HIP_RUNTIME", bridge.c_str(), 0);
  for (const char* const name : {"cuda", "hip"}) {
    const weir::BackendInfo& info = weir::Registry::instance().probe(name);
    if (info.state == weir::BackendState::usable) continue;
    std::printf("skipped: %s: %s\n", name, info.reason.c_str());
    return 77;
  }
  return doctest::Context(argc, argv).run();
}
