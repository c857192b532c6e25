// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/runtime/call.hpp"
#include "core/runtime/stream_core.hpp"
#include "weir/plugin/support.hpp"

/// `StreamCall`: the checks that all functions of a stream share.
namespace weir::detail {

/// A call of a public function of a stream. The constructor checks that the stream is open and that the calling thread may
/// use it. For an ordinary stream this costs two loads.
class StreamCall : public Call<Stream> {
 public:
  /// Throws the errors that all functions of a stream have in common. Also frees memory whose free was deferred, if no
  /// capture forbids it any longer.
  [[gnu::always_inline]] StreamCall(const Stream& stream, const char* operation) : Call(stream, operation, Unchecked()) {
    constexpr std::uint32_t looked_at = StreamCore::flag_closed | StreamCore::flag_per_thread | StreamCore::flag_legacy |
                                        StreamCore::flag_deferred | StreamCore::flag_held;
    if ((StreamCore::flags(stream) & looked_at) != 0 || calls_forbidden()) [[unlikely]]
      enter_slowly(*this);
  }
  /// For functions that only inspect the stream: checks the stream and the thread, but neither frees memory nor checks
  /// captures.
  struct ReadOnly {};
  StreamCall(const Stream& stream, const char* operation, ReadOnly) : Call(stream, operation, Unchecked()) {
    check_usable();
  }

  /// Returns the stream's capture state. Throws `capture_invalidated` if an error has invalidated the capture.
  [[gnu::always_inline]] CaptureState usable_capture() const {
    const CaptureState capture = StreamCore::known_capture(object_);
    if (capture.status == CaptureStatus::invalidated) [[unlikely]]
      throw_invalidated(*this);
    return capture;
  }
  /// Like the function above, but throws `not_capturing` if the stream is not in a capture.
  CaptureState active_capture() const;
  /// Throws an error of captures with the text in `support::capture_refusal`.
  [[noreturn]] void throw_capture_error(Errc code) const { throw_error(code, support::capture_refusal(code)); }
  /// For calls that cannot be captured: throws `capture_unsupported` if the stream is capturing.
  void throw_if_capturing() const;
  /// For calls that query the stream or wait for it on the host: throws `capture_unsupported` if the stream is capturing or
  /// an open capture forbids such calls.
  [[gnu::always_inline]] void check_host_wait() const {
    if (usable_capture()) [[unlikely]]
      throw_host_wait(*this);
    check_unsafe();
  }
  /// Throws `capture_unmatched` if the body of a conditional node in the stream's capture is being captured (`CaptureHeld`).
  static void check_not_held(const Stream& stream, const char* operation);
  [[noreturn]] static void throw_held(const Stream& stream, const char* operation);
  /// Throws `unsupported` if `other` is a device of another backend.
  void check_same_backend(const Device& other) const;

 private:
  [[gnu::cold, gnu::noinline]] static void enter_slowly(StreamCall call);
  void check_usable() const;
  [[noreturn, gnu::cold, gnu::noinline]] static void throw_invalidated(StreamCall call);
  [[noreturn, gnu::cold, gnu::noinline]] static void throw_host_wait(StreamCall call);
};

}  // namespace weir::detail
