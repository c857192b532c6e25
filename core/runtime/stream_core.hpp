// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "core/runtime/captures.hpp"
#include "core/runtime/impl.hpp"
#include "core/runtime/thread_state.hpp"
#include "weir/capture.hpp"
#include "weir/graph.hpp"
#include "weir/memory.hpp"
#include "weir/stream.hpp"

namespace weir {
struct StreamKey;
}

/// `StreamCore`: the core's access to a stream's private state.
namespace weir::detail {

/// The core's access to private members of streams: flags, the stream's capture, closing, and frees of stream-ordered
/// memory. A friend of `Stream` and `StreamImpl`.
struct StreamCore {
  static constexpr std::uint32_t flag_closed = 1, flag_per_thread = 2, flag_legacy = 4;
  // Other code may use the handle and capture the stream, so calls query the driver for captures.
  static constexpr std::uint32_t flag_external = 8;
  static constexpr std::uint32_t flag_capturing = 16;  // the stream is in a capture that was begun through Weir; `capture_`
                                                       // is its id
  static constexpr std::uint32_t flag_body = 32;       // the capture records the body of a conditional node
  static constexpr std::uint32_t flag_deferred = 64;   // the list `deferred_` is not empty
  static constexpr std::uint32_t flag_named = 256;     // the stream has a name (core/runtime/names.hpp)
  // The body of a conditional node in the stream's capture is being captured (see `CaptureHeld`).
  static constexpr std::uint32_t flag_held = 512;
  // Tools are loaded, or the stream is in a portable capture, so operations are reported (core/runtime/tools.hpp).
  static constexpr std::uint32_t flag_watched = Stream::flag_watched;

  static std::uint32_t flags(const Stream& stream) noexcept { return stream.flags_.load(std::memory_order_acquire); }
  /// Whether a call on the stream needs neither the slow checks of `StreamCall` nor a query of the driver for captures.
  static bool is_plain(const Stream& stream) noexcept {
    constexpr std::uint32_t special =
        flag_closed | flag_per_thread | flag_legacy | flag_external | flag_deferred | flag_held | flag_watched;
    return (flags(stream) & special) == 0 && !calls_forbidden();
  }
  /// Records that other code may use the handle.
  static void set_shared(Stream& stream) noexcept { stream.flags_.fetch_or(flag_external, std::memory_order_relaxed); }
  static std::strong_ordering compare(const Stream& a, const Stream& b) noexcept;
  static bool destroys_handle(const Stream& stream) noexcept {
    return stream.kind_ == StreamKind::owned || stream.kind_ == StreamKind::adopted;
  }

  /// The native stream.
  static void* handle(const Stream& stream) noexcept { return stream.handle_; }
  /// The key that identifies the native stream. Several `Stream` objects may have the same one.
  static StreamKey key(const Stream& stream) noexcept { return {stream.device_, stream.handle_, impl(stream).thread_}; }

  /// Whether the stream belongs to a partition. They are the only owned streams that keep an object alive: their partition.
  static bool is_of_partition(const Stream& stream) noexcept {
    return stream.kind_ == StreamKind::owned && impl(stream).keep_alive_ != nullptr;
  }

  // --- The capture that a stream is in ----------------------------------------------------------------------------

