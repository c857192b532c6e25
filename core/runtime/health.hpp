// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/runtime/thread_state.hpp"
#include "weir/device.hpp"

/// Poisoned devices. As soon as one device is poisoned, calls on all devices check for that.
namespace weir::detail {

struct HealthCore {
  /// Registers the device for `support::note_fault`.
  static void add(Device& device);
  static std::vector<const Device*> devices();
  /// The first error poisons the device; later ones change nothing.
  static void poison(const Device& device, const Error& error);
  /// Throws the device's first error, with the operation and the object of the refused call.
  [[noreturn]] static void throw_poisoned(const Device& device, const char* operation, const std::string& object);
  static std::optional<Error> ask(const Device& device);
};

/// Whether calls on the device are refused: in a host function, in a forked process, and on a poisoned device. It calls no
/// function, so that an accepted call need not save registers.
inline bool is_refused(const Device& device) noexcept {
  return calls_forbidden() && (thread_state.in_host_function || forked() || device.is_poisoned());
}
/// Throws the error for a refused call. `object`: the object of the call.
template <class Object>
[[noreturn, gnu::cold, gnu::noinline]] void throw_refused(const Device& device, const Object& object,
                                                          const char* operation) {
  check_calls_allowed(operation);
  HealthCore::throw_poisoned(device, operation, object.describe());
}

}  // namespace weir::detail
