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

/// The registry: the backends, which of them this machine can use, and why it cannot use the others.
///
/// Read from the environment (with secure_getenv; an invalid value throws `invalid_environment`):
///   WEIR_BACKEND           auto (the default) | NAME | NAME,NAME,…   in order of preference
///   WEIR_DEVICE            the ordinal of the default device
///   WEIR_PLUGIN_PATH       absolute folders, colon-separated, searched for plugins before the library's own
///   WEIR_DISABLE_FEATURES  feature,feature,…   features that are absent on every device
///   WEIR_LOG               error | warn (the default) | info | debug
namespace weir {

/// The process's backends. Any thread may use it. It is never destroyed and plugins are never unloaded, so objects may
/// outlive main.
class WEIR_API Registry {
 public:
  /// The only registry, created by the first call. Throws `headers_incompatible` if the caller's headers do not fit the
  /// library; `invalid_environment`; `forked_process` in the child of a process that opened it.
  WEIR_IN_CALLER static Registry& instance() {
    detail::check_headers();
    return shared();
  }

  /// The names of Weir's own backends in the order of `auto`: cuda, hip, host.
  static std::span<const std::string_view> known_names() noexcept;

  /// Opens a backend, or returns it if it is open. Throws `backend_unknown`, or the reason why it is not usable:
  /// `plugin_not_found`, `plugin_incompatible`, `driver_not_found`, `driver_too_old`, `no_device`, `driver_failed`.
  Backend& open(std::string_view name);

  /// Tries to open a backend and reports the outcome. Does not throw if the backend is not usable.
  const BackendInfo& probe(std::string_view name);
  /// `probe` for all known names, and for other plugins that were opened.
  std::vector<BackendInfo> probe_all();

  /// The devices of all usable backends, those of the known ones first; opens the backends that `probe_all` opens.
  std::vector<Device*> devices();

  /// The backend that WEIR_BACKEND selects. The choice is made once. Throws like `open`; the error lists all attempts.
  Backend& default_backend();
  /// The device of the default backend that WEIR_DEVICE selects.
  Device& default_device();
  /// A device by name: "cuda:1", "host", "host:0". Throws `invalid_argument` for a malformed name; otherwise like `open`.
  Device& device(std::string_view name);

  /// Compiles for an architecture ("sm_90", "compute_90", "gfx90a", "x86-64-v3") of a backend; returns an image for
  /// `Device::load_module`. Needs the backend's plugin and compiler, but no driver and no device. Sets `log`, if given, to
  /// the compiler's warnings. Throws like `Device::compile`; `plugin_not_found`, `backend_unknown` or `plugin_incompatible`
  /// without the plugin; `unsupported` if the plugin has no such compiler.
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

/// `Registry::instance().default_device()`: where most programs start.
WEIR_IN_CALLER Device& default_device() { return Registry::instance().default_device(); }
/// `Registry::instance().devices()`: `for (weir::Device* device : weir::devices())`.
WEIR_IN_CALLER std::vector<Device*> devices() { return Registry::instance().devices(); }
/// `Registry::instance().device(name)`.
WEIR_IN_CALLER Device& device(std::string_view name) { return Registry::instance().device(name); }

}  // namespace weir