  /// Mark the stream as in a capture, or no longer in it. The caller must hold the mutex of `Captures`.
  static void enter_capture(Stream& stream, std::uint64_t id, bool body, bool written_down) noexcept;
  static void leave_capture(Stream& stream, std::uint64_t id) noexcept;
  static void hold(Stream& stream, bool held) noexcept {
    if (held) {
      stream.flags_.fetch_or(flag_held, std::memory_order_release);
    } else {
      stream.flags_.fetch_and(~flag_held, std::memory_order_release);
    }
  }
  /// The stream's capture state. Costs one load if the stream is not capturing and no other code can use its handle.
  [[gnu::always_inline]] static CaptureState known_capture(const Stream& stream) {
    const std::uint32_t bits = flags(stream);
    return (bits & flag_external) == 0 ? stored_capture(stream, bits) : asked_capture(stream, bits);
  }
  /// The stream's capture state as stored by Weir, without a query of the driver. `flags`: the result of `flags(stream)`.
  [[gnu::always_inline]] static CaptureState stored_capture(const Stream& stream, std::uint32_t flags) noexcept {
    if ((flags & flag_capturing) == 0) [[likely]] return {};
    const std::uint64_t id = impl(stream).capture_.load(std::memory_order_acquire);
    if (id == 0) return {};  // the capture has just ended on another thread
    return {id, CaptureStatus::active, (flags & flag_body) != 0};
  }
  /// The stream's capture state as reported by the driver. `flags`: the result of `flags(stream)`.
  static CaptureState asked_capture(const Stream& stream, std::uint32_t flags);
  /// Whether the last call of `keep_module` was for this module and this capture.
  static bool has_just_kept(const Stream& stream, const Module& module, const CaptureState& capture) noexcept {
    return impl(stream).kept_for_.load(std::memory_order_acquire) == capture.id &&
           impl(stream).kept_module_.load(std::memory_order_relaxed) == &module;
  }
  static void keep_module(Stream& stream, const ModulePtr& module, const CaptureState& capture) {
    impl(stream).keep_module(module, capture);
  }
  /// Whether the stream is in the capture with this id, or in an invalidated one. Queries the driver only if other code may
  /// use the stream.
  static bool is_in(const Stream& stream, std::uint64_t capture);
  static void begin(Stream& stream, CaptureMode mode, const GraphPtr& resumed, std::shared_ptr<CapturedWork>&& work,
                    const std::function<std::uint64_t()>& native_begin);
  /// Ends the capture `id`, which the stream began, and drops its graph. Returns false if another call is ending it or has
  /// ended it.
  static bool drop_capture(Stream& stream, std::uint64_t id) noexcept;
  /// Like `drop_capture`, for the capture that this `Stream` object began last.
  static bool drop_own_capture(Stream& stream) noexcept {
    return drop_capture(stream, impl(stream).began_.load(std::memory_order_relaxed));
  }
  /// Ends the capture in the driver and drops the graph. Logs an error instead of throwing.
  static void end_capture_for_nothing(Stream& stream, CaptureResources&& kept) noexcept;
  static CaptureInfo capture_info(const Stream& stream, bool with_graph);

  // --- Operations ---------------------------------------------------------------------------------------------------

  static bool is_watched(const Stream& stream) noexcept { return (flags(stream) & flag_watched) != 0; }

  // --- Closing ----------------------------------------------------------------------------------------------------

  static std::string describe_handle(const Stream& stream) { return impl(stream).describe_handle(); }
  static void forget_name(Stream& stream) noexcept;
  static void begin_closing(Stream& stream) noexcept;
  /// Defers the destruction of the native stream until the last memory that must be freed in its order is released.
  static void postpone_closing(Stream& stream) noexcept { impl(stream).closing_postponed_ = true; }
  static void finish_closing(Stream& stream, bool destroy);

  // --- Frees of stream-ordered memory (allocation.cpp) -------------------------------------------------------------

  static bool deallocate_async(Stream& stream, const Allocation& allocation) noexcept;
  static bool free_now(Stream& stream, const Allocation& allocation, const CaptureState& capture);
  static bool try_to_free(Stream& stream, const Allocation& allocation) noexcept;
  static bool defer(Stream& stream, Allocation& allocation) noexcept;
  static void free_deferred(Stream& stream, bool last_chance) noexcept;
  static void release_as_dependent(Stream& stream) noexcept { stream.release_as_dependent(); }
};

/// The same as `StreamCore::key(stream)`.
StreamKey key_of(const Stream& stream) noexcept;

}  // namespace weir::detail
