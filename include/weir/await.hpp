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

/// Notifies a program of the end of work, without a thread that waits: by a function, or in a coroutine. Not included by
/// weir/weir.hpp.
namespace weir {

/// Calls `function(error)` on one of Weir's threads once all work enqueued so far on `stream` is done. `error` is null, or
/// the exception that `Stream::synchronize` would throw: a device fault, or a host function's exception. The function may
/// call Weir; while it waits, it delays all others. Exceptions that it throws are logged. It keeps its captures until it was
/// called; at process exit, functions that were not called are dropped. Throws like `Stream::synchronize`, at once:
/// `stream_closed`, and `capture_unsupported` if the stream captures. Any thread except one that runs a host function.
///
/// The thread sleeps while nothing is awaited. Otherwise it polls the driver: continuously for 200 us, then at intervals of
/// 1/256 of the time waited so far, and at least twice a millisecond. That invalidates no capture.
WEIR_API void when_done(StreamRef stream, UniqueFunction<void(std::exception_ptr)> function);
/// The same for `event`, which is kept alive. If the event is recorded again, this does not wait for the new record once it
/// has seen the previous one complete.
WEIR_API void when_done(Ref<Event> event, UniqueFunction<void(std::exception_ptr)> function);

/// The object that `co_await` waits for: the end of a stream's present work, or an event. See `completion`.
template <class Target, class Post>
class Completion {
 public:
  Completion(Target target, Post post) : target_(std::move(target)), post_(std::move(post)) {}

  /// False: the coroutine is suspended even if the work is done, so that it always resumes in one place.
  bool await_ready() const { return false; }
  /// Called by `co_await`.
  void await_suspend(std::coroutine_handle<> coroutine) {
    // This object may be destroyed once the coroutine can be resumed, so the function owns everything that it uses after
    // that.
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
/// Resumes on Weir's thread.
struct ResumeAtOnce {
  void operator()(UniqueFunction<void()> resume) const { resume(); }
};
}  // namespace detail

/// `co_await completion(*stream, post)`: suspends the coroutine until all work enqueued so far is done, and has
/// `post(function)` call the function, which resumes it: on the thread, or the executor, that `post` chooses. `post` is
/// called on Weir's thread; it must neither wait nor throw. The coroutine must not be destroyed while it waits. On
/// resumption it throws the error that `when_done` reports.
template <class Post>
Completion<StreamRef, Post> completion(StreamRef stream, Post post) {
  return {stream, std::move(post)};
}
/// The same for an event, which must live until then.
template <class Post>
Completion<Ref<Event>, Post> completion(Ref<Event> event, Post post) {
  return {event, std::move(post)};
}

/// `co_await *stream`: resumes on Weir's thread, which must not be blocked.
inline Completion<StreamRef, detail::ResumeAtOnce> operator co_await(Stream& stream) { return {stream, {}}; }
/// `co_await *event`: the same.
inline Completion<Ref<Event>, detail::ResumeAtOnce> operator co_await(Event& event) { return {event, {}}; }

}  // namespace weir
