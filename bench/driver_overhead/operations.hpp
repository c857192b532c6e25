// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "bench/driver_overhead/comparison.hpp"
#include "weir/weir.hpp"

/// The operations to compare, as a template over the vendor's policy. The raw side calls the driver through the policy's
/// table of functions.
namespace weir::bench {

inline constexpr const char* kernel_source = R"(
extern "C" __global__ void arguments_0() {}
extern "C" __global__ void arguments_3(unsigned*, unsigned*, unsigned) {}
extern "C" __global__ void arguments_12(unsigned*, unsigned*, unsigned*, unsigned*, float, float, float, float, unsigned,
                                        unsigned, unsigned, unsigned) {}
)";

template <class Api>
class Operations {
 public:
  using StreamHandle = typename Api::StreamHandle;
  using EventHandle = typename Api::EventHandle;

  /// `kernels`: the module compiled from `kernel_source`.
  Operations(const Api& api, Device& device, ModulePtr kernels) : api_(api), device_(device), module_(std::move(kernels)) {
    check(api.open_device(device.ordinal(), context_), "open_device");
    // Programs that call the driver also have a current context.
    current_ = std::make_unique<typename Api::Current>(api, context_);
    stream_ = device.create_stream();
    other_ = device.create_stream();
    raw_stream_ = make_stream();
    raw_other_ = make_stream();
    borrowed_ = device.wrap_stream(make_stream(), Ownership::borrow);
    capturing_ = device.create_stream();
    check(api.EventCreate(&raw_event_, api.event_flags({})), "EventCreate");
    event_ = device.create_event();
    stream_->record(*event_);
    check(api.EventRecord(raw_event_, raw_stream_), "EventRecord");
    memory_ = device.allocate<std::uint32_t>(4096);
    pinned_ = device.allocate<std::uint32_t>(4096, MemoryKind::pinned);
    pinned_.host()[0] = 0;
    drain();
  }

  void add_to(Comparison& comparison) {
    add_objects(comparison);
    add_ordering(comparison);
    add_launches(comparison);
    add_memory(comparison);
    add_borrowed(comparison);
    add_beside_capture(comparison);
    add_graphs(comparison);
  }

 private:
  static void check(typename Api::Result result, const char* what) {
    if (result == Api::success) [[likely]] return;
    std::fprintf(stderr, "%s failed: %lld\n", what, static_cast<long long>(result));
    std::exit(2);
  }
  StreamHandle make_stream() const {
    StreamHandle stream = nullptr;
    check(api_.StreamCreateWithPriority(&stream, Api::stream_non_blocking, 0), "StreamCreate");
    return stream;
  }
  void drain() const {
    stream_->synchronize();
    other_->synchronize();
    borrowed_->synchronize();
    check(api_.StreamSynchronize(raw_stream_), "StreamSynchronize");
    check(api_.StreamSynchronize(raw_other_), "StreamSynchronize");
  }
  void add(Comparison& comparison, std::string name, std::function<void()> weir, std::function<void()> raw, Limit limit = {},
           int iterations = 400) {
    comparison.add({std::move(name), limit, std::move(weir), std::move(raw), [this] { drain(); }, iterations});
  }

  void add_objects(Comparison& c) {
    const auto raw_streams = [this] { check(api_.StreamDestroy(make_stream()), "StreamDestroy"); };
    add(c, "stream create + destroy", [this] { (void)device_.create_stream(); }, raw_streams, {}, 100);
    pool_ = std::make_unique<StreamPool>(device_);
    add(c, "stream lease (raw: create + destroy)", [this] { (void)pool_->lease(); }, raw_streams, {.ratio = 1.0 / 20}, 100);
    add(c, "event (raw: create + destroy)", [this] { (void)device_.create_event(); },
        [this] {
          EventHandle event = nullptr;
          check(api_.EventCreate(&event, api_.event_flags({})), "EventCreate");
          check(api_.EventDestroy(event), "EventDestroy");
        },
        {.ratio = 0.25}, 2000);
  }

