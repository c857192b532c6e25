// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/compile_options.hpp"

#include <algorithm>
#include <string_view>

#include "weir/error.hpp"
#include "weir/module.hpp"

// Checks compile options.
namespace weir::detail {
namespace {

// Whether the text has the form `NAME` or `NAME(parameters)`. Any other text would define another macro or value than
// intended.
bool is_macro(std::string_view text) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto in_name = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); };
  const std::string_view name = text.substr(0, text.find('(')), parameters = text.substr(name.size());
  if (name.empty() || !is_letter(name[0]) || !std::all_of(name.begin(), name.end(), in_name)) return false;
  if (parameters.empty()) return true;
  return parameters.back() == ')' && std::all_of(parameters.begin() + 1, parameters.end() - 1, [&](char c) {
           return in_name(c) || c == ',' || c == '.' || c == ' ';
         });
}

}  // namespace

void check_options(const CompileOptions& options, const char* operation, const std::string& object) {
  const auto throw_error = [&](const std::string& detail) {
    throw Error(Errc::invalid_argument, operation, object, detail);
  };
  if (options.cxx_standard != 14 && options.cxx_standard != 17 && options.cxx_standard != 20) {
    throw_error("C++" + std::to_string(options.cxx_standard) + " is not supported by all compilers; use 14, 17 or 20");
  }
  for (const auto& [name, value] : options.defines) {
    if (!is_macro(name)) {
      throw_error("'" + name +
                  "' in `defines` is not a macro's name; the name is an identifier, with parameters in parentheses if it "
                  "has any, and the value is its replacement");
    }
    if (value.find_first_of(std::string_view("\n\r\0", 3)) != std::string::npos) {
      throw_error("the value of the macro '" + name + "' has more than one line; a macro has one line");
    }
  }
  for (const std::string& kernel : options.kernels) {
    if (kernel.find_first_not_of(' ') == kernel.npos ||
        kernel.find_first_of(std::string_view("\n\r\0;", 4)) != kernel.npos) {
      throw_error("'" + kernel + "' in `kernels` is not a kernel's name; write it as in a launch: blur<float, 3>");
    }
  }
  for (const std::string& folder : options.include_directories) {
    if (!folder.starts_with('/')) {
      throw_error("the include directory '" + folder +
                  "' is not an absolute path; a relative path would depend on the current folder of the program");
    }
  }
  for (const auto& [name, text] : options.headers) {
    if (name.empty() || name[0] == '/' || name.back() == '/' ||
        name.find_first_of(std::string_view("\n\r\0\"<>", 6)) != name.npos) {
      throw_error(
          "'" + name +
          "' in `headers` is not a name for an #include; use a relative path, as between the quotes of the #include");
    }
  }
}

}  // namespace weir::detail
