// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/export.hpp"
#include "weir/module.hpp"

/// Kernels that were compiled ahead of time: one source, for several architectures, as the CMake function `weir_add_kernels`
/// makes them. docs/ahead-of-time.md tells how, docs/bundle-format.md what the bytes mean.
namespace weir {

/// A view of a bundle's bytes: images for architectures, and the source if the bundle carries it. `Device::load` takes what
/// fits. The bytes must live as long as the view, and those that `weir_kernels` names live as long as the binary that they
/// are a part of. A copy shares the images and the source. Immutable: any thread may use it.
class WEIR_API KernelBundle {
 public:
  /// Code for one architecture of one backend.
  struct Image {
    std::string_view backend;         ///< "cuda", "hip", "host", or a third party's
    std::string_view architecture;    ///< "sm_90", "compute_90" (PTX), "gfx90a", "x86-64-v3"
    std::span<const std::byte> code;  ///< what `Device::load_module` takes
  };

  /// Checks all sizes in `bytes`, so that nothing outside of them is ever read. Throws `invalid_image`, saying what is
  /// wrong.
  explicit KernelBundle(std::span<const std::byte> bytes);

  /// What the source's file was called: "blur.cu".
  std::string_view name() const noexcept { return name_; }
  /// What the bundle holds, in its order.
  std::vector<Image> images() const { return images_; }
  /// The source, or nothing if the bundle does not carry it.
  std::optional<std::string_view> source() const noexcept { return source_; }
  /// The headers that go with the source: the names by which they are included, and their texts.
  std::vector<std::pair<std::string_view, std::string_view>> headers() const { return headers_; }
  /// How the source is compiled for a device of that backend, its headers included.
  CompileOptions options(std::string_view backend) const;
  /// The whole bundle.
  std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  using Entries = std::vector<std::pair<std::string_view, std::string_view>>;

  std::span<const std::byte> bytes_;
  std::string_view name_;
  std::vector<Image> images_;
  std::optional<std::string_view> source_;
  Entries headers_;
  Entries defines_;
  Entries extra_;  // the backend, and an option of its compiler's
  std::vector<std::string_view> kernels_;
  int cxx_standard_ = 17;
  bool fast_math_ = false;
  bool debug_ = false;
};

}  // namespace weir

#ifdef __clang__
// In a nameless namespace Clang takes the two variables for internal, and would warn that they are defined nowhere.
#define WEIR_KERNELS_BEGIN _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wundefined-internal\"")
#define WEIR_KERNELS_END _Pragma("clang diagnostic pop")
#else
#define WEIR_KERNELS_BEGIN
#define WEIR_KERNELS_END
#endif

/// The part of the bundles' symbols that belongs to the target: `weir_add_kernels` defines it for the target's sources.
#ifndef WEIR_KERNELS_TARGET
#define WEIR_KERNELS_TARGET "not_a_target_of_weir_add_kernels"
#endif

/// The bundle of the source file `name`.cu that `weir_add_kernels` put into this target, as a `weir::KernelBundle`:
/// `device.load(weir_kernels(blur))`. For the sources of that target alone: each target has bundles of its own, so two
/// libraries may each have a `utils.cu`. If the target has no such bundle, the linker reports an undefined reference to
/// `weir_kernels.PROJECT.TARGET.NAME`.
// The variables carry the name too: block-scope declarations of one name are one variable, and GCC would use its last symbol
// for all of them.
#define weir_kernels(name)                                                                           \
  ([]() -> ::weir::KernelBundle {                                                                    \
    WEIR_KERNELS_BEGIN                                                                               \
    __attribute__((visibility("hidden"))) extern const std::byte weir_bundle_first_##name[] __asm__( \
        "weir_kernels." WEIR_KERNELS_TARGET "." #name);                                              \
    __attribute__((visibility("hidden"))) extern const std::byte weir_bundle_last_##name[] __asm__(  \
        "weir_kernels." WEIR_KERNELS_TARGET "." #name ".end");                                       \
    WEIR_KERNELS_END                                                                                 \
    return ::weir::KernelBundle({weir_bundle_first_##name, weir_bundle_last_##name});                \
  }())
