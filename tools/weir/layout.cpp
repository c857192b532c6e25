// SPDX-License-Identifier: Apache-2.0
#include "layout.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace weir::tool {

int output_width() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 100;
  return std::clamp<int>(size.ws_col, 60, 100);
}

void append_field(std::string& out, int indent, std::string_view label, int column, std::string_view text, int width) {
  std::string line = std::string(static_cast<std::size_t>(indent), ' ').append(label);
  const auto start = static_cast<std::size_t>(column);
  const auto limit = static_cast<std::size_t>(width);
  const auto end_line = [&] {
    line.erase(line.find_last_not_of(' ') + 1);
    out.append(line).append("\n");
    line.clear();
  };
  if (line.size() + 1 >= start) line += "  ";  // the label reaches the text's column, so separate them
  line.resize(std::max(line.size(), start), ' ');
  bool empty = true;  // the line has no text yet
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\n' || text[at] == ' ') {
      if (text[at] == '\n') {
        end_line();
        line.resize(start, ' ');
        empty = true;
      }
      ++at;
      continue;
    }
    const std::size_t end = std::min(text.find_first_of(" \n", at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (!empty && line.size() + 1 + word.size() > limit) {
      end_line();
      line.resize(start, ' ');
      empty = true;
    }
    if (!empty) line += ' ';
    line += word;
    empty = false;
    at = end;
  }
  end_line();
}

bool wants_colour() {
  const char* const refused = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  return (refused == nullptr || *refused == '\0') && terminal != nullptr && std::string_view(terminal) != "dumb" &&
         ::isatty(STDOUT_FILENO) != 0;
}

void append_state(std::string& out, std::string_view name, int column, std::string_view state, bool good, bool colour) {
  const auto gap = std::max<std::size_t>(static_cast<std::size_t>(column), name.size() + 2) - name.size();
  out += colour ? fmt::format("\033[1m{}\033[0m{:{}}\033[{}m{}\033[0m\n", name, "", gap, good ? 32 : 33, state)
                : fmt::format("{}{:{}}{}\n", name, "", gap, state);
}

std::string format_bytes(std::uint64_t bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit) value /= 1024;
  const bool whole = value == static_cast<double>(static_cast<std::uint64_t>(value));
  return fmt::format("{:.{}f} {}", value, whole ? 0 : 1, units[unit]);
}

}  // namespace weir::tool
