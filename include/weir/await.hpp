// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <exception>
#include <utility>

#include "weir/event.hpp"
#include "weir/export.hpp"
#include "weir/fwd.hpp"
#include "weir/ref.hpp"
#include "weir/stream.hpp"
#include "weir/stream_ref.hpp"
#include "weir/unique_function.hpp"

/// Asynchronous completion: calls a function or resumes a coroutine when work on a stream is done, without blocking a thread
/// of the program. Not included by weir/weir.hpp.
namespace weir {

/// Calls `function(error)` on one of Weir's threads once all work enqueued so far on `stream` is done. `error` is null, or
/// the exception that `Stream::synchronize` would throw: a device fault, or a host function's exception. `function` may call
/// Weir. All functions run on one thread, so a function that blocks delays all others. If `function` throws, the exception
/// is logged. `function` is destroyed after its call. Functions that are still pending when the process exits are not
/// called. Does not block. Throws `stream_closed`, and `capture_unsupported` if the stream is capturing. Any thread, except
/// inside a host function.
///
/// The thread sleeps until a function is pending. Otherwise it polls the driver: continuously for 200 us, then at intervals
/// of 1/256 of the time waited so far, and at least twice a millisecond. Polling invalidates no capture.
WEIR_API void when_done(StreamRef stream, UniqueFunction<void(std::exception_ptr)> function);
/// Calls `function` once all work before the last record of `event` is done; otherwise like the overload for a stream. Keeps
/// the event alive. If the event is recorded again before Weir has seen the previous record complete, `function` may be
/// called only after the new record.
WEIR_API void when_done(Ref<Event> event, UniqueFunction<void(std::exception_ptr)> function);

/// The awaitable that `completion` returns: waits for an event, or for the work enqueued so far on a stream.
template <class Target, class Post>
class Completion {
 public:
  Completion(Target target, Post post) : target_(std::move(target)), post_(std::move(post)) {}

  /// Called by `co_await`. Always returns false: even if the work is already done, the coroutine is suspended, so that it
  /// always resumes in the same way, through `post`.
  bool await_ready() const { return false; }
  /// Called by `co_await`: arranges that the coroutine is resumed.
  void await_suspend(std::coroutine_handle<> coroutine) {
    // The lambda owns `coroutine` and `post`, because `post` may resume the coroutine on another thread, which may destroy
    // this object while `post` still runs.
    when_done(target_, [this, coroutine, post = std::move(post_)](std::exception_ptr error) mutable {
      error_ = std::move(error);
      post(UniqueFunction<void()>([coroutine] { coroutine.resume(); }));
    });
  }
  /// Called by `co_await`: throws the work's error.
  void await_resume() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  Target target_;
  Post post_;
  std::exception_ptr error_;
};

namespace detail {
/// Resumes the coroutine on Weir's polling thread.
struct ResumeAtOnce {
  void operator()(UniqueFunction<void()> resume) const { resume(); }
};
}  // namespace detail

/// `co_await completion(*stream, post)`: suspends the coroutine until all work enqueued so far is done. Then Weir's polling
/// thread calls `post(function)`. `post` must arrange that `function()` is called, on the thread or executor of its choice;
/// that call resumes the coroutine. `post` itself must not block or throw. The coroutine must not be destroyed while it is
/// suspended. `co_await` throws the error that `when_done` reports.
template <class Post>
Completion<StreamRef, Post> completion(StreamRef stream, Post post) {
  return {stream, std::move(post)};
}
/// `co_await completion(*event, post)`: suspends the coroutine until `event` is complete; otherwise like the overload for a
/// stream. The event must live until the coroutine is suspended.
template <class Post>
Completion<Ref<Event>, Post> completion(Ref<Event> event, Post post) {
  return {event, std::move(post)};
}

/// `co_await *stream`: suspends the coroutine until all work enqueued so far is done, and resumes it on Weir's polling
/// thread, which the coroutine must not block.
inline Completion<StreamRef, detail::ResumeAtOnce> operator co_await(Stream& stream) { return {stream, {}}; }
/// `co_await *event`: suspends the coroutine until the event is complete, and resumes it on Weir's polling thread, which the
/// coroutine must not block.
inline Completion<Ref<Event>, detail::ResumeAtOnce> operator co_await(Event& event) { return {event, {}}; }

}  // namespace weir
