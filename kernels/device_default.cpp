// SPDX-License-Identifier: Apache-2.0
#include "kernels/device_default.hpp"

#include <algorithm>

#include "kernels/lexer.hpp"

namespace weir::host {

std::string with_device_as_default(std::string_view preprocessed) {
  std::string text;
  bool of_user = false, prelude = false, string = false;
  const auto enter = [&](bool user) {
    if (user != of_user) text += user ? both_begin : both_end;
    of_user = user;
  };
  for (std::size_t begin = 0; begin < preprocessed.size();) {
    const std::size_t end = std::min(preprocessed.find('\n', begin), preprocessed.size() - 1) + 1;
    const std::string_view line = preprocessed.substr(begin, end - begin);
    const std::size_t flags = line.rfind('"');
    if (line.starts_with("# ") && flags != line.npos) {
      prelude = prelude || line.find(kernels::prelude_file_name) != line.npos;
      enter(prelude && line.find('3', flags) == line.npos);
      // basic_string.h declares some functions with constexpr and defines them without it, so the macro must be empty for
      // that file.
      const bool of_string = line.find("/bits/basic_string.") != line.npos;
      if (of_string != string) text += "#undef weir_constexpr\n#define weir_constexpr ";
      if (of_string != string) text += of_string ? "\n" : "__attribute__((host, device))\n";
      string = of_string;
    }
    text += line;
    begin = end;
  }
  enter(false);
  return text;
}

}  // namespace weir::host
