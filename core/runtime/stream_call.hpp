// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/runtime/call.hpp"
#include "core/runtime/stream_core.hpp"
#include "weir/plugin/support.hpp"

namespace weir::detail {

/// A call of a stream's public function. It checks that the stream is open and that the calling thread may use it; for an
/// ordinary stream that costs two loads.
class StreamCall : public Call<Stream> {
 public:
  /// Throws the errors that all functions of a stream have in common. Also makes deferred frees that are possible now.
  [[gnu::always_inline]] StreamCall(const Stream& stream, const char* operation) : Call(stream, operation, Unchecked()) {
    constexpr std::uint32_t looked_at = StreamCore::flag_closed | StreamCore::flag_per_thread | StreamCore::flag_legacy |
                                        StreamCore::flag_deferred | StreamCore::flag_held;
    if ((StreamCore::flags(stream) & looked_at) != 0 || calls_forbidden()) [[unlikely]]
      enter_slowly(*this);
  }
  /// The same for functions that only inspect the stream: they neither make deferred frees nor check captures.
  struct ReadOnly {};
  StreamCall(const Stream& stream, const char* operation, ReadOnly) : Call(stream, operation, Unchecked()) {
    check_usable();
  }

  /// The capture that the stream is in. Throws `capture_invalidated`.
  [[gnu::always_inline]] CaptureState usable_capture() const {
    const CaptureState capture = StreamCore::known_capture(object_);
    if (capture.status == CaptureStatus::invalidated) [[unlikely]]
      throw_invalidated(*this);
    return capture;
  }
  /// Throws `not_capturing` as well.
  CaptureState active_capture() const;
  /// Throws that error with the text that all parts of Weir use for it.
  [[noreturn]] void throw_capture_error(Errc code) const { throw_error(code, support::capture_refusal(code)); }
  /// For calls that cannot be captured.
  void throw_if_capturing() const;
  /// For calls that wait for the stream on the host, or query it.
  [[gnu::always_inline]] void check_host_wait() const {
    if (usable_capture()) [[unlikely]]
      throw_host_wait(*this);
    check_unsafe();
  }
  /// While the body of a conditional node is captured, streams of the node's own capture accept no calls.
  static void check_not_held(const Stream& stream, const char* operation);
  [[noreturn]] static void throw_held(const Stream& stream, const char* operation);
  /// Throws `unsupported` for an object of another backend.
  void check_same_backend(const Device& other) const;

 private:
  [[gnu::cold, gnu::noinline]] static void enter_slowly(StreamCall call);
  void check_usable() const;
  [[noreturn, gnu::cold, gnu::noinline]] static void throw_invalidated(StreamCall call);
  [[noreturn, gnu::cold, gnu::noinline]] static void throw_host_wait(StreamCall call);
};

}  // namespace weir::detail
