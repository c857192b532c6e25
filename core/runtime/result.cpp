// SPDX-License-Identifier: Apache-2.0
#include "weir/result.hpp"

#include <exception>
#include <new>

// Implements `attempt`.
namespace weir {
namespace {

/// The error to return if memory is exhausted, so that not even an error's text can be allocated. Created when the library
/// is loaded; copying it allocates no memory.
const Error& no_memory() noexcept {
  static const Error error(Errc::out_of_memory, "attempt", "", "host memory is exhausted");
  return error;
}
[[maybe_unused]] const Error& made_early = no_memory();

}  // namespace

Result<void> detail::attempt(void (*function)(void*), void* context) noexcept {
  try {
    try {
      function(context);
      return {};
    } catch (const Error& error) {
      return error;
    } catch (const std::bad_alloc&) {
      return no_memory();
    } catch (const std::exception& error) {
      return Error(Errc::backend_failure, "attempt", "", error.what());
    } catch (...) {
      return Error(Errc::backend_failure, "attempt", "", "the function threw an object that is not a std::exception");
    }
  } catch (const std::bad_alloc&) {
    return no_memory();
  }
}

}  // namespace weir
