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

namespace weir {

/// An entry of the thread's list of scopes on all devices. On the heap, so that the list stays intact if a scope ends on
/// another thread.
struct StreamScope::Entry {
  enum class State : std::uint8_t {
    listed,
    ended_elsewhere,  ///< its scope has ended: its thread deletes it
    left_behind,      ///< its thread has ended, or is ending: its scope deletes it
  };

  StreamPtr stream;
  std::uint64_t thread;
  Entry* outer;
  std::atomic<State> state{State::listed};

  /// Deletes the entry if the other side, scope or thread, has already released it.
  void let_go(State own) noexcept {
    if (state.exchange(own, std::memory_order_acq_rel) != State::listed) delete this;
  }
};

/// Its destructor runs when the thread ends.
struct StreamScope::ThreadEnd {
  ~ThreadEnd() {
    // Static objects may be scopes, and the main thread destroys them after this.
    if (::syscall(SYS_gettid) == ::getpid()) return;
    for (Entry* entry = std::exchange(innermost, nullptr); entry != nullptr;)
      std::exchange(entry, entry->outer)->let_go(Entry::State::left_behind);
  }
};

// A plain pointer without a destructor, so that static or thread-local scopes can still use it.
constinit thread_local StreamScope::Entry* StreamScope::innermost = nullptr;

namespace {

StreamPtr checked(StreamPtr stream) {
  if (!stream) throw Error(Errc::invalid_argument, "StreamScope", "", "the stream is null");
  if (stream->is_closed()) {
    throw Error(Errc::stream_closed, "StreamScope", stream->describe(), "the stream was closed; create or wrap another");
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
    support::log(support::LogLevel::error, "a StreamScope ended on another thread than the one that it was begun on");
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
  // After the loop, because destroying a stream may run user code, which may begin scopes.
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
