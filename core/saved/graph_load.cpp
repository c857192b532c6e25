// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "core/base/error_text.hpp"
#include "core/base/private_file.hpp"
#include "core/runtime/call.hpp"
#include "core/saved/graph_content.hpp"
#include "weir/kernel_bundle.hpp"

// Device::load_graph: parses and checks the bytes of a graph file. All checks are made here, so building a graph needs none.
namespace weir::detail {

void throw_bad_graph(std::span<const std::byte> bytes, const std::string& flaw) {
  throw Error(Errc::invalid_image, "Device::load_graph", fmt::format("graph of {} bytes", bytes.size()), flaw);
}

namespace {

/// Parses a file into a `GraphContent`, and loads the file's kernels.
class Loader {
 public:
  Loader(GraphContent& content, std::span<const std::byte> file)
      : content_(content),
        file_(file),
        reader_(file, graph_magic, graph_version, "it is not a graph file: it does not begin like a file of Graph::save",
                throw_bad_graph) {
    if (check_number(file.subspan(sizeof(BundleHeader))) != reader_.header.check)
      throw_bad_graph(file, "it is damaged: its checksum is wrong");
  }

  void load() { content_.steps = steps(0); }

  /// Throws if the bytes at an address are not within a memory of the file.
  void check(const SavedAddress& address, std::uint64_t bytes, bool may_be_null) const {
    if (may_be_null && address.memory == SavedAddress::null) return;
    const std::uint32_t number = address.memory & ~SavedAddress::allocated;
    const bool own = number != address.memory;
    if (number >= (own ? content_.allocated.size() : content_.memory.size()))
      throw_damaged(fmt::format("there is no memory {}", number));
    const std::uint64_t size = own ? content_.allocated[number] : content_.memory[number].bytes;
    if (address.offset > size || bytes > size - address.offset)
      throw_damaged(fmt::format("{} bytes from byte {} are not within a memory of {}", bytes, address.offset, size));
  }

 private:
  [[noreturn]] void throw_damaged(const std::string& flaw) const { throw_bad_graph(file_, "it is damaged: " + flaw); }

  /// Parses the steps up to the end of the nested graph or of the file. `nesting`: the depth; 0 for the outermost graph.
  std::vector<GraphStep> steps(std::size_t nesting) {
    if (nesting > most_graph_nesting) throw_damaged("its graphs are nested too deeply");
    std::vector<GraphStep> list;
    while (!reader_.at_end()) {
      reader_.next();
      if (reader_.kind == record::end) {
        if (nesting == 0) throw_damaged("the end of a nested graph has no beginning");
        finish(list);
        return list;
      }
      if (reader_.kind == record::begin) {
        if (list.empty() || list.back().inner.size() == nested_graphs_of(list.back()))
          throw_damaged("a nested graph has no node");
        list.back().inner.push_back(steps(nesting + 1));
      } else if (reader_.kind == record::operation) {
        list.push_back(step(list.size(), nesting));
      } else {
        take_object();
      }
    }
    if (nesting != 0) throw_damaged("a nested graph has no end");
    finish(list);
    return list;
  }

  void take_object() {
    NumberReader data(file_, reader_.data, throw_bad_graph);
    if (reader_.kind == record::origin) {
      content_.from = reader_.name;
    } else if (reader_.kind == record::module) {
      content_.modules.push_back(content_.device.load(KernelBundle(reader_.data)));
    } else if (reader_.kind == record::function) {
      const auto module = data.take<std::uint32_t>();
      data.end();
      if (module >= content_.modules.size()) throw_damaged(fmt::format("there is no module {}", module));
      content_.kernels.push_back(content_.modules[module]->untyped_kernel(reader_.name));
    } else if (reader_.kind == record::memory) {
      take_memory(data);
    }
  }

  void take_memory(NumberReader& data) {
    const auto saved = data.take<SavedMemory>();
    auto& memory = content_.memory.emplace_back();
    memory.name = reader_.name;
    if (memory.name.empty() || !names_.insert(memory.name).second)
      throw_damaged(fmt::format("a memory has no name, or two have the name '{}'", printable(memory.name)));
    memory.bytes = saved.bytes;
    memory.alignment = saved.alignment;
    memory.kind = data.take_enumerator(saved.kind, MemoryKind::managed);
    memory.role = data.take_enumerator(saved.role, MemoryRole::contents);
    if (memory.bytes == 0 || memory.bytes > most_bytes || !std::has_single_bit(saved.alignment) || saved.alignment > 256)
      throw_damaged(fmt::format("memory '{}' has an invalid size or alignment", printable(memory.name)));
    if (memory.role == MemoryRole::contents) {
      const auto contents = data.take(memory.bytes);
      memory.contents.assign(contents.begin(), contents.end());
    }
    data.end();
  }

