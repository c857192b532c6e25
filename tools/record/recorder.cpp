// SPDX-License-Identifier: Apache-2.0
#include "tools/record/recorder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>

#include "core/saved/saved_work.hpp"
#include "tools/model/options.hpp"
#include "tools/model/own_file.hpp"
#include "tools/model/process_memory.hpp"
#include "tools/model/region.hpp"
#include "tools/model/step.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"
#include "weir/event.hpp"
#include "weir/plugin/support.hpp"
#include "weir/stream.hpp"
#include "weir/version.hpp"

namespace weir::recording {
namespace {

using detail::NumberWriter;
using model::number_of;

constexpr std::size_t most_omissions = 20;
// Tools receive an access of one element for a plain pointer, although the kernel may read more. A larger range comes from a
// span.
constexpr std::size_t largest_element = 256;

using model::what_of;

/// The kind of an operation in the file: one for all kinds that a replay repeats in the same way.
OperationKind recorded_kind(OperationKind kind) {
  switch (kind) {
    case OperationKind::callback: return OperationKind::host_function;
    case OperationKind::query: return OperationKind::synchronize;
    case OperationKind::register_host: return OperationKind::allocate;
    case OperationKind::unregister_host: return OperationKind::free;
    default: return kind;
  }
}

}  // namespace

// --- Calls of the tool -------------------------------------------------------------------------------------------------

void Recorder::before(const Operation& operation) noexcept try {
  std::optional<Written> written;
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    written = write(operation);
    if (!written || stopped_) return;
    begun_[operation.id] = *written;
    file_.flush();
    if (file_.is_full()) stop(operation.name, file_.flaw());
  }
  if (!written->reads.empty()) save(operation, *written);
} catch (const std::exception& error) {
  const std::lock_guard lock(mutex_);
  stop(operation.name, error.what());
}

void Recorder::after(const Operation& operation) noexcept try {
  Written written;
  {
    const std::lock_guard lock(mutex_);
    if (const auto begun = begun_.extract(operation.id)) written = begun.mapped();
    if (operation.capture != 0 && operation.node && !operation.has_failed)
      graphs_.capture_of(operation).operations[operation.node->index] = written.number;
    if (!stopped_ && written.number != 0 && operation.has_failed) {
      NumberWriter data;
      data.put(written.number);
      file_.add(record::failed, "", data.bytes);
    }
    if (!stopped_ && written.number == 0) write_result(operation);
    graphs_.follow(operation, [](const auto&) {});
    file_.flush();
  }
  if (!operation.has_failed && !written.results.empty()) check(operation, written);
} catch (const std::exception& error) {
  const std::lock_guard lock(mutex_);
  stop(operation.name, error.what());
}

/// Records that the function has run, because the program may synchronize with it outside Weir.
void Recorder::end_host_function(std::uint64_t operation) noexcept try {
  const std::lock_guard lock(mutex_);
  const auto found = host_functions_.find(operation);
  if (found == host_functions_.end()) return;
  SavedOperation saved{};
  saved.kind = static_cast<std::uint8_t>(OperationKind::host_function);
  saved.stream = saved.other = none;
  saved.object = found->second;
  NumberWriter data;
  data.put(saved);
  if (!captured_functions_.contains(operation)) host_functions_.erase(found);
  if (stopped_) return;
  file_.add(record::operation, "", data.bytes);
  if (!file_.is_full()) ++operations_;
  file_.flush();
} catch (const std::exception& error) {
  support::log(support::LogLevel::error, "record: ", error.what());
}

