// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "weir/backend.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"

namespace weir::detail {

/// Returns `device` if it belongs to the backend named `backend`; otherwise throws `wrong_device`. `api`: the vendor's name
/// for the API ("CUDA"), for the error.
inline const Device& of_backend(const Device& device, std::string_view backend, const char* api, const char* operation) {
  if (device.backend().name() != backend) {
    throw Error(Errc::wrong_device, operation, device.describe(),
                std::string("the object is of another backend and has no ") + api + " handle");
  }
  return device;
}

/// Returns `*ref` if the object belongs to a device of the backend named `backend`; otherwise throws `wrong_device`. Throws
/// `invalid_argument` for null.
template <class R>
auto& of_backend(const R& ref, std::string_view backend, const char* api, const char* operation) {
  if (!ref) throw Error(Errc::invalid_argument, operation, "", "the object is null");
  of_backend(ref->device(), backend, api, operation);
  return *ref;
}

}  // namespace weir::detail
