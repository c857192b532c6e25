// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weir/export.hpp"
#include "weir/fwd.hpp"
#include "weir/stream.hpp"

/// The current stream of a thread and device, for code that does not pass streams as arguments. No function of Weir uses it
/// implicitly.
namespace weir {

/// Makes `stream` the calling thread's current stream on the stream's device until this object is destroyed. Keeps the
/// stream alive. Of several scopes, the newest one counts; they may end in any order. A scope may be a static or a
/// thread-local object. It must be destroyed on the thread that created it. If another thread destroys it, an error is
/// logged, the stream is no longer current, and the stream is released when the first thread creates its next scope or ends.
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

/// The calling thread's current stream on `device`: the stream of the newest scope, or without a scope the device's default
/// stream.
WEIR_API StreamPtr current_stream(Device& device);

}  // namespace weir
