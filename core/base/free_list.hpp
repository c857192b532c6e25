// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <utility>

#include "core/base/spin_lock.hpp"

/// `FreeList`: unused objects that are kept for reuse.
namespace weir {

/// A stack of unused objects for reuse. Any thread may use it. `T` must have a member `T* next_spent`, which links the
/// objects.
template <class T>
class FreeList {
 public:
  /// Returns an object, or null if the list is empty.
  T* take() noexcept {
    const std::lock_guard lock(lock_);
    T* const object = top_;
    if (object != nullptr) top_ = object->next_spent;
    return object;
  }
  void give_back(T* object) noexcept {
    const std::lock_guard lock(lock_);
    object->next_spent = std::exchange(top_, object);
  }

 private:
  SpinLock lock_;
  T* top_ = nullptr;
};

}  // namespace weir
