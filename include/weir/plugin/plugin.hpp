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

/// The parts of a plugin `libweir_NAME.so`, which contains a backend.
///
/// A plugin has a note with the fingerprint of its build, and exports one C function, the factory; a second one if it can
/// compile without a device. The core reads the note from the file and loads the plugin only if it fits, so that no code of
/// an incompatible plugin ever runs. `WEIR_PLUGIN` defines both.
namespace weir {

/// Passed to a plugin's factory, which reports its attempts here.
class PluginContext {
 public:
  explicit PluginContext(BackendInfo& info) : info_(info) {}
  /// Records one attempt: a file, and "opened" or the loader's message.
  void tried(std::string path, std::string outcome) { info_.attempts.push_back({std::move(path), std::move(outcome)}); }
  /// For a driver that shows no device: sets the features that a device would have with this driver release.
  void would_have(FeatureTable features) { info_.features = std::make_shared<const FeatureTable>(std::move(features)); }

 private:
  BackendInfo& info_;
};

namespace detail {

/// The first word of a note's text about the build; the fingerprint follows.
inline constexpr std::string_view plugin_sanitizer = "sanitizer=" WEIR_ABI_SANITIZER " ";

/// An ELF note with the name "Weir" and the type 1, as docs/abi.md describes it. Text: the plugin's name, its version, and
/// its fingerprint, each ended by a 0; then zeros up to a multiple of 4 bytes.
template <std::size_t TextSize>
struct PluginNoteImage {
  std::uint32_t name_size = 5;
  std::uint32_t content_size = sizeof(std::uint32_t) + TextSize;
  std::uint32_t type = 1;
  char name[8] = {'W', 'e', 'i', 'r'};
  std::uint32_t revision = plugin_revision;
  char text[(TextSize + 3) / 4 * 4] = {};
};

/// `name` and `version` are string literals, whose sizes include the 0.
template <std::size_t NameSize, std::size_t VersionSize>
consteval auto make_plugin_note(const char (&name)[NameSize], const char (&version)[VersionSize]) {
  PluginNoteImage<NameSize + VersionSize + plugin_sanitizer.size() + plugin_fingerprint.size + 1> note;
  std::size_t size = 0;
  const auto add = [&](std::string_view part) {
    for (const char c : part) note.text[size++] = c;
  };
  add({name, NameSize});
  add({version, VersionSize});
  add(plugin_sanitizer);
  add({plugin_fingerprint.text, plugin_fingerprint.size});
  return note;
}

}  // namespace detail
}  // namespace weir

namespace weir {

/// The input and output of a plugin's compiler.
struct ImageCompilation {
  std::string_view architecture;  ///< the plugin's own name, as in DeviceProperties::architecture
  std::string_view source;
  const CompileOptions& options;  ///< checked like those of `Device::do_compile`
  std::vector<std::byte> image;   ///< output: an image for `Device::load_module`
  std::string log;                ///< output: the compiler's warnings
};

}  // namespace weir

extern "C" {
/// The factory, which a plugin exports: opens the driver and returns the backend, which lives until the process ends. Throws
/// `weir::Error` with `driver_not_found`, `driver_too_old`, `no_device` or `driver_failed`. Called at most once in a
/// process.
WEIR_API weir::Backend* weir_create_backend(weir::PluginContext& context);
/// The compiler, which a plugin exports if it has one that needs neither the driver nor a device. Throws `weir::Error` like
/// `Device::compile`. Called from any thread, with or without a backend.
WEIR_API void weir_compile_image(weir::ImageCompilation& compilation);
}

// If Weir's build makes a backend a part of the library, it defines WEIR_CREATE_BACKEND and WEIR_COMPILE_IMAGE as the names
// of the two functions.
#ifdef WEIR_CREATE_BACKEND
#define WEIR_PLUGIN(name, version, create) \
  extern "C" weir::Backend* WEIR_CREATE_BACKEND(weir::PluginContext& context) { return create(context); }
#define WEIR_PLUGIN_COMPILER(compile) \
  extern "C" void WEIR_COMPILE_IMAGE(weir::ImageCompilation& compilation) { compile(compilation); }
#else
/// Only the note, for plugins without a backend: see communicator.hpp.
#define WEIR_PLUGIN_NOTE(name, version)                                                              \
  __attribute__((used, section(".note.weir"), aligned(4))) static constexpr auto weir_plugin_note = \
      weir::detail::make_plugin_note(name, version);
/// Defines a plugin's note and its factory. `name`: of the backend, as in the file's name; `version`: the plugin's own; both
/// string literals. `create`: a function `weir::Backend*(weir::PluginContext&)`.
#define WEIR_PLUGIN(name, version, create) \
  WEIR_PLUGIN_NOTE(name, version)          \
  extern "C" weir::Backend* weir_create_backend(weir::PluginContext& context) { return create(context); }
/// Defines the compiler of a plugin that has one. `compile`: a function `void(weir::ImageCompilation&)`.
#define WEIR_PLUGIN_COMPILER(compile) \
  extern "C" void weir_compile_image(weir::ImageCompilation& compilation) { compile(compilation); }
#endif
