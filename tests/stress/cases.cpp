// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "worker.hpp"

// The cases of the mixture that must succeed.

namespace stress {

std::vector<Case> right_cases() {
  using F = Feature;
  return {
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
}

}  // namespace stress
