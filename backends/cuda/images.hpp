// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

/// Decides which images a device can run: machine code (`sm_90`) and PTX (`compute_90`), and those for features of one
/// architecture (`sm_90a`) or of one family (`sm_100f`).
namespace weir::cuda {

struct ImageArchitecture {
  bool is_ptx;
  int number;   ///< 90: ten times the major compute capability and the minor one
  char suffix;  ///< 'a', 'f' or 0
};

/// Parses "sm_90a" and similar names; empty for any other text.
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

/// Rates how well such an image suits a device of compute capability `device` (90): 0 if it cannot run there. Machine code
/// ranks above PTX, and a nearer version above an older one. Machine code runs on devices with the same major number and at
/// least its minor one; PTX runs on all that are not older. Jetson boards, which have their own numbers, run no other
/// boards' machine code: there the driver refuses it, and the next image is tried.
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
