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

/// Whether a backend is usable on this machine, and the reason if not.
namespace weir {

/// The outcome of opening a backend.
enum class BackendState : std::uint8_t {
  usable,
  plugin_not_found,
  plugin_incompatible,
  driver_not_found,
  driver_too_old,
  no_device,
  driver_failed,
  bad_variable,  ///< an environment variable of the backend does not parse
};
WEIR_API std::string_view to_string(BackendState) noexcept;

/// A plugin or driver library that Weir tried to open, and the outcome.
struct LoadAttempt {
  std::string path;
  std::string outcome;  ///< "opened", or the loader's message
};

/// The state of a backend on this machine.
struct BackendInfo {
  std::string name;
  BackendState state = BackendState::plugin_not_found;
  std::string reason;                  ///< empty if usable, otherwise cause and remedy
  std::string plugin_path;             ///< the path of the plugin that was loaded; empty if none was loaded or the backend
                                       ///< is built in
  std::string plugin_version;
  std::vector<LoadAttempt> attempts;   ///< the attempts to open plugins and driver libraries, in their order
  /// If the driver works but reports no device: the features that a device would have with this driver release. Otherwise
  /// null.
  std::shared_ptr<const FeatureTable> features;
  Backend* backend = nullptr;          ///< null if the backend is not usable
};

}  // namespace weir
