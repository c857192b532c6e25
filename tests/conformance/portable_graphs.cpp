// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "capture.hpp"

/// Graphs that are saved and loaded: their content, errors, and damaged files.
namespace conformance::portable_graphs_cases {

using Words = Buffer<std::uint32_t>;

constexpr CaptureOptions portable{.portable = true};

TEST_SUITE_BEGIN("portable graphs");

PortableGraphPtr reloaded(const GraphPtr& graph, std::initializer_list<NamedMemory> memory) {
  return device().load_graph(graph->saved({memory.begin(), memory.size()}));
}

/// What a graph leaves in `x` and `y`, which begin as the numbers from 0 and from 1000.
Values outcome(const GraphPtr& graph, Stream& s, const Words& x, const Words& y) {
  const auto first = numbers(x.size()), second = numbers(y.size(), 1000);
  s.copy(x, first);
  s.copy(y, second);
  s.synchronize();
  run(graph, s);
  Values all = s.read(x);
  const Values more = s.read(y);
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

/// Saves a graph of two buffers, binds others, and compares what the two do, and their shapes.
void check_travels(Stream& s, const std::function<void(Stream&, const Words&, const Words&)>& work) {
  const auto x = device().allocate<std::uint32_t>(256), y = device().allocate<std::uint32_t>(256);
  const auto x2 = device().allocate<std::uint32_t>(256), y2 = device().allocate<std::uint32_t>(300);
  const GraphPtr graph = s.capture(portable, [&](Stream& c) { work(c, x, y); });
  const PortableGraphPtr loaded = reloaded(graph, {{"x", x}, {"y", y}});
  CHECK(loaded->captured_on() == device().backend().name() + " " + device().properties().architecture);
  loaded->bind("x", x2);
  loaded->bind("y", y2);
  const GraphPtr other = loaded->build();
  const Topology a = graph->topology(), b = other->topology();
  INFO(to_text(a), "and ", to_text(b));
  CHECK(a.nodes == b.nodes);
  CHECK(a.edges.size() == b.edges.size());
  for (const auto& [from, to] : a.edges) CHECK(b.reaches(from, to));
  const Words y2_first(y2.allocation(), 256);
  CHECK(outcome(graph, s, x, y) == outcome(other, s, x2, y2_first));
}

CASE(Fork, "S37 S41 save: copies and fills of every shape travel, and nodes keep their numbers") {
  struct Color {
    std::uint8_t r, g, b;
  };
  check_travels(*s, [&](Stream& c, const Words& x, const Words& y) {
    c.fill(x.first(10), 7U);
    forked->wait(c);
    c.copy(y.first(20), x.first(20));
    forked->copy(y.subspan(30, 20), x.subspan(5, 20));
    c.wait(*forked);
    c.fill(Span(reinterpret_cast<std::uint16_t*>(y.data()) + 120, 9), 0x1234);
    c.fill(Span(reinterpret_cast<Color*>(x.data() + 100), 5), Color{1, 2, 3});
    c.fill(Span(reinterpret_cast<double*>(x.data() + 120), 5), 1.5);
    c.copy(pitched(y.subspan(64, 64), {4, 4, 4}), pitched(x.first(64), {4, 4, 4}));
    c.copy(pitched(y.subspan(128, 64), {8, 8}).box({1, 1}, {3, 4}), pitched(x.first(64), {8, 8}).box({2, 0}, {3, 4}));
    c.copy(pitched(y.subspan(192, 64), {4, 4, 4}).box({1, 1, 1}, {2, 2, 3}),
           pitched(x.first(64), {4, 4, 4}).box({}, {2, 2, 3}));
    c.fill(pitched(x.subspan(128, 64), {4, 4, 4}).box({1, 1, 1}, {2, 2, 3}), 9U);
    c.fill(pitched(x.subspan(192, 64), {8, 8}).box({1, 1}, {3, 4}), 11U);
    if (!c.device().supports(Feature::batch_copies)) return;
    const std::array<BatchCopy, 3> batch{
        {{x.data() + 200, y.data() + 10, 16}, {x.data() + 210, y.data(), 0}, {x.data() + 220, y.data(), 8}}};
    c.copy_batch(batch);
  });
}

CASE(Capture, "S37 S41 save: kernels travel with their source, and pointers among their arguments as names") {
  if (!needs_capture(*s) || !needs_kernels()) return;
  struct Small {
    float a, b, c;
  };
  const auto module = device().compile(R"(
    struct Small { float a, b, c; };
    extern "C" __global__ void mix(unsigned n, const unsigned* x, unsigned* y, unsigned* none, Small small,
                                   unsigned long long k) {
      const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) y[i] += 3 * x[i] + (none == nullptr ? 1 : 0) + (unsigned)(small.a + small.b + small.c) + (unsigned)k;
    })");
  const auto mix = module->kernel<void(unsigned, const unsigned*, unsigned*, unsigned*, Small, unsigned long long)>("mix");
  check_travels(*s, [&](Stream& c, const Words& x, const Words& y) {
    for (unsigned i = 0; i < 5; ++i)
      c.launch(mix, weir::grid_for(100), 100U, x.subspan(i), y.subspan(10 * i), nullptr, Small{1, 2, 3}, (1ULL << 56U) + i);
    c.launch(mix, weir::grid_for(100), 100U, y, x, nullptr, Small{}, ~0ULL);
  });
}

CASE(Capture, "S41 save: child graphs, conditional nodes, memory of the graph's own, graphs built by hand") {
  if (device().supports(Feature::graph_child_nodes)) {
    check_travels(*s, [&](Stream& c, const Words& x, const Words& y) {
      const GraphPtr child = device().create_stream()->capture(portable, [&](Stream& inner) {
        inner.copy(y.first(8), x.first(8));
        inner.copy(x.subspan(20, 8), y.first(8));
      });
      c.fill(x.first(2), 5U);
      c.add_child_graph(child);
      c.fill(x.first(1), 6U);
    });
  }
  if (device().supports(Feature::graph_conditional_nodes)) {
    check_travels(*s, [&](Stream& c, const Words& x, const Words& y) {
      c.capture_if(x.data() + 1, [&](Stream& b) {
        b.fill(y.first(4), 3U);
        b.copy(y.subspan(4, 4), y.first(4));
      });
      c.capture_while(x.data() + 2, [&](Stream& b) { b.copy(x.subspan(2, 1), x.subspan(0, 1)); });
    });
  }
  if (device().supports(Feature::graph_switch_nodes)) {
    check_travels(*s, [&](Stream& c, const Words& x, const Words& y) {
      std::array<weir::UniqueFunction<void(Stream&)>, 3> bodies;
      for (std::size_t i = 0; i < bodies.size(); ++i)
        bodies[i] = [&, i](Stream& b) { b.fill(y.first(4), static_cast<std::uint32_t>(i)); };
      c.capture_switch(x.data() + 2, bodies);
      c.capture_if(
          x.data(), [&](Stream& b) { b.fill(y.subspan(8, 4), 1U); }, [&](Stream& b) { b.fill(y.subspan(8, 4), 2U); });
    });
  }
  if (device().supports(Feature::graph_memory_nodes)) {
    check_travels(*s, [&](Stream& c, const Words& x, const Words& y) {
      for (int i = 0; i < 2; ++i) {
        const auto own = c.allocate_async<std::uint32_t>(64);
        c.copy(own.first(16), x.first(16));
        c.copy(y.subspan(40, 16), own.first(16));
      }
    });
  }
  const auto x = device().allocate<std::uint32_t>(18);
  GraphBuilder builder(device(), portable);
  const GraphNode a = builder.add({}, [&](Stream& c) { c.fill(x.first(4), 1U); });
  const GraphNode b = builder.add({}, [&](Stream& c) { c.fill(x.subspan(4, 4), 2U); });
  builder.add({a, b}, [&](Stream& c) { c.copy(x.subspan(8, 8), x.first(8)); });
  builder.add({b}, [&](Stream& c) { c.fill(x.last(2), 3U); });
  const GraphPtr graph = builder.finish();
  const PortableGraphPtr loaded = reloaded(graph, {{"x", x}});
  const auto other = device().allocate<std::uint32_t>(18);
  loaded->bind("x", other);
  const GraphPtr again = loaded->build();
  INFO(to_text(graph->topology()), "and ", to_text(again->topology()));
  CHECK(graph->topology().edges.size() == again->topology().edges.size());
  run(again, *s);
  CHECK(s->read(other) == Values{1, 1, 1, 1, 2, 2, 2, 2, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3});
}

CASE(Capture,
     "S41 save: a graph that a capture continues, its clones and executables; what is written down ends with the capture") {
  const auto x = device().allocate<std::uint32_t>(8);
  const auto nodes_of = [&](const GraphPtr& graph) {
    const PortableGraphPtr loaded = reloaded(graph, {{"x", x}});
    loaded->bind("x", x);
    return loaded->build()->node_count();
  };
  GraphPtr graph = s->capture(portable, [&](Stream& c) { c.fill(x.first(4), 1U); });
  const GraphPtr clone = device().supports(Feature::graph_clone) ? graph->clone() : nullptr;
  if (device().supports(Feature::capture_into_graph)) {
    s->resume_capture(graph);
    s->fill(x.subspan(4, 4), 2U);
    graph = s->end_capture();
    CHECK(nodes_of(graph) == 2);
  }
  if (clone) CHECK(nodes_of(clone) == 1);
  if (device().supports(Feature::graph_child_nodes)) {
    const GraphExecPtr exec = graph->instantiate();
    const GraphPtr outer = s->capture(portable, [&](Stream& c) { exec->launch(c); });
    CHECK(reloaded(outer, {{"x", x}})->memory().size() == 1);
  }
  const GraphPtr plain = s->capture([&](Stream& c) { c.fill(x, 1U); });
  CHECK_REFUSED(Errc::unsupported, plain->saved(std::array{NamedMemory("x", x)}));
}

CASE(Capture,
     "S41 bind: names, sizes and alignment are checked; what is not bound is named; binding again counts for later graphs") {
  const auto x = device().allocate<std::uint32_t>(8), y = device().allocate<std::uint32_t>(8);
  const PortableGraphPtr loaded = reloaded(s->capture(portable, [&](Stream& c) { c.copy(y, x); }), {{"x", x}, {"y", y}});
  CHECK_REFUSED_SAYING(Errc::invalid_argument, "memory 'x' of 32 bytes, memory 'y' of 32 bytes", loaded->instantiate());
  CHECK_REFUSED_SAYING(Errc::invalid_argument, "its memory: 'x', 'y'", loaded->bind("z", x));
  CHECK_REFUSED(Errc::invalid_argument, loaded->bind("x", x.first(7)));
  const auto large = device().allocate<std::uint32_t>(16);
  CHECK_REFUSED(Errc::invalid_argument, loaded->bind("x", large.subspan(1, 8)));
  CHECK_REFUSED(Errc::invalid_argument, loaded->bind("x", [] {}));
  loaded->bind("x", x);
  loaded->bind("y", y.allocation());
  const GraphExecPtr exec = loaded->instantiate();
  s->fill(x, 3U);
  exec->launch(*s);
  CHECK(s->read(y) == Values(8, 3));
  loaded->bind("y", large);
  const GraphPtr second = loaded->build();
  if (device().supports(Feature::graph_update)) exec->update(second);
  run(device().supports(Feature::graph_update) ? exec : second->instantiate(), *s);
  CHECK(s->read(large.first(8)) == Values(8, 3));
}

CASE(Capture,
     "S41 save: memory that is scratch or has contents is allocated where the graph is loaded, and lives with its graphs") {
  const auto weights = device().allocate<std::uint32_t>(8), scratch = device().allocate<std::uint32_t>(8);
  const auto out = device().allocate<std::uint32_t>(8);
  const auto seven = numbers(8, 7);
  s->copy(weights, seven);
  s->synchronize();
  const GraphPtr graph = s->capture(portable, [&](Stream& c) {
    c.copy(scratch, weights);
    c.copy(out, scratch);
  });
  PortableGraphPtr loaded =
      reloaded(graph, {{"weights", weights, MemoryRole::contents}, {"scratch", scratch, MemoryRole::scratch}, {"out", out}});
  s->fill(weights, 0U);
  s->fill(scratch, 0U);
  loaded->bind("out", out);
  GraphExecPtr exec = loaded->instantiate();
  loaded.reset();
  exec->launch(*s);
  CHECK(s->read(out) == seven);
  CHECK(s->read(scratch) == Values(8, 0));
  exec->launch(*s);
  exec.reset();
}

CASE(OneStream, "S41 save: host functions travel by their names") {
  if (!captures_host_functions()) return skip("the device captures no host functions");
  if (!needs_capture(*s)) return;
  std::atomic<int> here{0}, there{0};
  const GraphPtr graph = s->capture(portable, [&](Stream& c) {
    c.launch_host_function([&] { ++here; }, {.name = "report"});
    c.launch_host_function([&] { ++here; }, {.name = "report"});
  });
  const PortableGraphPtr loaded = reloaded(graph, {});
  CHECK(loaded->host_functions() == std::vector<std::string>{"report"});
  CHECK_REFUSED(Errc::invalid_argument, loaded->build());
  CHECK_REFUSED(Errc::invalid_argument, loaded->bind("other", [] {}));
  loaded->bind("report", [&] { ++there; });
  run(loaded->build(), *s);
  CHECK(here == 0);
  CHECK(there == 2);
  run(graph, *s);
  CHECK(here == 2);
  const GraphPtr unnamed = s->capture(portable, [&](Stream& c) { c.launch_host_function([] {}); });
  CHECK_REFUSED_SAYING(Errc::unsupported, "node 0 (Stream::launch_host_function)", unnamed->saved({}));
}

CASE(Capture, "S41 save: refuses, by its node, what cannot travel") {
  const auto x = device().allocate<std::uint32_t>(8), y = device().allocate<std::uint32_t>(8);
  const GraphPtr copy = s->capture(portable, [&](Stream& c) { c.copy(y, x); });
  const auto refusal_at = [&](const GraphPtr& graph, std::initializer_list<NamedMemory> memory) {
    return refusal_of([&] { (void)graph->saved({memory.begin(), memory.size()}); });
  };
  CHECK(refusal_at(copy, {{"x", x}}).says("node 0 (Stream::copy): the destination, 32 bytes at"));
  CHECK(refusal_at(copy, {{"x", x}, {"y", y.first(7)}}).is(Errc::invalid_argument));
  CHECK(refusal_at(copy, {{"x", x}, {"x", y}}).says("memory 'x' is listed twice"));
  CHECK(refusal_at(copy, {{"x", x}, {"part", x.first(2)}, {"y", y}}).says("memory 'part' overlaps other memory"));
  CHECK(refusal_at(copy, {{"", x}, {"y", y}}).is(Errc::invalid_argument));
  if (device().supports(Feature::external_events)) {
    const EventPtr event = device().create_event();
    const GraphPtr graph = s->capture(portable, [&](Stream& c) { c.record_external(event); });
    CHECK(refusal_at(graph, {}).says("node 0 (Stream::record_external)"));
  }
  if (device().supports(Feature::graph_child_nodes)) {
    const GraphPtr child = s->capture([&](Stream& c) { c.copy(y, x); });
    const GraphPtr graph = s->capture(portable, [&](Stream& c) { c.add_child_graph(child); });
    CHECK(refusal_at(graph, {{"x", x}, {"y", y}}).says("is a graph that is not portable"));
  }
  if (!device().supports(Feature::runtime_compilation)) return;
  const auto p = x.data();
  struct Hidden {
    std::uint32_t* pointer;
  };
  const auto& k = kernels();
  const auto typed = s->capture(portable, [&](Stream& c) { c.launch(k.add, {}, x, 1U); });
  CHECK(refusal_at(typed, {{"y", y}}).says("node 0 (kernel 'add'): argument 1, "));
  const auto number = s->capture(portable, [&](Stream& c) { c.launch(k.add, {}, reinterpret_cast<std::uint64_t>(p), 1U); });
  CHECK(refusal_at(number, {{"x", x}}).says("argument 1 contains an address in named memory as a number"));
  const auto hidden = s->capture(portable, [&](Stream& c) { c.launch(k.add, {}, Hidden{p}, 1U); });
  CHECK(refusal_at(hidden, {{"x", x}}).says("argument 1, of 8 bytes, may contain an address"));
  const auto raw = s->capture(portable, [&](Stream& c) {
    std::uint32_t* pointer = p;
    std::uint32_t one = 1;
    void* const arguments[] = {&pointer, &one};
    const weir::Parameter sizes[] = {{sizeof(pointer)}, {sizeof(one)}};
    c.launch_raw(k.add, {}, arguments, sizes);
  });
  CHECK(refusal_at(raw, {{"x", x}}).says("argument 1, of 8 bytes, may contain an address"));
  const auto module =
      device().compile("extern \"C\" __global__ void one(unsigned* p) { *p = 1; }", {.include_directories = {"/tmp"}});
  const auto one = module->kernel<void(unsigned*)>("one");
  const auto folders = s->capture(portable, [&](Stream& c) { c.launch(one, {}, x); });
  CHECK(refusal_at(folders, {{"x", x}}).says("(kernel 'one'): its module has no bundle"));
  const auto end = s->capture(portable, [&](Stream& c) { c.launch(k.add, {}, p + 4, 1U); });
  CHECK_FALSE(refusal_at(end, {{"low", x.first(4)}, {"high", x.last(4)}}).threw);  // the begin of `high`
  CHECK_FALSE(refusal_at(end, {{"x", x}}).threw);
}

CASE(Capture, "S41 load: a file is this user's alone, and what others can change is refused") {
  const auto x = device().allocate<std::uint32_t>(8);
  const GraphPtr graph = s->capture(portable, [&](Stream& c) { c.fill(x, 4U); });
  std::string folder = "/tmp/weir-graph-XXXXXX";
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  const std::string file = folder + "/step.weirgraph";
  graph->save(file, {{"x", x}});
  graph->save(file, {{"x", x}});  // replaces it
  struct stat status {};
  REQUIRE(::stat(file.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777U) == 0600);
  const PortableGraphPtr loaded = device().load_graph(file);
  loaded->bind("x", x);
  run(loaded->build(), *s);
  CHECK(s->read(x) == Values(8, 4));
  ::chmod(file.c_str(), 0620);
  CHECK_REFUSED_SAYING(Errc::invalid_image, "can be changed by others", device().load_graph(file));
  ::chmod(file.c_str(), 0600);
  std::ofstream(file, std::ios::app) << "more";
  CHECK_REFUSED(Errc::invalid_image, device().load_graph(file));
  CHECK_REFUSED(Errc::invalid_image, device().load_graph(folder));
  CHECK_REFUSED(Errc::backend_failure, device().load_graph(folder + "/none"));
  CHECK_REFUSED(Errc::backend_failure, graph->save(folder + "/none/step.weirgraph", {{"x", x}}));
  ::unlink(file.c_str());
  CHECK(::rmdir(folder.c_str()) == 0);  // nothing else was left
}

}  // namespace conformance::portable_graphs_cases
