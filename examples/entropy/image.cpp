// SPDX-License-Identifier: Apache-2.0
#include "image.hpp"

#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "font.hpp"

namespace entropy {

Colour blend(Colour from, Colour to, double share) {
  const auto mix = [share](std::uint8_t a, std::uint8_t b) {
    return static_cast<std::uint8_t>(std::lround(a + (b - a) * std::clamp(share, 0.0, 1.0)));
  };
  return {mix(from.red, to.red), mix(from.green, to.green), mix(from.blue, to.blue)};
}

Image::Image(int width, int height, Colour background)
    : width_(width),
      height_(height),
      pixels_(static_cast<std::size_t>(width) * static_cast<std::size_t>(height), background) {}

void Image::set(int x, int y, Colour colour) {
  if (x < 0 || y < 0 || x >= width_ || y >= height_) return;
  pixels_[static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) + static_cast<std::size_t>(x)] = colour;
}

Colour Image::get(int x, int y) const {
  if (x < 0 || y < 0 || x >= width_ || y >= height_) return {};
  return pixels_[static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) + static_cast<std::size_t>(x)];
}

void Image::fill(int x, int y, int width, int height, Colour colour) {
  for (int j = y; j < y + height; ++j) {
    for (int i = x; i < x + width; ++i) set(i, j, colour);
  }
}

// Draws enlarged glyphs of 5 by 8 dots. Interpolates between the dots, with a soft threshold at half their weight, which
// gives round strokes with smooth edges.
int Image::text(int x, int y, std::string_view line, int scale, Colour colour) {
  for (const char character : line) {
    for (int j = 0; j < (glyph_rows + 2) * scale; ++j) {
      for (int i = 0; i < (glyph_columns + 2) * scale; ++i) {
        const double column = (i + 0.5) / scale - 1.5;
        const double row = (j + 0.5) / scale - 1.5;
        const int c = static_cast<int>(std::floor(column));
        const int r = static_cast<int>(std::floor(row));
        const double right = column - c;
        const double down = row - r;
        const double weight =
            (1 - down) * ((1 - right) * glyph_dot(character, c, r) + right * glyph_dot(character, c + 1, r)) +
            down * ((1 - right) * glyph_dot(character, c, r + 1) + right * glyph_dot(character, c + 1, r + 1));
        const double cover = std::clamp((weight - 0.45) * scale + 0.5, 0.0, 1.0);
        const int px = x + i - scale;
        const int py = y + j - scale;
        if (cover > 0) set(px, py, blend(get(px, py), colour, cover));
      }
    }
    x += character_width(scale);
  }
  return x;
}

std::vector<std::byte> Image::png() const {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width_);
  image.height = static_cast<png_uint_32>(height_);
  image.format = PNG_FORMAT_RGB;
  static_assert(sizeof(Colour) == 3);
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::vector<std::byte> bytes(size);
  if (png_image_write_to_memory(&image, bytes.data(), &size, 0, pixels_.data(), 0, nullptr) == 0) {
    throw std::runtime_error(fmt::format("the picture cannot be made: {}", image.message));
  }
  bytes.resize(size);
  return bytes;
}

}  // namespace entropy
