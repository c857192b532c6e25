// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

/// What keeps questions after captures apart from their begins and ends, where a driver does not.
namespace weir::gpu {

/// For drivers that crash where one thread asks after a stream, or after a fork of it, while another begins or ends its
/// capture. Exclusive for begins and ends, which are rare; shared for questions, of which threads may ask any number:
/// std::shared_mutex could keep a begin waiting for ever behind them. Not recursive: nothing but the driver is called while
/// it is held, and no error is made, since telling which stream it is about asks whether that captures.
class CaptureLock {
 public:
  CaptureLock() noexcept {
    pthread_rwlockattr_t preferring_writers;
    pthread_rwlockattr_init(&preferring_writers);
    pthread_rwlockattr_setkind_np(&preferring_writers, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&lock_, &preferring_writers);
    pthread_rwlockattr_destroy(&preferring_writers);
  }
  ~CaptureLock() { pthread_rwlock_destroy(&lock_); }
  CaptureLock(const CaptureLock&) = delete;
  CaptureLock& operator=(const CaptureLock&) = delete;

  void lock() noexcept { pthread_rwlock_wrlock(&lock_); }
  void unlock() noexcept { pthread_rwlock_unlock(&lock_); }
  void lock_shared() noexcept { pthread_rwlock_rdlock(&lock_); }
  void unlock_shared() noexcept { pthread_rwlock_unlock(&lock_); }

 private:
  pthread_rwlock_t lock_;
};

/// For drivers that need none. An end may run destructors of the program's there, which no lock of Weir's should be held
/// around.
struct NoCaptureLock {
  void lock() noexcept {}
  void unlock() noexcept {}
  void lock_shared() noexcept {}
  void unlock_shared() noexcept {}
};

}  // namespace weir::gpu
