// SPDX-License-Identifier: Apache-2.0
#include "weir/portable_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/base/enum_name.hpp"
#include "core/runtime/call.hpp"
#include "core/runtime/stream_core.hpp"
#include "core/saved/captured_operations.hpp"
#include "core/saved/graph_content.hpp"

// Graphs that were loaded from files: binding memory and functions, and capturing the operations as a new graph.
namespace weir::detail {
namespace {

/// Submits the steps of a loaded graph to a capturing stream.
class GraphReplay {
 public:
  explicit GraphReplay(GraphContent& content) : content_(content), allocations_(content.allocated.size()) {}

  GraphPtr graph(std::vector<GraphStep>& steps) {
    const StreamPtr stream = content_.device.create_stream();
    return stream->capture(CaptureMode::relaxed, [&](Stream& s) { run(steps, s); });
  }

  void* at(const SavedAddress& address) const {
    if (address.memory == SavedAddress::null) return nullptr;
    if ((address.memory & SavedAddress::allocated) == 0)
      return static_cast<std::byte*>(content_.memory[address.memory].data) + address.offset;
    const AllocationPtr& own = allocations_[address.memory & ~SavedAddress::allocated];
    if (!own) throw_bad_graph({}, "it is damaged: it uses memory that it has not allocated or has freed");
    return static_cast<std::byte*>(own->data()) + address.offset;
  }

 private:
  void run(std::vector<GraphStep>& steps, Stream& stream) {
    std::vector<GraphNode> nodes(steps.size()), behind;
    const auto go_behind = [&](std::span<const std::uint32_t> before) {
      behind.clear();
      for (const std::uint32_t step : before) behind.push_back(nodes[step]);
      stream.set_capture_dependencies(behind);
    };
    std::vector<std::uint32_t> leaves;
    for (std::uint32_t i = 0; i < steps.size(); ++i) {
      GraphStep& step = steps[i];
      const std::span<const std::uint32_t> after = part_of(content_.after, step.after);
      const bool follows = i == 0 ? after.empty() : after.size() == 1 && after.front() + 1 == i;
      if (!follows) go_behind(after);
      submit(step, stream);
      if (step.is_awaited) nodes[i] = stream.last_captured_node();
      if (step.is_leaf) leaves.push_back(i);
    }
    // Make the stream depend on all leaves, because some HIP releases throw `capture_unjoined` for other leaves.
    if (leaves.size() > 1) go_behind(leaves);
  }

  void submit(GraphStep& step, Stream& stream) {
    switch (step.kind) {
      case OperationKind::host_function:
        return stream.launch_host_function([function = content_.functions.find(step.function)->second] { (*function)(); });
      case OperationKind::allocate:
        allocations_[step.allocation] = stream.allocate_bytes_async(content_.allocated[step.allocation]);
        return;
      case OperationKind::free: return allocations_[step.allocation].reset();
      case OperationKind::child_graph: return stream.add_child_graph(*graph(step.inner.front()));
      case OperationKind::conditional: {
        std::vector<UniqueFunction<void(Stream&)>> bodies;
        for (std::vector<GraphStep>& body : step.inner) bodies.emplace_back([this, &body](Stream& s) { run(body, s); });
        return submitter_.capture(step, stream, bodies);
      }
      default: return submitter_.submit(step, stream);
    }
  }

  GraphContent& content_;
  std::vector<AllocationPtr> allocations_;
  WorkSubmitter<GraphReplay> submitter_{content_, content_.kernels, *this};
};

}  // namespace
}  // namespace weir::detail

