// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <utility>

#include "core/runtime/impl.hpp"
#include "core/runtime/stream_call.hpp"
#include "core/runtime/tools.hpp"

/// `submit` and `perform`: the path of every operation from a public function to the backend.
///
/// An operation is a struct that contains the arguments of the call. `submit` validates it, determines the stream's capture
/// state, reports the operation to tools, and enqueues it. The struct has these members:
///
///   static constexpr OperationKind kind;
///   static constexpr Capturing capturing;      // what happens on a capturing stream
/// bool validate(const StreamCall&) const; // throws if the arguments are invalid; false: nothing to do
/// void describe(ToolNotice&) const; // describes the operation; called only if there are tools
///   void check_capture(const StreamCall&);     // optional: further checks on a capturing stream
///   R enqueue(StreamImpl&, const CaptureState&);  // calls the backend
///
/// Operations of devices, events and graphs have no such struct: their functions check the arguments themselves, then call
/// `perform` with lambdas.
namespace weir::detail {

/// What happens to an operation on a capturing stream.
enum class Capturing : std::uint8_t {
  by_driver,  ///< it becomes a node; the backend does not need the capture state, so none is determined
  node,       ///< it becomes a node
  only,       ///< it becomes a node; throws `not_capturing` on a stream that is not capturing
  refused,    ///< throws `capture_unsupported`
};

template <Capturing rule>
[[gnu::always_inline]] inline CaptureState capture_for(const StreamCall& call) {
  if constexpr (rule == Capturing::node) return call.usable_capture();
  if constexpr (rule == Capturing::only) return call.active_capture();
  if constexpr (rule == Capturing::refused) call.throw_if_capturing();
  return {};
}

/// `perform` for a stream whose operations are reported to tools. Takes copies, so that the fast path can keep the arguments
/// in registers.
template <class Op>
[[gnu::cold, gnu::noinline]] auto perform_watched(Stream& stream, const char* name, CaptureState capture, Op operation) {
  ToolNotice notice(stream, Op::kind, name,
                  Op::capturing == Capturing::by_driver ? StreamCore::known_capture(stream) : capture);
  operation.describe(notice);
  return notice.run([&] { return operation.enqueue(impl(stream), capture); });
}

/// Reports an operation that was validated to tools, and enqueues it. `name`: the name of the public function.
template <class Op>
[[gnu::always_inline]] inline auto perform(Stream& stream, const char* name, const CaptureState& capture, Op operation) {
  static_assert(Op::capturing != Capturing::node || traits_of(Op::kind).may_be_captured);
  static_assert(Op::capturing != Capturing::refused || !traits_of(Op::kind).may_be_captured);
  if (StreamCore::is_watched(stream)) [[unlikely]]
    return perform_watched(stream, name, capture, operation);
  return operation.enqueue(impl(stream), capture);
}

/// Validates an operation, and performs it unless there is nothing to do.
template <class Op>
[[gnu::always_inline]] inline void submit(Stream& stream, const char* name, Op operation) {
  const StreamCall call(stream, name);
  if (!operation.validate(call)) return;
  const CaptureState capture = capture_for<Op::capturing>(call);
  if constexpr (requires { operation.check_capture(call); }) {
    if (capture) [[unlikely]]
      operation.check_capture(call);
  }
  perform(stream, name, capture, operation);
}

struct Synchronize {
  static constexpr OperationKind kind = OperationKind::synchronize;
  static constexpr Capturing capturing = Capturing::by_driver;
  void describe(ToolNotice&) const {}
  void enqueue(StreamImpl& stream, const CaptureState&) const { stream.do_synchronize(); }
};

/// The part of `Stream::synchronize` that follows its checks.
[[gnu::always_inline]] inline void wait_on_host(Stream& stream) {
  perform(stream, "Stream::synchronize", {}, Synchronize());
  if (std::exception_ptr error = impl(stream).do_take_host_error()) std::rethrow_exception(std::move(error));
}

/// Reports an operation of a device to tools, and performs it. `describe(notice)` sets the members of the notice; `act()`
/// performs the operation.
template <class Describe, class Act>
[[gnu::always_inline]] inline decltype(auto) perform(const Device& device, OperationKind kind, const char* name,
                                                     const Describe& describe, const Act& act) {
  if (!is_watched()) [[likely]]
    return act();
  return out_of_line([&]() -> decltype(auto) {
    ToolNotice notice(device, kind, name);
    describe(notice);
    return notice.run(act);
  });
}

/// Like `perform`, for operations that tools cannot refuse, such as frees: exceptions of tools are logged.
template <class Describe, class Act>
[[gnu::always_inline]] inline void perform_always(const Device& device, OperationKind kind, const char* name,
                                                  const Describe& describe, const Act& act) {
  if (!is_watched()) [[likely]]
    return act();
  out_of_line([&] {
    ToolNotice notice(device, kind, name);
    describe(notice);
    notice.run_always(act);
  });
}

}  // namespace weir::detail

namespace weir {

// Names for the files that implement public functions.
using detail::Call;
using detail::Captures;
using detail::Capturing;
using detail::impl;
using detail::perform;
using detail::StreamCall;
using detail::StreamCore;
using detail::submit;
using detail::ToolNotice;

}  // namespace weir
