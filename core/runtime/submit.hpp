// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <utility>

#include "core/runtime/impl.hpp"
#include "core/runtime/stream_call.hpp"
#include "core/runtime/tools.hpp"

/// The single path of an operation from a public function to the backend.
///
/// An operation is a struct of its arguments, as cheap to copy as they are. `submit` validates it, determines the stream's
/// capture, reports it to tools, and enqueues it. The struct has
///
///   static constexpr OperationKind kind;
///   static constexpr Capturing capturing;      // how a capture treats it
///   bool validate(const StreamCall&) const;    // throws if it is invalid; false: nothing to do
///   void describe(ToolNotice&) const;             // reports it to tools; called only if there are tools
///   void check_capture(const StreamCall&);     // optional: preparation on a capturing stream
///   R enqueue(StreamImpl&, const CaptureState&);
///
/// Operations of devices, events and graphs have neither `capturing` nor `validate`: their functions do the checks, and
/// `perform` does the rest.
namespace weir::detail {

/// How an operation behaves on a capturing stream.
enum class Capturing : std::uint8_t {
  by_driver,  ///< it becomes a node, and the backend does not need the capture's state
  node,       ///< it becomes a node
  only,       ///< it is a node: refused outside captures
  refused,    ///< capturing it is an error
};

template <Capturing rule>
[[gnu::always_inline]] inline CaptureState capture_for(const StreamCall& call) {
  if constexpr (rule == Capturing::node) return call.usable_capture();
  if constexpr (rule == Capturing::only) return call.active_capture();
  if constexpr (rule == Capturing::refused) call.throw_if_capturing();
  return {};
}

/// `perform` with tools. Takes copies, so that without tools nothing needs to be in memory.
template <class Op>
[[gnu::cold, gnu::noinline]] auto perform_watched(Stream& stream, const char* name, CaptureState capture, Op operation) {
  ToolNotice notice(stream, Op::kind, name,
                  Op::capturing == Capturing::by_driver ? StreamCore::known_capture(stream) : capture);
  operation.describe(notice);
  return notice.run([&] { return operation.enqueue(impl(stream), capture); });
}

/// Reports a checked operation to tools, and enqueues it. `name`: of the public function.
template <class Op>
[[gnu::always_inline]] inline auto perform(Stream& stream, const char* name, const CaptureState& capture, Op operation) {
  static_assert(Op::capturing != Capturing::node || traits_of(Op::kind).may_be_captured);
  static_assert(Op::capturing != Capturing::refused || !traits_of(Op::kind).may_be_captured);
  if (StreamCore::is_watched(stream)) [[unlikely]]
    return perform_watched(stream, name, capture, operation);
  return operation.enqueue(impl(stream), capture);
}

/// Validates and performs a stream's operation.
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

/// `Stream::synchronize` after its checks.
[[gnu::always_inline]] inline void wait_on_host(Stream& stream) {
  perform(stream, "Stream::synchronize", {}, Synchronize());
  if (std::exception_ptr error = impl(stream).do_take_host_error()) std::rethrow_exception(std::move(error));
}

/// The same for an operation of a device: `describe` takes a `ToolNotice`, `act` takes nothing.
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

/// The same for operations that no tool can refuse: a tool's exception is logged.
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

// Names that the public functions use.
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