/// Writes the operation before it is made, so that the file contains it even if the operation crashes the program.
std::optional<Written> Recorder::write(const Operation& operation) {
  switch (operation.kind) {
    case OperationKind::kernel:
    case OperationKind::copy:
    case OperationKind::fill:
    case OperationKind::memory_operations:
    case OperationKind::host_copy: return add_work(operation);
    case OperationKind::host_function:
    case OperationKind::callback: {
      Written written = add(operation);
      host_functions_[operation.id] = written.number;
      if (operation.capture != 0) {
        graphs_.capture_of(operation).nodes.push_back({false, true, nullptr, 0});
        captured_functions_.insert(operation.id);
      }
      return written;
    }
    case OperationKind::free:
    case OperationKind::unregister_host: {
      const auto block =
          operation.accesses.empty() ? std::nullopt : blocks_.remove(number_of(operation.accesses[0].address));
      return block ? std::optional(add(operation, block->number)) : std::nullopt;
    }
    case OperationKind::record:
    case OperationKind::wait_event:
      if (!operation.event->is_recorded()) events_.erase(operation.event);  // an earlier event may have had this address
      return add(operation, event_of(*operation.event), operation.in_graph ? 1 : 0);
    case OperationKind::wait_stream: {
      const auto awaited = streams_.find(operation.awaited);
      if (awaited == streams_.end()) return std::nullopt;  // the awaited stream has no work
      return add(operation, awaited->second);
    }
    case OperationKind::host_access: {
      const MemoryAccess& access = operation.accesses.front();
      const auto first = find(number_of(access.address), access.bytes);
      // An access in a host function, which a replay does not run.
      if (!first || operation.host_function != 0) return std::nullopt;
      NumberWriter content;
      content.put(SavedRange{*first, access.bytes});
      return add(operation, none, none, content);
    }
    case OperationKind::begin_capture: {
      const auto graph = graphs_made_of_.find(operation.graph);
      return add(operation, graph != graphs_made_of_.end() ? graph->second : none);
    }
    case OperationKind::capture_dependencies: {
      NumberWriter content;
      for (const GraphNode node : operation.dependencies) {
        const auto& known = graphs_.capture_of(operation).operations;
        const auto found = known.find(node.index);
        if (found == known.end()) {
          stop(operation.name, "the node was added to the graph by an earlier capture or by other code");
          return std::nullopt;
        }
        content.put(found->second);
      }
      return add(operation, none, none, content);
    }
    case OperationKind::child_graph:
    case OperationKind::launch_graph: {
      const bool is_child = operation.kind == OperationKind::child_graph;
      const auto graph = graphs_made_of_.find(operation.graph);
      const auto exec = execs_.find(operation.exec);
      if (is_child ? graph == graphs_made_of_.end() : exec == execs_.end()) {
        stop(operation.name, "the graph was not captured through Weir");
        return std::nullopt;
      }
      Written memory;
      record_nodes(operation, memory);
      return add(operation, is_child ? graph->second : exec->second, none, {}, std::move(memory));
    }
    case OperationKind::conditional:
      stop(operation.name, "conditional nodes cannot be recorded; decide on the host which graphs to launch");
      return std::nullopt;
    case OperationKind::change_nodes:
      stop(operation.name, "changes to nodes cannot be recorded; capture the work again, or use GraphExec::update");
      return std::nullopt;
    case OperationKind::external: {
      const bool writes = std::any_of(operation.accesses.begin(), operation.accesses.end(),
                                      [](const MemoryAccess& access) { return access.kind != AccessKind::read; });
      if (writes) {
        stop(operation.name,
             "Weir cannot see the work of other code, such as a library or NCCL; replace it by kernels and copies submitted "
             "through Weir");
      } else {
        add_omission(fmt::format("the work of other code, '{}', which reads memory", operation.name));
      }
      return std::nullopt;
    }
    default: return std::nullopt;
  }
}

/// Writes results that are known only after the operation was made, such as addresses. Waits of the host are also written
/// afterwards, because another thread may submit the work that they wait for.
void Recorder::write_result(const Operation& operation) {
  const auto known = [](const auto& map, const auto* key) {
    const auto found = map.find(key);
    return found != map.end() ? found->second : none;
  };
  const auto lost = [&] {
    if (!stopped_) stop(operation.name, "the graph was not captured through Weir");
  };
  if (operation.kind == OperationKind::synchronize || (operation.kind == OperationKind::query && operation.is_complete)) {
    const Number event = operation.event != nullptr ? event_of(*operation.event) : none;
    (void)add(operation, event, device_of(*operation.device));
    return;
  }
  if (operation.kind == OperationKind::end_capture) {
    const bool has_graph = !operation.has_failed && operation.new_graph != nullptr;
    (void)add(operation, none, has_graph ? 1 : 0);
    if (has_graph) graphs_made_of_[operation.new_graph] = graphs_made_++;
    return;
  }
  if (operation.has_failed) return;
  switch (operation.kind) {
    case OperationKind::destroy_graph:
      graphs_made_of_.erase(operation.graph);
      execs_.erase(operation.exec);
      break;
    case OperationKind::create_stream:
      streams_.erase(operation.stream_key);
      (void)stream_of(operation);
      break;
    case OperationKind::allocate:
    case OperationKind::register_host: add_memory(operation, device_of(*operation.device)); break;
    case OperationKind::module_global:
      if (!operation.module->bundle().empty()) add_memory(operation, module_of(*operation.module));
      break;
    case OperationKind::clone_graph: {
      const Number graph = known(graphs_made_of_, operation.graph);
      if (graph == none) return lost();
      (void)add(operation, graph);
      graphs_made_of_[operation.new_graph] = graphs_made_++;
      break;
    }
    case OperationKind::instantiate: {
      const Number graph = known(graphs_made_of_, operation.graph);
      if (graph == none) return lost();
      (void)add(operation, graph);
      execs_[operation.exec] = execs_made_++;
      break;
    }
    case OperationKind::update_graph: {
      const Number graph = known(graphs_made_of_, operation.graph), exec = known(execs_, operation.exec);
      if (graph == none || exec == none) return lost();
      (void)add(operation, exec, graph);
      break;
    }
    case OperationKind::enable_peer_access:
      (void)add(operation, device_of(*operation.device), device_of(*operation.peer));
      break;
    default: break;
  }
}

