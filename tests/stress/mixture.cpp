// SPDX-License-Identifier: Apache-2.0
#include "mixture.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "program.hpp"
#include "weir/weir.hpp"

namespace stress {
namespace {

using weir::CaptureMode;
using weir::Device;
using weir::Feature;
using weir::Stream;
using weir::StreamPtr;
using Words = weir::Buffer<std::uint32_t>;

constexpr std::uint32_t part = 1024;  // the words of a thread
constexpr const char* source = R"(
extern "C" __global__ void add(unsigned* p, unsigned v, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] += v;
}
extern "C" __global__ void count(unsigned* p) { atomicAdd(p, 1u); }
)";

/// A few objects that threads leave for each other. What was there goes on whichever thread puts the next.
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

/// What all threads have in common.
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
  Words counter;                          // of launches of the kernel `count`
  std::atomic<std::uint32_t> counted{0};  // what it must be in the end
  weir::ModulePtr module;
  weir::KernelPtr add, count;
  weir::EventPtr event;  // recorded and waited for by all
  weir::GraphPtr graph;
  weir::GraphExecPtr exec;
  Exchange<weir::EventPtr> events;
  Exchange<weir::KernelPtr> kernels;
  Exchange<weir::GraphPtr> graphs;  // which count as `graph` does
  Exchange<StreamPtr> streams;
  Exchange<std::optional<Words>> buffers;
};

class Worker;
struct Case {
  const char* name;
  std::vector<Feature> needs;
  void (*run)(Worker&);
};
const std::vector<Case>& cases();

/// One thread, with its part of the memory.
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
  /// Launches of `graph` or of what was made of it.
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
  std::uint32_t sum = 0;  // what each word of `mine` must be
  std::atomic<std::uint64_t> done{0};
  std::atomic<const char*> now{"begin"};

 private:
  static std::string wrong(std::uint32_t found, std::uint32_t expected) {
    return "a word is " + std::to_string(found) + " instead of " + std::to_string(expected);
  }
};

