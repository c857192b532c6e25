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

}  // namespace weir::detail
