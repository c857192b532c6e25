// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>
#include <vector>

#include "commands.hpp"
#include "core/base/near_match.hpp"

namespace weir::tool {
namespace {

std::string unknown(std::string_view kind, std::string_view name, const std::vector<std::string>& names) {
  const std::string_view meant = detail::nearest_name(name, names);
  return fmt::format("unknown {} '{}'{}", kind, name, meant.empty() ? "" : fmt::format("; did you mean '{}'?", meant));
}

}  // namespace

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* const command : app.get_subcommands(nullptr)) names.push_back(command->get_name());
  return names;
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* const option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string explain_mistake(const CLI::App& app, int argc, const char* const* argv) {
  const CLI::App* current = &app;
  for (int i = 1; i < argc && argv[i] != std::string_view("--"); ++i) {
    const std::string argument = argv[i], name = argument.substr(0, argument.find('='));
    const bool is_option = name.starts_with("--");
    const std::vector<std::string> names = is_option ? options_of(*current) : commands_of(*current);
    if (names.empty() || (!is_option && name.starts_with('-'))) continue;
    if (std::find(names.begin(), names.end(), name) == names.end())
      return unknown(is_option ? "option" : "command", name, names);
    if (!is_option) current = current->get_subcommand(name);
  }
  const std::vector<std::string> commands = commands_of(*current);
  return commands.empty() ? "" : fmt::format("a command is missing; the commands are {}", fmt::join(commands, ", "));
}

}  // namespace weir::tool
