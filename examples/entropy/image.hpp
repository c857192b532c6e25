// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

/// A picture with drawing functions.
namespace entropy {

struct Colour {
  std::uint8_t red = 0, green = 0, blue = 0;
};

/// Mixes two colours. `share`: the share of `to`, from 0 to 1.
Colour blend(Colour from, Colour to, double share);

/// A picture in memory. Drawing outside of it has no effect.
class Image {
 public:
  Image(int width, int height, Colour background);

  int width() const noexcept { return width_; }
  int height() const noexcept { return height_; }

  void set(int x, int y, Colour colour);
  Colour get(int x, int y) const;
  void fill(int x, int y, int width, int height, Colour colour);

  /// Draws one line of ASCII text whose top left corner is (x, y); other bytes look like '?'. Returns the x after the text.
  int text(int x, int y, std::string_view line, int scale, Colour colour);
  /// Returns the width of a character, including the gap after it.
  static constexpr int character_width(int scale) { return 6 * scale; }

  /// Encodes the picture as a PNG file. Throws `std::runtime_error` with the reason if that fails.
  std::vector<std::byte> png() const;

 private:
  int width_;
  int height_;
  std::vector<Colour> pixels_;
};

}  // namespace entropy
