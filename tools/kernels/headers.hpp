// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Finds the headers that a bundle must contain so that its source compiles on a machine without them.
namespace weir::kernel_tool {

struct Header {
  std::string name;            ///< the name in the #include directive
  std::string text;            ///< the file's text; for a second name of one file, an #include of the first name
  std::filesystem::path path;  ///< the file
};

/// Returns the headers that `source` includes, directly or not, from `folders` or, if included with quotes, from the folder
/// of the including file. All other headers are expected to come with the compiler. Preprocessor conditions are ignored,
/// because they differ between compilers: every header that exists is included. Throws std::runtime_error if one name
/// includes two files, or if a file cannot be read.
std::vector<Header> find_headers(const std::filesystem::path& source, std::span<const std::filesystem::path> folders);

/// A name in an #include directive, and whether it is in quotes.
struct Include {
  std::string_view name;
  bool quoted;
};
std::vector<Include> includes_of(std::string_view text);

std::string read_file(const std::filesystem::path& path);

/// Converts a compiler's output to the form that editors and build tools parse, `FILE:LINE: error: …`, and replaces header
/// names by the files' paths. NVRTC prints FILE(LINE); lines of other compilers are kept.
std::string usual_form(std::string_view log, const std::filesystem::path& source, std::span<const Header> headers);

}  // namespace weir::kernel_tool
