// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>

#include "weir/memory.hpp"
#include "weir/stream.hpp"

namespace weir {

/// Stream-ordered memory whose free waits for captures of foreign code's. Nobody tells of their ends, so it is tried again now
/// and then, longest waiting first; what still has to wait comes back. A try may run code of the user's: no lock is held.
class WaitingFrees {
 public:
  /// False where it must not wait, since its stream is closed: see `Stream::may_wait`. The memory may have been freed
  /// by the time this returns.
  static bool add(Allocation* memory, Allocation::Freeing freeing) noexcept { return instance().do_add(memory, freeing); }

  /// Tries in turn, up to the first that goes on waiting, which is then the last in turn.
  static void try_next() noexcept {
    if (count_.load(std::memory_order_acquire) != 0) [[unlikely]] instance().do_try_next();
  }
  /// For a stream that is closed now, or may be soon: tries each once. Then no thread is trying what is to be freed on that
  /// stream, each of it that was here has been tried since the call, and what is added from now on finds the stream closed if
  /// it was.
  static void settle(const Stream& stream) noexcept {
    // Whoever may add memory of the stream is counted there until it has.
    if (count_.load(std::memory_order_acquire) != 0 || stream.has_memory()) [[unlikely]] instance().do_settle(stream);
  }

 private:
  /// What a thread is trying, for as long as it does.
  struct Try {
    Allocation* memory = nullptr;
    const Stream* stream = nullptr;
    bool came_back = false;
    Try* next = nullptr;
  };
  enum class Outcome { gone, waits, there_was_none };

  WaitingFrees() = default;
  static WaitingFrees& instance() noexcept;
  bool do_add(Allocation* memory, Allocation::Freeing freeing) noexcept;
  void do_try_next() noexcept;
  void do_settle(const Stream& stream) noexcept;
  Outcome try_first() noexcept;
  bool is_trying(const Stream& stream) const noexcept;
  void recount() noexcept { count_.store(waiting_ + trying_, std::memory_order_release); }

  // How many wait or are being tried. Written under the mutex, and looked at without it.
  static constinit inline std::atomic<std::size_t> count_{0};

  std::mutex mutex_;
  std::condition_variable tried_;
  Allocation* first_ = nullptr;
  Allocation** end_ = &first_;
  std::size_t waiting_ = 0;
  Try* tries_ = nullptr;
  std::size_t trying_ = 0;
};

}  // namespace weir