int Recorder::finish() noexcept try {
  const std::lock_guard lock(mutex_);
  file_.flush();
  file_.end();
  if (file_.is_lost() && end_.empty()) end_ = file_.flaw();
  std::string text = fmt::format("weir record: {} operations in '{}', {} bytes\n", operations_, file_.name(), file_.bytes());
  for (const std::string& each : omissions_) text += "weir record: missing: " + each + "\n";
  if (!end_.empty()) text += "weir record: " + end_ + "\n";
  std::fputs(text.c_str(), stderr);
  return file_.is_lost() ? model::lost_output : 0;
} catch (const std::exception& error) {
  support::log(support::LogLevel::error, "record: ", error.what());
  return 0;
}

void Recorder::add_omission(std::string text) {
  if (omissions_.size() >= most_omissions || !omissions_.insert(text).second) return;
  file_.add(record::note, text, {});
}

void Recorder::stop(std::string_view name, const std::string& cause) {
  if (std::exchange(stopped_, true)) return;
  end_ = fmt::format("the recording ends after operation {}, before {}: {}", operations_, name, cause);
  file_.force(record::stop, fmt::format("{}: {}", name, cause));
}

// --- Operations --------------------------------------------------------------------------------------------------------

Written Recorder::add(const Operation& operation, Number object, Number other, const NumberWriter& content, Written memory) {
  merge(memory.reads);
  merge(memory.results);
  const OperationKind kind = recorded_kind(operation.kind);
  const bool has_label = kind == OperationKind::host_function || kind == OperationKind::module_global;
  SavedOperation saved{};
  saved.kind = static_cast<std::uint8_t>(kind);
  saved.is_captured = operation.capture != 0;
  saved.stream = operation.stream != nullptr ? stream_of(operation) : none;
  saved.object = object;
  saved.other = other;
  saved.reads = static_cast<Number>(memory.reads.size());
  saved.results = static_cast<Number>(memory.results.size());
  NumberWriter data;
  data.put(saved);
  for (const HostRange& range : memory.reads) data.put(range.saved);
  for (const HostRange& range : memory.results) data.put(range.saved);
  data.append(content.bytes);
  if (stopped_) return {};
  file_.add(record::operation, has_label ? operation.label : std::string_view(operation.name), data.bytes);
  if (file_.is_full()) return {};
  memory.number = ++operations_;
  return memory;
}

Written Recorder::add_work(const Operation& operation) {
  NumberWriter content;
  Written memory;
  if (operation.kind == OperationKind::kernel) {
    add_launch(operation, content, memory);
  } else {
    detail::put_work(content, operation, [&](const void* address, std::size_t bytes, std::string_view what) {
      return place_of(operation, address, bytes, what == "the destination" || what == "the value");
    });
  }
  if (operation.kind == OperationKind::copy || operation.kind == OperationKind::host_copy)
    record_accesses(operation, memory);
  if (stopped_) return {};
  return add(operation, none, device_of(*operation.device), content, std::move(memory));
}

