// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "weir/access.hpp"
#include "weir/export.hpp"
#include "weir/fwd.hpp"
#include "weir/graph.hpp"
#include "weir/kernel_argument.hpp"
#include "weir/module.hpp"
#include "weir/ptr.hpp"
#include "weir/ref.hpp"
#include "weir/span.hpp"

/// `GraphChanges`: a list of new parameters for nodes of an executable graph, for `GraphExec::apply`.
namespace weir {

/// One change in a `GraphChanges`, in the form that backends and tools receive.
struct NodeChange {
  /// The kind of the change.
  enum class Kind : std::uint8_t { kernel, copy, fill, enable, disable };

  Kind kind{};
  GraphNode node;
  // Members for a kernel.
  const Kernel* kernel = nullptr;
  std::span<const Parameter> parameters{};  ///< the kernel's parameters; the array is never freed
  LaunchConfig config;
  std::uint32_t first_argument = 0;  ///< index of the first argument in `GraphChanges::arguments_`
  // Members for a copy or a fill.
  std::uint32_t value = 0;
  std::uint32_t element_size = 1;
  std::size_t count = 0;  ///< number of elements
  void* destination = nullptr;
  const void* source = nullptr;
  // The range of this change in `GraphChanges::accesses_`; empty without tools.
  std::uint32_t first_access = 0, access_count = 0;
};

/// A list of changes to nodes, which `GraphExec::apply` makes in one call. It can change kernels, copies of contiguous
/// memory, and fills of elements of 1, 2 or 4 bytes. `Stream::last_captured_node` and `Topology` give the numbers of nodes.
/// Kernels must live until the changes are applied; from then on the executable keeps them alive. Only one thread at a time
/// may use a list. To apply changes often, reuse one list: `clear` keeps the list's memory.
class WEIR_API GraphChanges {
 public:
  /// Makes the node launch `kernel` with this shape and these arguments, like `Stream::launch`. The node keeps the launch
  /// attributes of its capture; `config` must not set any.
  template <class... Args>
  void launch(GraphNode node, KernelRef kernel, const LaunchConfig& config, const Args&... args) {
    (detail::explain_kernel_argument<Args>(), ...);
    if constexpr ((KernelArgument<Args> && ...)) {
      std::tuple<decltype(detail::kernel_argument(args))...> values(detail::kernel_argument(args)...);
      std::apply(
          [&](auto&... v) {
            const std::array<MemoryAccess, sizeof...(v)> accesses{detail::access_of(args)...};
            add_kernel(node, kernel, config, packed(v...), detail::parameters_of<std::remove_reference_t<decltype(v)>...>,
                       accesses);
          },
          values);
    }
  }
  /// Like the overload above, for a kernel whose parameter types are known at compile time.
  template <class... P>
  void launch(GraphNode node, const TypedKernel<void(P...)>& kernel, const LaunchConfig& config,
              std::type_identity_t<KernelParameter<P>>... args) {
    const std::array<MemoryAccess, sizeof...(P)> accesses{args.access()...};
    add_kernel(node, kernel.kernel(), config, packed(*static_cast<const P*>(args.address())...), kernel.parameters(),
               accesses);
  }
  /// Like `launch`, with the addresses of the arguments. The values of the arguments are copied. See `Stream::launch_raw`.
  void launch_raw(GraphNode node, KernelRef kernel, const LaunchConfig& config, std::span<void* const> arguments,
                  std::span<const Parameter> parameters, std::span<const MemoryAccess> accesses = {});
  /// Makes the node copy all elements of `source` to `destination`. The number of bytes must not exceed the number that was
  /// captured: for more, `apply` throws `graph_update_failed` on the host, and may throw it on GPUs. Throws
  /// `length_mismatch`.
  template <ElementRange To, ElementRange From>
  void copy(GraphNode node, To&& destination, From&& source) {
    const Span to = detail::lasting_span(std::forward<To>(destination));
    const Span from = detail::lasting_span(std::forward<From>(source));
    detail::check_copyable<typename decltype(to)::element_type, typename decltype(from)::element_type>();
    if (to.size() != from.size()) detail::throw_length_mismatch("GraphChanges::copy", "", to.size(), from.size());
    add_copy(node, to.data(), from.data(), detail::byte_count("GraphChanges::copy", to.size(), sizeof(*from.data())));
  }
  /// Makes the node set every element of `destination` to `value`. Elements have 1, 2 or 4 bytes.
  template <ElementRange To, class T>
  void fill(GraphNode node, To&& destination, const T& value) {
    const Span to = detail::lasting_span(std::forward<To>(destination));
    using E = typename decltype(to)::element_type;
    static_assert(!std::is_const_v<E>, "the destination of a fill must not be const");
    static_assert(std::is_trivially_copyable_v<E> && alignof(E) == sizeof(E) && sizeof(E) <= 4,
                  "a node of a graph fills elements of 1, 2 or 4 bytes");
    const E element = static_cast<E>(value);
    std::uint32_t bits = 0;
    __builtin_memcpy(&bits, &element, sizeof(E));
    add_fill(node, to.data(), bits, sizeof(E), to.size());
  }
  /// Enables a disabled node: a kernel, a copy or a fill. (cuGraphNodeSetEnabled)
  void enable(GraphNode node) { add(NodeChange::Kind::enable, node); }
  /// Makes a node (a kernel, a copy or a fill) do nothing. The order of the other nodes does not change.
  /// (cuGraphNodeSetEnabled)
  void disable(GraphNode node) { add(NodeChange::Kind::disable, node); }

