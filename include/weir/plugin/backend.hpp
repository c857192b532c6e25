// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "weir/backend.hpp"

namespace weir {

/// The base of a backend's own class. Every `Backend` is one. It lives until the process ends.
class WEIR_API BackendImpl : public Backend {
 public:
  virtual ~BackendImpl() = default;

 protected:
  explicit BackendImpl(std::string name) : Backend(std::move(name)) {}

  BackendVersions& mutable_versions() noexcept { return versions_; }
  /// Adds a device, which is never deleted. Its features and properties must not change afterwards.
  void add_device(Device& device);
};

}  // namespace weir
