// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <typeindex>  // declares std::hash, for a tenth of what <functional> costs
#include <utility>

#include "weir/export.hpp"

/// Shared ownership of Weir's objects: an intrusive reference count and the pointer that holds it.
///
/// Intrusive, because events and asynchronous allocations come from pools and must be had without allocating, and
/// because what the last owner's departure may do depends on where it happens (see `Disposal`).
namespace weir {

/// What the destruction of an object may touch, and therefore when it has to be put off.
enum class Disposal : std::uint8_t {
  anywhere,  ///< no driver call: destroyed at once, wherever the last owner goes
  driver,    ///< calls the driver: destroyed on another thread when the last owner goes inside a host function
};

/// Base of every object that is owned through `Ptr`. Counting is safe from any number of threads.
class WEIR_API RefCounted {
 public:
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;

  void retain() const noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  /// The same for an object that nobody owns or looks at yet: a new one, or one from a pool.
  void retain_first() const noexcept { references_.store(1, std::memory_order_relaxed); }
  void release() const noexcept {
    // Only an owner can make another one, so that the only owner need not ask the other processors.
    if (references_.load(std::memory_order_acquire) == 1) {
      references_.store(0, std::memory_order_relaxed);
      last_release();
    } else if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      last_release();
    }
  }
  /// The number of owners at some moment during the call: for tests and for asking "is it mine alone?".
  std::uint32_t use_count() const noexcept {
    return static_cast<std::uint32_t>(references_.load(std::memory_order_acquire));
  }

 protected:
  RefCounted() = default;
  virtual ~RefCounted() = default;

  /// The same as `retain` and `release`, for owners that are counted on their own as well.
  void retain_as_dependent() const noexcept { references_.fetch_add(dependent, std::memory_order_relaxed); }
  void release_as_dependent() const noexcept {
    if (references_.fetch_sub(dependent, std::memory_order_acq_rel) == dependent) last_release();
  }
  /// How many of the owners are of that kind.
  std::uint32_t dependents() const noexcept {
    return static_cast<std::uint32_t>(references_.load(std::memory_order_acquire) >> 32U);
  }

  /// Ends the object once it has no owner: `delete this`, or its return to a pool. Never throws.
  virtual void dispose() noexcept { delete this; }
  /// When `dispose` may run. Asked once, when the last owner has gone.
  virtual Disposal disposal() const noexcept { return Disposal::anywhere; }

 private:
  friend class DisposalQueue;
  void last_release() const noexcept;

  // All owners in the lower half, those that are dependents in the upper one: both change in one step.
  static constexpr std::uint64_t dependent = (std::uint64_t{1} << 32U) + 1;
  mutable std::atomic<std::uint64_t> references_{0};
  RefCounted* next_deferred_ = nullptr;
};

/// A shared owner of a `RefCounted` object; as small and as cheap as a pointer plus a count. Converts, compares and hashes as
/// `std::shared_ptr` does: by address. Only `StreamPtr` compares what it points to (fwd.hpp).
template <class T>
class Ptr {
 public:
  using element_type = T;

  Ptr() noexcept = default;
  Ptr(std::nullptr_t) noexcept {}
  /// Becomes one more owner of `object`, which may be null.
  explicit Ptr(T* object) noexcept : object_(object) {
    if (object_) object_->retain();
  }
  Ptr(const Ptr& other) noexcept : Ptr(other.object_) {}
  Ptr(Ptr&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  template <class U, class = std::enable_if_t<std::is_convertible_v<U*, T*>>>
  Ptr(const Ptr<U>& other) noexcept : Ptr(other.get()) {}
  template <class U, class = std::enable_if_t<std::is_convertible_v<U*, T*>>>
  Ptr(Ptr<U>&& other) noexcept : object_(other.detach()) {}
  ~Ptr() {
    if (object_) object_->release();
  }
  Ptr& operator=(Ptr other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }

  T* get() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }
  T* operator->() const noexcept { return object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }

  /// Lets go of the object; the pointer is null afterwards.
  void reset() noexcept { Ptr().swap(*this); }
  void swap(Ptr& other) noexcept { std::swap(object_, other.object_); }
  /// Gives the reference out of the pointer's hands: the caller must `release()` it, or `Ptr::attach` it again.
  T* detach() noexcept { return std::exchange(object_, nullptr); }
  /// Becomes the first owner of `object`: see `RefCounted::retain_first`.
  static Ptr first(T* object) noexcept {
    object->retain_first();
    return attach(object);
  }
  /// Takes over a reference that the caller holds already.
  static Ptr attach(T* object) noexcept {
    Ptr p;
    p.object_ = object;
    return p;
  }

 private:
  T* object_ = nullptr;
};

template <class T, class U>
bool operator==(const Ptr<T>& a, const Ptr<U>& b) noexcept {
  return a.get() == b.get();
}
template <class T, class U>
std::strong_ordering operator<=>(const Ptr<T>& a, const Ptr<U>& b) noexcept {
  return std::compare_three_way{}(a.get(), b.get());
}
template <class T>
bool operator==(const Ptr<T>& a, std::nullptr_t) noexcept {
  return a.get() == nullptr;
}
template <class T>
std::strong_ordering operator<=>(const Ptr<T>& a, std::nullptr_t) noexcept {
  return std::compare_three_way{}(a.get(), static_cast<T*>(nullptr));
}

/// Makes a `T`, whose constructor makes no owner of it, and its first owner.
template <class T, class... Args>
Ptr<T> make(Args&&... args) {
  return Ptr<T>::first(new T(std::forward<Args>(args)...));
}

}  // namespace weir

template <class T>
struct std::hash<weir::Ptr<T>> {
  std::size_t operator()(const weir::Ptr<T>& p) const noexcept { return std::hash<T*>{}(p.get()); }
};
