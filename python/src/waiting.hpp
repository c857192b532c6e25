// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "python/src/gil.hpp"

/// How a thread waits for streams and events.
namespace weir::python {

/// Throws `called_from_host_function` on the thread of host functions: the stream waits for that thread.
void check_may_wait(const char* operation);

/// Raises what a function of the stream in Python raised, if one did.
void raise_thrown(const Stream& stream);

/// Waits without the interpreter's lock. Raises TimeoutError, with the text of `late`, when `timeout` seconds have passed.
template <class Waitable, class Late>
void wait_for(Waitable& object, std::optional<double> timeout, Late&& late) {
  check_may_wait("sync");
  const bool done = without_gil([&] {
    if (timeout) return object.synchronize_for(std::chrono::duration<double>(*timeout));
    object.synchronize();
    return true;
  });
  if (done) return;
  PyErr_SetString(PyExc_TimeoutError, std::string(late()).c_str());
  throw nb::python_error();
}

}  // namespace weir::python
