// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/runtime/thread_state.hpp"
#include "weir/device.hpp"

/// Detection of poisoned devices, and the check of each call for a poisoned device, a forked process and a host function.
namespace weir::detail {

struct HealthCore {
  /// Adds a device to the list that `support::note_fault` queries.
  static void add(Device& device);
  static std::vector<const Device*> devices();
  /// Marks the device as poisoned by `error`. Does nothing if it already is.
  static void poison(const Device& device, const Error& error);
  /// Throws the error that poisoned the device, with the operation and the object of the present call.
  [[noreturn]] static void throw_poisoned(const Device& device, const char* operation, const std::string& object);
  static std::optional<Error> ask(const Device& device);
};

/// Whether a call on the device must throw: in a host function, in a forked process, or on a poisoned device. Inline and
/// without function calls, so that a successful call need not save registers.
inline bool is_refused(const Device& device) noexcept {
  return calls_forbidden() && (thread_state.in_host_function || forked() || device.is_poisoned());
}
/// Throws the error if `is_refused`. `object`: the object of the call, for the error.
template <class Object>
[[noreturn, gnu::cold, gnu::noinline]] void throw_refused(const Device& device, const Object& object,
                                                          const char* operation) {
  check_calls_allowed(operation);
  HealthCore::throw_poisoned(device, operation, object.describe());
}

}  // namespace weir::detail
