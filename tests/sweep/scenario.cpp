// SPDX-License-Identifier: Apache-2.0
#include "scenario.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sweep {
namespace {

using namespace weir;

using Words = std::vector<std::uint32_t>;

/// Whether all results were right so far. Exceptions are handled elsewhere.
std::atomic<bool> right{true};
bool computes = true;
void check(bool condition) {
  if (!condition && computes) right = false;
}

template <class F>
void check_throws(Errc code, F&& f) {
  try {
    f();
    check(false);
  } catch (const Error& error) {
    if (error.errc() != code) throw;
  }
}

/// A stream whose work ends before the memory that it uses, however the scope ends.
struct Finished {
  const StreamPtr& stream;
  ~Finished() {
    // A stream that captures cannot be waited for.
    if (stream->is_capturing()) without_error([this] { (void)stream->end_capture(); });
    without_error([this] { stream->synchronize(); });
  }

 private:
  template <class F>
  static void without_error(F&& f) noexcept {
    try {
      f();
    } catch (const std::exception&) {
      // What matters was thrown before.
    }
  }
};

void streams(Device& device) {
  const StreamPtr plain = device.create_stream();
  const StreamPtr urgent = device.create_stream({.blocking = true, .priority = Priority::high});
  const StreamPtr borrowed = device.wrap_stream(plain->share_native_handle(), Ownership::borrow, std::make_shared<int>(1));
  void* const released = device.create_stream()->release_handle();
  const auto adopt = [&] { return device.wrap_stream(released, Ownership::adopt); };
  StreamPtr adopted;
  try {
    adopted = adopt();
  } catch (const std::exception&) {
    (void)adopt();  // the handle is still this function's, and ends here
    throw;
  }
  std::unordered_map<weir::StreamRef, int> map;
  for (const StreamPtr& stream : {plain, urgent, borrowed, adopted, device.default_stream(), device.per_thread_stream()}) {
    ++map[stream];
    check(!stream->describe().empty());
    (void)stream->id();
    (void)stream->priority();
    stream->wait(plain);
  }
  check(map.size() == 5 && map[plain] == 2);
  if (device.supports(Feature::synchronization_policy)) {
    plain->set_synchronization_policy(SynchronizationPolicy::yield);
    urgent->copy_attributes(*plain);
  }
  const StreamScope scope(urgent);
  check(current_stream(device) == urgent);
  for (const PoolSharing sharing : {PoolSharing::exclusive, PoolSharing::round_robin}) {
    StreamPool pool(device, {.max_streams = 2, .sharing = sharing});
    StreamLease first = pool.lease();
    const StreamLease second = pool.lease();
    if (sharing == PoolSharing::exclusive) {
      check(!pool.try_lease());
      check_throws(Errc::pool_exhausted, [&] { (void)pool.lease(); });
    }
    second->synchronize();
    first = pool.device() == device && sharing == PoolSharing::round_robin ? pool.lease() : std::move(first);
  }
  urgent->close();
  check_throws(Errc::stream_closed, [&] { urgent->synchronize(); });
}

void events(Device& device) {
  const StreamPtr stream = device.create_stream(), other = device.create_stream();
  const EventPtr start = stream->record({.timing = true});
  const EventPtr sleeping = device.create_event({.blocking_sync = true});
  stream->record(*sleeping);
  other->wait(sleeping);
  std::vector<EventPtr> many;
  for (int i = 0; i < 20; ++i) many.push_back(other->record());
  const EventPtr end = other->record({.timing = true});
  sleeping->synchronize();
  end->synchronize();
  check(end->is_complete() && end->elapsed_since(*start).count() >= 0);
  check_throws(Errc::timing_disabled, [&] { (void)end->elapsed_since(*sleeping); });
}

void memory(Device& device) {
  const auto plain = device.allocate<std::uint32_t>(4096);
  const auto pinned = device.allocate<std::uint32_t>(4096, MemoryKind::pinned);
  const bool has_managed = device.supports(Feature::managed_memory);
  const auto managed = device.allocate<std::uint32_t>(4096, has_managed ? MemoryKind::managed : MemoryKind::pinned);
  Words host(4096, 3);
  Ptr<HostRegistration> registration;
  if (device.supports(Feature::host_registration)) registration = device.register_host(host);
  const StreamPtr stream = device.create_stream();
  const Finished finished{stream};
  stream->copy(plain, host);
  stream->copy(pinned, plain);
  if (has_managed && device.supports(Feature::managed_attach)) stream->attach_memory(managed, AttachMode::single);
  if (has_managed && device.supports(Feature::managed_prefetch)) stream->prefetch(managed);
  stream->fill(managed, 4U);
  const PitchedSpan<std::uint32_t> rows{.data = plain.data(), .extent = {8, 4}, .row_pitch = 64};
  stream->fill(rows, 5);
  stream->copy(PitchedSpan<std::uint32_t>{pinned.data(), rows.extent, 64, 0}, rows);
  stream->copy_peer(managed.data(), device, plain.data(), device, 64);
  stream->zero(plain.subspan(0, 8));
  check(stream->read(plain)[8] == 3);
  check(pinned.host()[0] == 5 && managed.host()[0] == 5 && managed.host()[40] == 4);
  try {
    device.copy(host, pinned);
  } catch (const std::exception&) {
    device.synchronize();  // where no answer came whether the copy is over
    throw;
  }
  check(host[16] == 5 && device.memory_info().total != 0);
  check_throws(Errc::length_mismatch,
               [&] { stream->copy(plain, host.data() == nullptr ? Span(host) : Span(host).first(3)); });
  check_throws(Errc::invalid_argument, [&] { (void)plain.host(); });
}

void asynchronous_memory(Device& device) {
  if (!device.supports(Feature::async_allocation) || !device.supports(Feature::memory_pools)) return;
  const StreamPtr stream = device.create_stream(), other = device.create_stream();
  const MemoryPoolPtr pool = device.create_memory_pool({.release_threshold = std::size_t{1} << 20U});
  {
    Buffer<std::uint32_t> crossing;  // freed behind the work of both, however the scope ends
    const Finished finished{stream}, finished_too{other};
    std::vector<Buffer<std::uint32_t>> buffers;
    for (int i = 0; i < 4; ++i) {
      buffers.push_back(stream->allocate_async<std::uint32_t>(1000));
      buffers.push_back(stream->allocate_async<std::uint32_t>(1000, pool));
      stream->fill(buffers.back(), 7U);
    }
    check(stream->read(buffers.back())[999] == 7);
    buffers.clear();
    crossing = stream->allocate_async<std::uint32_t>(100);
    other->wait(stream);
    other->fill(crossing, 1U);
    stream->wait(other);
    crossing.reset();
  }
  pool->trim_to(0);
  (void)pool->used_bytes();
  (void)device.default_memory_pool()->reserved_bytes();
}

void host_work(Device& device) {
  const StreamPtr stream = device.create_stream();
  std::atomic<int> calls{0};
  const Finished finished{stream};
  const std::array<std::uint64_t, 20> large{};
  for (int i = 0; i < 4; ++i) {
    stream->launch_host_function([&calls] { ++calls; });
    stream->launch_host_function([&calls, large] { calls += static_cast<int>(large.size()); });
    const auto callback = [&calls](Stream&, std::error_code) { ++calls; };
    if (device.supports(Feature::stream_callbacks)) {
      stream->add_callback(callback);
    } else {
      stream->launch_host_function([&calls] { ++calls; });
    }
  }
  stream->launch_host_function([owned = device.allocate<int>(10)] { check(owned.size() == 10); });
  stream->synchronize();
  check(calls == 4 * 22);
  stream->launch_host_function([] { throw std::runtime_error("thrown by a host function"); });
  try {
    stream->synchronize();
    check(false);
  } catch (const Error&) {
    throw;
  } catch (const std::runtime_error&) {
    // As it should be.
  }
}

void memory_operations(Device& device) {
  if (!device.supports(Feature::wait_value_64) || !device.supports(Feature::write_value_64)) return;
  const auto word = device.allocate<std::uint64_t>(1, MemoryKind::pinned);
  std::atomic_ref<std::uint64_t> value(word.host()[0]);
  value = 0;
  const StreamPtr waiting = device.create_stream(), writing = device.create_stream();
  const Finished finished{waiting}, finished_too{writing};
  struct Release {
    std::atomic_ref<std::uint64_t> value;
    ~Release() { value = 100; }
  } const release{value};
  waiting->wait_value(word.data(), 5);
  std::vector<MemoryOperation> operations = {MemoryOperation::write(word.data(), 4), MemoryOperation::write(word.data(), 5)};
  if (device.supports(Feature::wait_value_flush)) {
    operations.insert(operations.begin() + 1, MemoryOperation::flush_remote_writes());
  }
  writing->batch_memory_operations(operations);
  waiting->synchronize();
  waiting->write_value(word.data(), 9);
  waiting->synchronize();
  check(value == 9);
}

void kernels(const Setting& setting) {
  const auto memory = setting.device.allocate<std::uint32_t>(1000);
  const StreamPtr stream = setting.device.create_stream();
  const Finished finished{stream};
  const KernelPtr add = setting.module->untyped_kernel("add_to_all");
  stream->zero(memory);
  for (int i = 0; i < 5; ++i) stream->launch(add, grid_for(1000), 1000U, 2U, memory);
  stream->launch(add, {4, 100}, 400U, 1U, std::span(memory.data(), 400));
  const Words back = stream->read(memory);
  check(back[0] == 11 && back[999] == 10);
  (void)add->properties();
  (void)add->max_active_blocks(64);
  check_throws(Errc::invalid_argument, [&] { stream->launch(add, {0, 1}, 1U, 2U, memory); });
  check_throws(Errc::kernel_not_found, [&] { (void)setting.module->untyped_kernel("no_such_kernel"); });
}

void graphs(const Setting& setting) {
  Device& device = setting.device;
  if (!device.supports(Feature::graph_capture)) return;
  const auto memory = device.allocate<std::uint32_t>(64);
  const auto condition = device.allocate<std::uint32_t>(1, MemoryKind::pinned);
  const KernelPtr add = setting.module->untyped_kernel("add_to_all");
  std::atomic<int> calls{0};
  const StreamPtr stream = device.create_stream(), fork = device.create_stream();
  const EventPtr outside = device.create_event();
  const Finished finished{stream}, finished_too{fork};
  stream->zero(memory);
  condition.host()[0] = 1;

  const auto capture = [&](std::uint32_t value) {
    return stream->capture([&](Stream& captured) {
      fork->wait(captured);
      fork->launch(add, {1, 32}, 32U, value, memory);
      captured.launch(add, {1, 32}, 32U, value, memory.subspan(32, 32));
      captured.launch_host_function([&calls] { ++calls; });
      if (device.supports(Feature::graph_memory_nodes)) {
        const auto temporary = captured.allocate_async<std::uint32_t>(16);
        captured.fill(temporary, 1U);
      }
      if (device.supports(Feature::external_events)) captured.record_external(*outside);
      captured.wait(fork->record());
    });
  };
  const GraphPtr graph = capture(1);
  const Topology topology = graph->topology();
  check(topology.nodes.size() == graph->node_count() && topology.count(NodeKind::kernel) == 2);
  check(!topology.roots().empty() && !topology.leaves().empty());
  if (device.supports(Feature::graph_debug_dot)) check(!graph->debug_dot().empty());
  const GraphExecPtr executable = graph->instantiate();
  if (device.supports(Feature::graph_upload)) executable->upload(*stream);
  for (int i = 0; i < 3; ++i) executable->launch(*stream);
  check(stream->read(memory) == Words(64, 3));

  const GraphPtr simple = stream->capture([&](Stream& captured) {
    captured.launch(add, {1, 64}, 64U, 1U, memory);
    captured.launch_host_function([&calls] { ++calls; });
  });
  const GraphExecPtr simple_executable = simple->clone()->instantiate();
  const GraphPtr changed = stream->capture([&](Stream& captured) {
    captured.launch(add, {1, 64}, 64U, 2U, memory);
    captured.launch_host_function([&calls] { calls += 10; });
  });
  simple_executable->update(*changed);
  simple_executable->launch(*stream);
  check_throws(Errc::graph_update_failed, [&] { simple_executable->update(*graph); });

  const bool has_children = device.supports(Feature::graph_child_nodes);
  const bool has_conditions = device.supports(Feature::graph_conditional_nodes);
  const GraphPtr whole = stream->capture(CaptureMode::relaxed, [&](Stream& captured) {
    if (has_children) captured.add_child_graph(*simple);
    if (has_conditions) {
      captured.capture_if(condition.data(), [&](Stream& body) { body.launch(add, {1, 64}, 64U, 3U, memory); });
      captured.capture_while(condition.data(), [&](Stream& body) {
        body.launch(add, {1, 64}, 64U, 4U, memory);
        body.fill(condition, 0U);
      });
    }
    (void)captured.capture_info();
    check_throws(Errc::capture_unsupported, [&] { captured.synchronize(); });
    check_throws(Errc::already_capturing, [&] { captured.begin_capture(); });
  });
  const bool continues = device.supports(Feature::capture_into_graph);
  if (continues) {
    stream->resume_capture(whole);
    stream->launch(add, {1, 64}, 64U, 5U, memory);
    check(stream->end_capture() == whole);
  }
  whole->instantiate()->launch(*stream);
  const unsigned added = 3 + 2 + (has_children ? 1 : 0) + (has_conditions ? 3 + 4 : 0) + (continues ? 5 : 0);
  check(stream->read(memory) == Words(64, added));
  check(calls == 3 + 10 + (has_children ? 1 : 0));

  const StreamPtr dropped = device.create_stream();  // while it captures, with a fork, memory and a graph dropped meanwhile
  dropped->begin_capture();
  fork->wait(dropped);
  fork->fill(memory, 1U);
  (void)device.create_event();
}

void threads(Device& device) {
  const StreamPtr stream = device.create_stream();
  std::array<std::exception_ptr, 2> errors;
  std::vector<std::thread> workers;
  try {
    for (std::exception_ptr& error : errors) {
      workers.emplace_back([&error, &device, &stream] {
        try {
          const auto memory = device.allocate<std::uint32_t>(256);
          const Finished finished{stream};
          for (int i = 0; i < 5; ++i) {
            stream->fill(memory, 6U);
            stream->launch_host_function([] {});
          }
          check(device.per_thread_stream()->is_complete());
        } catch (...) {
          error = std::current_exception();
        }
      });
    }
  } catch (...) {
    for (std::thread& worker : workers) worker.join();
    throw;
  }
  for (std::thread& worker : workers) worker.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

void registry(Device& device) {
  Registry& all = Registry::instance();
  const std::string backend(device.backend().name());
  check(&all.open(backend) == &device.backend() && &weir::device(backend + ":0") == &device);
  check(all.probe(backend).state == BackendState::usable);
  check_throws(Errc::invalid_argument, [&] { (void)weir::device(backend + ":99"); });
  if (!device.supports(Feature::native_context)) {
    check_throws(Errc::unsupported, [&] { device.require({Feature::graph_capture, Feature::native_context}); });
  }
  check(!device.properties().name.empty() && device.priority_range().least >= 0);
  device.synchronize();
}

}  // namespace

Setting make_setting(Device& device) {
  return {device, device.compile(R"(
extern "C" __global__ void add_to_all(unsigned n, unsigned value, unsigned* p) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] += value;
}
)")};
}

bool run_scenario(const Setting& setting) {
  right = true;
  computes = setting.computes;
  Device& device = setting.device;
  registry(device);
  streams(device);
  events(device);
  memory(device);
  asynchronous_memory(device);
  host_work(device);
  memory_operations(device);
  kernels(setting);
  graphs(setting);
  threads(device);
  return right;
}

}  // namespace sweep
