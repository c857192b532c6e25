// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <exception>
#include <iterator>
#include <map>
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
#include "tools/record/format.hpp"
#include "tools/validate/block.hpp"
#include "weir/access.hpp"
#include "weir/backend.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"
#include "weir/graph_changes.hpp"
#include "weir/memory.hpp"
#include "weir/module.hpp"
#include "weir/plugin/support.hpp"
#include "weir/plugin/tool.hpp"
#include "weir/stream.hpp"
#include "weir/version.hpp"

/// The tool `validate`: checks the memory of operations before they are submitted. docs/tools.md
namespace weir::validate {
namespace {

using model::access_of;
using model::extent_of;
using model::number_of;
using model::StepPtr;

// Limit on freed blocks that are stored.
constexpr std::size_t most_freed = 4096;
// Limit on bytes of a pageable source that are compared.
constexpr std::size_t most_looked_at = std::size_t{1} << 20U;

struct Options {
  bool throws = false;     ///< reject wrong operations: the caller gets `invalid_argument`
  bool goes_on = false;    ///< run every wrong operation, even if it corrupts memory
  bool unwritten = false;  ///< report reads of memory that nothing has written
  bool leaks = false;      ///< report memory that is never freed
  int status = 66;         ///< the program's exit status after a mistake; 0: unchanged
};

Options read_options() {
  Options options;
  const std::pair<std::string_view, bool*> words[] = {
      {"throw", &options.throws}, {"go_on", &options.goes_on}, {"unwritten", &options.unwritten}, {"leaks", &options.leaks}};
  model::read_options("WEIR_VALIDATE", "is not throw, go_on, unwritten, leaks or status=NUMBER (0 to 255)",
                      [&](std::string_view key, std::string_view value) {
                        if (key == "status") return model::read_status(value, options.status);
                        const auto word = std::find_if(std::begin(words), std::end(words),
                                                       [&](const auto& each) { return each.first == key; });
                        return word != std::end(words) && value.empty() && (*word->second = true);
                      });
  return options;
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
    std::vector<HostFunction> later;
    {
      const std::lock_guard lock(mutex_);
      ++operations_;
      look_at(operation);
      later = follow_sources(operation);
    }
    for (HostFunction& each : later) const_cast<Stream*>(operation.stream)->launch_host_function(std::move(each));
  }

  void look_at(const Operation& operation) {
    switch (operation.kind) {
      case OperationKind::copy:
      case OperationKind::host_copy:
        // These copies accept pageable memory and memory of any device.
        for (const MemoryAccess& access : operation.accesses) check(operation, access, false);
        check_overlap(operation);
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
        // Memory that a capture frees exists again at each launch.
        if (operation.capture != 0) break;
        for (const MemoryAccess& memory : operation.accesses) remove(operation, memory);
        break;
      case OperationKind::unregister_host:
        for (const MemoryAccess& memory : operation.accesses) remove(operation, memory);
        break;
      default:
        if (!traits_of(operation.kind).is_work) break;
        for (const MemoryAccess& access : operation.accesses) check(operation, access, true);
        for (const MemoryOperation& each : operation.memory_operations) {
          if (each.address != nullptr) check(operation, access_of(each), true);  // a flush has no address
        }
        break;
    }
    if (operation.kind == OperationKind::conditional) graphs_.begin_conditional(operation);
    if (options_.unwritten) follow(operation);
  }

