// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <thread>
#include <vector>

#include "program.hpp"
#include "weir/weir.hpp"

namespace stress {
namespace {

using weir::Device;
using weir::MemoryOperation;
using weir::Stream;
using weir::StreamPtr;

/// Counters start close to their greatest value, so that a comparison that ignores the wrap is found.
constexpr std::uint32_t flag_start = 0xFFFFFFF8U;

constexpr const char* kernel_source = R"(
extern "C" __global__ void multiply_add(unsigned* a, const unsigned* b, unsigned factor) {
  if (blockIdx.x * blockDim.x + threadIdx.x == 0) *a = *a * factor + *b;
}
)";

class Run {
 public:
  explicit Run(const Program& program)
      : program_(program),
        device_(weir::default_device()),
        cells_(device_.allocate<std::uint32_t>(program.shape.cells, weir::MemoryKind::pinned)),
        flags_(device_.allocate<std::uint32_t>(program.shape.slots, weir::MemoryKind::pinned)),
        raised_(program.shape.slots) {
    for (std::uint32_t i = 0; i < program.shape.cells; ++i) cells_.host()[i] = program.start[i];
    for (std::uint32_t& flag : flags_.host()) flag = flag_start;
    if (program.shape.kernels) kernel_ = device_.compile(kernel_source)->untyped_kernel("multiply_add");
    for (std::uint32_t slot = 0; slot < program.shape.slots; ++slot) {
      streams_.push_back(device_.create_stream({.blocking = slot % 5 == 4,
                                                .priority = static_cast<weir::Priority>(slot % 3)}));
    }
  }

  std::vector<std::uint32_t> run() {
    std::vector<std::thread> threads;
    for (std::uint32_t t = 0; t < program_.shape.threads; ++t) {
      threads.emplace_back([this, t] {
        try {
          for (const Item& item : program_.items) {
            if (item.slot % program_.shape.threads == t) perform(item);
          }
        } catch (const std::exception& e) {
          // The other threads' streams wait for what this one will not do now, so there is nothing to come back to.
          fail(program_.seed, e.what());
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const StreamPtr& stream : streams_) stream->synchronize();
    const auto cells = cells_.host();
    return {cells.begin(), cells.end()};
  }

 private:
  weir::Span<std::uint32_t> cell(std::uint32_t i) const { return cells_.subspan(i, 1); }

  void perform(const Item& item) {
    StreamPtr& stream = streams_[item.slot];
    switch (item.kind) {
      case Item::Kind::step: perform(item.step, *stream); break;
      case Item::Kind::raise_flag:
        stream->write_value(flags_.data() + item.slot, flag_start + item.number);
        raised_[item.slot].store(item.number, std::memory_order_release);
        break;
      case Item::Kind::await_flag:
        while (!program_.shape.early_waits && raised_[item.other].load(std::memory_order_acquire) < item.number) {
          std::this_thread::yield();
        }
        stream->wait_value(flags_.data() + item.other, flag_start + item.number);
        break;
      case Item::Kind::follow: follow(*stream, *streams_[item.other], item.order); break;
      case Item::Kind::synchronize: stream->synchronize(); break;
      case Item::Kind::replace: replace(stream, static_cast<Way>(item.number)); break;
      case Item::Kind::graph: perform_graph(item, *stream); break;
    }
  }

  void perform(const Step& step, Stream& stream) {
    std::uint32_t* const a = cell(step.a).data();
    std::uint32_t* const b = cell(step.b).data();
    switch (step.kind) {
      case Step::Kind::multiply_add_on_host:
        stream.launch_host_function([a, b, value = step.value] { *a = *a * value + *b; });
        break;
      case Step::Kind::multiply_add_in_kernel: stream.launch(kernel_, weir::grid_for(1, 32), a, b, step.value); break;
      case Step::Kind::copy: stream.copy(cell(step.a), cell(step.b)); break;
      case Step::Kind::copy_through_scratch: {
        const auto scratch = stream.allocate_async<std::uint32_t>(1);
        stream.copy(scratch, cell(step.b));
        stream.copy(cell(step.a), scratch);
        break;
      }
      case Step::Kind::fill: stream.fill(cell(step.a), step.value); break;
      case Step::Kind::write: stream.write_value(a, step.value); break;
      case Step::Kind::write_two: {
        const MemoryOperation operations[] = {MemoryOperation::write(a, step.value), MemoryOperation::write(b, ~step.value)};
        stream.batch_memory_operations(operations);
        break;
      }
    }
  }

  static void follow(Stream& stream, Stream& other, Order order) {
    switch (order) {
      case Order::event: stream.wait(*other.record()); break;
      case Order::host: other.synchronize(); break;
      case Order::wait_stream:
      case Order::flag: stream.wait(other); break;
    }
  }

  void replace(StreamPtr& stream, Way way) {
    const weir::EventPtr event = stream->record();
    StreamPtr fresh = device_.create_stream({.blocking = !stream->is_non_blocking()});
    fresh->wait(*event);
    weir::Buffer<std::uint32_t> memory;  // goes after the stream's capture, of which it is no part
    if (way == Way::capturing_with_memory) {
      memory = stream->allocate_async<std::uint32_t>(16);
      stream->fill(memory, 1U);
    }
    if (way == Way::closed) {
      stream->close();
    } else {
      stream->begin_capture();
    }
    stream = std::move(fresh);
  }

  void perform_graph(const Item& item, Stream& origin) {
    const weir::GraphPtr graph = origin.capture([&](Stream&) {
      for (const Item& inner : item.body) perform(inner);
    });
    // A graph that allocates has no copies.
    const bool clone = item.number == 2 && graph->topology().count(weir::NodeKind::allocate) == 0;
    const weir::GraphExecPtr exec = clone ? graph->clone()->instantiate() : graph->instantiate();
    for (std::uint32_t n = 0; n < item.number; ++n) exec->launch(origin);
  }

  const Program& program_;
  Device& device_;
  weir::Buffer<std::uint32_t> cells_;
  weir::Buffer<std::uint32_t> flags_;
  std::vector<std::atomic<std::uint32_t>> raised_;  // by slot, the last number whose write is enqueued
  weir::KernelPtr kernel_;
  std::vector<StreamPtr> streams_;
};

}  // namespace

std::vector<std::uint32_t> run_program(const Program& program) { return Run(program).run(); }

}  // namespace stress
