// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/model/graphs.hpp"
#include "tools/model/memory_map.hpp"
#include "tools/model/options.hpp"
#include "tools/model/process_memory.hpp"
#include "tools/model/step.hpp"
#include "weir/graph_changes.hpp"
#include "weir/access.hpp"
#include "weir/backend.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"
#include "weir/memory.hpp"
#include "weir/module.hpp"
#include "weir/plugin/support.hpp"
#include "weir/plugin/tool.hpp"
#include "weir/stream.hpp"
#include "weir/version.hpp"

/// The tool `validate`: looks at the memory that operations are given, before they are submitted. docs/tools.md
namespace weir::validate {
namespace {

using model::number_of;
using model::StepPtr;

struct Options {
  bool throws = false;  ///< no wrong operation is made: its caller gets `invalid_argument`
  int status = 66;      ///< what the program exits with if there was a wrong one; 0: as it would
};

/// Memory that Weir knows: an allocation, registered memory, a variable of a module.
struct Block {
  std::uint64_t id = 0;  ///< never used again
  std::uintptr_t begin = 0, end = 0;
  const Device* device = nullptr;
  bool is_of_device = false;   ///< only that device and its peers can address it
  bool is_of_graph = false;    ///< made in a capture: it is there at each launch
  bool is_registered = false;  ///< the program's own memory: what ends is its registration
  StepPtr made, freed = {};
  std::string name = {};  ///< that the program has given
};

/// Reads WEIR_VALIDATE: "throw,status=NUMBER". Throws `invalid_environment`.
Options read_options() {
  Options options;
  model::read_options("WEIR_VALIDATE", "is neither throw nor status=NUMBER (0 to 255)",
                      [&](std::string_view key, std::string_view value) {
                        if (key == "status") return model::read_status(value, options.status);
                        options.throws = key == "throw";
                        return options.throws && value.empty();
                      });
  return options;
}

// Freed blocks that are remembered.
constexpr std::size_t most_freed = 4096;

std::size_t extent_of(const MemoryAccess& access) noexcept {
  return access.rows == 0 ? 0 : (access.rows - 1) * access.pitch + access.bytes;
}
MemoryAccess memory_of(const MemoryOperation& operation) noexcept {
  return {operation.address, operation.is_64() ? sizeof(std::uint64_t) : sizeof(std::uint32_t)};
}

std::string object_of(const Operation& operation) {
  if (operation.stream == nullptr) return operation.device->describe();
  return support::label_of(operation.stream_key);
}

std::string stack_of(const model::Step& step) { return model::text_of(model::frames_of(step.stack)); }

class Validator final : public Tool {
 public:
  explicit Validator(const Options& options) : options_(options) {}

  void before(const Operation& operation) override {
    const std::lock_guard lock(mutex_);
    switch (operation.kind) {
      case OperationKind::copy:
      case OperationKind::host_copy:
        // Copies take pageable memory, and that of any device.
        for (const MemoryAccess& access : operation.accesses) check(operation, access, false);
        break;
      case OperationKind::launch_graph:
        if (operation.capture == 0) check_launch(operation);
        break;
      case OperationKind::change_nodes:
        for (const NodeChange& change : operation.changes->changes()) {
          const bool is_device_work = change.kind != NodeChange::Kind::copy;
          for (const MemoryAccess& access : operation.changes->accesses_of(change)) check(operation, access, is_device_work);
        }
        break;
      case OperationKind::free:
        // What a capture frees exists again at each launch.
        if (operation.capture != 0) break;
        for (const MemoryAccess& memory : operation.accesses) remove(operation, memory);
        break;
      case OperationKind::unregister_host:
        for (const MemoryAccess& memory : operation.accesses) remove(operation, memory);
        break;
      default:
        if (!traits_of(operation.kind).is_work) break;
        for (const MemoryAccess& access : operation.accesses) check(operation, access, true);
        for (const MemoryOperation& each : operation.memory_operations) check(operation, memory_of(each), true);
        break;
    }
    if (operation.kind == OperationKind::conditional) graphs_.begin_conditional(operation);
  }

