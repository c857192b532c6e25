// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <new>
#include <type_traits>
#include <utility>

/// `UniqueFunction`: like std::function, but move-only, so that a callable can own move-only objects such as buffers. Small
/// callables are stored in place, without an allocation.
namespace weir {

namespace detail {

/// Whether a callable is empty: a null pointer, an empty `std::function`, or an object of another type that can be made from
/// nullptr and converts to false.
template <class F>
constexpr bool is_empty(const F& function) {
  using D = std::decay_t<const F&>;  // decays references to functions, which are never null, to pointers
  if constexpr (std::is_pointer_v<D> || std::is_member_pointer_v<D>) {
    const D pointer = function;
    return pointer == nullptr;
  } else if constexpr (std::is_constructible_v<D, std::nullptr_t> && std::is_constructible_v<bool, const D&>) {
    return !static_cast<bool>(function);
  } else {
    return false;
  }
}

}  // namespace detail

/// `InlineSize`: the maximum size in bytes of a callable that is stored in place.
template <class Signature, std::size_t InlineSize = 48>
class UniqueFunction;

/// A move-only callable that takes `Args` and returns `R`.
template <class R, class... Args, std::size_t InlineSize>
class UniqueFunction<R(Args...), InlineSize> {
 public:
  /// The maximum size in bytes of a callable that is stored in place.
  static constexpr std::size_t inline_size = InlineSize;

  UniqueFunction() noexcept = default;
  UniqueFunction(std::nullptr_t) noexcept {}
  /// Makes an object that calls `function`; an empty object if `function` is empty (see `detail::is_empty`).
  template <class F, class D = std::decay_t<F>,
            class = std::enable_if_t<!std::is_same_v<D, UniqueFunction> && std::is_invocable_r_v<R, D&, Args...>>>
  UniqueFunction(F&& function) {
    if (detail::is_empty(function)) return;
    if constexpr (fits<D>) {
      ::new (storage_) D(std::forward<F>(function));
      table_ = &in_place<D>;
    } else {
      *reinterpret_cast<D**>(storage_) = new D(std::forward<F>(function));
      table_ = &on_heap<D>;
    }
  }
  UniqueFunction(UniqueFunction&& other) noexcept { take(other); }
  UniqueFunction& operator=(UniqueFunction&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  ~UniqueFunction() { reset(); }

  explicit operator bool() const noexcept { return table_ != nullptr; }
  /// Calls the function, which must not be empty.
  R operator()(Args... args) { return table_->call(storage_, std::forward<Args>(args)...); }
  /// Destroys the callable. This object is empty afterwards.
  void reset() noexcept {
    if (table_) std::exchange(table_, nullptr)->destroy(storage_);
  }

 private:
  struct Table {
    R (*call)(void*, Args&&...);
    void (*move)(void* to, void* from) noexcept;
    void (*destroy)(void*) noexcept;
  };
  template <class D>
  static constexpr bool fits = sizeof(D) <= inline_size && alignof(D) <= alignof(std::max_align_t) &&
                               std::is_nothrow_move_constructible_v<D>;
  // Calls `function`, and discards its result if R is void.
  template <class D>
  static R invoke(D& function, Args&&... args) {
    if constexpr (std::is_void_v<R>) {
      static_cast<void>(std::invoke(function, std::forward<Args>(args)...));
    } else {
      return std::invoke(function, std::forward<Args>(args)...);
    }
  }
  template <class D>
  static constexpr Table in_place = {
      [](void* s, Args&&... args) -> R { return invoke(*static_cast<D*>(s), std::forward<Args>(args)...); },
      [](void* to, void* from) noexcept {
        ::new (to) D(std::move(*static_cast<D*>(from)));
        static_cast<D*>(from)->~D();
      },
      [](void* s) noexcept { static_cast<D*>(s)->~D(); }};
  template <class D>
  static constexpr Table on_heap = {
      [](void* s, Args&&... args) -> R { return invoke(**static_cast<D**>(s), std::forward<Args>(args)...); },
      [](void* to, void* from) noexcept { *static_cast<D**>(to) = *static_cast<D**>(from); },
      [](void* s) noexcept { delete *static_cast<D**>(s); }};

  void take(UniqueFunction& other) noexcept {
    if (other.table_) {
      other.table_->move(storage_, other.storage_);
      table_ = std::exchange(other.table_, nullptr);
    }
  }

  // Before `storage_`, so that a small callable is in the same cache line as this pointer.
  const Table* table_ = nullptr;
  alignas(std::max_align_t) std::byte storage_[inline_size];
};

/// The argument of `Stream::launch_host_function`. Callables of up to 128 bytes are enqueued without an allocation; small
/// ones use only one cache line.
using HostFunction = UniqueFunction<void(), 128>;

}  // namespace weir
