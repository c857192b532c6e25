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

/// Learning of the end of work without a thread that waits: by a function, or in a coroutine. Not part of weir/weir.hpp.
namespace weir {

/// Calls `function(error)` on a thread of Weir's once all work enqueued so far on `stream` is done. `error` is null, or what
/// `Stream::synchronize` would throw: a fault of the device, or the exception of a host function. The function may call
/// Weir; one that waits holds up all others. What it throws is logged. It keeps what it captures until it was called; the
/// end of the process drops those that were not. Throws like `Stream::synchronize`, at once: `stream_closed`, and
/// `capture_unsupported` if the stream captures. Any thread but those of host functions.
///
/// The thread sleeps while nothing is awaited. Else it asks the driver: all the time for 200 us, then each time that 1/256
/// of the time waited so far has passed, at least twice a millisecond. That harms no capture.
WEIR_API void when_done(StreamRef stream, UniqueFunction<void(std::exception_ptr)> function);
/// The same for `event`, which is kept alive. A later record of it is not waited for, if the former is seen to be over.
WEIR_API void when_done(Ref<Event> event, UniqueFunction<void(std::exception_ptr)> function);

/// What `co_await` waits for: the end of a stream's present work, or an event. See `completion`.
template <class Target, class Post>
class Completion {
 public:
  Completion(Target target, Post post) : target_(std::move(target)), post_(std::move(post)) {}

  /// False: the coroutine is suspended even if the work is done, so that it always resumes in one place.
  bool await_ready() const { return false; }
  /// Called by `co_await`.
  void await_suspend(std::coroutine_handle<> coroutine) {
    // Once the coroutine can be resumed, this object may be gone: what is used until then is the function's own.
    when_done(target_, [this, coroutine, post = std::move(post_)](std::exception_ptr error) mutable {
      error_ = std::move(error);
      post(UniqueFunction<void()>([coroutine] { coroutine.resume(); }));
    });
  }
  /// Called by `co_await`: throws what went wrong.
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
/// called on Weir's thread; it must neither wait nor throw. The coroutine must not be destroyed while it waits. Throws,
/// where it resumes, what `when_done` hands on.
template <class Post>
Completion<StreamRef, Post> completion(StreamRef stream, Post post) {
  return {stream, std::move(post)};
}
/// The same for an event, which must live until then.
template <class Post>
Completion<Ref<Event>, Post> completion(Ref<Event> event, Post post) {
  return {event, std::move(post)};
}

/// `co_await *stream`: resumes on Weir's thread, which must not be held up.
inline Completion<StreamRef, detail::ResumeAtOnce> operator co_await(Stream& stream) { return {stream, {}}; }
/// `co_await *event`: likewise.
inline Completion<Ref<Event>, detail::ResumeAtOnce> operator co_await(Event& event) { return {event, {}}; }

}  // namespace weir
