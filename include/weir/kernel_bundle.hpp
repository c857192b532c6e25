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

/// Kernels that were compiled ahead of time: one source, for several architectures, as made by the CMake function
/// `weir_add_kernels`: see docs/ahead-of-time.md. docs/bundle-format.md describes the bytes.
namespace weir {

/// A view of a bundle's bytes: images for architectures, and the source if the bundle carries it. `Device::load` selects the
/// image that fits. The bytes must live as long as the view; bundles from `weir_kernels` live as long as the binary that
/// contains them. Copies share the images and the source. Immutable, so any thread may use it.
class WEIR_API KernelBundle {
 public:
  /// Code for one architecture of one backend.
  struct Image {
    std::string_view backend;         ///< "cuda", "hip", "host", or a third party's name
    std::string_view architecture;    ///< "sm_90", "compute_90" (PTX), "gfx90a", "x86-64-v3"
    std::span<const std::byte> code;  ///< for `Device::load_module`
  };

  /// Checks all sizes in `bytes`, so that nothing outside of them is ever read. Throws `invalid_image`, with the fault.
  explicit KernelBundle(std::span<const std::byte> bytes);

  /// The name of the source file: "blur.cu".
  std::string_view name() const noexcept { return name_; }
  /// The bundle's images, in its order.
  std::vector<Image> images() const { return images_; }
  /// The source, or nothing if the bundle does not contain it.
  std::optional<std::string_view> source() const noexcept { return source_; }
  /// The headers that belong to the source: the names used in `#include`, and their texts.
  std::vector<std::pair<std::string_view, std::string_view>> headers() const { return headers_; }
  /// The options for compiling the source for a device of that backend, including its headers.
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
  Entries extra_;  // the backend, and an option of its compiler
  std::vector<std::string_view> kernels_;
  int cxx_standard_ = 17;
  bool fast_math_ = false;
  bool debug_ = false;
};

}  // namespace weir

#ifdef __clang__
// Not in an unnamed namespace, where Clang would treat the two variables as internal and warn that they are undefined.
#define WEIR_KERNELS_BEGIN _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wundefined-internal\"")
#define WEIR_KERNELS_END _Pragma("clang diagnostic pop")
#else
#define WEIR_KERNELS_BEGIN
#define WEIR_KERNELS_END
#endif

/// The target's part of the bundles' symbols: `weir_add_kernels` defines it for the target's sources.
#ifndef WEIR_KERNELS_TARGET
#define WEIR_KERNELS_TARGET "not_a_target_of_weir_add_kernels"
#endif

/// The bundle of the source file `name`.cu that `weir_add_kernels` put into this target, as a `weir::KernelBundle`:
/// `device.load(weir_kernels(blur))`. Only for sources of that target: each target has its own bundles, so two libraries may
/// each have a `utils.cu`. If the target has no such bundle, the linker reports an undefined reference to
/// `weir_kernels.PROJECT.TARGET.NAME`.
// The variables contain the name as well: block-scope declarations of the same name are one variable, and GCC would use its
// last symbol for all of them.
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
