// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "weir/backend.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"

namespace weir::detail {

/// `device`, if it is of the backend of that name. `api`: whose handles are asked for. Throws `wrong_device`.
inline const Device& of_backend(const Device& device, std::string_view backend, const char* api, const char* operation) {
  if (device.backend().name() != backend) {
    throw Error(Errc::wrong_device, operation, device.describe(),
                std::string("the object is of another backend and has no ") + api + " handle");
  }
  return device;
}

/// What `ref` refers to, if it is of that backend. Throws `invalid_argument` for null.
template <class R>
auto& of_backend(const R& ref, std::string_view backend, const char* api, const char* operation) {
  if (!ref) throw Error(Errc::invalid_argument, operation, "", "the object is null");
  of_backend(ref->device(), backend, api, operation);
  return *ref;
}

}  // namespace weir::detail
