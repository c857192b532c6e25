// SPDX-License-Identifier: Apache-2.0
#include "backends/host/engine/work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <thread>

#include "backends/host/engine/executable.hpp"
#include "backends/host/engine/queue.hpp"
#include "backends/host/run/worker_memory.hpp"
#include "weir/device.hpp"
#include "weir/plugin/support.hpp"

namespace weir::host {
namespace {

// Smaller copies run on one worker.
constexpr std::size_t copy_piece = std::size_t{1} << 20U;
constexpr std::size_t shared_copy = 4 * copy_piece;

template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};
template <class... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;  // needed before Clang 17, which does not deduce it

std::size_t alignment_for(std::size_t size) noexcept {
  return size >= 16 ? 16 : std::bit_floor(std::max<std::size_t>(size, 1));
}

std::size_t place(std::size_t& offset, std::size_t size) noexcept {
  const std::size_t alignment = alignment_for(size);
  const std::size_t at = (offset + alignment - 1) / alignment * alignment;
  offset = at + size;
  return at;
}

template <class T>
void fill_row(void* to, std::uint32_t value, std::size_t count) noexcept {
  std::fill_n(static_cast<T*>(to), count, static_cast<T>(value));
}

void fill_row(void* to, std::uint32_t value, std::uint32_t element_size, std::size_t count) noexcept {
  switch (element_size) {
    case 1: fill_row<std::uint8_t>(to, value, count); break;
    case 2: fill_row<std::uint16_t>(to, value, count); break;
    default: fill_row<std::uint32_t>(to, value, count); break;
  }
}

/// Copies one aligned word atomically, so that streams and threads that wait for it see either the old or the new value.
/// Returns false, and copies nothing, if the copy is not one aligned word.
bool copy_word(void* to, const void* from, std::size_t bytes) noexcept {
  const std::uintptr_t both = reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from) | bytes;
  const auto copy = [&]<class T>(T) {
    T value{};
    __atomic_load(static_cast<const T*>(from), &value, __ATOMIC_ACQUIRE);
    __atomic_store(static_cast<T*>(to), &value, __ATOMIC_RELEASE);
    return true;
  };
  if (bytes == 4 && both % 4 == 0) return copy(std::uint32_t{});
  if (bytes == 8 && both % 8 == 0) return copy(std::uint64_t{});
  return false;
}

void* offset(void* base, std::size_t bytes) noexcept { return static_cast<std::byte*>(base) + bytes; }

void copy_rows(const Copy& copy, std::size_t first, std::size_t last) noexcept {
  for (std::size_t row = first; row < last; ++row) {
    std::memmove(copy.destination.row(row, copy.height), copy.source.row(row, copy.height), copy.width);
  }
}

void fill_rows(const Fill& fill, std::size_t first, std::size_t last) noexcept {
  for (std::size_t row = first; row < last; ++row) {
    fill_row(offset(fill.to, row * fill.pitch), fill.value, fill.element_size, fill.width);
  }
}

}  // namespace

// --- Arguments --------------------------------------------------------------------------------------------------------

Arguments::Arguments(std::span<void* const> values, std::span<const Parameter> parameters) {
  std::size_t total = 0;
  for (const Parameter& parameter : parameters) place(total, parameter.size);
  std::byte* base = inline_;
  if (total > inline_bytes) {
    heap_ = std::shared_ptr<std::byte[]>(new (std::align_val_t{16}) std::byte[total],
                                         [](std::byte* p) { ::operator delete[](p, std::align_val_t{16}); });
    base = heap_.get();
  }
  std::size_t at = 0;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    std::memcpy(base + place(at, parameters[i].size), values[i], parameters[i].size);
}

void Arguments::addresses(std::span<const Parameter> parameters, std::vector<const void*>& out) const {
  const std::byte* const base = heap_ ? heap_.get() : inline_;
  out.clear();
  std::size_t at = 0;
  for (const Parameter& parameter : parameters) out.push_back(base + place(at, parameter.size));
}

// --- Host functions ---------------------------------------------------------------------------------------------------

namespace {

/// Stores the error that ended a launch for the queue's next synchronize.
void keep_fault(Queue& queue, const Error& error) { queue.keep_error(std::make_exception_ptr(error), error.code()); }

/// Logs the exception that is being handled, and stores it for the queue's next synchronize.
void keep_thrown(Queue& queue, const char* subject, const char* what, std::error_code status = {}) noexcept {
  queue.keep_error(std::current_exception(), status);
  try {
    support::log(support::LogLevel::error, queue.device().describe() + ": " + subject + ": " + what);
  } catch (const std::bad_alloc&) {
    support::log(support::LogLevel::error, subject);
  }
}

}  // namespace