  void after(const Operation& operation) noexcept override try {
    const std::lock_guard lock(mutex_);
    const auto finish = [](const auto&) {};
    graphs_.follow(operation, finish);
    if (operation.kind == OperationKind::conditional) add_uses(operation, graphs_.end_conditional(operation, finish));
    if (operation.has_failed) return;
    if (operation.capture != 0) record_nodes(operation);
    if (operation.kind == OperationKind::change_nodes) change_nodes(operation);
    switch (operation.kind) {
      case OperationKind::allocate:
        for (const MemoryAccess& memory : operation.accesses) {
          const Allocation* const allocation = operation.allocation;
          const bool is_of_device = allocation == nullptr || allocation->kind() == MemoryKind::device;
          if (Block* const block = add(operation, memory, is_of_device)) {
            const std::string_view name = operation.name;
            block->is_allocated = name != "Device::adopt_memory" && name != "Device::open_allocation";
            block->is_blank = is_of_device && block->is_allocated;
          }
        }
        break;
      case OperationKind::module_global:
        for (const MemoryAccess& memory : operation.accesses) {
          // Tools do not see the end of a module, so this address may now belong to another module.
          const Block* const block = blocks_.find(number_of(memory.address));
          const bool is_same = block != nullptr && !block->is_of_graph && block->begin == number_of(memory.address) &&
                               block->end == block->begin + memory.bytes;
          Block* const added = is_same ? nullptr : add(operation, memory, true);
          if (added != nullptr) added->is_variable = true;
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
    try {
      for (const UndecidedRead& doubt : undecided_) settle(doubt);
      if (options_.leaks) tell_leaks();
    } catch (const std::exception& error) {
      support::log(support::LogLevel::error, "validate: ", error.what());
    }
    if (count_ == 0) {
      std::fprintf(stderr, "weir validate: %" PRIu64 " operations, no mistake\n", operations_);
      return 0;
    }
    std::fprintf(stderr, "weir validate: %zu mistake%s\n", count_, count_ == 1 ? "" : "s");
    return options_.status;
  }

 private:
  /// The cause of a mistake and its remedy.
  struct Mistake {
    std::string cause, remedy;
    const Block* block = nullptr;
    /// the operation would touch unallocated memory or memory of another owner, so it must not run
    bool is_wild = false;
  };
  /// Memory that a node of a graph uses.
  struct Use {
    std::uint64_t block;
    std::uintptr_t address;
    std::size_t bytes;
    StepPtr captured;
    std::optional<GraphNode> node;
    MemoryAccess access = {};
    bool reads_all = false;  ///< for a read: the operation reads every byte, as copies do; kernels may not
    bool is_disabled = false;
    bool is_hidden = false;  ///< found in a kernel's struct argument, so it may not be a pointer
  };
  /// A read of memory that no operation had written when the read was submitted. Another operation may write it before the
  /// read runs.
  struct UndecidedRead {
    std::uint64_t block;
    MemoryAccess access;
    bool reads_all;
    StepPtr step;
  };
  struct OpenCapture {};  // a capture needs no other data

  void check(const Operation& operation, const MemoryAccess& access, bool is_device_work) {
    const std::size_t bytes = extent_of(access);
    if (bytes == 0) return;
    const std::uintptr_t begin = number_of(access.address);
    if (begin == 0) {
      return report(operation, begin, bytes,
                    {"the address is null, but the size is not 0", "pass memory, or an empty range", nullptr, true},
                    nullptr);
    }
    if (const auto mistake = mistake_in(operation, begin, begin + bytes, is_device_work))
      report(operation, begin, bytes, *mistake, nullptr);
  }

  /// Reports copies of one call that overlap each other or their own source, because the result is not defined.
  void check_overlap(const Operation& operation) {
    std::vector<MemoryAccess> sorted(operation.accesses.begin(), operation.accesses.end());
    std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.address < b.address; });
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      const std::uintptr_t end = number_of(sorted[i].address) + extent_of(sorted[i]);
      for (std::size_t j = i + 1; j < sorted.size() && number_of(sorted[j].address) < end; ++j) {
        const bool is_first = sorted[i].kind != AccessKind::read;
        const MemoryAccess &to = sorted[is_first ? i : j], &other = sorted[is_first ? j : i];
        if (to.kind == AccessKind::read || !model::Region(to).overlaps(model::Region(other))) continue;
        const char* const what = other.kind == AccessKind::read ? "the source" : "another destination of the batch";
        return report(operation, number_of(to.address), extent_of(to),
                      {fmt::format("it overlaps {}, {} bytes at {}: the result of the copy is not defined", what,
                                   extent_of(other), fmt::ptr(other.address)),
                       "copy through other memory, or in parts that do not overlap"},
                      nullptr);
      }
    }
  }

