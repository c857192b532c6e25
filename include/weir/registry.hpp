// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/backend.hpp"
#include "weir/error.hpp"
#include "weir/export.hpp"
#include "weir/feature.hpp"

/// The registry: which backends there are, which of them this machine can use, and why not the others.
///
/// Read from the environment (with secure_getenv; a value that does not parse throws `invalid_environment`):
///   WEIR_BACKEND           auto (the default) | NAME | NAME,NAME,…   in order of preference
///   WEIR_DEVICE            the ordinal of the default device
///   WEIR_PLUGIN_PATH       absolute folders, colon-separated, searched for plugins before the library's own
///   WEIR_DISABLE_FEATURES  feature,feature,…   treated as absent on every device
///   WEIR_LOG               error | warn (the default) | info | debug
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
  std::string plugin_path;             ///< the plugin that was loaded, or empty
  std::string plugin_version;
  std::vector<LoadAttempt> attempts;   ///< plugins and driver libraries, in the order tried
  /// What a device could do, as far as the driver's release decides, where a driver without a device can tell; else null.
  std::shared_ptr<const FeatureTable> features;
  Backend* backend = nullptr;          ///< null unless usable
};

/// The process's backends. Any thread may use it. It is never destroyed, and plugins are never unloaded, so that objects
/// may outlive main.
class WEIR_API Registry {
 public:
  /// The one registry; made at the first call. Throws `invalid_environment`; `forked_process` in a child of a process that
  /// had opened it.
  static Registry& instance();

  /// The names that Weir comes with, in the order that `auto` prefers: cuda, hip, host.
  static std::span<const std::string_view> known_names() noexcept;

  /// Opens a backend, or returns it if it is open. Throws `backend_unknown`, or what keeps it from being usable:
  /// `plugin_not_found`, `plugin_incompatible`, `driver_not_found`, `driver_too_old`, `no_device`, `driver_failed`.
  Backend& open(std::string_view name);

  /// Tries a backend and tells what came of it. Never throws because a backend is broken.
  const BackendInfo& probe(std::string_view name);
  /// `probe` for every known name, and for those of other plugins that were opened.
  std::vector<BackendInfo> probe_all();

  /// The backend that WEIR_BACKEND chooses. Chosen once. Throws as `open` does, naming all that was tried.
  Backend& default_backend();
  /// The device of the default backend that WEIR_DEVICE chooses.
  Device& default_device();

  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

 private:
  struct Implementation;
  Registry();
  ~Registry() = delete;
  Implementation* const implementation_;
};

/// `Registry::instance().default_device()`: where most programs start.
WEIR_API Device& default_device();
/// A device by name: "cuda:1", "host", "host:0". Throws `invalid_argument` for another spelling, else as `open` does.
WEIR_API Device& device(std::string_view name);

}  // namespace weir
