// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "capture.hpp"

/// The feature table, and one use of each feature. If the feature is absent, the use is refused with the reason and has no
/// effect.
namespace conformance::features_cases {

TEST_SUITE_BEGIN("features");

TEST_CASE("S13 features: each has a name, a description, a state, and a reason where it is not native") {
  std::set<std::string> names;
  CHECK(weir::all_features().size() == weir::feature_count);
  for (const Feature f : weir::all_features()) {
    const std::string name(weir::to_string(f));
    INFO(name);
    CHECK_FALSE(name.empty());
    CHECK_FALSE(weir::description(f).empty());
    names.insert(name);
    CHECK(weir::parse_feature(name) == f);
    const weir::FeatureState& state = device().feature(f);
    CHECK(device().supports(f) == (state.support != Support::absent));
    CHECK(state.reason.empty() == (state.support == Support::native));
  }
  CHECK(names.size() == weir::feature_count);
  CHECK_FALSE(weir::parse_feature("no_such_feature").has_value());
  CHECK_FALSE(weir::parse_feature("").has_value());
}

TEST_CASE("S13 features: require lists all that is missing, once, with the reasons") {
  std::vector<Feature> absent;
  for (const Feature f : weir::all_features()) {
    if (device().supports(f)) {
      device().require({f});
    } else {
      absent.push_back(f);
      CHECK_REFUSED(Errc::unsupported, device().require({f}));
    }
  }
  device().require({});
  if (absent.empty()) return;
  count_refusal();
  const Refusal refusal = refusal_of([&] { device().require({absent.front(), Feature::graph_capture, absent.back()}); });
  CHECK(refusal.is(Errc::unsupported));
  for (const Feature f : {absent.front(), absent.back()}) {
    CHECK_MESSAGE(refusal.says(weir::to_string(f)), refusal.text);
    CHECK_MESSAGE(refusal.says(device().feature(f).reason), refusal.text);
  }
}

TEST_CASE("S13 properties: what every launch is checked against is there") {
  const weir::DeviceProperties& p = device().properties();
  CHECK_FALSE(p.name.empty());
  // What a backend cannot tell may be 0, but for what a launch is made of.
  if (device().supports(Feature::runtime_compilation) || device().supports(Feature::modules)) {
    CHECK(p.max_threads_per_block > 0);
    CHECK(p.multiprocessor_count > 0);
    CHECK(p.warp_size > 0);
  }
  CHECK(p.max_block.x > 0);
  CHECK(p.max_block.y > 0);
  CHECK(p.max_block.z > 0);
  CHECK(p.max_grid.x > 0);
  CHECK(device().ordinal() >= 0);
  CHECK(&backend().device(device().ordinal()) == &device());
  CHECK_REFUSED(Errc::invalid_argument, backend().device(backend().device_count()));
  CHECK_REFUSED(Errc::invalid_argument, backend().device(-1));
  CHECK(&weir::device(device().describe()) == &device());
}

// What a use of a feature has to be tried on: made before, since some of it cannot be made while a capture is open.
struct Bench {
  StreamPtr s = device().create_stream();
  StreamPtr other = device().create_stream();
  EventPtr event = device().create_event();
  Word32 word;
  Word64 wide;
  Board board;
  std::vector<int> host = std::vector<int>(64);
  Buffer<int> memory = device().allocate<int>(64);
  GraphPtr graph;
  GraphExecPtr exec;

