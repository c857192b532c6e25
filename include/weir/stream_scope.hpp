// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weir/export.hpp"
#include "weir/fwd.hpp"
#include "weir/stream.hpp"

/// The current stream of a thread and device, for code that does not pass streams as arguments. No function of Weir uses it
/// implicitly.
namespace weir {

/// Makes `stream` the calling thread's current stream on the stream's device until this object is destroyed. Keeps the
/// stream alive. If a thread has several scopes, the newest one counts. Scopes may be destroyed in any order, and may be
/// static or thread-local objects. A scope must be destroyed on the thread that created it. If another thread destroys it,
/// an error is logged, and the stream is never released.
class WEIR_API StreamScope {
 public:
  /// Throws `invalid_argument` for null and `stream_closed` for a closed stream, without changing the current stream.
  [[nodiscard]] explicit StreamScope(StreamPtr stream);
  /// The same, but also throws `wrong_device` if the stream does not belong to `device`.
  [[nodiscard]] StreamScope(const Device& device, StreamPtr stream);
  ~StreamScope();
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

 private:
  struct Entry;
  static constinit thread_local Entry* innermost;
  friend WEIR_API StreamPtr current_stream(Device& device);
  Entry* entry_;
};

/// The calling thread's current stream on `device`: the stream of the newest scope, or without a scope the device's default
/// stream.
WEIR_API StreamPtr current_stream(Device& device);

}  // namespace weir
