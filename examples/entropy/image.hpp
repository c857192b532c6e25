// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace entropy {

struct Colour {
  std::uint8_t red = 0, green = 0, blue = 0;
};

/// `share` of the way from one colour to another.
Colour blend(Colour from, Colour to, double share);

/// A picture in memory. Drawing is clipped to it.
class Image {
 public:
  Image(int width, int height, Colour background);

  int width() const noexcept { return width_; }
  int height() const noexcept { return height_; }

  void set(int x, int y, Colour colour);
  Colour get(int x, int y) const;
  void fill(int x, int y, int width, int height, Colour colour);

  /// Writes one line of ASCII text whose top left corner is (x, y); other bytes show as '?'. Returns the x after it.
  int text(int x, int y, std::string_view line, int scale, Colour colour);
  /// The width of a character including the gap after it.
  static constexpr int character_width(int scale) { return 6 * scale; }

  /// Encodes the picture as a PNG file. Throws `std::runtime_error` with the reason if that fails.
  std::vector<std::byte> png() const;

 private:
  int width_;
  int height_;
  std::vector<Colour> pixels_;
};

}  // namespace entropy
