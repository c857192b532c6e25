// SPDX-License-Identifier: Apache-2.0
#include "weir/stream_scope.hpp"

#include <atomic>
#include <utility>

#include "core/thread_state.hpp"
#include "weir/backend_support.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"

namespace weir {

/// An entry of the thread's list of scopes, of all devices. On the heap, so that the list stays intact if a scope ends on
/// another thread.
struct StreamScope::Entry {
  StreamPtr stream;
  std::uint64_t thread;
  Entry* outer;
  std::atomic<bool> ended_elsewhere{false};
};

// A plain pointer without a destructor, so that scopes that are static or thread-local objects can still use it.
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
  forget_ended();
  entry_ = new Entry{std::move(stream), detail::this_thread(), innermost};
  innermost = entry_;
}

StreamScope::~StreamScope() {
  if (entry_->thread != detail::this_thread()) {
    support::log(support::LogLevel::error, "a StreamScope ended on another thread than the one that it was begun on");
    entry_->ended_elsewhere.store(true, std::memory_order_release);
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
    if (entry->ended_elsewhere.load(std::memory_order_acquire)) {
      *link = entry->outer;
      entry->outer = std::exchange(ended, entry);
    } else {
      link = &entry->outer;
    }
  }
  // After the loop: the end of a stream may run user code, which may begin scopes.
  while (ended != nullptr) delete std::exchange(ended, ended->outer);
}

StreamPtr current_stream(Device& device) {
  for (const StreamScope::Entry* entry = StreamScope::innermost; entry != nullptr; entry = entry->outer) {
    if (&entry->stream->device() == &device && !entry->ended_elsewhere.load(std::memory_order_acquire)) return entry->stream;
  }
  return device.default_stream();
}

}  // namespace weir