  /// Whether the list is empty.
  bool empty() const noexcept { return changes_.empty(); }
  /// The number of changes.
  std::size_t size() const noexcept { return changes_.size(); }
  /// Removes all changes.
  void clear() noexcept;

  /// The changes, in the order of the calls.
  std::span<const NodeChange> changes() const noexcept { return changes_; }
  /// The addresses of the arguments of a kernel's change. Valid until the list changes or this function is called again.
  void** arguments_of(const NodeChange& change) const;
  /// The memory that a change accesses.
  std::span<const MemoryAccess> accesses_of(const NodeChange& change) const noexcept {
    return std::span(accesses_).subspan(change.first_access, change.access_count);
  }

 private:
  NodeChange& add(NodeChange::Kind kind, GraphNode node) {
    NodeChange& change = changes_.emplace_back();
    change.kind = kind;
    change.node = node;
    return change;
  }
  /// The unit of storage for arguments. An argument occupies one or more whole slots, so it is always aligned.
  struct alignas(std::max_align_t) Slot {
    std::byte bytes[alignof(std::max_align_t)];
  };
  static constexpr std::size_t slots_of(std::size_t bytes) noexcept { return (bytes + sizeof(Slot) - 1) / sizeof(Slot); }
  template <class... Values>
  static auto packed(const Values&... values) noexcept {
    std::array<Slot, (slots_of(sizeof(Values)) + ... + 0)> slots;
    [[maybe_unused]] Slot* at = slots.data();
    ((__builtin_memcpy(static_cast<void*>(at), &values, sizeof(Values)), at += slots_of(sizeof(Values))), ...);
    return slots;
  }
  void add_kernel(GraphNode node, KernelRef kernel, const LaunchConfig& config, std::span<const Slot> arguments,
                  std::span<const Parameter> parameters, std::span<const MemoryAccess> accesses);
  void add_copy(GraphNode node, void* destination, const void* source, std::size_t bytes);
  void add_fill(GraphNode node, void* destination, std::uint32_t value, std::size_t element_size, std::size_t count);

  std::vector<NodeChange> changes_;
  std::vector<Slot> arguments_;
  mutable std::vector<void*> addresses_;
  std::vector<MemoryAccess> accesses_;
};

}  // namespace weir
