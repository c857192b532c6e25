// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "bindings/python/src/host_thread.hpp"
#include "weir/error.hpp"
#include "weir/event.hpp"

/// Calls functions when an event is complete, for `await` and callbacks.
namespace weir::python {

/// A task to run after an event. `fail` stores the error if the work failed.
class Completion : public Task {
 public:
  void fail(const Error& error) { error_ = error; }
  void abandon() noexcept override {}  // nothing waits for it

 protected:
  /// Returns None or the exception as a new reference, or null with another exception set.
  PyObject* new_error() const { return error_ ? new_exception(*error_) : Py_NewRef(Py_None); }

 private:
  std::optional<Error> error_;
};

/// Runs `completion` soon after `event` is complete, on the thread of completions. Blocks neither streams nor driver
/// threads.
void when_complete(const EventPtr& event, std::shared_ptr<Completion> completion);

}  // namespace weir::python
