// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weir/export.hpp"
#include "weir/fwd.hpp"
#include "weir/stream.hpp"

/// The current stream: a stack for each thread and device, for code that hands its stream down implicitly. Nothing in Weir
/// depends on it.
namespace weir {

/// Makes a stream the calling thread's current one on its device until the end of the scope. Keeps the stream alive.
/// Scopes may end in any order; of those that are left, the one that was begun last counts. A scope may be a static or a
/// thread-local object. It ends on the thread that began it: one that ends on another thread is logged as an error; its
/// stream is current no longer, and is let go of when its thread begins the next scope.
class WEIR_API StreamScope {
 public:
  /// Throws `invalid_argument` for null, `stream_closed` for a closed stream; the current stream is then unchanged.
  explicit StreamScope(StreamPtr stream);
  /// Likewise, and `wrong_device` unless the stream is `device`'s.
  StreamScope(const Device& device, StreamPtr stream);
  ~StreamScope();
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

 private:
  struct Entry;
  static constinit thread_local Entry* innermost;
  static void forget_ended() noexcept;
  friend WEIR_API StreamPtr current_stream(Device& device);
  Entry* entry_;
};

/// The calling thread's current stream on `device`: the innermost scope's, or the device's default stream.
WEIR_API StreamPtr current_stream(Device& device);

}  // namespace weir
