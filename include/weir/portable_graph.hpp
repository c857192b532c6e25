// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "weir/export.hpp"
#include "weir/fwd.hpp"
#include "weir/graph.hpp"
#include "weir/memory.hpp"
#include "weir/ptr.hpp"
#include "weir/ref.hpp"
#include "weir/span.hpp"
#include "weir/unique_function.hpp"

/// Graphs saved in files. Another process can load them, on another machine or on another vendor's device. See
/// docs/graph-files.md.
namespace weir {

/// Who provides a piece of named memory when a graph is loaded.
enum class MemoryRole : std::uint8_t {
  bound,     ///< the program, with `PortableGraph::bind`
  scratch,   ///< Weir allocates memory with undefined contents, unless the program binds its own
  contents,  ///< Weir allocates memory and restores the saved contents, unless the program binds its own memory
};
WEIR_API std::string_view to_string(MemoryRole) noexcept;

/// Memory that a graph uses, and its name in the file: `graph->save(file, {{"x", x}, {"weights", w,
/// MemoryRole::contents}})`.
class WEIR_API NamedMemory {
 public:
  /// `memory`: a `Buffer`, a `Span` or any other `ElementRange`.
  template <ElementRange R>
  NamedMemory(std::string_view name, R&& memory, MemoryRole role = MemoryRole::bound)
      : NamedMemory(name, std::data(memory),
                    detail::byte_count("NamedMemory", std::size(memory), sizeof(*std::data(memory))), kind_of(memory),
                    role) {}
  NamedMemory(std::string_view name, AllocationRef memory, MemoryRole role = MemoryRole::bound);
  NamedMemory(std::string_view name, const void* data, std::size_t bytes, MemoryKind kind, MemoryRole role);

  /// The name for `PortableGraph::bind`.
  const std::string& name() const noexcept { return name_; }
  /// The address of the first byte.
  const void* data() const noexcept { return data_; }
  /// The size in bytes.
  std::size_t size_bytes() const noexcept { return bytes_; }
  /// The kind of memory to allocate when the graph is loaded.
  MemoryKind kind() const noexcept { return kind_; }
  /// Who provides the memory when the graph is loaded.
  MemoryRole role() const noexcept { return role_; }

 private:
  template <class R>
  static MemoryKind kind_of(const R& memory) noexcept {
    if constexpr (requires { memory.allocation()->kind(); }) {
      if (memory.allocation()) return memory.allocation()->kind();
    }
    return MemoryKind::device;
  }

  std::string name_;
  const void* data_;
  std::size_t bytes_;
  MemoryKind kind_;
  MemoryRole role_;
};

/// Describes a piece of named memory of a loaded graph.
struct PortableMemory {
  std::string name;
  std::size_t bytes = 0;
  std::size_t alignment = 1;  ///< the required alignment in bytes, at most 256
  MemoryKind kind{};
  MemoryRole role{};
  void* data = nullptr;  ///< the bound or allocated memory, or null
};

/// A graph that was loaded from a file, with its kernels loaded on a device. Bind its memory and host functions by name,
/// then build executables:
///
///   const PortableGraphPtr step = device.load_graph("step.weirgraph");
///   step->bind("x", x);
///   step->bind("report", [] { … });
///   const GraphExecPtr exec = step->instantiate();
///
/// Only one thread at a time may use a portable graph.
class WEIR_API PortableGraph : public RefCounted {
 public:
  /// The device that the kernels are loaded on.
  Device& device() const noexcept;
  /// The backend and the architecture that captured the graph: "cuda sm_90".
  const std::string& captured_on() const noexcept;
  /// The graph's named memory, in the order of the arguments of `Graph::save`.
  std::vector<PortableMemory> memory() const;
  /// The names of the graph's host functions.
  std::vector<std::string> host_functions() const;

  /// Sets the memory that graphs built from now on use for `name`. The memory must live while these graphs run. Throws
  /// `invalid_argument` for an unknown name, and if the size or the alignment of `memory` is smaller than required.
  template <ElementRange R>
  void bind(std::string_view name, R&& memory) {
    const Span elements = detail::lasting_span(std::forward<R>(memory));
    using T = std::remove_const_t<typename std::remove_const_t<decltype(elements)>::element_type>;
    bind_memory(name, const_cast<T*>(elements.data()), elements.size_bytes());
  }
  void bind(std::string_view name, AllocationRef memory);
  /// Sets the host function that graphs built from now on call for `name`. Throws `invalid_argument` for an unknown name.
  template <class F>
  requires(std::invocable<std::decay_t<F>&> && !ElementRange<F>) void bind(std::string_view name, F&& function) {
    bind_function(name, HostFunction(std::forward<F>(function)));
  }

  /// Makes a graph with the present bindings. On a device of the same vendor, nodes have the same numbers as in the original
  /// capture. Memory that Weir has allocated is kept alive by this object, by the graphs built from it, and by their
  /// executables. Throws `invalid_argument` if a name is not bound; `unsupported` if this device lacks a feature that a node
  /// needs; otherwise like the functions of `Stream` that captured the nodes.
  GraphPtr build();
  /// Builds a graph and instantiates it: `build()->instantiate(options)`.
  GraphExecPtr instantiate(const InstantiateOptions& options = {}) { return build()->instantiate(options); }

  /// Describes the graph: "cuda:0 portable graph of 12 operations".
  [[nodiscard]] std::string describe() const;

 private:
  friend class Device;
  explicit PortableGraph(std::unique_ptr<detail::GraphContent> content) noexcept;
  ~PortableGraph() override;
  void bind_memory(std::string_view name, void* data, std::size_t bytes);
  void bind_function(std::string_view name, HostFunction&& function);

  const std::unique_ptr<detail::GraphContent> content_;
};

}  // namespace weir
