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

namespace weir::detail {

/// The core's access to a stream: its capture, its closing, and deferred frees.
struct StreamCore {
  static constexpr std::uint32_t flag_closed = 1, flag_per_thread = 2, flag_legacy = 4;
  // External code may use the handle and capture the stream, so the driver is queried for captures.
  static constexpr std::uint32_t flag_external = 8;
  static constexpr std::uint32_t flag_capturing = 16;  // in a capture begun through Weir, whose id is `capture_`
  static constexpr std::uint32_t flag_body = 32;       // that capture belongs to the body of a conditional node
  static constexpr std::uint32_t flag_deferred = 64;   // `deferred_` is not empty
  static constexpr std::uint32_t flag_named = 256;     // it has a name: core/runtime/names.hpp
  // The body of a conditional node in its capture is being captured: see `CaptureHeld`.
  static constexpr std::uint32_t flag_held = 512;
  // Tools see the stream's operations, or its capture records them: core/runtime/tools.hpp.
  static constexpr std::uint32_t flag_watched = Stream::flag_watched;

  static std::uint32_t flags(const Stream& stream) noexcept { return stream.flags_.load(std::memory_order_acquire); }
  /// Whether the flags alone decide about calls on the stream: StreamCall's slow checks and a query for captures are
  /// unnecessary.
  static bool is_plain(const Stream& stream) noexcept {
    constexpr std::uint32_t special =
        flag_closed | flag_per_thread | flag_legacy | flag_external | flag_deferred | flag_held | flag_watched;
    return (flags(stream) & special) == 0 && !calls_forbidden();
  }
  /// Records that external code may use the handle.
  static void set_shared(Stream& stream) noexcept { stream.flags_.fetch_or(flag_external, std::memory_order_relaxed); }
  static std::strong_ordering compare(const Stream& a, const Stream& b) noexcept;
  static bool destroys_handle(const Stream& stream) noexcept {
    return stream.kind_ == StreamKind::owned || stream.kind_ == StreamKind::adopted;
  }

  /// The driver's handle of the stream.
  static void* handle(const Stream& stream) noexcept { return stream.handle_; }
  /// Identifies the native stream: several objects may share one.
  static StreamKey key(const Stream& stream) noexcept { return {stream.device_, stream.handle_, impl(stream).thread_}; }

  /// Such a stream keeps its partition alive; other owned streams keep nothing alive.
  static bool is_of_partition(const Stream& stream) noexcept {
    return stream.kind_ == StreamKind::owned && impl(stream).keep_alive_ != nullptr;
  }

  // --- The capture that a stream is in ----------------------------------------------------------------------------

  /// Call these under the lock of `Captures`.
  static void enter_capture(Stream& stream, std::uint64_t id, bool body, bool written_down) noexcept;
  static void leave_capture(Stream& stream, std::uint64_t id) noexcept;
  static void hold(Stream& stream, bool held) noexcept {
    if (held) {
      stream.flags_.fetch_or(flag_held, std::memory_order_release);
    } else {
      stream.flags_.fetch_and(~flag_held, std::memory_order_release);
    }
  }
  /// The stream's capture. Costs one load for a stream that does not capture and whose handle external code cannot use.
  [[gnu::always_inline]] static CaptureState known_capture(const Stream& stream) {
    const std::uint32_t bits = flags(stream);
    return (bits & flag_external) == 0 ? stored_capture(stream, bits) : asked_capture(stream, bits);
  }
  /// The stream's capture as recorded by Weir. `flags`: the stream's.
  [[gnu::always_inline]] static CaptureState stored_capture(const Stream& stream, std::uint32_t flags) noexcept {
    if ((flags & flag_capturing) == 0) [[likely]] return {};
    const std::uint64_t id = impl(stream).capture_.load(std::memory_order_acquire);
    if (id == 0) return {};  // the stream has just left it
    return {id, CaptureStatus::active, (flags & flag_body) != 0};
  }
  /// Queries the driver. `flags`: the stream's.
  static CaptureState asked_capture(const Stream& stream, std::uint32_t flags);
  /// Whether the stream kept `module` last, for this capture.
  static bool has_just_kept(const Stream& stream, const Module& module, const CaptureState& capture) noexcept {
    return impl(stream).kept_for_.load(std::memory_order_acquire) == capture.id &&
           impl(stream).kept_module_.load(std::memory_order_relaxed) == &module;
  }
  static void keep_module(Stream& stream, const ModulePtr& module, const CaptureState& capture) {
    impl(stream).keep_module(module, capture);
  }
  /// Whether the stream is in that capture. Queries the driver only if external code may have ended it.
  static bool is_in(const Stream& stream, std::uint64_t capture);
  static void begin(Stream& stream, CaptureMode mode, const GraphPtr& resumed, std::shared_ptr<CapturedWork>&& work,
                    const std::function<std::uint64_t()>& native_begin);
  /// `begin_capture({.external = true})` in a capture begun by other code.
  static void join(Stream& stream, std::uint64_t capture) noexcept;
  /// Undoes one `join`. Returns false if the stream has not joined its capture.
  static bool leave_joined(Stream& stream);
  static std::uint32_t joins(const Stream& stream) noexcept {
    return impl(stream).joined_depth_.load(std::memory_order_relaxed);
  }
  /// Undoes all but the first `kept` calls of `join`.
  static void leave_joined(Stream& stream, std::uint32_t kept) noexcept {
    if (joins(stream) > kept) impl(stream).joined_depth_.store(kept, std::memory_order_relaxed);
  }
  /// Ends an open capture that the stream began, and drops its graph. Returns false if another call is already ending it.
  static bool drop_capture(Stream& stream, std::uint64_t id) noexcept;
  /// Drops the capture that this object began last.
  static bool drop_own_capture(Stream& stream) noexcept {
    return drop_capture(stream, impl(stream).began_.load(std::memory_order_relaxed));
  }
  /// Ends the driver's capture and drops the graph. Logs a failure.
  static void end_capture_for_nothing(Stream& stream, CaptureResources&& kept) noexcept;
  static CaptureInfo capture_info(const Stream& stream, bool with_graph);

  // --- Operations ---------------------------------------------------------------------------------------------------

  static bool is_watched(const Stream& stream) noexcept { return (flags(stream) & flag_watched) != 0; }

  // --- Closing ----------------------------------------------------------------------------------------------------

  static std::string describe_handle(const Stream& stream) { return impl(stream).describe_handle(); }
  static void forget_name(Stream& stream) noexcept;
  static void begin_closing(Stream& stream) noexcept;
  /// The stream closes when the last memory that must be freed on it is released.
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

/// A stream's key: the same for all objects of one native stream.
StreamKey key_of(const Stream& stream) noexcept;

}  // namespace weir::detail