const std::vector<Case>& cases() {
  using F = Feature;
  static const auto& all = *new std::vector<Case>{
      {"module",
       {},
       [](Worker& w) {
         const auto module = w.device.compile(std::string(source) + "// " + std::to_string(w.below(3)));
         const auto kernel = module->untyped_kernel("add");
         w.s->launch(kernel, weir::grid_for(part), w.mine, 1U, part);
         ++w.sum;
         if (w.below(2) == 0) w.shared.kernels.put(w.below(4), kernel);
       }},
      {"shared kernel",
       {},
       [](Worker& w) {
         const auto kernel = w.shared.kernels.get(w.below(4));
         if (kernel == nullptr) return;
         w.s->launch(kernel, weir::grid_for(part), w.mine, 2U, part);
         w.sum += 2;
       }},
      {"pool",
       {F::memory_pools},
       [](Worker& w) {
         const auto pool = w.device.create_memory_pool();
         const auto words = w.s->allocate_async<std::uint32_t>(part, pool);
         w.s->fill(words, 2U);
         if (w.below(4) == 0) pool->trim_to(0);
         if (w.below(8) == 0) w.check(words, 2);
       }},
      {"shared buffer",
       {F::memory_pools},
       [](Worker& w) {
         // Of a stream that never captures: a free beside the begin of a capture on its stream may be captured.
         const auto stream = w.device.create_stream();
         const auto pool = w.device.create_memory_pool();
         w.shared.buffers.put(
             w.below(4), stream->allocate_async<std::uint32_t>(part, w.below(2) == 0 ? weir::MemoryPoolRef(pool) : nullptr));
       }},
      {"memory",
       {},
       [](Worker& w) {
         const auto pinned = w.device.allocate<std::uint32_t>(part, weir::MemoryKind::pinned);
         w.s->copy(pinned, w.mine);
         w.s->record()->synchronize();
         if (pinned.host()[part - 1] != w.sum) throw std::runtime_error("a copy to pinned memory is wrong");
         const auto device = w.device.allocate<std::uint32_t>(part);
         w.s->copy(device, w.mine);
         w.s->copy(w.mine, device);
       }},
      {"managed memory",
       {F::managed_memory},
       [](Worker& w) {
         const auto words = w.device.allocate<std::uint32_t>(part, weir::MemoryKind::managed);
         if (w.device.supports(F::managed_prefetch)) w.s->prefetch(words);
         w.s->fill(words, 5U);
         w.s->launch(w.shared.add, weir::grid_for(part), words, 4U, part);
         w.check(words, 9);
       }},
      {"registration",
       {F::host_registration},
       [](Worker& w) {
         // Pages of which no other thread registers any.
         const std::unique_ptr<void, void (*)(void*)> pages(std::aligned_alloc(4096, part * sizeof(std::uint32_t)),
                                                            &std::free);
         const std::span<std::uint32_t> words(static_cast<std::uint32_t*>(pages.get()), part);
         const auto registration = w.device.register_host(words);
         w.s->copy(words, w.mine);
         w.s->synchronize();
         if (words[0] != w.sum || words[part - 1] != w.sum) throw std::runtime_error("a copy to registered memory is wrong");
       }},
      {"interprocess",
       {F::interprocess_memory},
       [](Worker& w) {
         const auto memory = w.device.allocate<std::uint32_t>(part);
         (void)w.device.interprocess_handle(*memory.allocation());
         if (!w.device.supports(F::interprocess_events)) return;
         const auto event = w.device.create_event({.interprocess = true});
         w.s->record(*event);
         (void)event->interprocess_handle();
       }},
      {"stream",
       {},
       [](Worker& w) {
         const auto stream = w.device.create_stream({.blocking = w.below(4) == 0});
         stream->wait(*w.s->record());
         w.add(*stream, 1);
         ++w.sum;
         w.s->wait(*stream);
         if (w.below(2) == 0) w.shared.streams.put(w.below(4), stream);
       }},
      {"shared stream",
       {F::host_functions},
       [](Worker& w) {
         const StreamPtr stream = w.shared.streams.get(w.below(4));
         if (stream == nullptr) return;
         const auto owned = std::make_shared<int>(3);
         stream->launch_host_function([owned] { (void)*owned; });
         w.s->wait(*stream);
       }},
      {"per-thread stream",
       {},
       [](Worker& w) {
         const StreamPtr stream = w.device.per_thread_stream();
         stream->wait(*w.s);
         w.add(*stream, 1);
         ++w.sum;
         w.s->wait(*stream->record());
       }},
      {"wrapped stream",
       {},
       [](Worker& w) {
         const StreamPtr owner = w.device.create_stream();
         const StreamPtr borrowed = w.device.wrap_stream(owner->share_native_handle(), weir::Ownership::borrow);
         borrowed->wait(*w.s);
         w.add(*borrowed, 1);
         ++w.sum;
         w.s->wait(*borrowed->record());
       }},
      {"events",
       {},
       [](Worker& w) {
         const auto begin = w.s->record({.timing = w.device.supports(F::event_timing)});
         w.add(*w.s, 1);
         ++w.sum;
         const auto end = w.s->record({.timing = w.device.supports(F::event_timing)});
         w.shared.events.put(w.below(4), end);
         end->synchronize();
         if (w.device.supports(F::event_timing) && end->elapsed_since(*begin).count() < 0)
           throw std::runtime_error("time runs backwards");
       }},
      {"shared event",
       {},
       [](Worker& w) {
         if (const auto event = w.shared.events.get(w.below(4))) {
           w.s->wait(*event);
           (void)event->is_complete();
         }
         w.s->record(*w.shared.event);
         w.s2->wait(*w.shared.event);
       }},
      {"fork",
       {},
       [](Worker& w) {
         w.s2->wait(*w.s);
         w.add(*w.s2, 1);
         ++w.sum;
         w.s->wait(*w.s2);
       }},
      {"host function",
       {F::host_functions},
       [](Worker& w) {
         const auto owned = std::make_shared<std::vector<int>>(10);
         const auto event = w.device.create_event();
         w.s->launch_host_function([owned, event] { (void)owned; });  // may be the event's last owner
       }},
      {"graph",
       {F::graph_capture},
       [](Worker& w) {
         const auto graph = w.capture([&](Stream& c) {
           w.add(c, 1);
           w.s2->wait(c);
           w.add(*w.s2, 1);
           c.wait(*w.s2);
         });
         const auto exec = graph->instantiate();
         exec->launch(*w.s);
         exec->launch(*w.s);
         w.sum += 4;
       }},
      {"child graph",
       {F::graph_capture, F::graph_child_nodes},
       [](Worker& w) {
         auto child = w.capture([&](Stream& c) { w.add(c, 1); });
         auto parent = w.capture([&](Stream& c) {
           c.add_child_graph(*child);
           w.add(c, 1);
         });
         child.reset();
         const auto exec = parent->instantiate();
         parent.reset();
         exec->launch(*w.s);
         w.sum += 2;
       }},
      {"graph memory",
       {F::graph_capture, F::graph_memory_nodes},
       [](Worker& w) {
         const auto graph = w.capture([&](Stream& c) {
           const auto words = c.allocate_async<std::uint32_t>(part);
           c.fill(words, 1U);
           w.add(c, 1);
         });
         graph->instantiate()->launch(*w.s);
         ++w.sum;
         if (w.below(2) == 0) w.s->synchronize();
       }},
      {"captured function",
       {F::graph_capture, F::host_functions_in_capture},
       [](Worker& w) {
         const auto graph = w.capture([&](Stream& c) {
           c.launch_host_function([v = std::vector<int>(10)] { (void)v; });
           w.add(c, 1);
         });
         graph->instantiate()->launch(*w.s);
         ++w.sum;
       }},
      {"conditional node",
       {F::graph_capture, F::graph_conditional_nodes},
       [](Worker& w) {
         const auto condition = w.device.allocate<std::uint32_t>(1, weir::MemoryKind::pinned);
         condition.host()[0] = w.below(2);
         const auto graph =
             w.capture([&](Stream& c) { c.capture_if(condition.data(), [&](Stream& body) { w.add(body, 1); }); });
         graph->instantiate()->launch(*w.s);
         w.s->synchronize();
         w.sum += condition.host()[0];
       }},
      {"update",
       {F::graph_capture, F::graph_update},
       [](Worker& w) {
         const auto exec = w.capture([&](Stream& c) { w.add(c, 1); })->instantiate();
         for (std::uint32_t i = 0; i < 3; ++i) {
           exec->update(*w.capture([&](Stream& c) { w.add(c, 1 + i % 2); }));
           exec->launch(*w.s);
           w.sum += 1 + i % 2;
         }
       }},
      {"dropped capture",
       {F::graph_capture},
       [](Worker& w) {
         try {
           (void)w.capture([&](Stream& c) {
             w.add(c, 1);
             throw 3;
           });
         } catch (int) {
         }
       }},
      {"shared graph",
       {F::graph_capture},
       [](Worker& w) {
         const auto exec = w.shared.graph->instantiate();
         w.launch_shared(*exec, 1 + w.below(2));
         if (w.below(4) == 0 && w.device.supports(F::graph_update)) {
           exec->update(*w.shared.graph);
           w.launch_shared(*exec);
         }
         if (w.below(4) == 0 && w.device.supports(F::graph_clone)) w.shared.graphs.put(w.below(4), w.shared.graph->clone());
         if (const auto other = w.shared.graphs.get(w.below(4))) w.launch_shared(*other->instantiate());
         if (w.below(4) == 0 && w.device.supports(F::graph_child_nodes))
           w.launch_shared(*w.capture([&](Stream& c) { c.add_child_graph(*w.shared.graph); })->instantiate());
       }},
      {"shared executable",
       {F::graph_capture},
       [](Worker& w) {
         w.launch_shared(*w.shared.exec);
         if (w.below(4) == 0 && w.device.supports(F::graph_update)) w.shared.exec->update(*w.shared.graph);
       }},
      {"questions",
       {},
       [](Worker& w) {
         (void)w.s->is_complete();
         (void)w.s2->capture_status();
         (void)w.s->describe();
         (void)w.device.memory_info();
       }},
      {"values", {}, [](Worker& w) { w.check_sum(); }},
      {"synchronize", {}, [](Worker& w) { w.s->synchronize(); }},
  };
  return all;
}