  // --- Steps ----------------------------------------------------------------------------------------------------------

  GraphStep step(std::size_t number, std::size_t nesting) {
    NumberReader data(file_, reader_.data, throw_bad_graph);
    GraphStep step;
    step.kind = static_cast<OperationKind>(data.take<std::uint8_t>());
    step.after = next_in(content_.after, data.take_count(4));
    for (std::uint32_t left = step.after.count; left > 0; --left) {
      content_.after.push_back(data.take<std::uint32_t>());
      if (content_.after.back() >= number)
        throw_damaged(fmt::format("operation {} depends on the later operation {}", number, content_.after.back()));
    }
    const auto after = part_of(content_.after, step.after);
    std::vector<std::uint32_t> sorted(after.begin(), after.end());
    std::ranges::sort(sorted);
    if (std::ranges::adjacent_find(sorted) != sorted.end())
      throw_damaged(fmt::format("operation {} depends twice on one operation", number));
    switch (step.kind) {
      case OperationKind::kernel:
      case OperationKind::copy:
      case OperationKind::fill:
      case OperationKind::memory_operations:
      case OperationKind::conditional: WorkReader(content_, *this).take(step, data, content_.kernels.size()); break;
      case OperationKind::host_function:
        step.function = reader_.name;
        if (step.function.empty()) throw_damaged("a host function has no name");
        content_.functions.try_emplace(step.function);
        break;
      case OperationKind::allocate: {
        const auto bytes = data.take<std::uint64_t>();
        if (nesting != 0 || bytes == 0 || bytes > most_bytes) throw_damaged("an allocation is invalid");
        step.allocation = static_cast<std::uint32_t>(content_.allocated.size());
        content_.allocated.push_back(bytes);
        freed_.push_back(false);
        break;
      }
      case OperationKind::free: {
        const auto memory = data.take<SavedAddress>();
        check(memory, 1, false);
        if (nesting != 0 || (memory.memory & SavedAddress::allocated) == 0)
          throw_damaged("memory is freed that the graph did not allocate");
        step.allocation = memory.memory & ~SavedAddress::allocated;
        if (memory.offset != 0 || freed_[step.allocation])
          throw_damaged("an allocation is freed twice, or by an address that is not its beginning");
        freed_[step.allocation] = true;
        break;
      }
      case OperationKind::child_graph: break;
      default: throw_damaged(fmt::format("operation {} has the kind {}", number, static_cast<int>(step.kind)));
    }
    data.end();
    return step;
  }

  static std::size_t nested_graphs_of(const GraphStep& step) noexcept {
    return step.kind == OperationKind::child_graph ? 1 : step.bodies;
  }

  /// Sets `is_leaf` and `is_awaited` of each step, and checks the number of nested graphs: both need the whole list. Needed
  /// later are the nodes of leaves, and those that another step than the next one depends on.
  void finish(std::vector<GraphStep>& list) const {
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (list[i].inner.size() != nested_graphs_of(list[i])) throw_damaged("a nested graph is missing");
      for (const std::uint32_t before : part_of(content_.after, list[i].after)) {
        list[before].is_leaf = false;
        list[before].is_awaited |= list[i].after.count != 1 || before + 1 != i;
      }
    }
    for (GraphStep& step : list) step.is_awaited |= step.is_leaf;
  }

  GraphContent& content_;
  std::span<const std::byte> file_;
  BundleReader reader_;
  std::set<std::string, std::less<>> names_;  // the names of memory so far
  std::vector<bool> freed_;                   // for each allocation: whether a step frees it
};

}  // namespace
}  // namespace weir::detail

namespace weir {

PortableGraphPtr Device::load_graph(std::span<const std::byte> bytes) {
  const detail::Call call(*this, "Device::load_graph");
  call.require(Feature::graph_capture);
  auto content = std::make_unique<detail::GraphContent>(*this);
  detail::Loader(*content, bytes).load();
  return PortableGraphPtr(new PortableGraph(std::move(content)));
}

PortableGraphPtr Device::load_graph(const std::string& file) {
  const detail::Call call(*this, "Device::load_graph");
  const auto fail = [&](Errc code, const std::string& cause) { call.throw_error(code, cause); };
  const std::vector<std::byte> bytes = detail::read_private_file(file, detail::most_graph_bytes, "a graph", fail);
  return load_graph(bytes);
}

}  // namespace weir
