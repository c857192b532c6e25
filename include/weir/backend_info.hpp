// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weir/export.hpp"
#include "weir/feature.hpp"
#include "weir/fwd.hpp"

/// What is known of a backend on this machine, usable or not.
namespace weir {

enum class BackendState : std::uint8_t {
  usable,
  plugin_not_found,
  plugin_incompatible,
  driver_not_found,
  driver_too_old,
  no_device,
  driver_failed,
  bad_variable,  ///< an environment variable that the backend reads does not parse
};
WEIR_API std::string_view to_string(BackendState) noexcept;

/// One thing that was tried on the way to a backend: a file, and what came of it.
struct LoadAttempt {
  std::string path;
  std::string outcome;  ///< "opened", or the loader's message
};

/// A backend's standing on this machine.
struct BackendInfo {
  std::string name;
  BackendState state = BackendState::plugin_not_found;
  std::string reason;                  ///< empty where usable; else cause and remedy
  std::string plugin_path;             ///< the plugin that was loaded; empty also where the backend is built in
  std::string plugin_version;
  std::vector<LoadAttempt> attempts;   ///< plugins and driver libraries, in the order tried
  /// What a device could do, as far as the driver's release decides, where a driver without a device can tell; else null.
  std::shared_ptr<const FeatureTable> features;
  Backend* backend = nullptr;          ///< null unless usable
};

}  // namespace weir
