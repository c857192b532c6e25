// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/backend_info.hpp"
#include "weir/feature.hpp"
#include "weir/plugin/abi.hpp"
#include "weir/registry.hpp"
#include "weir/version.hpp"

/// What a backend plugin `libweir_NAME.so` must contain: a note with its fingerprint, and the exported functions.
///
/// The note is an ELF note with the fingerprint of the plugin's build. The core reads the note from the file, and loads the
/// plugin only if the fingerprint matches the library's, so that no code of an incompatible plugin ever runs. The plugin
/// exports a factory function, and may export a compiler. `WEIR_PLUGIN` defines the note and the factory.
namespace weir {

/// Passed to a plugin's factory, for reporting which files it tried to open.
class PluginContext {
 public:
  /// Made by the core. Valid during the call of the factory, on its thread.
  explicit PluginContext(BackendInfo& info) : info_(info) {}
  /// Records an attempt to open the file `path`. `outcome`: "opened", or the loader's message.
  void tried(std::string path, std::string outcome) { info_.attempts.push_back({std::move(path), std::move(outcome)}); }
  /// For a driver that reports no device: sets the features that a device would have with this driver release.
  void would_have(FeatureTable features) { info_.features = std::make_shared<const FeatureTable>(std::move(features)); }

 private:
  BackendInfo& info_;
};

namespace detail {

/// The word that precedes the fingerprint in a note's text.
inline constexpr std::string_view plugin_sanitizer = "sanitizer=" WEIR_ABI_SANITIZER " ";

/// An ELF note with the name "Weir" and the type 1, as docs/abi.md describes it. Its text contains the plugin's name,
/// version and fingerprint, each null-terminated, and is padded with zeros to a multiple of 4 bytes.
template <std::size_t TextSize>
struct PluginNoteImage {
  std::uint32_t name_size = 5;
  std::uint32_t content_size = sizeof(std::uint32_t) + TextSize;
  std::uint32_t type = 1;
  char name[8] = {'W', 'e', 'i', 'r'};
  std::uint32_t revision = plugin_revision;
  char text[(TextSize + 3) / 4 * 4] = {};
};

/// Makes a note at compile time. `name` and `version` are string literals, whose sizes include the terminating null
/// character.
template <std::size_t NameSize, std::size_t VersionSize>
consteval auto make_plugin_note(const char (&name)[NameSize], const char (&version)[VersionSize]) {
  PluginNoteImage<NameSize + VersionSize + plugin_sanitizer.size() + plugin_fingerprint.size()> note;
  std::size_t size = 0;
  const auto add = [&](std::string_view part) {
    for (const char c : part) note.text[size++] = c;
  };
  add({name, NameSize});
  add({version, VersionSize});
  add(plugin_sanitizer);
  add({plugin_fingerprint.data(), plugin_fingerprint.size()});
  return note;
}

}  // namespace detail
}  // namespace weir

namespace weir {

/// The input and output of a plugin's compiler.
struct ImageCompilation {
  std::string_view architecture;  ///< the architecture to compile for, spelled as in DeviceProperties::architecture
  std::string_view source;
  const CompileOptions& options;  ///< the options; the core has checked them
  std::vector<std::byte> image;   ///< output: an image for `Device::load_module`
  std::string log;                ///< output: the compiler's warnings
};

}  // namespace weir

extern "C" {
/// The factory. Every backend plugin exports this function. It opens the driver and returns the backend, which must live
/// until the process ends. Throws `weir::Error` with `driver_not_found`, `driver_too_old`, `no_device` or `driver_failed`.
/// Called at most once in a process.
WEIR_API weir::Backend* weir_create_backend(weir::PluginContext& context);
/// Compiles source code for an architecture, without a driver or a device. A plugin exports this function if it supports
/// this. Sets `image` and `log`. Throws `weir::Error` like `Device::compile`. Called on any thread, even if the backend was
/// not opened.
WEIR_API void weir_compile_image(weir::ImageCompilation& compilation);
}

// For a backend that is built into the library instead of a plugin, Weir's build defines WEIR_CREATE_BACKEND and
// WEIR_COMPILE_IMAGE, the names of its two functions.
#ifdef WEIR_CREATE_BACKEND
#define WEIR_PLUGIN(name, version, create) \
  extern "C" weir::Backend* WEIR_CREATE_BACKEND(weir::PluginContext& context) { return create(context); }
#define WEIR_PLUGIN_COMPILER(compile) \
  extern "C" void WEIR_COMPILE_IMAGE(weir::ImageCompilation& compilation) { compile(compilation); }
#else
/// Defines only the note, for plugins that contain no backend: see communicator.hpp.
#define WEIR_PLUGIN_NOTE(name, version)                                                              \
  __attribute__((used, section(".note.weir"), aligned(4))) static constexpr auto weir_plugin_note = \
      weir::detail::make_plugin_note(name, version);
/// Defines a plugin's note and its factory. `name`: the backend's name, as in the file's name. `version`: the plugin's
/// version. Both are string literals. `create`: a function `weir::Backend*(weir::PluginContext&)`.
#define WEIR_PLUGIN(name, version, create) \
  WEIR_PLUGIN_NOTE(name, version)          \
  extern "C" weir::Backend* weir_create_backend(weir::PluginContext& context) { return create(context); }
/// Defines the function `weir_compile_image` of a plugin. `compile`: a function `void(weir::ImageCompilation&)`.
#define WEIR_PLUGIN_COMPILER(compile) \
  extern "C" void weir_compile_image(weir::ImageCompilation& compilation) { compile(compilation); }
#endif
