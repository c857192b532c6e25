// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#if defined(__cpp_lib_senders)
#include <execution>
#include <stop_token>
#else
#include <stdexec/execution.hpp>
#endif

#include "weir/await.hpp"

/// C++26 senders for streams and events. Uses the senders of the standard library if it has them, otherwise those of
/// stdexec, whose headers the program must provide. Not included by weir/weir.hpp.
namespace weir {

namespace detail {

#if defined(__cpp_lib_senders)
namespace senders = std::execution;
using std::stop_callback_for_t;
#else
namespace senders = stdexec;
using stdexec::stop_callback_for_t;
#endif

/// The operation state of a `CompletionSender`. Completes `receiver` when the target's work is done or a stop is requested,
/// whichever comes first.
template <class Target, class Receiver>
class CompletionOperation {
 public:
  using operation_state_concept = senders::operation_state_t;

  CompletionOperation(Target target, Receiver receiver) : target_(target), receiver_(std::move(receiver)) {}
  CompletionOperation(CompletionOperation&&) = delete;

  void start() & noexcept {
    const auto token = senders::get_stop_token(senders::get_env(receiver_));
    if (token.stop_requested()) return senders::set_stopped(std::move(receiver_));
    try {
      const auto end = std::make_shared<End>(*this);
      on_stop_.emplace(token, OnStop{end});
      try {
        when_done(target_, [end](std::exception_ptr error) {
          const Outcome outcome = error ? Outcome::error : Outcome::value;
          end->come(outcome, std::move(error));
        });
      } catch (...) {
        end->come(Outcome::error, std::current_exception());
      }
      end->arrive();  // from here on the receiver may destroy this object
    } catch (...) {
      senders::set_error(std::move(receiver_), std::current_exception());
    }
  }

 private:
  enum class Outcome { value, error, stopped };

  /// Completes the receiver exactly once: when there is an outcome and `start` no longer uses this object. It waits for
  /// `start`, because completing the receiver may destroy the operation state.
  class End {
   public:
    explicit End(CompletionOperation& operation) noexcept : operation_(operation) {}
    void come(Outcome outcome, std::exception_ptr error = nullptr) noexcept {
      if (has_come_.exchange(true, std::memory_order_acq_rel)) return;
      outcome_ = outcome;
      error_ = std::move(error);
      arrive();
    }
    void arrive() noexcept {
      if (awaited_.fetch_sub(1, std::memory_order_acq_rel) == 1) operation_.complete(outcome_, std::move(error_));
    }

   private:
    CompletionOperation& operation_;
    std::atomic<bool> has_come_{false};
    std::atomic<int> awaited_{2};
    Outcome outcome_{};
    std::exception_ptr error_;
  };
  struct OnStop {
    std::shared_ptr<End> end;
    void operator()() const noexcept { std::shared_ptr(end)->come(Outcome::stopped); }
  };
  using Token = decltype(senders::get_stop_token(senders::get_env(std::declval<const Receiver&>())));

  void complete(Outcome outcome, std::exception_ptr error) noexcept {
    on_stop_.reset();
    switch (outcome) {
      case Outcome::value: senders::set_value(std::move(receiver_)); break;
      case Outcome::error: senders::set_error(std::move(receiver_), std::move(error)); break;
      case Outcome::stopped: senders::set_stopped(std::move(receiver_)); break;
    }
  }

  Target target_;
  Receiver receiver_;
  std::optional<stop_callback_for_t<std::remove_cvref_t<Token>, OnStop>> on_stop_;
};

}  // namespace detail

/// A sender for the work of a stream or an event; made by `as_sender`. It completes without a value when all work that was
/// enqueued on the stream before `start` is done, or when the event is complete. It completes with an error if `when_done`
/// reports one. If a stop is requested before, it completes as stopped, and the work itself continues. It completes on
/// Weir's polling thread (see weir/await.hpp), which must not be blocked: use `continues_on` to move to another thread.
template <class Target>
class CompletionSender {
 public:
  /// Marks this class as a sender.
  using sender_concept = detail::senders::sender_t;
  /// How the sender can complete.
  using completion_signatures =
      detail::senders::completion_signatures<detail::senders::set_value_t(),
                                             detail::senders::set_error_t(std::exception_ptr),
                                             detail::senders::set_stopped_t()>;

  explicit CompletionSender(Target target) : target_(target) {}
  /// Connects the sender: returns the operation that completes `receiver`.
  template <class Receiver>
  detail::CompletionOperation<Target, Receiver> connect(Receiver receiver) const {
    return {target_, std::move(receiver)};
  }

 private:
  Target target_;
};

/// A sender for the work of `stream`, which must live until the sender has completed.
inline CompletionSender<StreamRef> as_sender(StreamRef stream) { return CompletionSender<StreamRef>(stream); }
/// A sender for an event, which must live until the sender has completed.
inline CompletionSender<Ref<Event>> as_sender(Ref<Event> event) { return CompletionSender<Ref<Event>>(event); }

}  // namespace weir
