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

std::vector<std::string> long_options(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* const option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

}  // namespace

std::string explain_mistake(const CLI::App& app, int argc, const char* const* argv) {
  const CLI::App* current = &app;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--") break;
    const std::string name = argument.substr(0, argument.find('='));
    if (name.starts_with("--")) {
      const std::vector<std::string> options = long_options(*current);
      if (std::find(options.begin(), options.end(), name) == options.end()) return unknown("option", name, options);
    } else if (const auto subcommands = current->get_subcommands(nullptr); !subcommands.empty() && !name.starts_with('-')) {
      std::vector<std::string> commands;
      const CLI::App* named = nullptr;
      for (const CLI::App* const command : subcommands) {
        commands.push_back(command->get_name());
        if (commands.back() == name) named = command;
      }
      if (named == nullptr) return unknown("command", name, commands);
      current = named;
    }
  }
  std::vector<std::string> commands;
  for (const CLI::App* const command : current->get_subcommands(nullptr)) commands.push_back(command->get_name());
  return commands.empty() ? "" : fmt::format("a command is missing; the commands are {}", fmt::join(commands, ", "));
}

}  // namespace weir::tool
