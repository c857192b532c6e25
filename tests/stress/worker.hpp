// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "weir/weir.hpp"

/// The threads of the mixture, the objects that they share, and the cases that they run.
namespace stress {

using weir::CaptureMode;
using weir::Device;
using weir::Feature;
using weir::Stream;
using weir::StreamPtr;
using Words = weir::Buffer<std::uint32_t>;

inline constexpr std::uint32_t part = 1024;  // number of words per thread
inline constexpr const char* source = R"(
extern "C" __global__ void add(unsigned* p, unsigned v, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] += v;
}
extern "C" __global__ void count(unsigned* p) { atomicAdd(p, 1u); }
)";

/// A few objects that threads exchange. The thread that puts a new one drops the former one.
template <class Object>
class Exchange {
 public:
  void put(std::size_t at, Object object) {
    {
      const std::lock_guard lock(mutex_);
      std::swap(objects_[at % objects_.size()], object);
    }
  }
  Object get(std::size_t at) const {
    const std::lock_guard lock(mutex_);
    return objects_[at % objects_.size()];
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Object> objects_ = std::vector<Object>(4);
};

/// The objects that all threads share.
struct Shared {
  explicit Shared(std::uint32_t threads)
      : device(weir::default_device()),
        memory(device.allocate<std::uint32_t>(std::size_t{threads} * part)),
        counter(device.allocate<std::uint32_t>(1)),
        module(device.compile(source)),
        add(module->untyped_kernel("add")),
        count(module->untyped_kernel("count")),
        event(device.create_event()) {
    const StreamPtr stream = device.create_stream();
    stream->fill(memory, 0U);
    stream->fill(counter, 0U);
    stream->synchronize();
    if (!device.supports(Feature::graph_capture)) return;
    graph = stream->capture([this](Stream& s) {
      for (int i = 0; i < 3; ++i) s.launch(count, {}, counter);
    });
    exec = graph->instantiate();
  }

  Device& device;
  Words memory;
  Words counter;                          // counts launches of the kernel `count`
  std::atomic<std::uint32_t> counted{0};  // the correct final value
  weir::ModulePtr module;
  weir::KernelPtr add, count;
  weir::EventPtr event;  // all threads record it and wait for it
  weir::GraphPtr graph;
  weir::GraphExecPtr exec;
  Exchange<weir::EventPtr> events;
  Exchange<weir::KernelPtr> kernels;
  Exchange<weir::GraphPtr> graphs;  // they count like `graph`
  Exchange<StreamPtr> streams;
  Exchange<std::optional<Words>> buffers;
};

/// One thread with its part of the memory.
class Worker {
 public:
  Worker(Shared& all, std::uint32_t number, std::uint64_t seed)
      : shared(all),
        device(all.device),
        random(seed * 1000 + number),
        s(device.create_stream()),
        s2(device.create_stream({.priority = weir::Priority::high})),
        mine(all.memory.subspan(std::size_t{number} * part, part)) {}

  void add(Stream& stream, std::uint32_t value) { stream.launch(shared.add, weir::grid_for(part), mine, value, part); }
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); }
  /// Counts launches of `graph` and of graphs made from it.
  void launch_shared(weir::GraphExec& exec, std::uint32_t times = 1) {
    for (std::uint32_t i = 0; i < times; ++i) exec.launch(*s);
    shared.counted += 3 * times;
  }
  weir::GraphPtr capture(const std::function<void(Stream&)>& work) {
    return s->capture(below(2) == 0 && device.backend().name() != "hip" ? CaptureMode::thread_local_ : CaptureMode::relaxed,
                      work);
  }
  void check(const Words& words, std::uint32_t expected) const {
    const auto found = s->read(words);
    for (const std::uint32_t at : {std::size_t{0}, found.size() - 1}) {
      if (found[at] != expected) throw std::runtime_error(wrong(found[at], expected));
    }
  }
  void check_sum() const {
    const auto found = s->read(mine);
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (found[i] != sum) throw std::runtime_error(wrong(found[i], sum));
    }
  }

  Shared& shared;
  Device& device;
  std::minstd_rand random;
  StreamPtr s, s2;
  weir::Span<std::uint32_t> mine;
  std::uint32_t sum = 0;  // the correct value of each word of `mine`
  std::atomic<std::uint64_t> done{0};
  std::atomic<const char*> now{"begin"};

 private:
  static std::string wrong(std::uint32_t found, std::uint32_t expected) {
    return "a word is " + std::to_string(found) + " instead of " + std::to_string(expected);
  }
};

struct Case {
  const char* name;
  std::vector<Feature> needs;
  void (*run)(Worker&);
  bool (*can_run)(const Device&) = [](const Device&) { return true; };
};

/// Cases that must succeed. cases.cpp
std::vector<Case> right_cases();
/// Cases that are refused, or that fail while other work continues. hard_cases.cpp
std::vector<Case> hard_cases();

}  // namespace stress
