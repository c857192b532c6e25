// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weir/backend.hpp"
#include "weir/feature.hpp"
#include "weir/registry.hpp"
#include "weir/version.hpp"

/// How a backend comes into the process: what a plugin `libweir_NAME.so` exports.
///
/// A plugin exports one C function, `weir_plugin`, that returns a `weir_plugin_descriptor`. The core reads the descriptor
/// first, and touches nothing else unless all of it matches. `WEIR_PLUGIN` writes the function.
namespace weir {

/// Given to a plugin's factory: where it tells what it tried, for the user to see.
class PluginContext {
 public:
  explicit PluginContext(BackendInfo& info) : info_(info) {}
  void tried(std::string path, std::string outcome) { info_.attempts.push_back({std::move(path), std::move(outcome)}); }
  /// For a driver that shows no device: what a device could do, as far as the driver's release decides.
  void would_have(FeatureTable features) { info_.features = std::make_shared<const FeatureTable>(std::move(features)); }

 private:
  BackendInfo& info_;
};

#if defined(__clang__)
#define WEIR_ABI_COMPILER "clang"
#else
#define WEIR_ABI_COMPILER "gcc"
#endif
#if defined(_LIBCPP_VERSION)
#define WEIR_ABI_LIBRARY "libc++"
#elif defined(_GLIBCXX_USE_CXX11_ABI) && _GLIBCXX_USE_CXX11_ABI
#define WEIR_ABI_LIBRARY "libstdc++-cxx11"
#else
#define WEIR_ABI_LIBRARY "libstdc++-cxx98"
#endif
#if defined(__SANITIZE_ADDRESS__)
#define WEIR_ABI_SANITIZER "+asan"
#elif defined(__SANITIZE_THREAD__)
#define WEIR_ABI_SANITIZER "+tsan"
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WEIR_ABI_SANITIZER "+asan"
#elif __has_feature(thread_sanitizer)
#define WEIR_ABI_SANITIZER "+tsan"
#endif
#endif
#ifndef WEIR_ABI_SANITIZER
#define WEIR_ABI_SANITIZER ""
#endif
/// Compiler family, standard library with its ABI, and sanitizer: what two binaries must share to pass C++ objects.
#define WEIR_ABI_FINGERPRINT WEIR_ABI_COMPILER "/" WEIR_ABI_LIBRARY WEIR_ABI_SANITIZER

}  // namespace weir

extern "C" {
/// Plain data, so that it can be read whoever built it.
struct weir_plugin_descriptor {
  char magic[8];                      ///< "WEIRPLUG"
  std::uint32_t size;                 ///< sizeof(weir_plugin_descriptor)
  std::uint32_t interface_revision;   ///< weir::interface_revision
  const char* abi_fingerprint;        ///< WEIR_ABI_FINGERPRINT
  const char* name;                   ///< the backend's name, as in the file's
  const char* version;                ///< the plugin's own version
  /// Opens the driver and returns the backend, which lives until the process ends. Throws `weir::Error` with
  /// `driver_not_found`, `driver_too_old`, `no_device` or `driver_failed`. Called at most once in a process.
  weir::Backend* (*create)(weir::PluginContext&);
};
}

/// Defines a plugin's one exported function. `create`: a function `weir::Backend*(weir::PluginContext&)`.
#define WEIR_PLUGIN(name, version, create)                                                          \
  extern "C" WEIR_API const weir_plugin_descriptor* weir_plugin();                                  \
  extern "C" WEIR_API const weir_plugin_descriptor* weir_plugin() {                                 \
    static const weir_plugin_descriptor descriptor = {                                              \
        {'W', 'E', 'I', 'R', 'P', 'L', 'U', 'G'}, sizeof(weir_plugin_descriptor),                   \
        weir::interface_revision, WEIR_ABI_FINGERPRINT, name, version, create};                     \
    return &descriptor;                                                                             \
  }
