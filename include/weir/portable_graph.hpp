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

/// Graphs saved in files, to be loaded by another process, on another machine or another vendor's device.
/// docs/graph-files.md.
namespace weir {

/// How named memory is provided when a graph is loaded.
enum class MemoryRole : std::uint8_t {
  bound,     ///< `PortableGraph::bind` sets it
  scratch,   ///< allocated with undefined contents, unless it is bound
  contents,  ///< allocated with the contents at the time of saving, unless it is bound
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

  /// The name for binding the memory after loading.
  const std::string& name() const noexcept { return name_; }
  /// The first byte.
  const void* data() const noexcept { return data_; }
  /// The size in bytes.
  std::size_t size_bytes() const noexcept { return bytes_; }
  /// The kind to allocate after loading.
  MemoryKind kind() const noexcept { return kind_; }
  /// How it is provided after loading.
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

/// Named memory of a loaded graph.
struct PortableMemory {
  std::string name;
  std::size_t bytes = 0;
  std::size_t alignment = 1;  ///< its required alignment, at most 256
  MemoryKind kind{};
  MemoryRole role{};
  void* data = nullptr;  ///< the bound or allocated memory; null before
};

/// A graph loaded from a file, with its kernels on a device. Made by `Device::load_graph`:
///
///   const PortableGraphPtr step = device.load_graph("step.weirgraph");
///   step->bind("x", x);
///   step->bind("report", [] { … });
///   const GraphExecPtr exec = step->instantiate();
///
/// For use by one thread at a time.
class WEIR_API PortableGraph : public RefCounted {
 public:
  /// The device that its kernels are loaded on.
  Device& device() const noexcept;
  /// Where the graph was captured: "cuda sm_90".
  const std::string& captured_on() const noexcept;
  /// Its memory, in the order of the arguments of `save`.
  std::vector<PortableMemory> memory() const;
  /// The names of its host functions.
  std::vector<std::string> host_functions() const;

  /// Sets the memory for a name in graphs that are built from now on. It must live while they run. Throws `invalid_argument`
  /// for an unknown name, for fewer bytes than were saved and for a smaller alignment.
  template <ElementRange R>
  void bind(std::string_view name, R&& memory) {
    const Span elements = detail::lasting_span(std::forward<R>(memory));
    using T = std::remove_const_t<typename std::remove_const_t<decltype(elements)>::element_type>;
    bind_memory(name, const_cast<T*>(elements.data()), elements.size_bytes());
  }
  void bind(std::string_view name, AllocationRef memory);
  /// Sets the function for a host function's name.
  template <class F>
  requires(std::invocable<std::decay_t<F>&> && !ElementRange<F>) void bind(std::string_view name, F&& function) {
    bind_function(name, HostFunction(std::forward<F>(function)));
  }

  /// Captures the graph's work with the present bindings. On the same vendor, nodes have the same numbers as in the original
  /// capture. Memory of the roles `scratch` and `contents` lives as long as this object, such graphs and their executables.
  /// Throws `invalid_argument` for names that are not bound; and like the `Stream` calls that made the nodes: `unsupported`
  /// if this device lacks a feature.
  GraphPtr build();
  /// `build()->instantiate(options)`.
  GraphExecPtr instantiate(const InstantiateOptions& options = {}) { return build()->instantiate(options); }

  /// "cuda:0 portable graph of 12 operations"
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