  void add_ordering(Comparison& c) {
    add(
        c, "record", [this] { stream_->record(*event_); },
        [this] { check(api_.EventRecord(raw_event_, raw_stream_), "record"); }, {}, 2000);
    add(c, "wait (event)", [this] { other_->wait(*event_); },
        [this] { check(api_.StreamWaitEvent(raw_other_, raw_event_, 0), "wait"); }, {}, 2000);
    add(c, "wait (stream)", [this] { other_->wait(*stream_); },
        [this] {
          check(api_.EventRecord(raw_event_, raw_stream_), "record");
          check(api_.StreamWaitEvent(raw_other_, raw_event_, 0), "wait");
        },
        {.ratio = 1, .extra_ns = 20}, 1000);
    add(c, "is_complete, idle", [this] { (void)stream_->is_complete(); },
        [this] { check(api_.StreamQuery(raw_stream_), "query"); }, {}, 1000);
    add(c, "synchronize, idle", [this] { stream_->synchronize(); },
        [this] { check(api_.StreamSynchronize(raw_stream_), "synchronize"); }, {}, 1000);
    const auto raw_function = [this] { raw_host_function(); };
    add(
        c, "host function, nothing captured", [this] { stream_->launch_host_function([] {}); }, raw_function, {}, 300);
    add(
        c, "host function, 64 bytes captured", [this] { launch_capturing<64>(*stream_); },
        [this] { raw_host_function<64>(); }, {}, 300);
    add(
        c, "host function, 128 bytes captured", [this] { launch_capturing<128>(*stream_); },
        [this] { raw_host_function<128>(); }, {}, 300);
  }

  void raw_host_function() const {
    check(api_.launch_host_function(
              raw_stream_, [](void*) {}, nullptr),
          "host function");
  }
  /// The driver passes one pointer to the function, so the captured variables are on the heap until the function has run.
  template <std::size_t Bytes>
  void raw_host_function() const {
    using Captured = std::array<char, Bytes>;
    auto* const captured = new Captured;
    benchmark::DoNotOptimize(*captured);
    const auto run = [](void* data) {
      auto* const passed = static_cast<Captured*>(data);
      benchmark::DoNotOptimize(*passed);
      delete passed;
    };
    check(api_.launch_host_function(raw_stream_, run, captured), "host function");
  }
  template <std::size_t Bytes>
  static void launch_capturing(Stream& stream) {
    std::array<char, Bytes> captured;
    benchmark::DoNotOptimize(captured);
    stream.launch_host_function([captured]() mutable { benchmark::DoNotOptimize(captured); });
  }

  /// Compares operations on borrowed streams. Other code made these streams, so they may capture at any time.
  void add_borrowed(Comparison& c) {
    constexpr Limit limit{.ratio = 1.05, .extra_ns = 40};
    const LaunchConfig one{.grid = {1, 1, 1}, .block = {32, 1, 1}};
    borrowed_event_ = device_.create_event();
    borrowed_->record(*borrowed_event_);
    add(
        c, "borrowed: launch, 3 arguments", [this, one] { borrowed_->launch(kernels_[1], one, p_, p_, 3U); },
        [this] { raw_launch(1); }, limit);
    add(
        c, "borrowed: record", [this] { borrowed_->record(*borrowed_event_); },
        [this] { check(api_.EventRecord(raw_event_, raw_stream_), "record"); }, limit, 2000);
    add(
        c, "borrowed: wait (event)", [this] { borrowed_->wait(*event_); },
        [this] { check(api_.StreamWaitEvent(raw_other_, raw_event_, 0), "wait"); }, limit, 2000);
    add(
        c, "borrowed: wait (stream)", [this] { borrowed_->wait(*stream_); },
        [this] {
          check(api_.EventRecord(raw_event_, raw_stream_), "record");
          check(api_.StreamWaitEvent(raw_other_, raw_event_, 0), "wait");
        },
        limit, 1000);
    add(
        c, "borrowed: synchronize, idle", [this] { borrowed_->synchronize(); },
        [this] { check(api_.StreamSynchronize(raw_stream_), "synchronize"); }, limit, 1000);
    add(
        c, "borrowed: host function", [this] { borrowed_->launch_host_function([] {}); }, [this] { raw_host_function(); },
        limit, 300);
    if (device_.supports(Feature::write_value_32)) {
      const auto write = MemoryOperation::write(memory_.data(), std::uint32_t{5});
      add(
          c, "borrowed: write value", [this] { borrowed_->write_value(memory_.data(), std::uint32_t{5}); },
          [this, write] { check(api_.memory_operation(raw_stream_, write), "write value"); }, limit, 200);
    }
    if (device_.supports(Feature::async_allocation)) {
      add(
          c, "borrowed: allocate + free", [this] { (void)borrowed_->allocate_bytes_async(4096); },
          [this] { raw_allocate_and_free(); }, {.ratio = 1.05, .extra_ns = 80});  // two operations
    }
    // The driver has no such operation, so the limit applies to Weir's own cost.
    add(
        c, "wrap + drop, wrapped before", [this] { (void)device_.wrap_stream(raw_other_, Ownership::borrow); }, [] {},
        {.ratio = 1, .extra_ns = 150}, 2000);
  }

