// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/abi.hpp"
#include "weir/backend.hpp"
#include "weir/backend_info.hpp"
#include "weir/export.hpp"

/// The registry of backends: opens backends, selects the default device, and reports why a backend is not usable.
///
/// Environment variables (read with secure_getenv; an invalid value throws `invalid_environment`):
///   WEIR_BACKEND           auto (the default) | NAME | NAME,NAME,…   in order of preference
///   WEIR_DEVICE            the ordinal of the default device
///   WEIR_PLUGIN_PATH       absolute folders, colon-separated, searched for plugins before the library's own
///   WEIR_DISABLE_FEATURES  feature,feature,…   features that are absent on every device
///   WEIR_LOG               error | warn (the default) | info | debug
namespace weir {

/// All backends of the process. Any thread may use it. The registry is never destroyed and plugins are never unloaded, so
/// objects of Weir may outlive main.
class WEIR_API Registry {
 public:
  /// Returns the process's registry, which the first call creates. Throws `headers_incompatible` if the program was compiled
  /// with headers that do not fit the library; `invalid_environment`; `forked_process` in a child process whose parent had
  /// created it.
  WEIR_IN_CALLER static Registry& instance() {
    detail::check_headers();
    return shared();
  }

  /// The names of Weir's own backends, in the order that WEIR_BACKEND=auto tries them: cuda, hip, host.
  static std::span<const std::string_view> known_names() noexcept;

  /// Opens a backend, or returns it if it is already open. Throws `backend_unknown` for an unknown name; if the backend is
  /// not usable, `plugin_not_found`, `plugin_incompatible`, `driver_not_found`, `driver_too_old`, `no_device` or
  /// `driver_failed`.
  Backend& open(std::string_view name);

  /// Tries to open a backend and reports the outcome. Does not throw if the backend is not usable.
  const BackendInfo& probe(std::string_view name);
  /// Calls `probe` for all known names, and returns the results and those of third-party backends that were opened before.
  std::vector<BackendInfo> probe_all();

  /// Opens all backends like `probe_all`, and returns their devices: first the devices of known backends, then those of
  /// other backends.
  std::vector<Device*> devices();

  /// Opens and returns the backend that WEIR_BACKEND selects. Later calls return the same one. Throws like `open`; the error
  /// lists all attempts.
  Backend& default_backend();
  /// The device that WEIR_DEVICE selects, of the default backend.
  Device& default_device();
  /// A device by name: "cuda:1", "host", "host:0". Throws `invalid_argument` for a malformed name; otherwise like `open`.
  Device& device(std::string_view name);

  /// Compiles `source` for an architecture ("sm_90", "compute_90", "gfx90a", "x86-64-v3") of a backend. Returns an image for
  /// `Device::load_module`. Needs the backend's plugin and compiler, but no driver and no device. `log`, if not null, is set
  /// to the compiler's warnings. Throws like `Device::compile`; `plugin_not_found`, `backend_unknown` or
  /// `plugin_incompatible` if the plugin cannot be loaded; `unsupported` if the plugin cannot compile without a device.
  std::vector<std::byte> compile_image(std::string_view backend, std::string_view architecture, std::string_view source,
                                       const CompileOptions& options = {}, std::string* log = nullptr);

  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

 private:
  struct Implementation;
  static Registry& shared();
  Registry();
  ~Registry() = delete;
  Implementation* const implementation_;
};

/// Returns the default device: `Registry::instance().default_device()`. Most programs call this first.
WEIR_IN_CALLER Device& default_device() { return Registry::instance().default_device(); }
/// Returns all devices: `Registry::instance().devices()`. Example: `for (weir::Device* device : weir::devices())`.
WEIR_IN_CALLER std::vector<Device*> devices() { return Registry::instance().devices(); }
/// Returns a device by name: `Registry::instance().device(name)`.
WEIR_IN_CALLER Device& device(std::string_view name) { return Registry::instance().device(name); }

}  // namespace weir
