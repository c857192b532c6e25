// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weir/export.hpp"
#include "weir/fwd.hpp"
#include "weir/stream.hpp"

/// The current stream of a thread and device, for code that passes its stream on implicitly. Nothing in Weir depends on it.
namespace weir {

/// Makes a stream the calling thread's current one on its device until the end of the scope. Keeps the stream alive. Scopes
/// may end in any order; the newest one counts. A scope may be a static or a thread-local object. It must end on the thread
/// that began it. If it ends on another thread, an error is logged, the stream is no longer current, and it is released when
/// the first thread begins its next scope or ends.
class WEIR_API StreamScope {
 public:
  /// Throws `invalid_argument` for null, `stream_closed` for a closed stream; the current stream is then unchanged.
  [[nodiscard]] explicit StreamScope(StreamPtr stream);
  /// Also throws `wrong_device` unless the stream belongs to `device`.
  [[nodiscard]] StreamScope(const Device& device, StreamPtr stream);
  ~StreamScope();
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

 private:
  struct Entry;
  struct ThreadEnd;
  static constinit thread_local Entry* innermost;
  static void forget_ended() noexcept;
  friend WEIR_API StreamPtr current_stream(Device& device);
  Entry* entry_;
};

/// The calling thread's current stream on `device`: the innermost scope's, or the device's default stream.
WEIR_API StreamPtr current_stream(Device& device);

}  // namespace weir
