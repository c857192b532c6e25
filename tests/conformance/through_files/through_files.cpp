// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tools/model/memory_map.hpp"
#include "weir/plugin/tool.hpp"
#include "weir/weir.hpp"

// The conformance suite with graph files: each capture is portable, and each graph is saved and loaded before it is
// instantiated. So each case tests a loaded graph. If WEIR_TEST_OTHER_BACKEND names a backend, each file is also run on that
// backend's first device, with the same contents of all memory, and must leave the same bytes in memory.
// WEIR_TEST_GRAPHS names a file, which receives a line for each graph: the case, and the result.
namespace weir {
namespace {

/// A process that a case has started has none.
std::string current_case() {
  const auto* const context = doctest::getContextOptions();
  return context != nullptr && context->currentTest != nullptr ? context->currentTest->m_name : "";
}

struct Block {
  std::uintptr_t begin = 0, end = 0;
  const Device* device = nullptr;
  MemoryKind kind{};
};

/// The memory of the process that Weir knows.
class Memory final : public Tool {
 public:
  Memory() { instance_ = this; }
  static Memory& instance() { return *instance_; }

  void before(const Operation& operation) override {
    if (operation.kind != OperationKind::host_function || operation.capture != 0) return;
    const std::lock_guard lock(mutex_);
    functions_.insert(operation.id);
  }
  void end_host_function(std::uint64_t operation) noexcept override {
    const std::lock_guard lock(mutex_);
    functions_.erase(operation);
  }
  void after(const Operation& operation) noexcept override {
    if (operation.has_failed) end_host_function(operation.id);
    if (operation.capture == 0 && !operation.has_failed) {
      const std::lock_guard lock(mutex_);
      for (const MemoryOperation& one : operation.memory_operations) {
        if (one.kind != MemoryOperation::Kind::wait_32 || one.condition != WaitCondition::eq || one.value != 1) continue;
        waits_.emplace_back(current_case(), static_cast<std::uint32_t*>(one.address));
      }
    }
    const bool begins = operation.kind == OperationKind::allocate || operation.kind == OperationKind::register_host;
    const bool ends = operation.kind == OperationKind::free || operation.kind == OperationKind::unregister_host;
    if ((!begins && !ends) || operation.capture != 0 || operation.has_failed || operation.accesses.empty()) return;
    const std::uintptr_t begin = model::number_of(operation.accesses.front().address);
    const std::lock_guard lock(mutex_);
    if (ends) {
      blocks_.remove(begin);
    } else if (const std::size_t bytes = operation.accesses.front().bytes; bytes != 0) {
      blocks_.add({begin, begin + bytes, operation.device,
                   operation.allocation != nullptr ? operation.allocation->kind() : MemoryKind::pinned});
    }
  }
  /// Whether the case holds a stream by a word of the suite's that the host has yet to write, or by a host function. Nothing
  /// may be freed then, and nothing copied.
  bool holds_a_stream() {
    const std::lock_guard lock(mutex_);
    std::erase_if(
        waits_, [](const auto& wait) { return wait.first != current_case() || std::atomic_ref(*wait.second).load() == 1; });
    return !waits_.empty() || !functions_.empty();
  }
  std::vector<NamedMemory> named(const Device& device) {
    const std::lock_guard lock(mutex_);
    std::vector<NamedMemory> all;
    for (const Block* block = blocks_.first_behind(0); block != nullptr; block = blocks_.first_behind(block->begin)) {
      if (block->device != &device) continue;
      all.emplace_back("m" + std::to_string(all.size()), reinterpret_cast<const void*>(block->begin),
                       block->end - block->begin, block->kind, MemoryRole::bound);
    }
    return all;
  }