void call_host_function(HostFunction& function, Queue& queue) noexcept {
  const support::HostFunctionScope scope;
  try {
    function();
  } catch (const std::exception& e) {
    keep_thrown(queue, "a host function threw", e.what());
  } catch (...) {
    keep_thrown(queue, "a host function threw", "an object that is not a std::exception");
  }
}

void call_host_function_once(HostFunction& function, Queue& queue) noexcept {
  const support::HostFunctionScope scope;
  call_host_function(function, queue);
  function.reset();
}

SharedFunction::~SharedFunction() {
  // The destructors must not call Weir, as on a GPU, where the driver destroys a graph's functions on its own thread.
  const support::HostFunctionScope scope;
  function.reset();
}

// --- Running ----------------------------------------------------------------------------------------------------------

ThreadKind thread_kind_of(const Work& work) noexcept {
  return std::visit(
      Overloaded{[](const HostCall&) { return ThreadKind::host_functions; }, [](const Copy&) { return ThreadKind::worker; },
                 [](const Fill&) { return ThreadKind::worker; }, [](const Launch&) { return ThreadKind::worker; },
                 [](const SubGraph&) { return ThreadKind::worker; }, [](const Conditional&) { return ThreadKind::worker; },
                 [](const auto&) { return ThreadKind::none; }},
      work);
}

Progress WorkRun::start(const Work& work, Queue& queue, Continuation& continuation) {
  work_ = &work;
  queue_ = &queue;
  continuation_ = &continuation;
  return std::visit(
      Overloaded{[](const Nothing&) { return Progress::done; }, [this](const Copy& copy) { return run_copy(copy); },
                 [this](const Fill& fill) { return run_fill(fill); },
                 [this](const Launch& launch) { return run_launch(launch); },
                 [this](const MemoryOperations& operations) {
                   position_ = 0;
                   return run_memory_operations(operations);
                 },
                 [this](const HostCall& call) {
                   call_host_function(call.function->function, *queue_);
                   return Progress::done;
                 },
                 [](const TimedRecord& record) {
                   record.event->stamp();
                   return Progress::done;
                 },
                 [](const ExternalRecord& record) {
                   record.event->stamp();
                   record.records->advance();
                   return Progress::done;
                 },
                 [this](const SignalWait& wait) {
                   return wait.signal->wait(*this, wait.number) ? Progress::pending : Progress::done;
                 },
                 [this](const ExternalWait& wait) {
                   const auto& [signal, number] = wait.point;
                   return signal && signal->wait(*this, number) ? Progress::pending : Progress::done;
                 },
                 [this](const PoolFree& block) {
                   block.free(block.memory, *queue_);
                   return Progress::done;
                 },
                 [this](const SubGraph& graph) {
                   graph.executable->set_wait_points(graph.wait_points);
                   if (graph.launch != 0) graph.executable->watch(graph.launch, nullptr);
                   return graph.executable->start(*queue_, *continuation_);
                 },
                 [this](const Conditional& conditional) { return run_conditional(conditional); }},
      work);
}

Progress WorkRun::run_copy(const Copy& copy) {
  const std::size_t rows = copy.rows();
  if (rows == 1 && copy_word(copy.destination.data, copy.source.data, copy.width)) return Progress::done;
  if (rows == 1 && copy.width >= shared_copy) {
    return run_parallel(*this, copy.width, copy_piece, queue_->level(), *continuation_) ? Progress::done : Progress::pending;
  }
  if (rows > 1 && copy.width * rows >= shared_copy) {
    const bool done =
        run_parallel(*this, rows, std::max<std::size_t>(copy_piece / copy.width, 1), queue_->level(), *continuation_);
    return done ? Progress::done : Progress::pending;
  }
  copy_rows(copy, 0, rows);
  return Progress::done;
}

