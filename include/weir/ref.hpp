// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>

#include "weir/export.hpp"
#include "weir/fwd.hpp"
#include "weir/ptr.hpp"

/// Non-owning references to Weir's objects, for function parameters.
namespace weir {

/// A non-owning reference to an object, made from a `T&` or a `Ptr<T>`. As cheap as a pointer; compares by address. Valid
/// while the object lives. `EventRef e = device.create_event();` dangles at once, because the returned owner is a temporary;
/// Clang warns about it. Functions with a parameter of this type throw `invalid_argument` for null, unless documented
/// otherwise.
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

/// A non-owning reference to an event.
using EventRef = Ref<const Event>;
/// A non-owning reference to a graph.
using GraphRef = Ref<const Graph>;
/// A non-owning reference to a kernel.
using KernelRef = Ref<const Kernel>;
/// A non-owning reference to an allocation.
using AllocationRef = Ref<const Allocation>;
/// A non-owning reference to a pool; null means the device's default pool.
using MemoryPoolRef = Ref<MemoryPool>;

}  // namespace weir
