// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "bindings/python/src/common.hpp"

/// The host-function thread, which calls Python functions for streams. A driver thread never takes the GIL itself. It posts
/// a task to this thread and returns.
///
/// The reason: a driver calls host functions while it holds its own locks. If the function waited for the GIL, and the
/// thread with the GIL called the driver, both would deadlock. The stream still waits for the function, through a value in
/// memory (host_function_gate.hpp).
namespace weir::python {

/// Work for one of the package's threads.
class Task {
 public:
  Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  virtual ~Task() = default;

  /// Called with the GIL held; must leave no exception set. While it calls Python, no C++ objects that own Python objects
  /// may be on the stack, because the interpreter may unwind the thread there without the GIL.
  virtual void run() = 0;
  /// Ends all waits for this task, although it has not run or not returned. Called if the interpreter shuts down or the
  /// device has failed: on any thread, without the GIL, possibly while `run` executes.
  virtual void abandon() noexcept = 0;
  /// Returns the name of the function whose end writes `ticket` to `word`; null if that is not this task.
  virtual const std::string* name_of(const std::uint32_t* word, std::uint32_t ticket) const noexcept {
    (void)word, (void)ticket;
    return nullptr;
  }
};

/// Starts the host-function thread unless it runs. Throws `forked_process` in a forked child.
void start_host_thread();
/// Starts the thread of completions in the same way. It runs callbacks, and resumes tasks that `await`. No stream waits for
/// it, and it does not wait for functions of streams, which may take long.
void start_completion_thread();
/// Whether the host-function thread was started in this process.
bool has_host_thread() noexcept;
/// Posts a task to the host-function thread. Any thread may call it; it does not take the GIL.
void post(std::shared_ptr<Task> task) noexcept;
/// Posts a task to the thread of completions in the same way.
void post_completion(std::shared_ptr<Task> task) noexcept;
/// Tasks that one stream requests by writing their ticket numbers to a word. The thread polls the word while there are such
/// tasks.
struct Requests {
  struct Expected {
    std::uint32_t ticket;
    std::shared_ptr<Task> task;
  };
  std::uint32_t* const word;
  std::uint32_t seen;               // the last ticket that the thread has seen
  std::deque<Expected> expected{};  // in the order of tickets; guarded by the thread's mutex
  bool is_polled = false;

  Requests(std::uint32_t* polled, std::uint32_t ticket) noexcept : word(polled), seen(ticket) {}
};
/// Adds a task, which runs when the stream has written `ticket`. Call it before the stream can write it.
void expect_request(const std::shared_ptr<Requests>& requests, std::uint32_t ticket, std::shared_ptr<Task> task);
/// Removes the last added task. Returns false if it was abandoned.
bool forget_request(Requests& requests, std::uint32_t ticket) noexcept;
/// Abandons the tasks that the stream has not requested yet.
void abandon_requests(Requests& requests) noexcept;
/// Waits a few microseconds until the thread releases the GIL. For a short function this is faster than sleeping until then.
void let_function_end() noexcept;
/// Returns the name of the function that will write `ticket` to `word`; empty if there is none.
std::optional<std::string> name_of_task(const std::uint32_t* word, std::uint32_t ticket);
/// Makes one of the package's threads drop a reference. Any thread may call it.
void drop_later(PyObject* object) noexcept;
/// Whether the calling thread is the host-function thread or the thread of completions.
bool is_host_thread() noexcept;
/// Called with a function's result, or with null if it has raised. If the function has forked and this is the child process,
/// exits like os._exit, because the child has no other thread. The exit status is that of a program with this result.
void leave_child(PyObject* result);
/// Stops both threads. Called at interpreter shutdown with the GIL held. Afterwards no task runs, and no thread waits for
/// one.
void stop_host_thread();

/// A Python callable and its arguments. May be destroyed on any thread, without the GIL.
class PythonCall {
 public:
  /// Call it with the GIL held.
  PythonCall(nb::handle callable, nb::handle arguments) noexcept
      : callable_(callable.inc_ref().ptr()), arguments_(arguments.inc_ref().ptr()) {}
  PythonCall(const PythonCall&) = delete;
  PythonCall& operator=(const PythonCall&) = delete;
  ~PythonCall() {
    drop_later(callable_);
    drop_later(arguments_);
  }
  /// Calls the callable. Returns a new reference, or null with an exception set. Call it with the GIL held.
  PyObject* operator()() const { return PyObject_CallObject(callable_, arguments_); }
  PyObject* callable() const noexcept { return callable_; }
  /// Whether both call the same function without arguments. Call it with the GIL held.
  bool is_same(const PythonCall& other) const noexcept {
    if (PyTuple_Size(arguments_) != 0 || PyTuple_Size(other.arguments_) != 0) return false;
    const int equal = PyObject_RichCompareBool(callable_, other.callable_, Py_EQ);
    if (equal < 0) PyErr_Clear();
    return equal == 1;
  }
  /// Drops the callable and the arguments after the last call. Call it with the GIL held.
  void clear() noexcept {
    Py_CLEAR(callable_);
    Py_CLEAR(arguments_);
  }

 private:
  PyObject* callable_;
  PyObject* arguments_;
};

}  // namespace weir::python
