// SPDX-License-Identifier: Apache-2.0
#include "weir/stream_scope.hpp"

#include <atomic>
#include <cstdint>
#include <utility>

#include "core/runtime/thread_state.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"
#include "weir/plugin/support.hpp"

// The functions of `StreamScope`, and `current_stream`.
namespace weir {

/// An entry of a thread's list of scopes. Allocated on the heap, so that the list remains valid if another thread destroys
/// the scope.
struct StreamScope::Entry {
  StreamPtr stream;
  std::uint64_t thread;
  Entry* outer;
  std::atomic<bool> has_ended{false};  // on another thread
  Entry* next_stray = nullptr;

  /// The entries that have ended on another thread, which are never freed: their own thread may be reading them.
  static inline std::atomic<Entry*> strays{nullptr};
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
  entry_ = new Entry{std::move(stream), detail::this_thread(), innermost};
  innermost = entry_;
}

StreamScope::~StreamScope() {
  if (entry_->thread != detail::this_thread()) {
    support::log(support::LogLevel::error,
                 "a StreamScope was destroyed on another thread than the one that created it; its stream is never released");
    entry_->has_ended = true;
    entry_->next_stray = Entry::strays;
    while (!Entry::strays.compare_exchange_weak(entry_->next_stray, entry_)) {
    }
    return;
  }
  Entry** link = &innermost;
  while (*link != entry_) link = &(*link)->outer;
  *link = entry_->outer;
  delete entry_;
}

StreamPtr current_stream(Device& device) {
  for (const StreamScope::Entry* entry = StreamScope::innermost; entry != nullptr; entry = entry->outer) {
    if (!entry->has_ended && &entry->stream->device() == &device) return entry->stream;
  }
  return device.default_stream();
}

}  // namespace weir
