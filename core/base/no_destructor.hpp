// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <new>
#include <utility>

/// `NoDestructor`: a static object that is never destroyed.
namespace weir::detail {

/// A static object that is never destroyed: threads and destructors of other static objects may use it after main. Declare
/// it in a function: `static NoDestructor<T> object;`. The object is in static storage, so no memory is allocated for it.
template <class T>
class NoDestructor {
 public:
  template <class... Args>
  explicit NoDestructor(Args&&... args) {
    ::new (storage_) T(std::forward<Args>(args)...);
  }
  T& operator*() noexcept { return *std::launder(reinterpret_cast<T*>(storage_)); }

 private:
  alignas(T) unsigned char storage_[sizeof(T)];
};

}  // namespace weir::detail