  /// Checks for changes of a copy's pageable source between the call and the copy. GPU drivers read the source before the
  /// call returns; the CPU backend reads it when the copy runs. So if the bytes differ, results differ between backends. On
  /// a GPU, a copy to pageable memory is complete when its call returns, so a later copy can read its bytes.
  std::vector<HostFunction> follow_sources(const Operation& operation) {
    std::vector<HostFunction> later;
    if (operation.kind != OperationKind::copy || operation.capture != 0 || operation.device->backend().name() != "host")
      return later;
    for (const MemoryAccess& from : operation.accesses) {
      const auto* const first = static_cast<const std::byte*>(from.address);
      if (blocks_.find(number_of(first)) != nullptr) continue;
      if (from.kind != AccessKind::read) {
        latest_copies_[copies_++ % latest_copies_.size()] = model::Region(from);
        continue;
      }
      const auto holds_source = [&](const auto& copy) { return copy && copy->overlaps(model::Region(from)); };
      if (from.rows != 1 || from.bytes == 0 || !model::is_readable(first) ||
          std::any_of(latest_copies_.begin(), latest_copies_.end(), holds_source))
        continue;
      const std::span looked_at(first, std::min(from.bytes, most_looked_at));
      later.push_back([this, looked_at, bytes = from.bytes, before = recording::check_of(looked_at),
                       step = steps_.make(operation)] {
        const std::byte* const source = looked_at.data();
        const std::lock_guard lock(mutex_);
        if (blocks_.find(number_of(source)) != nullptr || !model::is_readable(source) ||
            recording::check_of(looked_at) == before)
          return;
        tell(step, step->where, number_of(source), bytes,
             {"the source is pageable memory and has changed between the call and the copy: a GPU copies the contents at "
              "the call, the CPU the contents when the copy runs",
              "allocate the source as MemoryKind::pinned, and keep it until the copy is done; or write it before the call"},
             nullptr);
      });
    }
    return later;
  }

  std::optional<Mistake> mistake_in(const Operation& operation, std::uintptr_t begin, std::uintptr_t end,
                                    bool is_device_work) const {
    if (const Block* const block = blocks_.find(begin)) return mistake_in(operation, *block, begin, end, is_device_work);
    // The range may be pageable memory that the heap has placed where Weir's memory was.
    const bool may_be_pageable = !is_device_work && model::is_readable(reinterpret_cast<const void*>(begin));
    if (const Block* const block = find_freed(begin); block != nullptr && !may_be_pageable) {
      return use_of_freed(*block);
    }
    const Block* const next = blocks_.first_behind(begin);
    if (next != nullptr && next->begin < end && (is_device_work || !next->is_of_graph)) {
      return Mistake{fmt::format("the range begins {} bytes before an allocation of {} bytes", next->begin - begin,
                                 next->end - next->begin),
                     "pass an address within the allocation", next, next->is_allocated};
    }
    // The address may be the end of a range, such as an end iterator that an algorithm passes.
    if (const Block* const last = blocks_.last_before(begin); last != nullptr && last->end == begin) return {};
    if (!is_device_work || !model::is_readable(reinterpret_cast<const void*>(begin))) return {};
    const bool is_on_cpu = operation.device->backend().name() == "host";
    if (!is_on_cpu && !model::is_own_memory(reinterpret_cast<const void*>(begin))) return {};
    return Mistake{"this is host memory that devices cannot access: it was neither allocated nor registered through Weir",
                   "allocate it with Device::allocate, as MemoryKind::pinned or managed if the host also uses it; or "
                   "register it with Device::register_host",
                   nullptr};
  }

  /// Checks a range that begins in `block`.
  std::optional<Mistake> mistake_in(const Operation& operation, const Block& block, std::uintptr_t begin, std::uintptr_t end,
                                    bool is_device_work) const {
    if (block.is_of_graph && !is_device_work) return {};  // the heap may have reused a destroyed graph's memory
    if (end > block.end) {
      return Mistake{fmt::format("the range ends {} bytes after the end of the allocation; it begins at byte {} of {}",
                                 end - block.end, begin - block.begin, block.end - block.begin),
                     "make the range shorter, or the allocation larger", &block, block.is_allocated};
    }
    if (!is_device_work || !block.is_of_device || block.device == operation.device) return {};
    if (&block.device->backend() != &operation.device->backend()) {
      return Mistake{fmt::format("the memory belongs to {}, a device of another backend", block.device->describe()),
                     fmt::format("copy it to memory of {}", operation.device->describe()), &block};
    }
    if (peers_.contains({operation.device, block.device})) return {};
    const std::string own = operation.device->describe(), other = block.device->describe();
    return Mistake{
        fmt::format("the memory belongs to {}, and {} has no access to it", other, own),
        fmt::format("call enable_peer_access on {} with {} before, or copy the memory with Stream::copy_peer", own, other),
        &block};
  }