bool is_chosen(const Device& device, const Case& one, const std::string& only) {
  const auto lacks = [&](Feature feature) { return !device.supports(feature); };
  if (std::any_of(one.needs.begin(), one.needs.end(), lacks)) return false;
  return only.empty() || ("," + only + ",").find("," + std::string(one.name) + ",") != std::string::npos;
}

}  // namespace

std::string mixture_cases() {
  std::string names;
  for (const Case& one : cases()) names += (names.empty() ? "" : ", ") + std::string(one.name);
  return names;
}

std::string run_mixture(const MixtureOptions& options) {
  using Clock = std::chrono::steady_clock;
  Shared shared(options.threads);
  std::vector<Case> chosen;
  for (const Case& one : cases()) {
    if (is_chosen(shared.device, one, options.only)) chosen.push_back(one);
  }
  if (chosen.empty())
    fail(options.seed, "none of the cases that " + shared.device.describe() + " can run is " + options.only);

  std::vector<std::unique_ptr<Worker>> workers;
  for (std::uint32_t t = 0; t < options.threads; ++t) workers.push_back(std::make_unique<Worker>(shared, t, options.seed));
  std::atomic<bool> stop{false};
  std::atomic<std::uint32_t> ended{0};
  std::vector<std::thread> threads;
  for (const auto& worker : workers) {
    threads.emplace_back([&, w = worker.get()] {
      try {
        while (!stop) {
          const Case& one = chosen[w->below(static_cast<std::uint32_t>(chosen.size()))];
          w->now = one.name;
          one.run(*w);
          ++w->done;
        }
        w->now = "end";
        w->s2->synchronize();
        w->check_sum();
      } catch (const std::exception& e) {
        fail(options.seed, "in '" + std::string(w->now.load()) + "': " + e.what());
      }
      ++ended;
    });
  }

  const auto end = Clock::now() + std::chrono::duration<double>(options.seconds);
  std::vector<std::pair<std::uint64_t, Clock::time_point>> seen(workers.size(), {0, Clock::now()});
  while (ended < options.threads) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (Clock::now() >= end) stop = true;
    for (std::size_t t = 0; t < workers.size(); ++t) {
      const std::uint64_t done = workers[t]->done;
      if (done != seen[t].first) seen[t] = {done, Clock::now()};
      if (ended < options.threads && Clock::now() - seen[t].second > std::chrono::minutes(1))
        fail(options.seed, "a thread has been in '" + std::string(workers[t]->now.load()) + "' for a minute");
    }
  }
  for (std::thread& thread : threads) thread.join();

  const std::uint32_t counted = workers[0]->s->read(shared.counter)[0];
  if (counted != shared.counted) {
    fail(options.seed, "the shared graph's kernels ran " + std::to_string(counted) + " times instead of " +
                           std::to_string(shared.counted));
  }
  const std::uint64_t done = std::accumulate(workers.begin(), workers.end(), std::uint64_t{0},
                                             [](std::uint64_t n, const auto& w) { return n + w->done; });
  return std::to_string(done) + " operations of " + std::to_string(chosen.size()) + " kinds on " + shared.device.describe() +
         " from " + std::to_string(options.threads) + " threads";
}

}  // namespace stress
