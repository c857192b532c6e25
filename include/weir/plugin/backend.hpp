// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "weir/backend.hpp"

/// The interface that a plugin implements for its backend.
namespace weir {

/// The base class of each plugin's backend class; every `Backend` object is a `BackendImpl`. Lives until the process ends.
class WEIR_API BackendImpl : public Backend {
 public:
  virtual ~BackendImpl() = default;

 protected:
  explicit BackendImpl(std::string name) : Backend(std::move(name)) {}

  BackendVersions& mutable_versions() noexcept { return versions_; }
  /// Adds a device. The backend must never delete it, and must not change its features and properties after this call.
  void add_device(Device& device);
};

}  // namespace weir