  void after(const Operation& operation) noexcept override try {
    const std::lock_guard lock(mutex_);
    const auto finish = [](const auto&) {};
    graphs_.note(operation, finish);
    if (operation.kind == OperationKind::conditional) add_uses(operation, graphs_.end_conditional(operation, finish));
    if (operation.has_failed) return;
    if (operation.capture != 0) note_nodes(operation);
    if (operation.kind == OperationKind::change_nodes) change_nodes(operation);
    switch (operation.kind) {
      case OperationKind::allocate:
        for (const MemoryAccess& memory : operation.accesses) {
          const Allocation* const allocation = operation.allocation;
          add(operation, memory, allocation == nullptr || allocation->kind() == MemoryKind::device);
        }
        break;
      case OperationKind::module_global:
        for (const MemoryAccess& memory : operation.accesses) {
          // The end of a module is no operation, and another module may lie there now.
          const Block* const block = blocks_.find(number_of(memory.address));
          const bool is_same = block != nullptr && !block->is_of_graph && block->begin == number_of(memory.address) &&
                               block->end == block->begin + memory.bytes;
          if (!is_same) add(operation, memory, true);
        }
        break;
      case OperationKind::register_host:
        for (const MemoryAccess& memory : operation.accesses) {
          if (!is_known(memory.address)) add(operation, memory, false);
        }
        break;
      case OperationKind::set_name:
        if (operation.allocation == nullptr) break;
        if (Block* const block = blocks_.find(number_of(operation.allocation->data()))) block->name = operation.label;
        break;
      case OperationKind::enable_peer_access: peers_.emplace(operation.device, operation.peer); break;
      case OperationKind::disable_peer_access: peers_.erase({operation.device, operation.peer}); break;
      default: break;
    }
  } catch (const std::exception& error) {
    support::log(support::LogLevel::error, "validate: ", error.what());
  }

  int finish() noexcept override {
    const std::lock_guard lock(mutex_);
    if (count_ == 0) return 0;
    std::fprintf(stderr, "weir validate: %zu mistake%s\n", count_, count_ == 1 ? "" : "s");
    return options_.status;
  }

 private:
  /// What is wrong, and what would mend it.
  struct Mistake {
    std::string cause, remedy;
    const Block* block = nullptr;
    /// The operation would touch memory that nobody owns, or somebody else. So it is never made.
    bool is_wild = false;
  };
  /// Memory that a node of a graph uses.
  struct Use {
    std::uint64_t block;
    std::uintptr_t address;
    std::size_t bytes;
    StepPtr captured;
    std::optional<GraphNode> node;
    bool is_disabled = false;
  };
  struct Open {};  // of a capture nothing else is kept

  void check(const Operation& operation, const MemoryAccess& access, bool is_device_work) {
    const std::size_t bytes = extent_of(access);
    if (access.address == nullptr || bytes == 0) return;
    const std::uintptr_t begin = number_of(access.address);
    if (const auto mistake = mistake_in(operation, begin, begin + bytes, is_device_work))
      report(operation, begin, bytes, *mistake, nullptr);
  }

  std::optional<Mistake> mistake_in(const Operation& operation, std::uintptr_t begin, std::uintptr_t end,
                                    bool is_device_work) const {
    if (const Block* const block = blocks_.find(begin)) return mistake_in(operation, *block, begin, end, is_device_work);
    // A copy may use pageable memory that the heap has placed where Weir's memory was.
    const bool may_be_pageable = !is_device_work && model::is_readable(reinterpret_cast<const void*>(begin));
    if (const Block* const block = find_freed(begin); block != nullptr && !may_be_pageable) {
      return use_of_freed(*block);
    }
    const Block* const next = blocks_.first_behind(begin);
    if (next != nullptr && next->begin < end && (is_device_work || !next->is_of_graph)) {
      return Mistake{fmt::format("the range begins {} bytes before an allocation of {} bytes", next->begin - begin,
                                 next->end - next->begin),
                     "give an address within the allocation", next, !next->is_registered};
    }
    // The end of a range may be given, as to an algorithm that takes iterators.
    if (const Block* const last = blocks_.last_before(begin); last != nullptr && last->end == begin) return {};
    if (!is_device_work || !model::is_readable(reinterpret_cast<const void*>(begin))) return {};
    const bool is_on_cpu = operation.device->backend().name() == "host";
    if (!is_on_cpu && !model::is_own_memory(reinterpret_cast<const void*>(begin))) return {};
    return Mistake{"this is host memory that no device may address: it was neither allocated nor registered by Weir",
                   "allocate it by Device::allocate, of MemoryKind::pinned or managed if the host uses it, too; or register "
                   "it by Device::register_host",
                   nullptr};
  }

