// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "bindings/python/src/common.hpp"

/// The host-function thread, which calls Python functions for streams. A driver thread never takes the GIL, and avoids
/// waiting for a thread that does: it posts a task and returns.
///
/// Why: a driver calls host functions while it holds its own locks. If the function waited for the GIL while a thread that
/// holds the GIL called the driver, both would deadlock. The stream still waits for the function, by waiting for a value in
/// memory (host_function_gate.hpp).
namespace weir::python {

/// Work for the thread.
class Task {
 public:
  Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  virtual ~Task() = default;

  /// Called with the GIL held; leaves no exception set. Must not have C++ objects that own Python objects on the stack while
  /// it calls Python: there the interpreter may unwind the thread, without the GIL.
  virtual void run() = 0;
  /// Lets whatever waits for this task continue although it has not run or not returned: the interpreter shuts down, or the
  /// device has failed. Called on any thread, without the GIL, possibly while `run` executes.
  virtual void abandon() noexcept = 0;
  /// The name of the function whose end writes `ticket` to `word`; null if this is another task.
  virtual const std::string* name_of(const std::uint32_t* word, std::uint32_t ticket) const noexcept {
    (void)word, (void)ticket;
    return nullptr;
  }
};

/// Starts the thread unless it runs. Throws `forked_process` in a forked child.
void start_host_thread();
/// The same for the thread of completions: callbacks, and tasks that `await`. No stream waits for them, and they do not wait
/// for functions of streams, which may take long.
void start_completion_thread();
/// Whether it was started in this process.
bool has_host_thread() noexcept;
/// Posts a task, from any thread. Does not take the GIL.
void post(std::shared_ptr<Task> task) noexcept;
/// The same for the thread of completions.
void post_completion(std::shared_ptr<Task> task) noexcept;
/// Tasks that one stream requests by writing their ticket numbers to a word, which the thread polls while there are any.
struct Requests {
  struct Expected {
    std::uint32_t ticket;
    std::shared_ptr<Task> task;
  };
  std::uint32_t* const word;
  std::uint32_t seen;                // the last ticket that the thread has read
  std::deque<Expected> expected{};   // in ticket order; with the thread's mutex held
  bool is_polled = false;

  Requests(std::uint32_t* polled, std::uint32_t ticket) noexcept : word(polled), seen(ticket) {}
};
/// Call before the stream gets to write `ticket`: the thread runs the task when it has.
void expect_request(const std::shared_ptr<Requests>& requests, std::uint32_t ticket, std::shared_ptr<Task> task);
/// Takes back the last task that is expected. False if it was abandoned.
bool forget_request(Requests& requests, std::uint32_t ticket) noexcept;
/// Abandons the tasks that the stream has not requested.
void abandon_requests(Requests& requests) noexcept;
/// Waits a few microseconds for the thread to release the GIL. To sleep until it has takes longer, if the function is short.
void let_function_end() noexcept;
/// The name of the function that will write `ticket` to `word`, if there is one.
std::optional<std::string> name_of_task(const std::uint32_t* word, std::uint32_t ticket);
/// Makes one of the threads drop a reference. From any thread.
void drop_later(PyObject* object) noexcept;
/// Whether the calling thread is the host-function thread or that of completions.
bool is_host_thread() noexcept;
/// Called with a function's result, or null with its exception set. If the function has forked and this is the child, exits
/// like os._exit, with the status that the program would have: the child has no other thread.
void leave_child(PyObject* result);
/// Called at interpreter shutdown with the GIL held: from now on nothing runs and nothing waits.
void stop_host_thread();

/// An owner of a callable that waits to be called.
class CallOwner {
 public:
  CallOwner() noexcept { ++count; }
  ~CallOwner() { --count; }
  CallOwner(const CallOwner&) = delete;
  CallOwner& operator=(const CallOwner&) = delete;
  static inline std::atomic<std::size_t> count{0};  // number of live objects
};

/// A Python callable and its arguments. May be destroyed on any thread.
class PythonCall : CallOwner {
 public:
  /// With the GIL held.
  PythonCall(nb::handle callable, nb::handle arguments) noexcept
      : callable_(callable.inc_ref().ptr()), arguments_(arguments.inc_ref().ptr()) {}
  PythonCall(const PythonCall&) = delete;
  PythonCall& operator=(const PythonCall&) = delete;
  ~PythonCall() {
    drop_later(callable_);
    drop_later(arguments_);
  }
  /// With the GIL held. The result is a new reference, or null with an exception set.
  PyObject* operator()() const { return PyObject_CallObject(callable_, arguments_); }
  PyObject* callable() const noexcept { return callable_; }
  /// With the GIL held. Whether both are calls of one function without arguments.
  bool is_same(const PythonCall& other) const noexcept {
    if (PyTuple_Size(arguments_) != 0 || PyTuple_Size(other.arguments_) != 0) return false;
    const int equal = PyObject_RichCompareBool(callable_, other.callable_, Py_EQ);
    if (equal < 0) PyErr_Clear();
    return equal == 1;
  }
  /// With the GIL held. Drops both after the last call.
  void clear() noexcept {
    Py_CLEAR(callable_);
    Py_CLEAR(arguments_);
  }

 private:
  PyObject* callable_;
  PyObject* arguments_;
};

}  // namespace weir::python
