// SPDX-License-Identifier: Apache-2.0
#include "backends/host/engine/asymmetric_lock.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weir::host {
namespace {

/// Executes a full memory barrier on each processor that runs a thread of this process (membarrier(2)).
bool order_all_threads() noexcept {
  static const bool registered = ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
  return registered && ::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

}  // namespace

bool AsymmetricLock::close() noexcept {
  closing_.lock();
  closed_.store(true, std::memory_order_seq_cst);
  if (!order_all_threads()) {
    open();
    return false;
  }
  // If the owner enters from here on, it sees that the lock is closed. If it entered before, `inside_` shows that here.
  while (inside_.load(std::memory_order_acquire)) std::this_thread::yield();
  return true;
}

void AsymmetricLock::open() noexcept {
  closed_.store(false, std::memory_order_release);
  closing_.unlock();
}

}  // namespace weir::host
