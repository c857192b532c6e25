// SPDX-License-Identifier: Apache-2.0
#include "weir/stream_scope.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <utility>

#include "core/runtime/thread_state.hpp"
#include "weir/plugin/support.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"

// The functions of `StreamScope`, and `current_stream`.
namespace weir {

/// An entry of a thread's list of scopes. Allocated on the heap, so that the list remains valid if another thread destroys
/// the scope.
struct StreamScope::Entry {
  enum class State : std::uint8_t {
    listed,
    ended_elsewhere,  ///< another thread has destroyed the scope; the entry's thread deletes the entry
    left_behind,      ///< the entry's thread has ended; the destructor of the scope deletes the entry
  };

  StreamPtr stream;
  std::uint64_t thread;
  Entry* outer;
  std::atomic<State> state{State::listed};

  /// Called once by the scope and once by the thread; the second call deletes the entry. `own`: the state if this is the
  /// first call.
  void let_go(State own) noexcept {
    if (state.exchange(own, std::memory_order_acq_rel) != State::listed) delete this;
  }
};

/// A thread-local object whose destructor releases the thread's entries when the thread ends.
struct StreamScope::ThreadEnd {
  ~ThreadEnd() {
    // Not on the main thread: scopes may be static objects, which are destroyed after thread-local ones.
    if (::syscall(SYS_gettid) == ::getpid()) return;
    for (Entry* entry = std::exchange(innermost, nullptr); entry != nullptr;)
      std::exchange(entry, entry->outer)->let_go(Entry::State::left_behind);
  }
};

// A plain pointer without a destructor, so that static and thread-local scopes can use it while the thread ends.
constinit thread_local StreamScope::Entry* StreamScope::innermost = nullptr;

namespace {

StreamPtr checked(StreamPtr stream) {
  if (!stream) throw Error(Errc::invalid_argument, "StreamScope", "", "the stream is null");
  if (stream->is_closed()) {
    throw Error(Errc::stream_closed, "StreamScope", stream->describe(),
                "the stream was closed; create or wrap another stream");
  }
  return stream;
}

}  // namespace

StreamScope::StreamScope(StreamPtr stream) : StreamScope(checked(stream)->device(), stream) {}

StreamScope::StreamScope(const Device& device, StreamPtr stream) {
  if (&checked(stream)->device() != &device) {
    throw Error(Errc::wrong_device, "StreamScope", stream->describe(),
                "the stream cannot be current on " + device.describe() + "; the current stream is unchanged");
  }
  static thread_local const ThreadEnd thread_end;
  (void)thread_end;
  forget_ended();
  entry_ = new Entry{std::move(stream), detail::this_thread(), innermost};
  innermost = entry_;
}

StreamScope::~StreamScope() {
  const bool elsewhere = entry_->thread != detail::this_thread();
  if (elsewhere)
    support::log(support::LogLevel::error, "a StreamScope was destroyed on another thread than the one that created it");
  if (elsewhere || entry_->state.load(std::memory_order_relaxed) == Entry::State::left_behind) {
    entry_->let_go(Entry::State::ended_elsewhere);
    return;
  }
  Entry** link = &innermost;
  while (*link != entry_) link = &(*link)->outer;
  *link = entry_->outer;
  delete entry_;
}

void StreamScope::forget_ended() noexcept {
  Entry* ended = nullptr;
  for (Entry** link = &innermost; *link != nullptr;) {
    Entry* const entry = *link;
    if (entry->state.load(std::memory_order_acquire) == Entry::State::ended_elsewhere) {
      *link = entry->outer;
      entry->outer = std::exchange(ended, entry);
    } else {
      link = &entry->outer;
    }
  }
  // Delete the entries after the loop: destroying a stream may run code of the program, which may create scopes and so
  // change the list.
  while (ended != nullptr) delete std::exchange(ended, ended->outer);
}

StreamPtr current_stream(Device& device) {
  for (const StreamScope::Entry* entry = StreamScope::innermost; entry != nullptr; entry = entry->outer) {
    if (&entry->stream->device() == &device &&
        entry->state.load(std::memory_order_acquire) != StreamScope::Entry::State::ended_elsewhere)
      return entry->stream;
  }
  return device.default_stream();
}

}  // namespace weir
