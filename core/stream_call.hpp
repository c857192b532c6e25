// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/call.hpp"
#include "core/stream_core.hpp"

namespace weir::detail {

/// A call of one of a stream's functions: the stream is open, and the calling thread may use it. Costs two loads for a
/// stream that is nothing special.
class StreamCall : public Call<Stream> {
 public:
  /// Throws the errors that are common to all functions of a stream, and makes deferred frees that are possible by now.
  StreamCall(const Stream& stream, const char* operation) : Call(stream, operation, Unchecked()) {
    constexpr std::uint32_t looked_at =
        StreamCore::flag_closed | StreamCore::flag_per_thread | StreamCore::flag_legacy | StreamCore::flag_deferred;
    if ((StreamCore::flags(stream) & looked_at) != 0 || barred()) [[unlikely]]
      enter_slowly();
  }
  /// Likewise for functions that look at the stream only, which are legal in every state of the device.
  struct Looking {};
  StreamCall(const Stream& stream, const char* operation, Looking) : Call(stream, operation, Unchecked()) { check_usable(); }

  /// The capture that the stream is in. Throws `capture_invalidated`.
  CaptureState usable_capture() const {
    const CaptureState capture = StreamCore::known_capture(object_);
    if (capture.status == CaptureStatus::invalidated) [[unlikely]]
      refuse_invalidated();
    return capture;
  }
  /// Throws `not_capturing` as well.
  CaptureState active_capture() const;
  /// For calls that cannot be captured.
  void refuse_in_capture() const;
  /// For calls that wait for the stream on the host, or ask whether it is done.
  void check_host_wait() const;
  /// Throws `unsupported` for an object of another backend.
  void check_same_backend(const Device& other) const;

 private:
  void enter_slowly() const;
  void check_usable() const;
  [[noreturn, gnu::cold, gnu::noinline]] void refuse_invalidated() const;
};

}  // namespace weir::detail