 private:
  static inline Memory* instance_ = nullptr;
  std::mutex mutex_;
  model::MemoryMap<Block> blocks_;
  std::vector<std::pair<std::string, std::uint32_t*>> waits_;  // by cases
  std::set<std::uint64_t> functions_;                          // outside captures, which have not ended
};

const bool added = (Tools::add(std::make_unique<Memory>()), true);
const std::thread::id main_thread = std::this_thread::get_id();

void note(const std::string& outcome) {
  static std::mutex mutex;
  const char* const file = std::getenv("WEIR_TEST_GRAPHS");
  if (file == nullptr) return;
  const std::lock_guard lock(mutex);
  std::ofstream(file, std::ios::app) << outcome << " | " << current_case() << '\n';
}

template <class F>
F* original(const char* symbol) {
  void* const found = ::dlsym(RTLD_NEXT, symbol);
  if (found == nullptr) throw std::runtime_error(std::string("the library has no ") + symbol);
  return reinterpret_cast<F*>(found);
}

GraphExecPtr instantiated(const Graph& graph, const InstantiateOptions& options = {}) {
  using Function = GraphExecPtr(const Graph*, const InstantiateOptions&);
  return original<Function>("_ZNK4weir5Graph11instantiateERKNS_18InstantiateOptionsE")(&graph, options);
}

CaptureOptions portable(CaptureOptions options) {
  options.portable = true;
  return options;
}

Span<std::byte> bytes_of(const NamedMemory& memory) {
  return {static_cast<std::byte*>(const_cast<void*>(memory.data())), memory.size_bytes()};
}

/// Edges as pairs of nodes in order.
auto edges_of(Topology topology) {
  std::sort(topology.edges.begin(), topology.edges.end());
  return topology.edges;
}

/// Bytes that are no address and, as numbers of any type, small.
std::vector<std::byte> pattern(std::size_t bytes, std::size_t number) {
  std::vector<std::byte> all(bytes);
  for (std::size_t i = 0; i < bytes; i += 4) all[i] = static_cast<std::byte>((i / 4 * 7 + number * 13) % 97);
  return all;
}

/// What a saved graph leaves in all memory, on a device, from contents of `pattern`, or from zeros.
std::vector<std::vector<std::byte>> outcome_on(Device& device, const std::vector<std::byte>& file, bool zeros) {
  const PortableGraphPtr loaded = device.load_graph(file);
  std::vector<Buffer<std::byte>> buffers;
  for (const PortableMemory& memory : loaded->memory()) {
    buffers.push_back(device.allocate<std::byte>(memory.bytes, memory.kind));
    device.copy(buffers.back(), zeros ? std::vector<std::byte>(memory.bytes) : pattern(memory.bytes, buffers.size()));
    loaded->bind(memory.name, buffers.back());
  }
  const StreamPtr stream = device.create_stream();
  instantiated(*loaded->build())->launch(stream);
  stream->synchronize();
  std::vector<std::vector<std::byte>> all;
  for (const auto& buffer : buffers) {
    all.emplace_back(buffer.size());
    device.copy(all.back(), buffer);
  }
  return all;
}

void compare_on_other(Device& device, const std::vector<std::byte>& file, const Topology& topology) {
  const char* const name = std::getenv("WEIR_TEST_OTHER_BACKEND");
  if (name == nullptr) return;
  if (topology.count(NodeKind::memory_operations) != 0) return note("not compared: waits for what the case writes");
  // Threads would wait for each other's copies, which drivers make one by one.
  if (std::this_thread::get_id() != main_thread) return note("not compared: by one of several threads");
  if (Memory::instance().holds_a_stream()) return note("not compared: the case holds a stream");
  const bool zeros = topology.count(NodeKind::conditional) != 0;  // or a loop might not end
  Device& other = Registry::instance().open(name).device(0);
  std::vector<std::vector<std::byte>> there;
  try {
    there = outcome_on(other, file, zeros);
  } catch (const Error& error) {
    if (error.errc() != Errc::unsupported) throw;
    return note("not on the other: " + error.detail());
  }
  const bool equal = outcome_on(device, file, zeros) == there;
  CHECK_MESSAGE(equal, "the graph leaves other bytes on ", std::string(name));
  note(equal ? "equal bytes on the other" : "OTHER BYTES on the other");
}

}  // namespace

void Stream::begin_capture(const CaptureOptions& options) {
  using Function = void(Stream*, const CaptureOptions&);
  original<Function>("_ZN4weir6Stream13begin_captureERKNS_14CaptureOptionsE")(this, portable(options));
}

GraphPtr Stream::capture_call(const CaptureOptions& options, UniqueFunction<void(Stream&)>&& function) {
  using Function = GraphPtr(Stream*, const CaptureOptions&, UniqueFunction<void(Stream&)>&&);
  return original<Function>("_ZN4weir6Stream12capture_callERKNS_14CaptureOptionsEONS_14UniqueFunctionIFvRS0_ELm48EEE")(
      this, portable(options), std::move(function));
}

GraphBuilder::GraphBuilder(Device& device, const CaptureOptions&) : stream_(device.create_stream()) {
  stream_->begin_capture({.mode = CaptureMode::relaxed});
}

GraphExecPtr Graph::instantiate(const InstantiateOptions& options) const {
  std::vector<NamedMemory> memory;
  std::vector<std::byte> file;
  try {
    memory = Memory::instance().named(device_);
    file = saved(memory);
  } catch (const Error& error) {
    // Of other errors, which the case may want, `instantiate` has the same.
    if (error.errc() == Errc::unsupported || error.errc() == Errc::invalid_argument) note("not saved: " + error.detail());
    return instantiated(*this, options);
  }
  const Topology mine = topology();
  compare_on_other(device_, file, mine);
  if (mine.count(NodeKind::allocate) != 0) {
    note("not replaced: the case knows the addresses that the graph allocates");
    return instantiated(*this, options);
  }
  const PortableGraphPtr loaded = device_.load_graph(file);
  for (const NamedMemory& named : memory) loaded->bind(named.name(), bytes_of(named));
  const GraphPtr graph = loaded->build();
  const Topology theirs = graph->topology();
  CHECK(mine.nodes == theirs.nodes);
  CHECK(edges_of(mine) == edges_of(theirs));
  note("saved, loaded and run in its place");
  GraphExecPtr exec = instantiated(*graph, options);
  exec->captured_work_ = captured_work_;  // as a child of another capture, it is saved as what this is
  return exec;
}

}  // namespace weir
