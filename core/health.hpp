// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/thread_state.hpp"
#include "weir/device.hpp"

/// Poisoned devices. Once there is one, calls of all devices take a slower way, in which they are told apart.
namespace weir::detail {

struct HealthCore {
  /// Makes the device known to `support::note_fault`.
  static void add(Device& device);
  /// The first error poisons the device; later ones change nothing.
  static void poison(const Device& device, const Error& error);
  /// The device's first error, with the operation and the object of the call that it refuses.
  [[noreturn]] static void refuse(const Device& device, const char* operation, const std::string& object);
  static std::optional<Error> ask(const Device& device) { return device.do_fault(); }
};

/// What a call on `object`, which is of `device`, checks where `barred()` is true. Throws `called_from_host_function`,
/// `forked_process`, or the first error of a poisoned device.
template <class Object>
[[gnu::cold, gnu::noinline]] void check_barred(const Device& device, const Object& object, const char* operation) {
  check_barred(operation);
  if (device.is_poisoned()) HealthCore::refuse(device, operation, object.describe());
}

}  // namespace weir::detail
