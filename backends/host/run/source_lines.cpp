// SPDX-License-Identifier: Apache-2.0
#include "backends/host/run/source_lines.hpp"

#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/base/child_process.hpp"
#include "core/base/program_search.hpp"
#include "core/base/temporary_folder.hpp"
#include "kernels/lexer.hpp"

namespace weir::host {

std::string source_line(std::span<const std::byte> image, std::uint64_t offset) {
  const std::string program = detail::find_program("addr2line");
  if (program.empty()) return {};
  std::istringstream answer;
  try {
    const detail::TemporaryFolder folder;
    const std::string file = folder.path() + "/module.so";
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(image.data()), static_cast<std::streamsize>(image.size()));
    const std::vector<std::string> arguments = {program, "-f", "-i", "-e", file, fmt::format("0x{:x}", offset)};
    answer.str(detail::run_child(arguments, "/", detail::program_environment(program)).output);
  } catch (const std::system_error&) {
    return {};
  }
  // addr2line prints two lines for each function, inlined ones first. Functions of the prelude are skipped, because the
  // program's line is where it calls them.
  for (std::string function, place; std::getline(answer, function) && std::getline(answer, place);) {
    std::string_view name(place);
    // Removes the folder in which the source was compiled.
    constexpr std::string_view shown = "/shown/";
    if (const std::size_t at = name.find(shown); at != name.npos) name.remove_prefix(at + shown.size());
    while (name.starts_with("./")) name.remove_prefix(2);
    name = name.substr(0, name.find(" ("));  // removes a suffix such as "(discriminator 2)"
    const bool known = !name.starts_with('?') && !name.ends_with(":0") && !name.ends_with('?');
    if (known && !name.starts_with(kernels::prelude_file_name) && !name.starts_with(kernels::header_folder))
      return std::string(name);
  }
  return {};
}

}  // namespace weir::host
