// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

/// Decides which images a device can run. An image is machine code (`sm_90`) or PTX (`compute_90`); either may be restricted
/// to one architecture (`sm_90a`) or one family of architectures (`sm_100f`).
namespace weir::cuda {

struct ImageArchitecture {
  bool is_ptx;
  int number;   ///< the compute capability times ten: 90 for 9.0
  char suffix;  ///< 'a' for one architecture, 'f' for a family, or 0
};

/// Parses a name such as "sm_90a". Empty for any other text.
inline std::optional<ImageArchitecture> parse_architecture(std::string_view text) {
  ImageArchitecture parsed{};
  if (text.starts_with("sm_")) {
    text.remove_prefix(3);
  } else if (text.starts_with("compute_")) {
    parsed.is_ptx = true;
    text.remove_prefix(8);
  } else {
    return std::nullopt;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed.number);
  const std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  if (error != std::errc() || parsed.number < 10 || parsed.number > 9999 || rest.size() > 1) return std::nullopt;
  if (!rest.empty()) parsed.suffix = rest[0];
  if (parsed.suffix != 0 && parsed.suffix != 'a' && parsed.suffix != 'f') return std::nullopt;
  return parsed;
}

/// Rates how well an image of `architecture` suits a device of compute capability `device` (90 for 9.0). Returns 0 if the
/// image cannot run there; otherwise higher is better: machine code ranks above PTX, and a nearer version above an older
/// one. Machine code runs on devices with the same major number and at least its minor number; PTX runs on all devices that
/// are not older. Exception: Jetson boards have their own numbers and cannot run machine code for other boards. The driver
/// refuses such an image, and the next image is tried.
inline int rank_image(std::string_view architecture, int device) {
  const auto image = parse_architecture(architecture);
  if (!image || image->number > device) return 0;
  const bool same_family = image->number / 10 == device / 10;
  if (image->suffix == 'a' && image->number != device) return 0;
  if (image->suffix == 'f' && !same_family) return 0;
  if (!image->is_ptx && !same_family) return 0;
  return (image->is_ptx ? 0 : 1'000'000) + image->number * 10 + (image->suffix == 'a' ? 2 : image->suffix == 'f' ? 1 : 0);
}

}  // namespace weir::cuda
