// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Which headers go with a source, so that it compiles on a machine that has none of them.
namespace weir::kernel_tool {

struct Header {
  std::string name;            ///< as it stands in an #include
  std::string text;            ///< of a file that has another name already: an #include of that one
  std::filesystem::path path;  ///< the file
};

/// The headers that `source` includes, and those that they include: each that lies in the folder of the file that includes
/// it, if it is included with quotes, or in one of `folders`. Those that lie in none are the compiler's own. Conditions of
/// the preprocessor are not looked at, since they differ from compiler to compiler: a header that is there is taken. Throws
/// std::runtime_error where two files are included by one name, or where one cannot be read.
std::vector<Header> find_headers(const std::filesystem::path& source, std::span<const std::filesystem::path> folders);

/// The names in a text's #include directives, with whether they stand in quotes.
struct Include {
  std::string_view name;
  bool quoted;
};
std::vector<Include> includes_of(std::string_view text);

std::string read_file(const std::filesystem::path& path);

/// What a compiler said, in the form that editors and build tools know: `FILE:LINE:COLUMN: error: …`, with the paths of the
/// files for the names of headers. NVRTC says FILE(LINE) and marks the column in a line of its own; other compilers' lines
/// stay.
std::string usual_form(std::string_view log, const std::filesystem::path& source, std::span<const Header> headers);

}  // namespace weir::kernel_tool
