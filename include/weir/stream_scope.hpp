// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weir/export.hpp"
#include "weir/fwd.hpp"
#include "weir/stream.hpp"

/// The current stream: a stack for each thread and device, for code that hands its stream down implicitly. Nothing in Weir
/// depends on it.
namespace weir {

/// Makes a stream the calling thread's current one on its device until the end of the scope. Keeps the stream alive.
/// Scopes end in the reverse order of their beginning, on the thread that began them.
class WEIR_API StreamScope {
 public:
  /// Throws `invalid_argument` for null, `stream_closed` for a closed stream; the current stream is then unchanged.
  explicit StreamScope(StreamPtr stream);
  /// Likewise, and `wrong_device` unless the stream is `device`'s.
  StreamScope(const Device& device, StreamPtr stream);
  ~StreamScope();
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;
};

/// The calling thread's current stream on `device`: the innermost scope's, or the device's default stream.
WEIR_API StreamPtr current_stream(Device& device);

}  // namespace weir