  /// Compares operations on streams that capture nothing while another stream captures.
  void add_beside_capture(Comparison& c) {
    const LaunchConfig one{.grid = {1, 1, 1}, .block = {32, 1, 1}};
    const auto add_beside = [&](std::string name, std::function<void()> weir, std::function<void()> raw) {
      c.add({.name = std::move(name),
             .limit = {},
             .weir = std::move(weir),
             .raw = std::move(raw),
             .drain = [this] { drain(); },
             .iterations = 400,
             .before = [this] { capturing_->begin_capture({.mode = CaptureMode::relaxed}); },
             .after = [this] { (void)capturing_->end_capture(); }});
    };
    add_beside(
        "launch, another captures", [this, one] { stream_->launch(kernels_[1], one, p_, p_, 3U); },
        [this] { raw_launch(1); });
    add_beside(
        "record + wait, another captures",
        [this] {
          stream_->record(*event_);
          other_->wait(*event_);
        },
        [this] {
          check(api_.EventRecord(raw_event_, raw_stream_), "record");
          check(api_.StreamWaitEvent(raw_other_, raw_event_, 0), "wait");
        });
  }

  void add_launches(Comparison& c) {
    kernels_ = {module_->untyped_kernel("arguments_0"), module_->untyped_kernel("arguments_3"),
                module_->untyped_kernel("arguments_12")};
    for (const KernelPtr& kernel : kernels_) {
      raw_kernels_.push_back(static_cast<typename Api::FunctionHandle>(kernel->native_handle()));
    }
    p_ = memory_.data();
    for (void*& argument : raw_arguments_) argument = &p_;
    const auto raw = [this](std::size_t i) { raw_launch(i); };
    const LaunchConfig one{.grid = {1, 1, 1}, .block = {32, 1, 1}};
    add(c, "launch, 0 arguments", [this, one] { stream_->launch(kernels_[0], one); }, [raw] { raw(0); });
    add(c, "launch, 3 arguments", [this, one] { stream_->launch(kernels_[1], one, p_, p_, 3U); }, [raw] { raw(1); });
    add(c, "launch, 12 arguments",
        [this, one] { stream_->launch(kernels_[2], one, p_, p_, p_, p_, 1.F, 2.F, 3.F, 4.F, 5U, 6U, 7U, 8U); },
        [raw] { raw(2); });
    add(c, "launch + synchronize",
        [this, one] {
          stream_->launch(kernels_[0], one);
          stream_->synchronize();
        },
        [this, raw] {
          raw(0);
          check(api_.StreamSynchronize(raw_stream_), "synchronize");
        },
        {}, 100);
  }

  void raw_launch(std::size_t i) {
    check(api_.LaunchKernel(raw_kernels_[i], 1, 1, 1, 32, 1, 1, 0, raw_stream_, raw_arguments_, nullptr), "launch");
  }

  void raw_allocate_and_free() const {
    void* memory = nullptr;
    check(api_.allocate_async(memory, 4096, nullptr, raw_stream_), "allocate");
    check(api_.free_async(memory, raw_stream_), "free");
  }