  /// Checks the memory of a graph's nodes. Each launch uses the memory that existed when the graph was captured.
  void check_launch(const Operation& operation) {
    const std::vector<Use>* const uses = graphs_.nodes_of(operation);
    if (uses == nullptr) return;
    for (const Use& use : *uses) {
      const Block* const now = blocks_.find(use.address);
      if (use.is_disabled || use.is_hidden) continue;
      if (now != nullptr && now->id == use.block) continue;
      const auto freed =
          std::find_if(freed_.begin(), freed_.end(), [&](const Block& block) { return block.id == use.block; });
      const Block* const block = freed != freed_.end() ? &*freed : nullptr;
      const bool is_registered = block != nullptr && block->is_registered;
      std::string cause = is_registered ? "the registration of host memory that the graph uses has ended since the capture"
                                        : "memory that the graph uses was freed after the capture";
      if (now != nullptr) cause += ", and other memory is there now";
      report(operation, use.address, use.bytes,
             {std::move(cause),
              fmt::format("keep {} as long as the graph is launched",
                          is_registered ? "the HostRegistration" : "an owner of it, a Buffer or an AllocationPtr,"),
              block, block == nullptr || block->is_allocated},
             use.captured);
    }
  }

  static Mistake use_of_freed(const Block& block) {
    if (block.is_registered) {
      return {"the registration of this host memory has ended",
              "keep the HostRegistration until the work that uses it is done", &block};
    }
    return {"the memory was freed", "keep an owner of it, a Buffer or an AllocationPtr, until its last use is enqueued",
            &block, block.is_allocated};
  }

  void report(const Operation& operation, std::uintptr_t address, std::size_t bytes, const Mistake& mistake,
              const StepPtr& captured) {
    tell(steps_.make(operation), object_of(operation), address, bytes, mistake, captured);
    if (options_.throws || (mistake.is_wild && !options_.goes_on)) {
      throw Error(Errc::invalid_argument, operation.name, object_of(operation),
                  fmt::format("{} bytes at {:#x}: {}; {}", bytes, address, mistake.cause, mistake.remedy));
    }
  }

