// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <typeindex>  // for std::hash; this header compiles ten times as fast as <functional>
#include <utility>

#include "weir/export.hpp"

/// Shared ownership of Weir's objects: an intrusive reference count and its smart pointer.
///
/// std::shared_ptr is not used for two reasons. Events and stream-ordered allocations are reused from pools, and must not
/// need a control block on the heap each time. And the last owner may be released on a thread that must not destroy the
/// object (see `Disposal`).
namespace weir {

/// On which threads an object may be destroyed.
enum class Disposal : std::uint8_t {
  anywhere,  ///< the destructor calls no driver: the object is destroyed at once, on the thread that releases it
  driver,    ///< the destructor calls a driver: if a host function releases the last owner, another thread destroys the
             ///< object
};

/// The base class of all objects that are owned through `Ptr`. Any number of threads may add and remove owners concurrently.
class WEIR_API RefCounted {
 public:
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;

  /// Adds an owner.
  void retain() const noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  /// Adds the first owner of a new or reused object, which no other thread can access yet. Faster than `retain`.
  void retain_first() const noexcept { references_.store(1, std::memory_order_relaxed); }
  /// Removes an owner. If it was the last one, the object is destroyed or reused.
  void release() const noexcept {
    // Only an owner can add another owner. So if there is only one, the count cannot change concurrently, and a plain store
    // suffices.
    if (references_.load(std::memory_order_acquire) == 1) {
      references_.store(0, std::memory_order_relaxed);
      last_release();
    } else if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      last_release();
    }
  }
  /// The number of owners at some moment during the call.
  std::uint32_t use_count() const noexcept {
    return static_cast<std::uint32_t>(references_.load(std::memory_order_acquire));
  }

 protected:
  RefCounted() = default;
  virtual ~RefCounted() = default;

  /// Like `retain` and `release`, for owners that are also counted separately, as dependents.
  void retain_as_dependent() const noexcept { references_.fetch_add(dependent, std::memory_order_relaxed); }
  void release_as_dependent() const noexcept {
    if (references_.fetch_sub(dependent, std::memory_order_acq_rel) == dependent) last_release();
  }
  /// The number of owners that are dependents.
  std::uint32_t dependents() const noexcept {
    return static_cast<std::uint32_t>(references_.load(std::memory_order_acquire) >> 32U);
  }

  /// Called once when the object has lost its last owner. Deletes the object, or returns it to a pool.
  virtual void dispose() noexcept { delete this; }
  /// On which threads `dispose` may be called. Called once, when the object has lost its last owner.
  virtual Disposal disposal() const noexcept { return Disposal::anywhere; }

 private:
  friend class Reclaimer;
  void last_release() const noexcept;

  // The lower 32 bits of `references_` count all owners, the upper 32 bits count dependents, so that one atomic operation
  // changes both counts.
  static constexpr std::uint64_t dependent = (std::uint64_t{1} << 32U) + 1;
  mutable std::atomic<std::uint64_t> references_{0};
  RefCounted* next_reclaimed_ = nullptr;
};

/// A shared owner of a `RefCounted` object. As large as a pointer. Like `std::shared_ptr`, it converts to owners of base
/// classes, and compares and hashes by address.
template <class T>
class [[nodiscard]] Ptr {
 public:
  /// The type of the object.
  using element_type = T;

  Ptr() noexcept = default;
  Ptr(std::nullptr_t) noexcept {}
  /// Becomes an owner of `object`, which may be null.
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

  /// The object, or null.
  T* get() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }
  T* operator->() const noexcept { return object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }

  /// Releases the object. The pointer is null afterwards.
  void reset() noexcept { Ptr().swap(*this); }
  /// Exchanges the objects of two pointers.
  void swap(Ptr& other) noexcept { std::swap(object_, other.object_); }
  /// Returns the object without releasing it: the caller must `release()` it, or `Ptr::attach` it again.
  T* detach() noexcept { return std::exchange(object_, nullptr); }
  /// Becomes the first owner of `object`: see `RefCounted::retain_first`.
  static Ptr first(T* object) noexcept {
    object->retain_first();
    return attach(object);
  }
  /// Returns an owner that takes over the caller's reference: the count does not change.
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

/// Creates a `T` and returns its first owner, like `std::make_shared`.
template <class T, class... Args>
Ptr<T> make_ptr(Args&&... args) {
  return Ptr<T>::first(new T(std::forward<Args>(args)...));
}

}  // namespace weir

template <class T>
struct std::hash<weir::Ptr<T>> {
  std::size_t operator()(const weir::Ptr<T>& p) const noexcept { return std::hash<T*>{}(p.get()); }
};