void Recorder::add_launch(const Operation& operation, NumberWriter& content, Written& memory) {
  if (operation.kernel->module()->bundle().empty()) {
    return stop(what_of(operation),
                "its module has no bundle: it was loaded from an image (use Device::load with a bundle), or compiled with "
                "include directories, whose files are not recorded (use CompileOptions::headers)");
  }
  content.put(detail::saved_launch(operation, kernel_of(*operation.kernel)));
  for (std::size_t i = 0; i < operation.parameters.size(); ++i) {
    const auto [size, kind, known_access, update] = operation.parameters[i];
    const bool is_pointer = kind == ParameterKind::address, is_opaque = kind == ParameterKind::unknown;
    const auto* const first = static_cast<const std::byte*>(operation.arguments[i]);
    std::vector<std::byte> value(first, first + size);
    NumberWriter addresses;
    std::uint32_t count = 0;
    for (std::size_t at = 0; at + sizeof(std::uintptr_t) <= value.size(); at += sizeof(std::uintptr_t)) {
      std::uintptr_t word = 0;
      std::memcpy(&word, value.data() + at, sizeof(word));
      std::optional<SavedAddress> there = find(word, 1);
      if (is_pointer && word == 0) there = SavedAddress{SavedAddress::null, 0, 0};
      if (is_pointer && !there) {  // may be the end of a range
        there = find(word - 1, 1);
        if (there) ++there->offset;
      }
      if (!there) {
        const std::string what = fmt::format("argument {} of {}", i + 1, what_of(operation));
        if (is_pointer) {
          return stop(what_of(operation), fmt::format("argument {} is an address of memory unknown to Weir; allocate the "
                                                      "memory through Weir, or register it with Device::register_host",
                                                      i + 1));
        }
        if (is_opaque && detail::may_be_address(word) && model::is_readable(reinterpret_cast<const void*>(word)))
          add_omission(what + " may be an address of memory unknown to Weir; it is recorded as a number");
        continue;
      }
      ++count;
      std::memset(value.data() + at, 0, sizeof(word));
      if (value.size() != sizeof(word)) addresses.put(static_cast<std::uint32_t>(at));
      addresses.put(*there);
      const Block* const block = word != 0 ? blocks_.find(word) : nullptr;
      if (block == nullptr || !block->is_readable) continue;
      const auto access = std::find_if(operation.accesses.begin(), operation.accesses.end(),
                                       [&](const MemoryAccess& each) { return number_of(each.address) == word; });
      const bool is_told = access != operation.accesses.end();
      if (is_told && access->kind == AccessKind::write) continue;
      if (is_told && access->bytes > largest_element && access->rows == 1) {
        record_range(operation, access->address, access->bytes, false, memory);
      } else {
        record_range(operation, reinterpret_cast<const void*>(block->begin), block->end - block->begin, false, memory);
      }
    }
    content.put(static_cast<std::uint32_t>(value.size()));
    content.put(count);
    if (count != 1 || value.size() != sizeof(std::uintptr_t)) content.append(value);
    content.append(addresses.bytes);
  }
  NumberWriter accesses;
  std::uint32_t count = 0;
  for (const MemoryAccess& access : operation.accesses) {
    const auto first = find(number_of(access.address), model::extent_of(access));
    if (!first || access.bytes == 0) continue;
    accesses.put(SavedAccess{*first, access.bytes, access.pitch, access.rows, static_cast<std::uint64_t>(access.kind)});
    ++count;
  }
  content.put(count);
  content.append(accesses.bytes);
}

void Recorder::add_memory(const Operation& operation, Number object) {
  const MemoryAccess& memory = operation.accesses.front();
  if (memory.address == nullptr || memory.bytes == 0) return;
  // Registered memory and variables may be known from an earlier call.
  if (operation.kind != OperationKind::allocate && blocks_.find(number_of(memory.address)) != nullptr) return;
  const Allocation* const allocation = operation.allocation;
  const MemoryKind memory_kind = operation.kind == OperationKind::register_host ? MemoryKind::pinned
                                 : allocation != nullptr                        ? allocation->kind()
                                                                                : MemoryKind::device;
  const std::string_view name = operation.name;
  if (name == "Device::open_allocation") add_omission(fmt::format("{}: data written by another process", operation.name));
  if (name == "Device::adopt_memory" && memory_kind == MemoryKind::device)
    add_omission(fmt::format("{}: data written to device memory by other code", operation.name));
  NumberWriter content;
  content.put(detail::SavedMemory{memory.bytes, 0, static_cast<std::uint8_t>(memory_kind), 0, 0});
  (void)add(operation, object, none, content);
  const std::uintptr_t begin = number_of(memory.address);
  const bool is_managed = memory_kind == MemoryKind::managed;
  if (is_managed && !operation.device->supports(Feature::concurrent_managed_access))
    add_omission("managed memory: data written by the host, which cannot be read on this device while work runs");
  blocks_.add(
      {begin, begin + memory.bytes, blocks_made_++,
       memory_kind == MemoryKind::pinned || (is_managed && operation.device->supports(Feature::concurrent_managed_access))});
}

namespace {

Tool* create() {
  const long limit = support::environment_number("WEIR_RECORD_LIMIT", 1L << 30U, 1, static_cast<long>(most_bytes));
  const std::string file = support::environment("WEIR_RECORD_FILE").value_or("weir.recording");
  return new Recorder(model::with_process(file), static_cast<std::uint64_t>(limit));
}

}  // namespace
}  // namespace weir::recording

WEIR_TOOL("record", WEIR_VERSION_STRING, weir::recording::create)
