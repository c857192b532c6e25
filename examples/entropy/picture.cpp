// SPDX-License-Identifier: Apache-2.0
#include "picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace entropy {
namespace {

constexpr Colour background{18, 20, 26}, panel{28, 31, 39}, line{58, 63, 76}, faint{130, 138, 154}, ink{226, 230, 238};

constexpr int margin = 40;
constexpr int map_size = 1024;
constexpr int map_x = margin, map_y = 132;
constexpr int profile_x = map_x + map_size + 190, profile_width = 320;
constexpr int scale_y = map_y + map_size + 44, scale_height = 26;
constexpr int picture_width = profile_x + profile_width + margin;
constexpr int picture_height = scale_y + scale_height + 86;
constexpr double most_bits = 8;

// Colours from black over violet and orange to light yellow. Equal steps of entropy look equal, also to the colour-blind.
Colour colour_of(double bits) {
  static constexpr std::array<Colour, 9> stops{{{0, 0, 4},
                                                {31, 12, 72},
                                                {85, 15, 109},
                                                {136, 34, 106},
                                                {186, 54, 85},
                                                {227, 89, 51},
                                                {249, 140, 10},
                                                {249, 201, 50},
                                                {252, 255, 164}}};
  const double place = std::clamp(bits / most_bits, 0.0, 1.0) * (stops.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(place), stops.size() - 2);
  return blend(stops[below], stops[below + 1], place - static_cast<double>(below));
}

// Returns the point at `distance` along the Hilbert curve that fills a square of `side` points, a power of two. The curve
// begins in the top left corner and ends in the top right corner.
std::pair<int, int> hilbert_point(int side, std::uint64_t distance) {
  int x = 0, y = 0;
  for (int s = 1; s < side; s *= 2) {
    const int right = static_cast<int>(distance / 2 & 1);
    const int down = static_cast<int>((distance ^ static_cast<std::uint64_t>(right)) & 1);
    if (down == 0) {
      if (right == 1) {
        x = s - 1 - x;
        y = s - 1 - y;
      }
      std::swap(x, y);
    }
    x += s * right;
    y += s * down;
    distance /= 4;
  }
  return {x, y};
}

// Returns the cells [first, last) in part `index` of `parts` equal parts of the file. There is at least one.
std::pair<std::size_t, std::size_t> cells_of(const EntropyMap& map, std::uint64_t index, std::uint64_t parts) {
  const std::uint64_t cells = map.cell_count();
  const std::uint64_t first = index * cells / parts;
  const std::uint64_t last = std::max(first + 1, (index + 1) * cells / parts);
  return {static_cast<std::size_t>(first), static_cast<std::size_t>(last)};
}

int points_per_side(const EntropyMap& map) {
  int side = 1;
  while (side < map_size && static_cast<std::uint64_t>(side) * static_cast<std::uint64_t>(side) < map.cell_count())
    side *= 2;
  return side;
}

void draw_map(Image& image, const EntropyMap& map) {
  const int side = points_per_side(map);
  const int size = map_size / side;
  const auto points = static_cast<std::uint64_t>(side) * static_cast<std::uint64_t>(side);
  image.fill(map_x - 2, map_y - 2, map_size + 4, map_size + 4, line);
  for (std::uint64_t i = 0; i < points; ++i) {
    const auto [first, last] = cells_of(map, i, points);
    const auto [x, y] = hilbert_point(side, i);
    image.fill(map_x + x * size, map_y + y * size, size, size, colour_of(map.mean(first, last)));
  }
}

int bits_to_x(double bits) { return profile_x + static_cast<int>(std::lround(bits / most_bits * profile_width)); }

void draw_profile(Image& image, const EntropyMap& map) {
  image.fill(profile_x - 2, map_y - 2, profile_width + 4, map_size + 4, line);
  image.fill(profile_x, map_y, profile_width, map_size, panel);
  for (int row = 0; row < map_size; ++row) {
    const auto [first, last] = cells_of(map, static_cast<std::uint64_t>(row), map_size);
    double least = most_bits, greatest = 0;
    for (std::size_t cell = first; cell < last; ++cell) {
      least = std::min(least, map.cell(cell));
      greatest = std::max(greatest, map.cell(cell));
    }
    const double mean = map.mean(first, last);
    const int y = map_y + row;
    image.fill(profile_x, y, bits_to_x(mean) - profile_x, 1, colour_of(mean));
    for (int x = bits_to_x(least); x <= bits_to_x(greatest) && x < profile_x + profile_width; ++x) {
      if (x >= bits_to_x(mean)) image.set(x, y, blend(panel, colour_of(greatest), 0.45));
    }
  }
  for (int bits = 0; bits <= 8; bits += 2) {
    const int x = bits_to_x(bits);
    if (bits > 0 && bits < 8) {
      for (int y = map_y; y < map_y + map_size; y += 4) image.fill(x, y, 1, 2, faint);
    }
    image.text(x - Image::character_width(2) / 2, map_y - 26, fmt::format("{}", bits), 2, faint);
  }
  constexpr int steps = 8;
  for (int step = 0; step <= steps; ++step) {
    const auto offset = static_cast<std::uint64_t>(static_cast<double>(map.file_bytes()) * step / steps);
    const std::string label = fmt::format("{:#x}", offset);
    const int y = map_y + map_size * step / steps;
    const int width = static_cast<int>(label.size()) * Image::character_width(2);
    image.fill(profile_x - 12, y, 10, 1, faint);
    image.text(profile_x - 20 - width, std::clamp(y - 7, map_y, map_y + map_size - 14), label, 2, faint);
  }
}

void draw_scale(Image& image) {
  constexpr int width = map_size;
  image.fill(map_x - 2, scale_y - 2, width + 4, scale_height + 4, line);
  for (int x = 0; x < width; ++x) image.fill(map_x + x, scale_y, 1, scale_height, colour_of(most_bits * x / (width - 1)));
  for (int bits = 0; bits <= 8; ++bits) {
    const int x = map_x + (width - 1) * bits / 8;
    image.fill(x, scale_y + scale_height + 2, 1, 6, faint);
    image.text(std::clamp(x - 5, map_x, map_x + width - 12), scale_y + scale_height + 14, fmt::format("{}", bits), 2, ink);
  }
  // Typical contents by entropy.
  static constexpr std::array<std::pair<double, const char*>, 4> landmarks{
      {{0, "constant"}, {4.5, "text"}, {6, "machine code"}, {8, "random"}}};
  for (const auto& [bits, name] : landmarks) {
    const int text_width = static_cast<int>(std::string(name).size()) * Image::character_width(2);
    const int x = map_x + static_cast<int>(width * bits / 8) - text_width / 2;
    image.text(std::clamp(x, map_x, map_x + width - text_width), scale_y + scale_height + 40, name, 2, faint);
  }
  image.text(profile_x, scale_y + 6, "bits per byte, linear", 2, ink);
  image.text(profile_x, scale_y + 32, "bright: mean of the row", 2, faint);
  image.text(profile_x, scale_y + 54, "dim: up to its greatest", 2, faint);
}

std::string shorten(const std::string& name, std::size_t most) {
  return name.size() <= most ? name : name.substr(0, most - 18) + "..." + name.substr(name.size() - 15);
}

}  // namespace

std::string format_bytes(std::uint64_t bytes) {
  static constexpr std::array units{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  auto value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < units.size(); value /= 1024) ++unit;
  if (value == std::floor(value)) return fmt::format("{:.0f} {}", value, units[unit]);
  return fmt::format("{:.2f} {}", value, units[unit]);
}

Image draw(const Findings& findings, const std::string& file_name) {
  const EntropyMap& map = findings.map;
  Image image(picture_width, picture_height, background);
  image.text(margin, 30, shorten(file_name, 60), 4, ink);
  image.text(margin, 74,
             fmt::format("{}   entropy {:.4f} bits per byte   {} blocks of {}", format_bytes(map.file_bytes()),
                         findings.entropy(), map.block_count(), format_bytes(map.block_bytes())),
             2, ink);
  const int side = points_per_side(map);
  const double bytes_per_point = static_cast<double>(map.file_bytes()) / (static_cast<double>(side) * side);
  image.text(margin, 102,
             fmt::format("Hilbert curve from the top left to the top right, one square is {:.4g} bytes", bytes_per_point), 2,
             faint);
  draw_map(image, map);
  draw_profile(image, map);
  draw_scale(image);
  return image;
}

}  // namespace entropy
