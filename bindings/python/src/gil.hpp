// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/python/src/common.hpp"
#include "weir/annotation.hpp"
#include "weir/plugin/caller.hpp"
#include "weir/plugin/support.hpp"
#include "weir/ptr.hpp"

/// Releases and takes the GIL, also during interpreter shutdown.
///
/// A free-threaded interpreter has no GIL. There, "with the GIL held" means that the thread state is attached. Many threads
/// are attached at the same time, so this does not protect data. But the garbage collector, `fork` and other operations stop
/// all attached threads: they wait until each one calls Python or detaches. So the same rules hold: with the GIL held, lock
/// a mutex only if its owners do not call Python, and release the GIL before a long wait.
namespace weir::python {

/// Lets tools show the calling thread's Python stack while this exists. Construct it with the GIL held.
class Caller {
 public:
  Caller();

 private:
  std::vector<std::string> texts_;  // function and file of each frame
  std::vector<SourceFrame> frames_;
  std::optional<CallerScope> scope_;
};

/// Releases the GIL while this exists. Needed around each call that may wait for work, for a driver's lock or for room in a
/// queue, because the wait may be for a host function in Python.
///
/// After interpreter shutdown begins, only the main thread takes the GIL back. Other threads sleep until the process exits.
/// Python before 3.14 would unwind such a thread, which aborts the process when C++ code does not expect it.
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

/// Holds the GIL again while this exists, on a thread inside a WithoutGil.
class WithGil {
 public:
  WithGil();
  ~WithGil() { PyGILState_Release(state_); }
  WithGil(const WithGil&) = delete;
  WithGil& operator=(const WithGil&) = delete;

 private:
  PyGILState_STATE state_;
};

/// A scope for destroying Weir objects. Their destructors may call the driver, which may wait for all work and so for host
/// functions in Python. So the scope releases the GIL. The host-function thread must not wait at all; there the objects are
/// passed to another thread, Weir's reclaimer.
class Releasing {
 public:
  Releasing();

 private:
  std::optional<support::HostFunctionScope> scope_;
  WithoutGil released_;
};

/// Resets a smart pointer in a `Releasing` scope, unless it is empty.
template <class Owner>
void release(Owner& owner) {
  if (!owner) return;
  const Releasing releasing;
  owner.reset();
}

/// The contents of a Python object: a reference to an object of Weir's.
template <class T>
struct Owned {
  Ptr<T> ptr;

  explicit Owned(Ptr<T> made) noexcept : ptr(std::move(made)) {}
  Owned(Owned&&) = default;
  Owned& operator=(Owned&&) = delete;
  ~Owned() { release(ptr); }
  T* operator->() const noexcept { return ptr.get(); }
  Device& device() const { return ptr->device(); }
  std::uintptr_t handle() const { return reinterpret_cast<std::uintptr_t>(ptr->native_handle()); }
};

/// Calls `function` without the GIL and returns its result.
template <class F>
decltype(auto) without_gil(F&& function) {
  const WithoutGil released;
  return std::forward<F>(function)();
}

/// `attach_thread` takes the GIL on a thread of this package for the first time, `take_gil` later. PyEval_SaveThread
/// releases it.
PyThreadState* attach_thread();
void take_gil(PyThreadState* state);

/// Whether this process is a forked child whose parent had a host-function thread. The child has none.
bool is_forked() noexcept;
/// Call this when a Python function has returned `result`, or null with an exception set. If the function has forked and
/// this is the child, exits like os._exit, because the child has no other thread. The status is 1 after an exception.
void leave_child(PyObject* callable, PyObject* result) noexcept;
/// Whether the interpreter is shutting down: true as soon as the package's atexit function has begun.
bool is_finalizing() noexcept;

}  // namespace weir::python