Progress WorkRun::run_fill(const Fill& fill) {
  // Written atomically, because streams and threads may wait for the word.
  if (fill.height == 1 && fill.width == 1 && fill.element_size == 4) {
    __atomic_store_n(static_cast<std::uint32_t*>(fill.to), fill.value, __ATOMIC_RELEASE);
    return Progress::done;
  }
  if (fill.height == 1 && fill.width * fill.element_size >= shared_copy) {
    const bool done = run_parallel(*this, fill.width, copy_piece / fill.element_size, queue_->level(), *continuation_);
    return done ? Progress::done : Progress::pending;
  }
  const std::size_t row_bytes = fill.width * fill.element_size;
  if (fill.height > 1 && row_bytes * fill.height >= shared_copy) {
    const bool done =
        run_parallel(*this, fill.height, std::max<std::size_t>(copy_piece / row_bytes, 1), queue_->level(), *continuation_);
    return done ? Progress::done : Progress::pending;
  }
  fill_rows(fill, 0, fill.height);
  return Progress::done;
}

void check_cooperative(const char* operation, const std::string& object, const Kernel& kernel, const LaunchConfig& config) {
  const std::uint64_t blocks = std::uint64_t{config.grid.x} * config.grid.y * config.grid.z;
  if (!config.cooperative || blocks <= most_cooperative_blocks) return;
  throw Error(Errc::invalid_argument, operation, object,
              fmt::format("kernel '{}': a cooperative launch of {} blocks is too large; each block has its own thread here, "
                          "and the limit is {}",
                          kernel.name(), blocks, most_cooperative_blocks));
}

Progress WorkRun::run_launch(const Launch& launch) {
  try {
    launch.arguments.addresses(launch.kernel->parameters(), argument_addresses_);
  } catch (const std::bad_alloc& e) {
    keep_thrown(*queue_, "a kernel was not run", e.what(), Errc::out_of_memory);
    return Progress::done;
  }
  crashed_.store(false, std::memory_order_relaxed);
  stuck_.store(false, std::memory_order_relaxed);
  const std::uint64_t blocks = std::uint64_t{launch.grid.x} * launch.grid.y * launch.grid.z;
  if (launch.cooperative) {
    run_together(blocks);
    return Progress::done;
  }
  // Eight pieces for each thread, which keeps all threads busy even if blocks take different times.
  const auto pieces = static_cast<std::uint64_t>(Scheduler::instance().threads()) * 8;
  const bool done =
      run_parallel(*this, blocks, std::max<std::uint64_t>(blocks / pieces, 1),
                   launch.priority ? level_of(*launch.priority) : queue_->level(), *continuation_,
                   &launch.kernel->step_time(), launch.most_workers);
  return done ? Progress::done : Progress::pending;
}

/// Stores the error of a stuck block for the stream's next synchronize. The other blocks of the launch still run, but for
/// those that poll.
void WorkRun::fail(const KernelFault& fault) {
  keep_fault(*queue_, fault_error(*std::get<Launch>(*work_).kernel, fault));
  stuck_.store(true, std::memory_order_relaxed);
}

/// Waits until all blocks of the grid have called it.
bool WorkRun::sync_grid(const char* place) {
  KernelFault fault{place, "sync of a grid_group", {}, whole_grid, 0, 0, 0};
  if (barrier_ == nullptr) {
    fail(fault);
    return false;
  }
  const GridBarrier::Outcome outcome = barrier_->wait();
  if (outcome.first_to_know) {
    fault.here = outcome.waiting;
    fault.expected = outcome.blocks;
    fail(fault);
  }
  return outcome.all_came;
}

BlockRange WorkRun::block_range(const Launch& launch, std::uint64_t first, std::uint64_t last) {
  return {{launch.grid.x, launch.grid.y, launch.grid.z},
          {launch.block.x, launch.block.y, launch.block.z},
          first,
          last,
          launch.shared_bytes,
          &launch_services(),
          static_cast<RunningLaunch*>(this),
          launch.cooperative,
          &crashed_,
          first};
}

/// Runs a cooperative launch with one thread for each block. If workers waited for other blocks, they could keep those
/// blocks from running.
void WorkRun::run_together(std::uint64_t blocks) {
  GridBarrier barrier(static_cast<std::uint32_t>(blocks));
  barrier_ = &barrier;
  std::vector<std::thread> threads;
  try {
    threads.reserve(blocks);
    for (std::uint64_t block = 0; block < blocks; ++block) {
      threads.emplace_back([&, block] {
        if (!barrier.begin()) return;
        do_range(block, block + 1);
        barrier.end();
      });
    }
    barrier.open(true);
  } catch (const std::exception& e) {
    barrier.open(false);
    keep_thrown(*queue_, "a cooperative kernel was not run", e.what(), Errc::out_of_memory);
  }
  for (std::thread& thread : threads) thread.join();
  barrier_ = nullptr;
}

