// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "bindings/python/src/common.hpp"

/// The two threads that call Python functions for streams. A driver thread never takes the GIL itself. It posts a task to
/// one of these threads and returns.
///
/// The reason: a driver calls host functions while it holds its own locks. If the function waited for the GIL, and the
/// thread with the GIL called the driver, both would deadlock. The stream still waits for the function, through a value in
/// memory (host_function_gate.hpp).
namespace weir::python {

/// Work for one of the threads.
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
};

/// Tasks that one stream requests by writing their ticket numbers to a word. The thread polls the word while there are such
/// tasks.
struct Requests {
  struct Expected {
    std::uint32_t ticket;
    std::shared_ptr<Task> task;
  };
  std::uint32_t* const word;
  std::deque<Expected> expected{};  // in the order of tickets; guarded by the thread's mutex
  bool is_polled = false;

  explicit Requests(std::uint32_t* polled) noexcept : word(polled) {}
};

/// All functions may be called by any thread and do not take the GIL, unless they say otherwise.
class HostThread {
 public:
  explicit HostThread(const char* name) noexcept : name_(name) {}

  /// Starts the thread unless it runs. Throws `forked_process` in a forked child.
  void start(const char* operation);
  bool is_started() const noexcept { return started_; }
  void post(std::shared_ptr<Task> task) noexcept;
  /// Adds a task, which runs when the stream has written `ticket`. Call it before the stream can write it.
  void expect(const std::shared_ptr<Requests>& requests, std::uint32_t ticket, std::shared_ptr<Task> task);
  /// Removes the last added task, unless it was abandoned.
  void forget(Requests& requests, std::uint32_t ticket) noexcept;
  /// Abandons the tasks that the stream has not requested yet.
  void abandon(Requests& requests) noexcept;
  /// Waits a few microseconds until the thread releases the GIL. For a short function this is faster than sleeping until
  /// then.
  void let_function_end() noexcept;
  /// Makes the thread drop a reference, and starts it for that. In a forked child and at interpreter shutdown the reference
  /// is leaked.
  void drop(PyObject* object) noexcept;
  /// Stops the thread. Call it at interpreter shutdown, without the GIL. Afterwards no task runs, and no thread waits for
  /// one.
  void stop() noexcept;

 private:
  using Clock = std::chrono::steady_clock;

  void start_unless_started();
  void wake(std::unique_lock<std::mutex>& lock) noexcept;
  void loop();
  void wait_for_work() noexcept;
  void take_requested() noexcept;
  bool begin_task(std::vector<PyObject*>& garbage);

  const char* const name_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<bool> started_{false};
  bool sleeps_ = false;
  std::atomic<bool> has_gil_{false};
  std::deque<std::shared_ptr<Task>> tasks_;
  std::vector<PyObject*> garbage_;
  std::shared_ptr<Task> running_;  // changed with `mutex_` held
  std::vector<std::shared_ptr<Requests>> polled_;
  Clock::time_point quiet_since_{};
};

/// The thread for functions of streams.
HostThread& function_thread();
/// The thread that runs callbacks, resumes tasks that `await`, and drops references. No stream waits for it, and it does not
/// wait for functions of streams, which may take long.
HostThread& completion_thread();
/// Makes the thread of completions drop a reference.
inline void drop_later(PyObject* object) noexcept { completion_thread().drop(object); }
/// Whether the calling thread is one of the two.
bool is_host_thread() noexcept;

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
