// SPDX-License-Identifier: Apache-2.0

// Tests that no call on a stream's hot path allocates. Counts all allocations of the process: by Weir, its plugins and this
// program. (The driver's own allocations are not counted.) The first argument is the backend's name. The second argument
// "host-functions" skips all tests after those of host functions.

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "weir/weir.hpp"

namespace {

std::atomic<unsigned long> allocations{0};

void* counted(std::size_t size, std::size_t alignment) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* const memory = alignment <= alignof(std::max_align_t)
                               ? std::malloc(size)
                               : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment)) {
    return memory;
  }
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return counted(size, 0); }
void* operator new[](std::size_t size) { return counted(size, 0); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return counted(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace {

constexpr const char* source = R"(
extern "C" __global__ void nothing() {}
extern "C" __global__ void add(unsigned* values, unsigned n, unsigned by) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] += by;
}
)";

int test(weir::Device& device, const std::string& only) {
  using weir::Feature;
  int failures = 0;
  const weir::StreamPtr stream = device.create_stream(), other = device.create_stream();
  const weir::EventPtr event = device.create_event();
  auto memory = device.allocate<unsigned>(1024);
  auto pinned = device.allocate<unsigned>(1024, weir::MemoryKind::pinned);
  pinned.host()[0] = 0;

  const auto expect_none = [&](const char* what, const std::function<void()>& operation) {
    const auto repeat = [&](int times) {
      for (int i = 0; i < times; ++i) operation();
      stream->synchronize();
      other->synchronize();
    };
    repeat(1000);  // pools fill as far as they are needed
    const unsigned long before = allocations.load();
    repeat(300);
    const unsigned long made = allocations.load() - before;
    std::printf("%-34s %lu allocations in 300 calls%s\n", what, made, made == 0 ? "" : "  FAILED");
    failures += made == 0 ? 0 : 1;
  };

  expect_none("record", [&] { stream->record(*event); });
  expect_none("record, a new event", [&] { (void)stream->record(); });
  expect_none("wait (event)", [&] { other->wait(*event); });
  expect_none("wait (stream)", [&] { other->wait(*stream); });
  expect_none("is_complete", [&] { (void)stream->is_complete(); });
  expect_none("synchronize", [&] { stream->synchronize(); });
  expect_none("event's is_complete", [&] { (void)event->is_complete(); });
  expect_none("copy", [&] { stream->copy(memory, pinned); });
  expect_none("fill", [&] { stream->fill(memory, 1U); });
  static std::atomic<int> ran{0};
  const auto expect_none_capturing = [&](auto bytes) {
    const std::string what = "host function, " + std::to_string(sizeof(bytes)) + " bytes captured";
    expect_none(what.c_str(), [&] { stream->launch_host_function([bytes] { ran += bytes[0]; }); });
  };
  expect_none("host function, nothing captured", [&] { stream->launch_host_function([] { ++ran; }); });
  expect_none_capturing(std::array<char, 64>{});
  expect_none_capturing(std::array<char, 128>{});
  if (only == "host-functions") return failures;
  if (device.supports(Feature::stream_callbacks)) {
    expect_none("callback", [&] { stream->add_callback([](weir::Stream&, std::error_code) { ++ran; }); });
  }
  if (device.supports(Feature::write_value_32)) {
    expect_none("write value", [&] { stream->write_value(memory.data(), std::uint32_t{1}); });
  }
  if (device.supports(Feature::wait_value_32)) {
    expect_none("wait value", [&] { stream->wait_value(pinned.data(), std::uint32_t{0}, weir::WaitCondition::eq); });
  }
  if (device.supports(Feature::batch_memory_operations)) {
    std::array<weir::MemoryOperation, 8> batch{};
    for (std::uint32_t i = 0; i < 8; ++i) batch[i] = weir::MemoryOperation::write(memory.data() + i, i);
    expect_none("batch of 8", [&] { stream->batch_memory_operations(batch); });
  }
  if (device.supports(Feature::async_allocation)) {
    expect_none("asynchronous allocate + free", [&] { (void)stream->allocate_async<unsigned>(1024); });
  }
  void* const handle = other->share_native_handle();
  expect_none("wrap + drop of a known handle", [&] { (void)device.wrap_stream(handle, weir::Ownership::borrow); });
  expect_none("work on a wrapped stream", [&] {
    const weir::StreamPtr wrapper = device.wrap_stream(handle, weir::Ownership::borrow);
    wrapper->wait(*stream);
    wrapper->fill(memory, 1U);
    stream->wait(*wrapper);
  });
  if (device.supports(Feature::runtime_compilation)) {
    const weir::ModulePtr module = device.compile(source);
    const weir::KernelPtr nothing = module->untyped_kernel("nothing"), add = module->untyped_kernel("add");
    expect_none("launch, 0 arguments", [&] { stream->launch(nothing, {.grid = {1, 1, 1}, .block = {32, 1, 1}}); });
    expect_none("launch, 3 arguments", [&] { stream->launch(add, weir::grid_for(1024), memory, 1024U, 1U); });
  }
  if (device.supports(Feature::graph_capture)) {
    const auto graph = stream->capture([&](weir::Stream& s) { s.fill(memory, 1U); })->instantiate();
    expect_none("graph launch", [&] { graph->launch(*stream); });
    if (device.supports(Feature::host_functions_in_capture)) {
      const auto calling = stream->capture([&](weir::Stream& s) { s.launch_host_function([] { ++ran; }); })->instantiate();
      expect_none("graph launch with a host function", [&] { calling->launch(*stream); });
      bool turn = false;
      expect_none("the same, on streams by turns", [&] { calling->launch((turn = !turn) ? *stream : *other); });
    }
  }
  return failures;
}

}  // namespace

int main(int argc, char** argv) try {
  return test(weir::device(argc > 1 ? argv[1] : "cuda"), argc > 2 ? argv[2] : "") == 0 ? 0 : 1;
} catch (const weir::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  switch (error.errc()) {
    case weir::Errc::plugin_not_found:
    case weir::Errc::driver_not_found:
    case weir::Errc::no_device:
    case weir::Errc::driver_too_old: return 77;
    default: return 1;
  }
}