void WorkRun::do_blocks(const Launch& launch, std::uint64_t first, std::uint64_t last) {
  if (crashed_.load(std::memory_order_relaxed)) return;
  const BlockRange range = block_range(launch, first, last);
  KernelSection section(launch.kernel->code());
  section.run(launch.kernel->run_blocks(), range, argument_addresses_.data());
  if (!section.crash()) return;
  WorkerMemory::mine().reset();
  if (crashed_.exchange(true, std::memory_order_relaxed)) return;
  const auto index_of = [&](std::uint64_t number) -> Dim3 {
    return {static_cast<std::uint32_t>(number % launch.grid.x),
            static_cast<std::uint32_t>(number / launch.grid.x % launch.grid.y),
            static_cast<std::uint32_t>(number / launch.grid.x / launch.grid.y)};
  };
  const std::uint64_t first_block = range.running_block;
  const std::uint64_t last_block = std::max(range.running_end, first_block + 1) - 1;
  keep_fault(*queue_, crash_error(*launch.kernel, *section.crash(), index_of(first_block), index_of(last_block)));
}

void WorkRun::do_range(std::uint64_t first, std::uint64_t last) noexcept {
  if (const auto* const launch = std::get_if<Launch>(work_)) {
    try {
      do_blocks(*launch, first, last);
    } catch (const std::bad_alloc&) {  // no memory for the blocks, or for stacks of waiting threads
      WorkerMemory::mine().reset();
      try {
        throw out_of_memory_error(*launch->kernel);
      } catch (const std::exception& e) {
        keep_thrown(*queue_, "blocks of a kernel were not run", e.what(), Errc::out_of_memory);
      }
    }
  } else if (const auto* const copy = std::get_if<Copy>(work_)) {
    if (copy->rows() > 1) return copy_rows(*copy, first, last);
    std::memcpy(copy->destination.data + first, copy->source.data + first, last - first);
  } else if (const auto* const fill = std::get_if<Fill>(work_)) {
    if (fill->height > 1) return fill_rows(*fill, first, last);
    fill_row(offset(fill->to, first * fill->element_size), fill->value, fill->element_size, last - first);
  }
}

Progress WorkRun::run_memory_operations(const MemoryOperations& operations) {
  for (; position_ < operations.size(); ++position_) {
    const MemoryOperation& operation = operations[position_];
    if (operation.is_write()) {
      write_value(operation);
    } else if (operation.is_wait() && !is_met(operation)) {
      ++position_;
      ValueWaits::instance().add(*this, operation);
      return Progress::pending;
    }
  }
  return Progress::done;
}

Progress WorkRun::run_conditional(const Conditional& conditional) {
  const std::size_t body = conditional.chosen(__atomic_load_n(conditional.condition, __ATOMIC_ACQUIRE));
  if (body >= conditional.executables.size()) return Progress::done;
  if (conditional.executables[body]->start(*queue_, *this) == Progress::pending) return Progress::pending;
  if (!conditional.is_loop()) return Progress::done;
  take_next_turn();
  return Progress::pending;
}

void WorkRun::resume(ThreadKind thread_kind) noexcept {
  if (std::get<Conditional>(*work_).is_loop()) {
    take_next_turn();
  } else {
    continuation_->resume(thread_kind);
  }
}

/// Enqueues this loop after all other work that needs a worker, even less urgent work, because that work may make the loop
/// end.
void WorkRun::take_next_turn() noexcept {
  forget_priority();  // otherwise the schedule could choose this loop forever and starve another one
  Scheduler::instance().submit(this, Level::low);
}

void WorkRun::come_back() noexcept {
  forget_priority();
  Scheduler::instance().submit(this, queue_->level());
}

void WorkRun::execute(ThreadKind thread_kind) noexcept {
  if (const auto* const operations = std::get_if<MemoryOperations>(work_)) {
    if (run_memory_operations(*operations) == Progress::pending) return;
  } else if (const auto* const conditional = std::get_if<Conditional>(work_)) {
    if (run_conditional(*conditional) == Progress::pending) return;
  }
  continuation_->resume(thread_kind);
}

}  // namespace weir::host
