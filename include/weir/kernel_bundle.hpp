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

/// Kernel bundles: kernels that the CMake function `weir_add_kernels` compiled ahead of time from one source for several
/// architectures. See docs/ahead-of-time.md; docs/bundle-format.md describes the bytes.
namespace weir {

/// A view of a bundle: it contains an image for each architecture, and may contain the source. `Device::load` selects the
/// image that fits. The view does not own the bytes, which must outlive it; the bytes of `weir_kernels` live as long as the
/// binary that contains them. Immutable, so any thread may use it.
class WEIR_API KernelBundle {
 public:
  /// Code for one architecture of one backend.
  struct Image {
    std::string_view backend;         ///< "cuda", "hip", "host", or a third party's name
    std::string_view architecture;    ///< "sm_90", "compute_90" (PTX), "gfx90a", "x86-64-v3"
    std::span<const std::byte> code;  ///< the image, for `Device::load_module`
  };

  /// Makes a view of `bytes`. Checks all sizes in the bundle, so that later calls never read outside of `bytes`. Throws
  /// `invalid_image`, with the cause, if they are not a valid bundle.
  explicit KernelBundle(std::span<const std::byte> bytes);

  /// The name of the source file: "blur.cu".
  std::string_view name() const noexcept { return name_; }
  /// The bundle's images, in stored order.
  std::vector<Image> images() const { return images_; }
  /// The source; nullopt if the bundle does not contain it.
  std::optional<std::string_view> source() const noexcept { return source_; }
  /// The headers that belong to the source: the names used in `#include`, and their texts.
  std::vector<std::pair<std::string_view, std::string_view>> headers() const { return headers_; }
  /// The options for compiling the source for a device of `backend`, including the headers.
  CompileOptions options(std::string_view backend) const;
  /// All bytes of the bundle.
  std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  using Entries = std::vector<std::pair<std::string_view, std::string_view>>;

  std::span<const std::byte> bytes_;
  std::string_view name_;
  std::vector<Image> images_;
  std::optional<std::string_view> source_;
  Entries headers_;
  Entries defines_;
  Entries extra_;  // pairs of a backend and an option for its compiler
  std::vector<std::string_view> kernels_;
  int cxx_standard_ = 17;
  bool fast_math_ = false;
  bool debug_ = false;
};

}  // namespace weir

#ifdef __clang__
// Clang gives the two variables internal linkage if `weir_kernels` is used in an unnamed namespace, and then warns that they
// are undefined. The linker finds them by their assembler names.
#define WEIR_KERNELS_BEGIN _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wundefined-internal\"")
#define WEIR_KERNELS_END _Pragma("clang diagnostic pop")
#else
#define WEIR_KERNELS_BEGIN
#define WEIR_KERNELS_END
#endif

/// The part of the bundles' symbol names that identifies the CMake target. `weir_add_kernels` defines it for the target's
/// sources.
#ifndef WEIR_KERNELS_TARGET
#define WEIR_KERNELS_TARGET "not_a_target_of_weir_add_kernels"
#endif

/// The bundle of the source file `name`.cu that `weir_add_kernels` put into this target, as a `weir::KernelBundle`:
/// `device.load(weir_kernels(blur))`. Only sources of that target can use it: each target has its own bundles, so two
/// libraries may each have a `utils.cu`. If the target has no such bundle, the linker reports an undefined reference to
/// `weir_kernels.PROJECT.TARGET.NAME`.
// The names of the variables contain `name`, because GCC treats all block-scope declarations of one name as one variable and
// would use the last assembler name for all of them.
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
