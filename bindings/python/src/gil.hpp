// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/python/src/common.hpp"
#include "weir/annotation.hpp"
#include "weir/plugin/caller.hpp"
#include "weir/plugin/support.hpp"

/// The GIL, and what happens to it at interpreter shutdown.
///
/// A free-threaded interpreter has no GIL. There "with the GIL held" means that the thread state is attached. Many threads
/// are attached at once, so this guards no data. But the garbage collector, `fork` and others stop all attached threads, and
/// wait until each calls Python or detaches. So the rules are the same: with the GIL held, lock a mutex only if its owners
/// do not call Python, and release the GIL before a long wait.
namespace weir::python {

/// Shows tools the calling thread's Python stack. Construct with the GIL held.
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

/// Releases the GIL while it lives. Needed around every call that may wait for work, for a driver lock or for room in a
/// queue, since the wait may be for a host function in Python.
///
/// Once the interpreter shuts down, only the main thread takes the GIL back; other threads sleep until the process exits.
/// Python before 3.14 would unwind such a thread, which aborts the process where C++ does not expect it.
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

/// Holds the GIL again while it lives, on the thread of a WithoutGil.
class WithGil {
 public:
  WithGil();
  ~WithGil() { PyGILState_Release(state_); }
  WithGil(const WithGil&) = delete;
  WithGil& operator=(const WithGil&) = delete;

 private:
  PyGILState_STATE state_;
};

/// A scope for destroying objects whose destructors may call the driver, which may wait for all work and thus for host
/// functions. Releases the GIL. On the host-function thread, which must not wait, Weir's reclaimer destroys them.
class Releasing {
 public:
  Releasing();

 private:
  std::optional<support::HostFunctionScope> scope_;
  WithoutGil released_;
};

/// Resets a smart pointer in such a scope, unless it is empty.
template <class Owner>
void release(Owner& owner) {
  if (!owner) return;
  const Releasing releasing;
  owner.reset();
}

/// Calls `function` without the GIL and returns its result.
template <class F>
decltype(auto) without_gil(F&& function) {
  const WithoutGil released;
  return std::forward<F>(function)();
}

/// Take the GIL on a thread of the package, the first time and again. PyEval_SaveThread releases it.
PyThreadState* attach_thread();
void take_gil(PyThreadState* state);

/// Whether this process was forked from one with a host-function thread, which it lacks itself.
bool is_forked() noexcept;
/// Whether the interpreter shuts down. True from the package's atexit function on.
bool is_finalizing() noexcept;

}  // namespace weir::python
