// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <mutex>

#include "weir/ptr.hpp"

namespace weir {

/// Objects whose last owner went in a host function, where no driver may be called. A thread, which is started when it is
/// first needed, destroys them in order.
class DisposalQueue {
 public:
  static DisposalQueue& instance() noexcept;

  void add(RefCounted* object) noexcept;

 private:
  void run() noexcept;

  std::mutex mutex_;
  std::condition_variable wake_;
  RefCounted* first_ = nullptr;
  RefCounted** end_ = &first_;
  bool running_ = false;
};

}  // namespace weir