  /// Of a range that begins in `block`.
  std::optional<Mistake> mistake_in(const Operation& operation, const Block& block, std::uintptr_t begin, std::uintptr_t end,
                                    bool is_device_work) const {
    if (block.is_of_graph && !is_device_work) return {};  // the graph may be gone, and the heap have its memory
    if (end > block.end) {
      return Mistake{fmt::format("the range ends {} bytes behind the allocation, of which it begins at byte {} of {}",
                                 end - block.end, begin - block.begin, block.end - block.begin),
                     "make the range shorter, or the allocation larger", &block, !block.is_registered};
    }
    if (!is_device_work || !block.is_of_device || block.device == operation.device) return {};
    if (&block.device->backend() != &operation.device->backend()) {
      return Mistake{fmt::format("the memory is of {}, another backend's device", block.device->describe()),
                     fmt::format("copy it to memory of {}", operation.device->describe()), &block};
    }
    if (peers_.contains({operation.device, block.device})) return {};
    const std::string own = operation.device->describe(), other = block.device->describe();
    return Mistake{
        fmt::format("the memory is of {}, and {} may not address it", other, own),
        fmt::format("call enable_peer_access of {} with {} before, or copy the memory by Stream::copy_peer", own, other),
        &block};
  }

  /// Each launch uses the memory that was there when the graph was captured.
  void check_launch(const Operation& operation) {
    const std::vector<Use>* const uses = graphs_.nodes_of(operation);
    if (uses == nullptr) return;
    for (const Use& use : *uses) {
      const Block* const now = blocks_.find(use.address);
      if (use.is_disabled) continue;
      if (now != nullptr && now->id == use.block) continue;
      const auto freed =
          std::find_if(freed_.begin(), freed_.end(), [&](const Block& block) { return block.id == use.block; });
      const Block* const block = freed != freed_.end() ? &*freed : nullptr;
      const bool is_registered = block != nullptr && block->is_registered;
      std::string cause = is_registered
                              ? "the registration of host memory that the graph uses has ended since it was captured"
                              : "memory that the graph uses was freed since it was captured";
      if (now != nullptr) cause += ", and other memory lies there now";
      report(operation, use.address, use.bytes,
             {std::move(cause),
              fmt::format("keep {} as long as the graph is launched",
                          is_registered ? "the HostRegistration" : "an owner of it, a Buffer or an AllocationPtr,"),
              block, !is_registered},
             use.captured);
    }
  }

  static Mistake use_of_freed(const Block& block) {
    if (block.is_registered) {
      return {"the registration of this host memory has ended",
              "keep the HostRegistration until the work that uses it is done", &block};
    }
    return {"the memory was freed", "keep an owner of it, a Buffer or an AllocationPtr, until its last use is enqueued",
            &block, true};
  }

  void report(const Operation& operation, std::uintptr_t address, std::size_t bytes, const Mistake& mistake,
              const StepPtr& captured) {
    const StepPtr step = steps_.make(operation);
    if (told_.emplace(step->place, captured ? captured->place : step->place).second) {
      ++count_;
      std::string text = fmt::format("weir validate: {} on {}: {} bytes at {:#x}: {}; {}\n", step->what,
                                     object_of(operation), bytes, address, mistake.cause, mistake.remedy) +
                         stack_of(*step);
      if (captured) text += fmt::format("  captured as: {}\n", captured->what) + stack_of(*captured);
      if (const Block* const block = mistake.block) {
        text += fmt::format("  memory: {} bytes{} at {:#x}, of {}\n", block->end - block->begin,
                            block->name.empty() ? "" : " of" + model::quoted(block->name), block->begin, block->made->what) +
                stack_of(*block->made);
        if (block->freed) text += (block->is_registered ? "  ended:\n" : "  freed:\n") + stack_of(*block->freed);
      }
      std::fputs(text.c_str(), stderr);
    }
    if (options_.throws || mistake.is_wild) {
      throw Error(Errc::invalid_argument, operation.name, object_of(operation),
                  fmt::format("{} bytes at {:#x}: {}; {}", bytes, address, mistake.cause, mistake.remedy));
    }
  }