  void add_memory(Comparison& c) {
    static constexpr std::size_t all = 4096;
    add(c, "copy of 4 KiB, pinned to device", [this] { stream_->copy_bytes(memory_.data(), pinned_.data(), all); },
        [this] { check(api_.copy_async(memory_.data(), pinned_.data(), all, raw_stream_), "copy"); });
    add(c, "fill of 4 KiB", [this] { stream_->fill(memory_.subspan(0, 1024), 7U); },
        [this] { check(api_.fill_async(memory_.data(), 7, 4, 1024, raw_stream_), "fill"); });
    if (device_.supports(Feature::write_value_32)) {
      const auto write = MemoryOperation::write(memory_.data(), std::uint32_t{5});
      add(c, "write value", [this] { stream_->write_value(memory_.data(), std::uint32_t{5}); },
          [this, write] { check(api_.memory_operation(raw_stream_, write), "write value"); }, {}, 200);
    }
    if (device_.supports(Feature::wait_value_32)) {
      const auto wait = MemoryOperation::wait(pinned_.data(), std::uint32_t{0}, WaitCondition::geq);
      add(c, "wait value", [this] { stream_->wait_value(pinned_.data(), std::uint32_t{0}); },
          [this, wait] { check(api_.memory_operation(raw_stream_, wait), "wait value"); }, {}, 200);
    }
    if (device_.supports(Feature::batch_memory_operations)) {
      for (std::uint32_t i = 0; i < 8; ++i) batch_.push_back(MemoryOperation::write(memory_.data() + i, i));
      // Both sides fill the driver's array each time, like a program whose values change.
      add(c, "batch of 8", [this] { stream_->batch_memory_operations(batch_); },
          [this] {
            for (std::size_t i = 0; i < 8; ++i) Api::fill_batch_operation(raw_batch_[i], batch_[i]);
            check(api_.batch(raw_stream_, raw_batch_, 8), "batch");
          },
          {}, 100);
    }
    if (device_.supports(Feature::async_allocation)) {
      add(
          c, "asynchronous allocate + free", [this] { (void)stream_->allocate_bytes_async(4096); },
          [this] { raw_allocate_and_free(); }, {.ratio = 1.05, .extra_ns = 30});  // two operations
    }
  }

  void add_graphs(Comparison& c) {
    const LaunchConfig one{.grid = {1, 1, 1}, .block = {32, 1, 1}};
    const auto capture = [this, one] {
      return stream_->capture([&](Stream& s) {
        for (int i = 0; i < 100; ++i) s.launch(kernels_[1], one, p_, p_, 3U);
      });
    };
    const auto raw_capture = [this] {
      check(api_.StreamBeginCapture(raw_stream_, Api::capture_mode(CaptureMode::thread_local_)), "begin");
      for (int i = 0; i < 100; ++i) {
        raw_launch(1);
      }
      typename Api::GraphHandle graph = nullptr;
      check(api_.StreamEndCapture(raw_stream_, &graph), "end");
      return graph;
    };
    add(c, "capture of nothing", [this] { (void)stream_->capture([](Stream&) {}); },
        [this] {
          check(api_.StreamBeginCapture(raw_stream_, Api::capture_mode(CaptureMode::thread_local_)), "begin");
          typename Api::GraphHandle graph = nullptr;
          check(api_.StreamEndCapture(raw_stream_, &graph), "end");
          check(api_.GraphDestroy(graph), "destroy");
        },
        {}, 100);
    add(c, "capture of 100 kernels", [capture] { (void)capture(); },
        [this, raw_capture] { check(api_.GraphDestroy(raw_capture()), "destroy"); }, {}, 20);
    graph_ = capture();
    exec_ = graph_->instantiate();
    raw_graph_ = raw_capture();
    check(api_.GraphInstantiateWithFlags(&raw_exec_, raw_graph_, 0), "instantiate");
    add(c, "instantiate + destroy", [this] { (void)graph_->instantiate(); },
        [this] {
          typename Api::GraphExecHandle exec = nullptr;
          check(api_.GraphInstantiateWithFlags(&exec, raw_graph_, 0), "instantiate");
          check(api_.GraphExecDestroy(exec), "destroy");
        },
        {}, 10);
    add(c, "graph launch", [this] { exec_->launch(*stream_); },
        [this] { check(api_.GraphLaunch(raw_exec_, raw_stream_), "launch"); }, {}, 20);
    add(c, "graph launch + synchronize",
        [this] {
          exec_->launch(*stream_);
          stream_->synchronize();
        },
        [this] {
          check(api_.GraphLaunch(raw_exec_, raw_stream_), "launch");
          check(api_.StreamSynchronize(raw_stream_), "synchronize");
        },
        {}, 20);
    if constexpr (Api::changes_nodes) add_changes(c, capture);
  }