  Bench() {
    if (!device().supports(Feature::graph_capture)) return;
    graph = s->capture([](Stream&) {});
    exec = graph->instantiate();
  }
};

struct Use {
  Feature feature;
  std::function<void(Bench&)> call;
  /// What must be there for the use to be refused for the feature's own sake.
  std::vector<Feature> also = {};
};

std::vector<Use> uses() {
  using F = Feature;
  static const std::array<std::byte, 64> image{};
  constexpr F capture = F::graph_capture, wait = F::wait_value_32;
  constexpr auto eq = WaitCondition::eq, nor = WaitCondition::bit_nor;
  return {
      {F::per_thread_default_stream, [](Bench&) { (void)device().per_thread_stream(); }},
      {F::native_context, [](Bench& b) { (void)b.s->native_context(); }},
      {F::synchronization_policy, [](Bench& b) { (void)b.s->synchronization_policy(); }},
      {F::access_policy_window, [](Bench& b) { (void)b.s->access_policy_window(); }},
      {F::host_functions, [](Bench& b) { b.s->launch_host_function([] {}); }},
      {F::stream_callbacks, [](Bench& b) { b.s->add_callback([](Stream&, std::error_code) {}); }},
      {F::event_timing, [](Bench&) { (void)device().create_event({.timing = true}); }},
      {F::blocking_sync_events, [](Bench&) { (void)device().create_event({.blocking_sync = true}); }},
      {F::interprocess_events, [](Bench&) { (void)device().create_event({.interprocess = true}); }},
      {F::interprocess_events, [](Bench&) { (void)device().open_event({}); }},
      {F::interprocess_memory, [](Bench& b) { (void)device().interprocess_handle(*b.memory.allocation()); }},
      {F::interprocess_memory, [](Bench&) { (void)device().open_allocation({}, 64); }},
      {F::partitions, [](Bench&) { (void)device().partition({.compute_units = 1}); }},
      {F::graph_capture, [](Bench& b) { b.s->begin_capture(); }},
      {F::graph_capture, [](Bench& b) { (void)b.s->capture([](Stream&) {}); }},
      {F::capture_into_graph, [](Bench& b) { b.s->resume_capture(b.graph); }, {capture}},
      {F::graph_update, [](Bench& b) { b.exec->update(*b.graph); }, {capture}},
      {F::graph_upload, [](Bench& b) { b.exec->upload(*b.s); }, {capture}},
      {F::graph_debug_dot, [](Bench& b) { (void)b.graph->debug_dot(); }, {capture}},
      {F::graph_clone, [](Bench& b) { (void)b.graph->clone(); }, {capture}},
      {F::graph_node_changes, [](Bench& b) { b.exec->apply({}); }, {capture}},
      {F::write_value_32, [](Bench& b) { b.s->write_value(b.word.address(), 1U); }},
      {F::write_value_64, [](Bench& b) { b.s->write_value(b.wide.address(), std::uint64_t{1}); }},
      {F::wait_value_32, [](Bench& b) { b.s->wait_value(b.word.address(), 1U, eq); }},
      {F::wait_value_64, [](Bench& b) { b.s->wait_value(b.wide.address(), std::uint64_t{1}, eq); }},
      {F::wait_value_geq, [](Bench& b) { b.s->wait_value(b.word.address(), 1U); }, {wait}},
      {F::wait_value_nor, [](Bench& b) { b.s->wait_value(b.word.address(), ~0U, nor); }, {wait}},
      {F::wait_value_flush,
       [](Bench& b) { b.s->wait_value(b.word.address(), 1U, eq, weir::RemoteWrites::flush); },
       {wait}},
      {F::batch_memory_operations,
       [](Bench& b) { b.s->batch_memory_operations(std::array{MemoryOperation::write(b.word.address(), 1)}); },
       {F::write_value_32}},
      {F::batch_copies,
       [](Bench& b) { b.s->copy_batch(std::array{weir::BatchCopy{b.word.address(), b.word.address() + 1, 4}}); }},
      {F::async_allocation, [](Bench& b) { (void)b.s->allocate_async<int>(4); }},
      {F::memory_pools, [](Bench&) { (void)device().create_memory_pool(); }},
      {F::memory_pools, [](Bench&) { (void)device().default_memory_pool(); }},
      {F::memory_pool_max_size,
       [](Bench&) { (void)device().create_memory_pool({.max_size = std::size_t{1} << 30U}); },
       {F::memory_pools}},
      {F::managed_memory, [](Bench&) { (void)device().allocate<int>(4, MemoryKind::managed); }},
      {F::managed_attach, [](Bench& b) { b.s->attach_memory(b.memory, weir::AttachMode::single); }},
      {F::managed_prefetch, [](Bench& b) { b.s->prefetch(b.memory); }},
      {F::host_registration, [](Bench& b) { (void)device().register_host(std::span(b.host)); }},
      {F::peer_access, [](Bench&) { device().enable_peer_access(device()); }},
      {F::modules, [](Bench&) { (void)device().load_module(image); }},
      {F::runtime_compilation, [](Bench&) { (void)device().compile("extern \"C\" __global__ void k() {}"); }},
  };
}

/// Uses that are refused while a capture is open. The capture continues.
std::vector<Use> uses_in_capture() {
  using F = Feature;
  return {
      {F::host_functions_in_capture, [](Bench& b) { b.s->launch_host_function([] {}); }, {F::host_functions}},
      {F::memory_operations_in_capture, [](Bench& b) { b.s->write_value(b.word.address(), 1U); }, {F::write_value_32}},
      {F::graph_memory_nodes, [](Bench& b) { (void)b.s->allocate_async<int>(4); }, {F::async_allocation}},
      {F::graph_child_nodes, [](Bench& b) { b.s->add_child_graph(*b.graph); }},
      {F::graph_child_nodes, [](Bench& b) { b.exec->launch(*b.s); }},
      {F::graph_conditional_nodes, [](Bench& b) { b.s->capture_if(b.board.cell(0).data(), [](Stream&) {}); }},
      {F::graph_conditional_nodes, [](Bench& b) { b.s->capture_while(b.board.cell(0).data(), [](Stream&) {}); }},
      {F::graph_switch_nodes,
       [](Bench& b) { b.s->capture_if(b.board.cell(0).data(), [](Stream&) {}, [](Stream&) {}); },
       {F::graph_conditional_nodes}},
      {F::external_events, [](Bench& b) { b.s->record_external(*b.event); }},
      {F::external_events, [](Bench& b) { b.s->wait_external(*b.event); }},
  };
}

/// Whether the feature is absent, and everything else that its use needs is there.
bool is_to_be_refused(const Use& use) {
  return !device().supports(use.feature) &&
         std::all_of(use.also.begin(), use.also.end(), [](Feature f) { return device().supports(f); });
}

TEST_CASE("S13 features: every use of one that is absent is refused with the reason, and has no effect") {
  const auto check_words = [](const Bench& bench) {
    CHECK(bench.word.load() == 0);
    CHECK(bench.wide.load() == 0);
  };
  for (const Use& use : uses()) {
    if (!is_to_be_refused(use)) continue;
    CAPTURE(use.feature);
    Bench bench;
    (void)needs(*bench.s, {use.feature}, [&] { use.call(bench); });
    check_words(bench);
  }
  if (!device().supports(Feature::graph_capture)) return;
  for (const Use& use : uses_in_capture()) {
    if (!is_to_be_refused(use)) continue;
    CAPTURE(use.feature);
    Bench bench;
    (void)needs_in_capture(*bench.s, use.feature, [&] { use.call(bench); });
    check_words(bench);
  }
}

TEST_CASE("S3 S14 features: those whose absence changes what a call gives, and refuses nothing") {
  // Priorities: a device with one level accepts every name. Ids: Weir gives them where the driver does not.
  if (!device().supports(Feature::stream_priorities)) {
    count_refusal();
    for (const auto level : {weir::Priority::low, weir::Priority::normal, weir::Priority::high}) {
      CHECK_WORKS(*device().create_stream({.priority = level}));
    }
  }
  CHECK(device().create_stream()->id() != device().create_stream()->id());
}

}  // namespace conformance::features_cases
