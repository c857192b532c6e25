// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "python/src/common.hpp"

/// The thread that calls functions in Python for streams. A driver's thread never takes the interpreter's lock, and never
/// waits for a thread that does if that can be helped: it hands over a task, and returns.
///
/// Why: a driver calls host functions while it holds locks of its own. If the function waited for the interpreter's lock,
/// and a thread that holds that lock called the driver, neither would ever go on. The stream waits for the function all the
/// same; it waits for a value in memory (gate.hpp).
namespace weir::python {

/// What the thread does.
class Task {
 public:
  Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  virtual ~Task() = default;

  /// Called with the interpreter's lock; leaves no exception. May not hold objects of C++ that own Python's while it calls
  /// Python: the interpreter may end the thread there by unwinding it, without its lock.
  virtual void run() = 0;
  /// Lets go on what waits for this task, which does not run, or is not done: because the interpreter ends, or because its
  /// lock is `stuck`. Called on any thread, without the lock, also while `run` is under way.
  virtual void abandon(bool stuck) noexcept = 0;
  /// The name of the function whose end writes `ticket` to `word`; null if this is another task.
  virtual const std::string* name_of(const std::uint32_t* word, std::uint32_t ticket) const noexcept {
    (void)word, (void)ticket;
    return nullptr;
  }
};

/// Starts the thread unless it runs. Throws `forked_process` in the child of a process.
void start_host_thread();
/// Whether it was started in this process.
bool has_host_thread() noexcept;
/// Hands over a task, from any thread. Does not take the interpreter's lock.
void post(std::shared_ptr<Task> task) noexcept;
/// The name of the function that was handed over, and will write `ticket` to `word`. Nothing if there is none.
std::optional<std::string> name_of_task(const std::uint32_t* word, std::uint32_t ticket);
/// Has the thread drop a reference, from any thread.
void drop_later(PyObject* object) noexcept;
/// Whether the calling thread is that one.
bool is_host_thread() noexcept;
/// Called with what a function has returned, or null with its exception. If it has forked, and this is the child, ends the
/// process, as os._exit does, with the status that the program would have: the child has no other thread.
void leave_child(PyObject* result);
/// Called when the interpreter is about to end, with its lock: nothing runs from now on, and nothing waits.
void stop_host_thread();

/// What owns a callable that waits to be called.
class CallOwner {
 public:
  CallOwner() noexcept { ++count; }
  ~CallOwner() { --count; }
  CallOwner(const CallOwner&) = delete;
  CallOwner& operator=(const CallOwner&) = delete;
  static inline std::atomic<std::size_t> count{0};  // how many there are
};

/// A callable of Python's and its arguments. May be dropped on any thread.
class PythonCall : CallOwner {
 public:
  /// With the lock.
  PythonCall(nb::handle callable, nb::handle arguments) noexcept
      : callable_(callable.inc_ref().ptr()), arguments_(arguments.inc_ref().ptr()) {}
  PythonCall(const PythonCall&) = delete;
  PythonCall& operator=(const PythonCall&) = delete;
  ~PythonCall() {
    drop_later(callable_);
    drop_later(arguments_);
  }
  /// With the lock: the result, a new reference, or null with an exception.
  PyObject* operator()() const { return PyObject_CallObject(callable_, arguments_); }
  PyObject* callable() const noexcept { return callable_; }
  /// With the lock: whether both are calls of one function without arguments.
  bool is_same(const PythonCall& other) const noexcept {
    if (PyTuple_Size(arguments_) != 0 || PyTuple_Size(other.arguments_) != 0) return false;
    const int equal = PyObject_RichCompareBool(callable_, other.callable_, Py_EQ);
    if (equal < 0) PyErr_Clear();
    return equal == 1;
  }
  /// With the lock: drops both, when no other call comes.
  void clear() noexcept {
    Py_CLEAR(callable_);
    Py_CLEAR(arguments_);
  }

 private:
  PyObject* callable_;
  PyObject* arguments_;
};

}  // namespace weir::python