  void note_nodes(const Operation& operation) {
    if (!traits_of(operation.kind).is_work) return;
    std::vector<Use> uses;
    StepPtr step;
    const auto add_use = [&](const MemoryAccess& access) {
      const std::size_t bytes = extent_of(access);
      const Block* const block = access.address != nullptr ? blocks_.find(number_of(access.address)) : nullptr;
      if (block == nullptr || block->is_of_graph || bytes == 0) return;
      if (!step) step = steps_.make(operation);
      uses.push_back({block->id, number_of(access.address), bytes, step, operation.node});
    };
    for (const MemoryAccess& access : operation.accesses) add_use(access);
    for (const MemoryOperation& each : operation.memory_operations) add_use(memory_of(each));
    add_uses(operation, uses);
    if (const std::vector<Use>* const inner = graphs_.nodes_of(operation)) add_uses(operation, *inner);
  }

  void change_nodes(const Operation& operation) {
    const StepPtr step = steps_.make(operation);
    graphs_.change(operation.exec, [&](std::vector<Use>& uses) {
      for (const NodeChange& change : operation.changes->changes()) {
        if (change.kind == NodeChange::Kind::enable || change.kind == NodeChange::Kind::disable) {
          for (Use& use : uses) {
            if (use.node == change.node) use.is_disabled = change.kind == NodeChange::Kind::disable;
          }
          continue;
        }
        const auto is_of_node = [&](const Use& use) { return use.node == change.node; };
        const auto there = std::find_if(uses.begin(), uses.end(), is_of_node);
        const bool is_disabled = there != uses.end() && there->is_disabled;
        std::erase_if(uses, is_of_node);
        for (const MemoryAccess& access : operation.changes->accesses_of(change)) {
          const Block* const block = blocks_.find(number_of(access.address));
          if (block == nullptr || block->is_of_graph) continue;
          uses.push_back({block->id, number_of(access.address), extent_of(access), step, change.node, is_disabled});
        }
      }
    });
  }

  void add_uses(const Operation& operation, const std::vector<Use>& uses) {
    std::vector<Use>& nodes = graphs_.capture_of(operation).nodes;
    for (Use use : uses) {
      use.node = operation.node;  // of a graph within it, too
      nodes.push_back(std::move(use));
    }
  }

  void add(const Operation& operation, const MemoryAccess& memory, bool is_of_device) {
    if (memory.address == nullptr || memory.bytes == 0) return;
    const std::uintptr_t begin = number_of(memory.address), end = begin + memory.bytes;
    std::erase_if(freed_, [&](const Block& block) { return block.begin < end && begin < block.end; });
    blocks_.add({++last_block_, begin, end, operation.device, is_of_device, operation.capture != 0,
                 operation.kind == OperationKind::register_host, steps_.make(operation)});
  }

  void remove(const Operation& operation, const MemoryAccess& memory) {
    std::optional<Block> block = blocks_.remove(number_of(memory.address));
    if (!block) return;
    block->freed = steps_.make(operation);
    freed_.push_back(std::move(*block));
    if (freed_.size() > most_freed) freed_.pop_front();
  }

  /// Whether memory at that address surely exists. A graph's may have gone with the graph, whose end is no operation.
  bool is_known(const void* address) const {
    const Block* const block = blocks_.find(number_of(address));
    return block != nullptr && !block->is_of_graph;
  }

  const Block* find_freed(std::uintptr_t address) const {
    const auto found = std::find_if(freed_.rbegin(), freed_.rend(),
                                    [&](const Block& block) { return block.begin <= address && address < block.end; });
    return found != freed_.rend() ? &*found : nullptr;
  }

  const Options options_;
  std::mutex mutex_;
  std::uint64_t last_block_ = 0;
  std::size_t count_ = 0;
  model::Steps steps_;
  model::MemoryMap<Block> blocks_;
  std::deque<Block> freed_;                                  // the newest last
  std::set<std::pair<const Device*, const Device*>> peers_;  // who may address whose memory
  model::Graphs<Use, Open> graphs_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> told_;  // places: of the step, and of the capture that it launches
};

Tool* create() { return new Validator(read_options()); }

}  // namespace
}  // namespace weir::validate

WEIR_TOOL("validate", WEIR_VERSION_STRING, weir::validate::create)