namespace weir {

std::string_view to_string(MemoryRole role) noexcept { return detail::enum_name(role, {"bound", "scratch", "contents"}); }

PortableGraph::PortableGraph(std::unique_ptr<detail::GraphContent> content) noexcept : content_(std::move(content)) {}
PortableGraph::~PortableGraph() = default;

Device& PortableGraph::device() const noexcept { return content_->device; }
const std::string& PortableGraph::captured_on() const noexcept { return content_->from; }

std::vector<PortableMemory> PortableGraph::memory() const { return {content_->memory.begin(), content_->memory.end()}; }

std::vector<std::string> PortableGraph::host_functions() const {
  std::vector<std::string> names;
  for (const auto& [name, function] : content_->functions) names.push_back(name);
  return names;
}

std::string PortableGraph::describe() const {
  return fmt::format("{} portable graph of {} operations", device().describe(), content_->steps.size());
}

void PortableGraph::bind(std::string_view name, AllocationRef memory) {
  const detail::Call call(*this, "PortableGraph::bind");
  const Allocation& given = call.not_null(memory, "the memory");
  if (given.kind() == MemoryKind::device) call.check_device(given.device(), "the memory");
  bind_memory(name, given.data(), given.size_bytes());
}

void PortableGraph::bind_memory(std::string_view name, void* data, std::size_t bytes) {
  const detail::Call call(*this, "PortableGraph::bind");
  const auto found =
      std::find_if(content_->memory.begin(), content_->memory.end(), [&](const auto& m) { return m.name == name; });
  if (found == content_->memory.end()) {
    std::string names;
    for (const auto& memory : content_->memory) names += (names.empty() ? "'" : ", '") + memory.name + "'";
    call.throw_error(Errc::invalid_argument,
                     fmt::format("the graph has no memory '{}'; its memory: {}", name, names.empty() ? "none" : names));
  }
  if (bytes < found->bytes || data == nullptr)
    call.throw_error(Errc::invalid_argument,
                     fmt::format("memory '{}' needs {} bytes, but {} were passed", name, found->bytes, bytes));
  if (reinterpret_cast<std::uintptr_t>(data) % found->alignment != 0) {
    call.throw_error(
        Errc::invalid_argument,
        fmt::format("memory '{}' must be aligned to {} bytes, but the address {} is not; memory of Device::allocate is",
                    name, found->alignment, data));
  }
  found->data = data;
}

void PortableGraph::bind_function(std::string_view name, HostFunction&& function) {
  const detail::Call call(*this, "PortableGraph::bind");
  const auto found = content_->functions.find(name);
  if (found == content_->functions.end())
    call.throw_error(Errc::invalid_argument, fmt::format("the graph has no host function '{}'", name));
  if (!function) call.throw_error(Errc::invalid_argument, "the function is empty");
  found->second = std::make_shared<HostFunction>(std::move(function));
}

GraphPtr PortableGraph::build() {
  const detail::Call call(*this, "PortableGraph::build");
  std::string missing;
  for (const auto& memory : content_->memory) {
    if (memory.data == nullptr && memory.role == MemoryRole::bound)
      missing += fmt::format("{}memory '{}' of {} bytes", missing.empty() ? "" : ", ", memory.name, memory.bytes);
  }
  for (const auto& [name, function] : content_->functions) {
    if (function == nullptr) missing += fmt::format("{}host function '{}'", missing.empty() ? "" : ", ", name);
  }
  if (!missing.empty()) call.throw_error(Errc::invalid_argument, "these names are not bound: " + missing);
  auto work = std::make_shared<detail::CapturedOperations>();
  work->flaw = "it was loaded from a file; copy that file instead";
  for (detail::GraphContent::Memory& memory : content_->memory) {
    if (memory.data == nullptr) {
      memory.own = content_->device.allocate_bytes(memory.bytes, memory.kind);
      if (memory.role == MemoryRole::contents)
        content_->device.copy_bytes(memory.own->data(), memory.contents.data(), memory.bytes);
      memory.data = memory.own->data();
    }
    if (memory.own != nullptr && memory.own->data() == memory.data) work->memory.push_back(memory.own);
  }
  const GraphPtr graph = detail::GraphReplay(*content_).graph(content_->steps);
  graph->captured_work_ = std::move(work);
  return graph;
}

}  // namespace weir
