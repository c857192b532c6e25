// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "capture.hpp"

/// The feature table, and one use of each feature. If the feature is absent, the use is refused with the reason and has no
/// effect.
namespace conformance {
namespace {

using weir::Support;

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
  /// What must be there for the use to be refused for the feature's own sake.
  std::vector<Feature> also;
  bool in_capture;
  std::function<void(Bench&)> call;
};

std::vector<Use> uses() {
  using F = Feature;
  static const std::array<std::byte, 64> image{};
  return {
      {F::per_thread_default_stream, {}, false, [](Bench&) { (void)device().per_thread_stream(); }},
      {F::native_context, {}, false, [](Bench& b) { (void)b.s->native_context(); }},
      {F::synchronization_policy, {}, false, [](Bench& b) { (void)b.s->synchronization_policy(); }},
      {F::access_policy_window, {}, false, [](Bench& b) { (void)b.s->access_policy_window(); }},
      {F::host_functions, {}, false, [](Bench& b) { b.s->launch_host_function([] {}); }},
      {F::stream_callbacks, {}, false, [](Bench& b) { b.s->add_callback([](Stream&, std::error_code) {}); }},
      {F::event_timing, {}, false, [](Bench&) { (void)device().create_event({.timing = true}); }},
      {F::blocking_sync_events, {}, false, [](Bench&) { (void)device().create_event({.blocking_sync = true}); }},
      {F::interprocess_events, {}, false, [](Bench&) { (void)device().create_event({.interprocess = true}); }},
      {F::interprocess_events, {}, false, [](Bench&) { (void)device().open_event({}); }},
      {F::interprocess_memory, {}, false, [](Bench& b) { (void)device().interprocess_handle(*b.memory.allocation()); }},
      {F::interprocess_memory, {}, false, [](Bench&) { (void)device().open_allocation({}, 64); }},
      {F::partitions, {}, false, [](Bench&) { (void)device().partition({.compute_units = 1}); }},
      {F::graph_capture, {}, false, [](Bench& b) { b.s->begin_capture(); }},
      {F::graph_capture, {}, false, [](Bench& b) { (void)b.s->capture([](Stream&) {}); }},
      {F::capture_into_graph, {F::graph_capture}, false, [](Bench& b) { b.s->resume_capture(b.graph); }},
      {F::host_functions_in_capture,
       {F::graph_capture, F::host_functions},
       true,
       [](Bench& b) { b.s->launch_host_function([] {}); }},
      {F::memory_operations_in_capture,
       {F::graph_capture, F::write_value_32},
       true,
       [](Bench& b) { b.s->write_value(b.word.address(), 1U); }},
      {F::graph_update, {F::graph_capture}, false, [](Bench& b) { b.exec->update(*b.graph); }},
      {F::graph_upload, {F::graph_capture}, false, [](Bench& b) { b.exec->upload(*b.s); }},
      {F::graph_debug_dot, {F::graph_capture}, false, [](Bench& b) { (void)b.graph->debug_dot(); }},
      {F::graph_clone, {F::graph_capture}, false, [](Bench& b) { (void)b.graph->clone(); }},
      {F::graph_memory_nodes,
       {F::graph_capture, F::async_allocation},
       true,
       [](Bench& b) { (void)b.s->allocate_async<int>(4); }},
      {F::graph_child_nodes, {F::graph_capture}, true, [](Bench& b) { b.s->add_child_graph(*b.graph); }},
      {F::graph_child_nodes, {F::graph_capture}, true, [](Bench& b) { b.exec->launch(*b.s); }},
      {F::graph_conditional_nodes,
       {F::graph_capture},
       true,
       [](Bench& b) { b.s->capture_if(b.board.cell(0).data(), [](Stream&) {}); }},
      {F::graph_conditional_nodes,
       {F::graph_capture},
       true,
       [](Bench& b) { b.s->capture_while(b.board.cell(0).data(), [](Stream&) {}); }},
      {F::graph_switch_nodes,
       {F::graph_conditional_nodes},
       true,
       [](Bench& b) { b.s->capture_if(b.board.cell(0).data(), [](Stream&) {}, [](Stream&) {}); }},
      {F::graph_node_changes, {F::graph_capture}, false, [](Bench& b) { b.exec->apply({}); }},
      {F::external_events, {F::graph_capture}, true, [](Bench& b) { b.s->record_external(*b.event); }},
      {F::external_events, {F::graph_capture}, true, [](Bench& b) { b.s->wait_external(*b.event); }},
      {F::write_value_32, {}, false, [](Bench& b) { b.s->write_value(b.word.address(), 1U); }},
      {F::write_value_64, {}, false, [](Bench& b) { b.s->write_value(b.wide.address(), std::uint64_t{1}); }},
      {F::wait_value_32, {}, false, [](Bench& b) { b.s->wait_value(b.word.address(), 1U, WaitCondition::eq); }},
      {F::wait_value_64,
       {},
       false,
       [](Bench& b) { b.s->wait_value(b.wide.address(), std::uint64_t{1}, WaitCondition::eq); }},
      {F::wait_value_geq, {F::wait_value_32}, false, [](Bench& b) { b.s->wait_value(b.word.address(), 1U); }},
      {F::wait_value_nor,
       {F::wait_value_32},
       false,
       [](Bench& b) { b.s->wait_value(b.word.address(), ~0U, WaitCondition::bit_nor); }},
      {F::wait_value_flush,
       {F::wait_value_32},
       false,
       [](Bench& b) { b.s->wait_value(b.word.address(), 1U, WaitCondition::eq, weir::RemoteWrites::flush); }},
      {F::batch_memory_operations,
       {F::write_value_32},
       false,
       [](Bench& b) {
         const std::array<MemoryOperation, 1> operations = {MemoryOperation::write(b.word.address(), 1)};
         b.s->batch_memory_operations(operations);
       }},
      {F::batch_copies,
       {},
       false,
       [](Bench& b) {
         const weir::BatchCopy copy{b.word.address(), b.word.address() + 1, 4};
         b.s->copy_batch({&copy, 1});
       }},
      {F::async_allocation, {}, false, [](Bench& b) { (void)b.s->allocate_async<int>(4); }},
      {F::memory_pools, {}, false, [](Bench&) { (void)device().create_memory_pool(); }},
      {F::memory_pools, {}, false, [](Bench&) { (void)device().default_memory_pool(); }},
      {F::memory_pool_max_size,
       {F::memory_pools},
       false,
       [](Bench&) { (void)device().create_memory_pool({.max_size = std::size_t{1} << 30U}); }},
      {F::managed_memory, {}, false, [](Bench&) { (void)device().allocate<int>(4, MemoryKind::managed); }},
      {F::managed_attach, {}, false, [](Bench& b) { b.s->attach_memory(b.memory, weir::AttachMode::single); }},
      {F::managed_prefetch, {}, false, [](Bench& b) { b.s->prefetch(b.memory); }},
      {F::host_registration, {}, false, [](Bench& b) { (void)device().register_host(std::span(b.host)); }},
      {F::peer_access, {}, false, [](Bench&) { device().enable_peer_access(device()); }},
      {F::modules, {}, false, [](Bench&) { (void)device().load_module(image); }},
      {F::runtime_compilation, {}, false, [](Bench&) { (void)device().compile("extern \"C\" __global__ void k() {}"); }},
  };
}

TEST_CASE("S13 features: every use of one that is absent is refused with the reason, and has no effect") {
  for (const Use& use : uses()) {
    if (device().supports(use.feature)) continue;
    bool reachable = true;
    for (const Feature f : use.also) reachable = reachable && device().supports(f);
    if (!reachable) continue;
    INFO(std::string(weir::to_string(use.feature)));
    Bench bench;
    if (use.in_capture) {
      bench.s->begin_capture();
      (void)needs(device(), {use.feature}, [&] { use.call(bench); });
      CHECK(bench.s->capture_status() == CaptureStatus::active);
      CHECK(bench.s->end_capture()->node_count() == 0);
      CHECK_WORKS(*bench.s);
    } else {
      (void)needs(*bench.s, {use.feature}, [&] { use.call(bench); });
    }
    CHECK(bench.word.load() == 0);
    CHECK(bench.wide.load() == 0);
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

TEST_SUITE_END();

}  // namespace
}  // namespace conformance
