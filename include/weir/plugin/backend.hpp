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
  /// `name`: the backend's name, which must be that of the plugin's file.
  explicit BackendImpl(std::string name) : Backend(std::move(name)) {}

  /// The versions that `Backend::versions` returns. To be set in the constructor.
  BackendVersions& mutable_versions() noexcept { return versions_; }
  /// Adds a device, in the order of ordinals, in the constructor. The backend must never delete it, and must not change its
  /// features and properties after this call, which removes the features that WEIR_DISABLE_FEATURES names.
  void add_device(Device& device);
};

}  // namespace weir