  /// Reports a mistake once for each place in the program.
  void tell(const StepPtr& step, const std::string& object, std::uintptr_t address, std::size_t bytes,
            const Mistake& mistake, const StepPtr& captured) {
    if (!told_.emplace(step->place, captured ? captured->place : step->place).second) return;
    ++count_;
    std::string text = fmt::format("weir validate: {} on {}: {} bytes at {:#x}: {}; {}\n", step->what, object, bytes,
                                   address, mistake.cause, mistake.remedy) +
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

  // --- Memory that nothing has written --------------------------------------------------------------------------------

  /// Records writes and reports reads of memory that nothing has written. A kernel counts as writing all memory that it may
  /// write. It may read only a part, so it is reported only if no byte was written.
  void follow(const Operation& operation) {
    for (const MemoryOperation& each : operation.memory_operations) has_waits_ |= each.is_wait();
    if (operation.capture != 0) return;
    if (operation.kind == OperationKind::launch_graph) {
      const std::vector<Use>* const uses = graphs_.nodes_of(operation);
      for (const Use& use : uses != nullptr ? *uses : std::vector<Use>()) {
        if (!use.is_disabled) follow(operation, use.access, use.reads_all, use.captured);
      }
      return;
    }
    const OperationTraits traits = traits_of(operation.kind);
    if (!traits.reads && !traits.writes) return;
    for (const MemoryOperation& each : operation.memory_operations) follow(operation, access_of(each), true, nullptr);
    for_each_hidden(operation, [&](const MemoryAccess& access) { follow(operation, access, false, nullptr); });
    for (const bool writes : {false, true}) {  // reads come first, for operations in place
      for (const MemoryAccess& access : operation.accesses) {
        if ((access.kind != AccessKind::read) == writes) follow(operation, access, reads_all(operation), nullptr);
      }
    }
  }

  /// Calls `f` for the memory whose addresses appear in structs among a kernel's arguments.
  template <class F>
  void for_each_hidden(const Operation& operation, F&& f) const {
    for (std::size_t i = 0; i < operation.parameters.size(); ++i) {
      const Parameter& parameter = operation.parameters[i];
      if (parameter.kind != ParameterKind::unknown) continue;  // a number, or a pointer, which is one of the accesses
      for (std::size_t at = 0; at + sizeof(void*) <= parameter.size; at += sizeof(void*)) {
        const void* address = nullptr;
        std::memcpy(&address, static_cast<const std::byte*>(operation.arguments[i]) + at, sizeof(address));
        if (address != nullptr && blocks_.find(number_of(address)) != nullptr)
          f(MemoryAccess{.address = address, .bytes = 1, .is_open = true});
      }
    }
  }

  /// Whether the operation reads all memory of its read accesses.
  static bool reads_all(const Operation& operation) noexcept {
    return operation.kind == OperationKind::copy || operation.kind == OperationKind::host_copy ||
           operation.kind == OperationKind::memory_operations;
  }

  void follow(const Operation& operation, MemoryAccess access, bool reads_all, const StepPtr& captured) {
    Block* const block = access.address != nullptr ? blocks_.find(number_of(access.address)) : nullptr;
    if (block == nullptr || !block->is_blank || block->is_of_graph || extent_of(access) == 0) return;
    // For a plain pointer, the elements that the kernel uses are not known: they may be anywhere in the block.
    if (access.is_open) access = {reinterpret_cast<const void*>(block->begin), block->end - block->begin, access.kind};
    const model::Region region(access);
    if (access.kind != AccessKind::read) return block->written.add(region);
    if (!is_unwritten(*block, access, reads_all)) return;
    // If a stream waits for a value, a write may be submitted after the read but run before it.
    if (has_waits_)
      return undecided_.push_back({block->id, access, reads_all, captured ? captured : steps_.make(operation)});
    report(operation, region.begin, extent_of(access), unwritten(*block, access), captured);
  }

  static bool is_unwritten(const Block& block, const MemoryAccess& access, bool reads_all) {
    const std::size_t missing = block.written.missing_in(model::Region(access));
    return missing != 0 && (reads_all || missing == access.bytes * access.rows);
  }
  static Mistake unwritten(const Block& block, const MemoryAccess& access) {
    return {fmt::format("{} of them were not written before this operation reads them",
                        block.written.missing_in(model::Region(access))),
            "write them first, or order the writer before the reader", &block};
  }

  void settle(const UndecidedRead& doubt) {
    const Block* const block = blocks_.find(number_of(doubt.access.address));
    if (block == nullptr || block->id != doubt.block || !is_unwritten(*block, doubt.access, doubt.reads_all)) return;
    tell(doubt.step, doubt.step->where, number_of(doubt.access.address), extent_of(doubt.access),
         unwritten(*block, doubt.access), nullptr);
  }

  // --- Memory that is never freed -------------------------------------------------------------------------------------

  void tell_leaks() {
    struct Leak {
      const Block* first = nullptr;
      std::size_t count = 0, bytes = 0;
    };
    std::map<std::uint32_t, Leak> leaks;  // by the place of the allocation
    blocks_.for_each([&](const Block& block) {
      if (block.is_of_graph || block.is_variable) return;
      Leak& leak = leaks[block.made->place];
      if (leak.count++ == 0) leak.first = &block;
      leak.bytes += block.end - block.begin;
    });
    for (const auto& [place, leak] : leaks) {
      ++count_;
      const std::string text = fmt::format(
          "weir validate: {} of {}: {}, {} bytes in all, at the end of the program: {}; release its owner earlier\n",
          leak.first->made->what, leak.first->made->device,
          leak.count == 1 ? "1 block" : fmt::format("{} blocks", leak.count), leak.bytes,
          leak.first->is_registered ? "its registration has not ended" : "it was never freed");
      std::fputs((text + stack_of(*leak.first->made)).c_str(), stderr);
    }
  }

  // --- Graphs ---------------------------------------------------------------------------------------------------------

  void record_nodes(const Operation& operation) {
    if (!traits_of(operation.kind).is_work) return;
    std::vector<Use> uses;
    StepPtr step;
    const auto add_use = [&](const MemoryAccess& access) {
      const std::size_t bytes = extent_of(access);
      const Block* const block = access.address != nullptr ? blocks_.find(number_of(access.address)) : nullptr;
      if (block == nullptr || block->is_of_graph || bytes == 0) return;
      if (!step) step = steps_.make(operation);
      uses.push_back({block->id, number_of(access.address), bytes, step, operation.node, access, reads_all(operation)});
    };
    for (const MemoryAccess& access : operation.accesses) add_use(access);
    for (const MemoryOperation& each : operation.memory_operations) add_use(access_of(each));
    if (options_.unwritten) {
      for_each_hidden(operation, [&](const MemoryAccess& access) {
        const std::size_t before = uses.size();
        add_use(access);
        if (uses.size() != before) uses.back().is_hidden = true;
      });
    }
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
          uses.push_back({block->id, number_of(access.address), extent_of(access), step, change.node, access,
                          change.kind == NodeChange::Kind::copy, is_disabled});
        }
      }
    });
  }

  void add_uses(const Operation& operation, const std::vector<Use>& uses) {
    std::vector<Use>& nodes = graphs_.capture_of(operation).nodes;
    for (Use use : uses) {
      use.node = operation.node;  // the child graph's node, also for the nodes within it
      nodes.push_back(std::move(use));
    }
  }

  Block* add(const Operation& operation, const MemoryAccess& memory, bool is_of_device) {
    if (memory.address == nullptr || memory.bytes == 0) return nullptr;
    const std::uintptr_t begin = number_of(memory.address), end = begin + memory.bytes;
    std::erase_if(freed_, [&](const Block& block) { return block.begin < end && begin < block.end; });
    Block block;
    block.id = ++last_block_;
    block.begin = begin;
    block.end = end;
    block.device = operation.device;
    block.is_of_device = is_of_device;
    block.is_of_graph = operation.capture != 0;
    block.is_registered = operation.kind == OperationKind::register_host;
    block.made = steps_.make(operation);
    return &blocks_.add(std::move(block));
  }

  void remove(const Operation& operation, const MemoryAccess& memory) {
    std::erase_if(undecided_, [&](const UndecidedRead& doubt) {
      if (blocks_.find(number_of(doubt.access.address)) != blocks_.find(number_of(memory.address))) return false;
      settle(doubt);
      return true;
    });
    std::optional<Block> block = blocks_.remove(number_of(memory.address));
    if (!block) return;
    block->freed = steps_.make(operation);
    freed_.push_back(std::move(*block));
    if (freed_.size() > most_freed) freed_.pop_front();
  }

  /// Whether memory at the address certainly exists. Memory of a graph may have been freed with the graph, which is not
  /// tracked here.
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
  std::uint64_t operations_ = 0, last_block_ = 0;
  std::size_t count_ = 0;
  model::StepMaker steps_;
  model::MemoryMap<Block> blocks_;
  std::array<std::optional<model::Region>, 64> latest_copies_;  // destinations of the latest copies to pageable memory
  std::size_t copies_ = 0;
  std::deque<Block> freed_;  // the newest last
  std::vector<UndecidedRead> undecided_;
  bool has_waits_ = false;                                   // a stream has waited for a value
  std::set<std::pair<const Device*, const Device*>> peers_;  // (device, peer whose memory it may address)
  model::Graphs<Use, OpenCapture> graphs_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> told_;  // places of the step and of the captured step that it launches
};

Tool* create() { return new Validator(read_options()); }

}  // namespace
}  // namespace weir::validate

WEIR_TOOL("validate", WEIR_VERSION_STRING, weir::validate::create)
