// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>

#include "weir/export.hpp"
#include "weir/fwd.hpp"
#include "weir/ptr.hpp"

/// Non-owning references to Weir's objects, as functions take them.
namespace weir {

/// An object that somebody else owns: made of a `T&` or of a `Ptr<T>`, and as cheap as a pointer. Valid while the object
/// lives: after `EventRef e = device.create_event();` it has gone already, as with std::string_view, and Clang warns.
/// Compares by address. A function that takes one throws `invalid_argument` if it is null, unless it says otherwise.
template <class T>
class Ref {
 public:
  constexpr Ref(std::nullptr_t) noexcept {}
  constexpr Ref(T& object) noexcept : object_(&object) {}
  template <class U>
  requires std::convertible_to<U*, T*> Ref(const Ptr<U>& owner WEIR_LIFETIME_BOUND)
  noexcept : object_(owner.get()) {}
  template <class U>
  requires std::convertible_to<U*, T*>
  constexpr Ref(const Ref<U>& other) noexcept : object_(other.get()) {}

  /// The object, or null.
  constexpr T* get() const noexcept { return object_; }
  constexpr T& operator*() const noexcept { return *object_; }
  constexpr T* operator->() const noexcept { return object_; }
  constexpr explicit operator bool() const noexcept { return object_ != nullptr; }
  friend constexpr bool operator==(Ref a, Ref b) noexcept { return a.object_ == b.object_; }

 private:
  T* object_ = nullptr;
};

/// An event of somebody else's.
using EventRef = Ref<const Event>;
/// A graph of somebody else's.
using GraphRef = Ref<const Graph>;
/// A kernel of somebody else's.
using KernelRef = Ref<const Kernel>;
/// Memory of somebody else's.
using AllocationRef = Ref<const Allocation>;
/// A pool of somebody else's; null stands for the device's default pool.
using MemoryPoolRef = Ref<MemoryPool>;

}  // namespace weir
