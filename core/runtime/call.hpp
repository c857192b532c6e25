// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

#include "core/runtime/captures.hpp"
#include "core/runtime/health.hpp"
#include "core/runtime/thread_state.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"
#include "weir/feature.hpp"
#include "weir/span.hpp"

/// `Call`: the checks that all public functions share, and the errors that they throw.
namespace weir::detail {

/// Returns "feature 'graph_clone' is absent: …", with the reason.
inline std::string absence(const Device& device, Feature feature) {
  return "feature '" + std::string(to_string(feature)) + "' is absent: " + device.feature(feature).reason;
}

/// One call of a public function. Stores the function's name and its object for errors.
template <class Object>
class Call {
 public:
  /// Throws in a host function, in a forked process, and if the device is poisoned. `operation`: the function's name,
  /// "Device::allocate".
  Call(const Object& object, const char* operation) : object_(object), operation_(operation) {
    if (is_refused(device())) [[unlikely]] throw_refused(device(), object, operation);
  }

  const char* operation() const noexcept { return operation_; }
  std::string describe() const { return object_.describe(); }
  const Device& device() const noexcept {
    if constexpr (std::is_same_v<Object, Device>) {
      return object_;
    } else {
      return object_.device();
    }
  }

  [[noreturn, gnu::cold]] void throw_error(Errc code, std::string_view cause) const {
    throw_error(object_, operation_, code, cause);
  }
  /// Throws `unsupported`, with the reason, for a feature that the device lacks.
  void require(Feature feature) const {
    if (!device().supports(feature)) [[unlikely]]
      throw_missing_feature(*this, feature);
  }
  /// Returns `*ref`. Throws `invalid_argument` for null. `what`: the name of the argument for the error, "the event".
  template <class R>
  auto& not_null(const R& ref, const char* what) const {
    if (!ref) [[unlikely]]
      throw_null(*this, what);
    return *ref;
  }
  /// Throws `wrong_device` if an argument belongs to another device. `what`: the name of the argument for the error, "the
  /// event".
  void check_device(const Device& other, const char* what) const {
    if (&other != &device()) [[unlikely]] throw_error(Errc::wrong_device, std::string(what) + " is of " + other.describe());
  }
  /// Throws `invalid_argument` if `bytes * times` is more than any memory has.
  void check_bytes(std::size_t bytes, std::size_t times = 1) const { (void)byte_count(operation_, bytes, times); }
  /// Throws `invalid_argument` for a value greater than `last`, the last enumerator of the enumeration. Such values come
  /// from casts and uninitialized variables. `type`: the enumeration's name for the error.
  template <class E>
  void check_enumerator(const char* type, E value, E last) const {
    if (value > last) [[unlikely]] {
      throw_error(Errc::invalid_argument, "this value is not a " + std::string(type) + " of value " +
                                              std::to_string(static_cast<std::underlying_type_t<E>>(value)) +
                                              "; use the enumerators");
    }
  }
  /// Throws `capture_unsupported` if the mode of an open capture does not allow the calling thread to make unsafe calls on
  /// the device (see `CaptureMode`).
  void check_unsafe() const {
    if (open_captures.load(std::memory_order_acquire) == 0) [[likely]] return;
    if (const auto capture = Captures::instance().forbidding_unsafe_calls(device().backend())) {
      throw_unsafe_call(operation_, object_.describe(), *capture);
    }
  }

  /// Throws `capture_unsupported` for a graph into which a stream still captures (`Stream::resume_capture`).
  void check_not_continued(const Graph& graph) const {
    if (open_captures.load(std::memory_order_acquire) == 0) [[likely]]
      return;
    if (Captures::instance().is_continued(graph)) throw_continued_graph(operation_, object_.describe(), graph);
  }

 protected:
  struct Unchecked {};
  Call(const Object& object, const char* operation, Unchecked) noexcept : object_(object), operation_(operation) {}

  const Object& object_;
  const char* operation_;

 private:
  // The functions that throw get the call by value: if its address escaped, the compiler could not keep the original in
  // registers.
  [[noreturn, gnu::cold, gnu::noinline]] static void throw_error(const Object& object, const char* operation, Errc code,
                                                            std::string_view cause) {
    throw Error(code, operation, object.describe(), cause);
  }
  [[noreturn, gnu::cold, gnu::noinline]] static void throw_null(Call call, const char* what) {
    call.throw_error(Errc::invalid_argument, std::string(what) + " is null");
  }
  [[noreturn, gnu::cold, gnu::noinline]] static void throw_missing_feature(Call call, Feature feature) {
    call.throw_error(Errc::unsupported, absence(call.device(), feature));
  }
};

/// For calls that wait for a whole device: throws `capture_unsupported` if an open capture forbids the wait.
void check_device_wait(const Call<Device>& call);

}  // namespace weir::detail
