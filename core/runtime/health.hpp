// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/runtime/thread_state.hpp"
#include "weir/device.hpp"

/// Poisoned devices. Once there is one, calls of all devices check which device is meant.
namespace weir::detail {

struct HealthCore {
  /// Makes the device known to `support::note_fault`.
  static void add(Device& device);
  static std::vector<const Device*> devices();
  /// The first error poisons the device; later ones change nothing.
  static void poison(const Device& device, const Error& error);
  /// The device's first error, with the operation and the object of the call that it refuses.
  [[noreturn]] static void throw_poisoned(const Device& device, const char* operation, const std::string& object);
  static std::optional<Error> ask(const Device& device);
};

/// Whether calls that concern the device are refused: in a host function, in a forked process, and for a poisoned device. No
/// function is called, so that a call which is not refused needs to save nothing.
inline bool is_refused(const Device& device) noexcept {
  return calls_forbidden() && (thread_state.in_host_function || forked() || device.is_poisoned());
}
/// Throws the error that `is_refused` stands for. `object`: what the call is made on.
template <class Object>
[[noreturn, gnu::cold, gnu::noinline]] void throw_refused(const Device& device, const Object& object,
                                                          const char* operation) {
  check_calls_allowed(operation);
  HealthCore::throw_poisoned(device, operation, object.describe());
}

}  // namespace weir::detail
