// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "python/src/common.hpp"
#include "weir/annotation.hpp"
#include "weir/plugin/caller.hpp"
#include "weir/plugin/support.hpp"

/// The interpreter's lock, and what happens to it when the interpreter ends.
///
/// A free-threaded interpreter has none. There "with the lock" means that the interpreter knows the thread as one of its own
/// that runs: many do at once, so this guards no data. But the collector of cycles, `fork` and others stop all such threads,
/// and wait until each calls Python or is without the lock. So the rules are the same: who waits for a mutex with the lock
/// may wait only for threads that do not call Python meanwhile, and who waits for long lets go of it.
namespace weir::python {

/// Tells tools the lines of Python that the calling thread is in. Made with the interpreter's lock.
class Caller {
 public:
  Caller();

 private:
  struct Frames {
    std::vector<std::string> texts;  // function and file of each frame
    std::vector<SourceFrame> frames;
    Frames();
  } frames_;
  CallerScope scope_;
};

/// Lets go of the interpreter's lock, if there is one, for as long as it lives: in every call that may wait for work, for a
/// lock of the driver's or for room in a queue. A host function in Python may be what the wait is for.
///
/// A thread other than the main one never takes the lock back once the interpreter ends: it sleeps until the process is
/// gone. Python before 3.14 would end the thread by unwinding it, which aborts the process where C++ does not expect it.
class WithoutGil {
 public:
  WithoutGil() {
    if (detail::tools_look()) [[unlikely]]
      caller_ = std::make_unique<Caller>();
    state_ = PyEval_SaveThread();
  }
  ~WithoutGil();
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  std::unique_ptr<Caller> caller_;
  PyThreadState* state_;
};

/// Has the lock again for as long as it lives, on the thread of a WithoutGil.
class WithGil {
 public:
  WithGil();
  ~WithGil() { PyGILState_Release(state_); }
  WithGil(const WithGil&) = delete;
  WithGil& operator=(const WithGil&) = delete;

 private:
  PyGILState_STATE state_;
};

/// Lets go of objects whose end may call the driver, which may wait there for all work, and so for host functions: without
/// the interpreter's lock. On the thread of functions, which must not wait for them, Weir's reclaimer ends the objects.
class Releasing {
 public:
  Releasing();

 private:
  std::optional<support::HostFunctionScope> scope_;
  WithoutGil released_;
};

/// Lets go of what the owner owns, if it does.
template <class Owner>
void release(Owner& owner) {
  if (!owner) return;
  const Releasing releasing;
  owner.reset();
}

/// What `function` returns, called without the lock.
template <class F>
decltype(auto) without_gil(F&& function) {
  const WithoutGil released;
  return std::forward<F>(function)();
}

/// Takes the lock for a thread of the package's own, for the first time, and again; lets go by PyEval_SaveThread.
PyThreadState* attach_thread();
void take_gil(PyThreadState* state);

/// Whether this is the child of a process that had the thread of functions, which the child has not.
bool is_forked() noexcept;
/// Whether the interpreter ends, or has ended. True from the package's atexit function on.
bool is_finalizing() noexcept;

}  // namespace weir::python
