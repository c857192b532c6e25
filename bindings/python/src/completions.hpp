// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "bindings/python/src/host_thread.hpp"
#include "weir/error.hpp"
#include "weir/event.hpp"

/// Functions that are called once an event is complete, for `await`.
namespace weir::python {

/// A task that learns how the work ended.
class Completion : public Task {
 public:
  void fail(const Error& error) { error_ = error; }
  void abandon() noexcept override {}  // nothing waits for it

 protected:
  /// None or the exception, as a new reference; null with an exception set on failure.
  PyObject* new_error() const { return error_ ? new_exception(*error_) : Py_NewRef(Py_None); }

 private:
  std::optional<Error> error_;
};

/// The thread of completions runs `completion` soon after `event` is complete. Blocks neither streams nor driver threads.
void when_complete(const EventPtr& event, std::shared_ptr<Completion> completion);

}  // namespace weir::python
