// SPDX-License-Identifier: Apache-2.0
#include "headers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <system_error>

namespace weir::kernel_tool {
namespace {

namespace fs = std::filesystem;

std::string_view without_blanks(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\f\v\r");
  return begin == std::string_view::npos ? std::string_view() : text.substr(begin);
}

}  // namespace

std::string read_file(const fs::path& path) {
  if (std::error_code none; fs::is_directory(path, none))
    throw std::runtime_error(fmt::format("{} is a folder, not a file", path.string()));
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in.is_open() || in.bad()) throw std::runtime_error(fmt::format("{} cannot be read", path.string()));
  return text;
}

std::vector<Include> includes_of(std::string_view text) {
  std::vector<Include> all;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = without_blanks(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.starts_with('#')) continue;
    line = without_blanks(line.substr(1));
    if (!line.starts_with("include")) continue;
    line = without_blanks(line.substr(7));
    if (line.empty() || (line[0] != '"' && line[0] != '<')) continue;
    const std::size_t close = line.find(line[0] == '"' ? '"' : '>', 1);
    if (close != std::string_view::npos && close > 1) all.push_back({line.substr(1, close - 1), line[0] == '"'});
  }
  return all;
}

std::vector<Header> find_headers(const fs::path& source, std::span<const fs::path> folders) {
  std::vector<Header> headers;
  std::map<fs::path, std::string> name_of_file;
  std::map<std::string, fs::path, std::less<>> file_of_name;
  const auto scan = [&](const std::string& text, const fs::path& file) {
    for (const Include& include : includes_of(text)) {
      if (include.name[0] == '/') continue;
      std::vector<fs::path> places(folders.begin(), folders.end());
      if (include.quoted) places.insert(places.begin(), file.parent_path());
      for (const fs::path& place : places) {
        std::error_code error;
        const fs::path found = place / include.name;
        if (!fs::is_regular_file(found, error)) continue;
        const fs::path path = fs::canonical(found);
        const auto [known, is_new] = file_of_name.try_emplace(std::string(include.name), path);
        if (known->second != path) {
          throw std::runtime_error(
              fmt::format("{}: error: '{}' means {} here, but {} elsewhere; a bundle can contain only one header of a name, "
                          "so rename one of the two",
                          file.string(), include.name, path.string(), known->second.string()));
        }
        if (!is_new) break;
        const auto [name, is_new_file] = name_of_file.try_emplace(path, include.name);
        headers.push_back(
            {std::string(include.name), is_new_file ? read_file(path) : fmt::format("#include <{}>\n", name->second), path});
        break;
      }
    }
  };
  scan(read_file(source), fs::absolute(source));
  for (std::size_t i = 0; i < headers.size(); ++i) {
    const Header header = headers[i];  // a copy, because `scan` appends to the vector
    if (name_of_file.at(header.path) == header.name) scan(header.text, header.path);
  }
  return headers;
}

// --- Messages ---------------------------------------------------------------------------------------------------------

namespace {

/// The beginning of a compiler's message: FILE(LINE): or FILE:LINE:
struct MessagePosition {
  std::string_view file;
  std::string_view line;
  std::string_view rest;  ///< the text after the line number and its parentheses
  bool parentheses;
};

std::optional<MessagePosition> position_of(std::string_view text) {
  for (const char open : {'(', ':'}) {
    for (std::size_t at = text.find(open); at != std::string_view::npos; at = text.find(open, at + 1)) {
      const std::size_t end = text.find_first_not_of("0123456789", at + 1);
      if (at == 0 || end == at + 1 || end == std::string_view::npos) continue;
      const std::string_view close = open == '('               ? "): "
                                     : text.substr(end) == "," ? ","
                                                               : ":";  // "…:7," of a list of includes
      if (!text.substr(end).starts_with(close)) continue;
      return MessagePosition{text.substr(0, at), text.substr(at + 1, end - at - 1), text.substr(end + close.size()),
                             open == '('};
    }
  }
  return std::nullopt;
}

}  // namespace

std::string usual_form(std::string_view log, const fs::path& source, std::span<const Header> headers) {
  std::string all;
  for (std::string_view rest = log; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view before, line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    for (const std::string_view words : {"In file included from ", "                 from "}) {
      if (line.starts_with(words)) before = words;
    }
    const auto place = position_of(line.substr(before.size()));
    if (!place) {
      if (line.starts_with("./")) line.remove_prefix(2);  // GCC's "./gravity.cuh: In function …", without a line
      all.append(line).append("\n");
      continue;
    }
    std::string_view name = place->file;
    if (name.starts_with("./")) name.remove_prefix(2);
    // HIPRTC's messages name temporary files: /tmp/comgr-0f3a/input/CompileSource, …/include/NAME
    if (const std::size_t own = name.find("/comgr-"); own != name.npos) {
      for (const std::string_view folder : {"/input/", "/include/"}) {
        if (const std::size_t found = name.find(folder, own); found != name.npos) name.remove_prefix(found + folder.size());
      }
    }
    const auto header =
        std::find_if(headers.begin(), headers.end(), [&](const Header& h) { return h.name == name || h.path == name; });
    const bool goes_on = line.ends_with(',') && place->rest.empty();
    all += fmt::format("{}{}:{}{}", before,
                       header != headers.end()   ? header->path.string()
                       : name == "CompileSource" ? source.string()
                                                 : std::string(place->file),
                       place->line, goes_on ? "," : ":");
    all += place->parentheses ? " " : "";
    all.append(place->rest).append("\n");
  }
  return all;
}

}  // namespace weir::kernel_tool