  /// Compares changes of the arguments of all 100 kernels of the graph. The driver needs one call for each node.
  template <class Capture>
  void add_changes(Comparison& c, const Capture& capture) {
    std::size_t count = 100;
    raw_nodes_.resize(count);
    check(api_.GraphGetNodes(raw_graph_, raw_nodes_.data(), &count), "nodes");
    if (count != raw_nodes_.size()) return;  // possible with a stand-in for the driver
    const auto change = [this] {
      const LaunchConfig one{.grid = {1, 1, 1}, .block = {32, 1, 1}};
      changes_.clear();
      for (std::uint32_t i = 0; i < 100; ++i) changes_.launch({i}, kernels_[1], one, p_, p_, 3U);
      exec_->apply(changes_);
    };
    change();
    const auto raw_change = [this, raw = changes_.changes().front()] {
      for (const auto node : raw_nodes_)
        check(api_.change_node(context_, raw_exec_, node, raw, raw_arguments_), "change");
    };
    add(c, "changes of 100 kernels (raw: 100 calls)", change, raw_change, {}, 20);
    add(
        c, "recapture of 100 kernels + update (raw: 100 changes)", [this, capture] { exec_->update(capture()); }, raw_change,
        {.ratio = 1, .extra_ns = 1e9}, 20);
  }

  const Api& api_;
  Device& device_;
  typename Api::DeviceContext context_;
  std::unique_ptr<typename Api::Current> current_;
  StreamPtr stream_, other_, borrowed_, capturing_;
  StreamHandle raw_stream_ = nullptr, raw_other_ = nullptr;
  EventPtr event_, borrowed_event_;
  EventHandle raw_event_ = nullptr;
  std::unique_ptr<StreamPool> pool_;
  const ModulePtr module_;
  std::vector<KernelPtr> kernels_;
  std::vector<typename Api::FunctionHandle> raw_kernels_;
  Buffer<std::uint32_t> memory_, pinned_;
  std::uint32_t* p_ = nullptr;
  void* raw_arguments_[12] = {};
  std::vector<MemoryOperation> batch_;
  typename Api::BatchOperation raw_batch_[8];
  GraphPtr graph_;
  GraphExecPtr exec_;
  typename Api::GraphHandle raw_graph_ = nullptr;
  typename Api::GraphExecHandle raw_exec_ = nullptr;
  std::vector<typename Api::NodeHandle> raw_nodes_;
  GraphChanges changes_;
};

/// Runs all comparisons on a device and prints the table. Accepts Google Benchmark's options: with --benchmark_out=FILE
/// --benchmark_out_format=json, FILE contains every repetition. Returns 1 if an operation exceeds its limit.
template <class Api>
int compare_with_driver(const char* device_name, int argc, char** argv) try {
  // The help must work without a device.
  if (argc > 1 && std::string_view(argv[1]) == "--help") benchmark::Initialize(&argc, argv);
  Device& device = weir::device(device_name);
  BackendInfo info;
  PluginContext context(info);
  const Api& api = Api::load(context);
  std::printf("%s, driver %s\n", device.properties().name.c_str(), device.backend().versions().driver.c_str());
  auto* const operations = new Operations<Api>(api, device, device.compile(kernel_source));
  Comparison comparison;
  operations->add_to(comparison);
  const int over = comparison.run(argc, argv);
  delete operations;
  return over == 0 ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 2;
}

}  // namespace weir::bench
