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
/// Weir, but all functions run on the same thread, so one that blocks delays all others. Exceptions that it throws are
/// logged. It is destroyed after its call; functions still pending at process exit are not called.
/// This call does not block. It throws `stream_closed`, and `capture_unsupported` if the stream is capturing. It may be
/// called from any thread, except inside a host function.
///
/// The thread sleeps while no function is pending. Otherwise it polls the driver: continuously for 200 us, then at intervals
/// of 1/256 of the time waited so far, and at least twice a millisecond. Polling invalidates no capture.
WEIR_API void when_done(StreamRef stream, UniqueFunction<void(std::exception_ptr)> function);
/// The same for the work before the last record of `event`. Keeps the event alive. If the event is recorded again before
/// Weir has seen the previous record complete, `function` may be called only after the new record.
WEIR_API void when_done(Ref<Event> event, UniqueFunction<void(std::exception_ptr)> function);

/// The awaitable that `completion` returns: waits for an event, or for the work enqueued so far on a stream.
template <class Target, class Post>
class Completion {
 public:
  Completion(Target target, Post post) : target_(std::move(target)), post_(std::move(post)) {}

  /// Always false: the coroutine is suspended even if the work is already done, so that it always resumes where `post` runs
  /// it.
  bool await_ready() const { return false; }
  /// Called by `co_await`.
  void await_suspend(std::coroutine_handle<> coroutine) {
    // The coroutine may resume on another thread as soon as `post` has its function, and may destroy this object. So the
    // lambda owns `coroutine` and `post`.
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
/// The same for an event, which must live until the coroutine is suspended.
template <class Post>
Completion<Ref<Event>, Post> completion(Ref<Event> event, Post post) {
  return {event, std::move(post)};
}

/// `co_await *stream`: resumes the coroutine on Weir's polling thread. The coroutine must not block that thread.
inline Completion<StreamRef, detail::ResumeAtOnce> operator co_await(Stream& stream) { return {stream, {}}; }
/// `co_await *event`: the same for an event.
inline Completion<Ref<Event>, detail::ResumeAtOnce> operator co_await(Event& event) { return {event, {}}; }

}  // namespace weir
