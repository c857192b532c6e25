// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <regex>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "commands.hpp"
#include "weir/version.hpp"

namespace weir::tool {
namespace {

bool has_value(const CLI::Option& option) { return option.get_expected_max() != 0; }

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != text.npos; at += by.size()) text.replace(at, what.size(), by);
  return text;
}

std::string roff(std::string text) {
  text = replaced(replaced(std::move(text), "\\", "\\e"), "-", "\\-");
  return replaced(replaced(std::move(text), "\n.", "\n\\&."), "\n'", "\n\\&'");
}

std::string title(const std::string& program, const std::string& text) {
  std::string upper = program;
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return fmt::format(
      ".\\\" SPDX-License-Identifier: Apache-2.0\n.TH {} 1 \"\" \"Weir {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n", upper,
      weir::version(), roff(program), roff(text));
}

/// Returns the help of the commands below a command. `path`: of that command, "weir cache"
std::string help_below(const CLI::App& command, const std::string& path) {
  std::string text;
  for (const CLI::App* const inner : command.get_subcommands(nullptr)) {
    const std::string name = path + " " + inner->get_name();
    text += fmt::format(".SS {}\n.nf\n{}.fi\n", roff(name), roff(inner->help(path))) + help_below(*inner, name);
  }
  return text;
}

std::string manual(const CLI::App& app, const std::string& environment) {
  std::string text = title("weir", app.get_description()) + ".SH SYNOPSIS\n.nf\n" + roff(app.help()) +
                     ".fi\n.SH COMMANDS\n" + help_below(app, "weir");
  text += ".SH ENVIRONMENT\n";
  static const std::regex row(R"(\| `(WEIR_[A-Z_]+)` \| ([^\n]*?) \|)");
  for (std::sregex_iterator at(environment.begin(), environment.end(), row), end; at != end; ++at) {
    static const std::regex link(R"(\[([^\]]*)\]\([^)]*\))");
    const std::string plain = replaced(std::regex_replace((*at)[2].str(), link, "$1"), "`", "");
    text += fmt::format(".TP\n.B {}\n{}\n", (*at)[1].str(), roff(replaced(replaced(plain, "\\|", "|"), " | ", "; ")));
  }
  return text + R"(.SH EXAMPLES
.TP
.B weir new my_program
Makes a program to begin with.
.TP
.B weir run \-\-backend=hip,host \-\-tools=validate \-\- ./solver \-\-steps 100
Runs a program on an AMD GPU, or else on the CPU, and checks the memory of its operations.
.TP
.B weir race \-\- ./solver
Runs a program, and reports the waits that it lacks.
.SH SEE ALSO
.BR weir\-conformance (1),
.BR weir\-kernels (1)
)";
}

}  // namespace

std::string text_in(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_text(const std::string& file, std::string_view text) {
  std::ofstream out(file);
  out << text;
  out.close();
  if (!out) throw std::runtime_error(fmt::format("{} cannot be written: {}", file, std::strerror(errno)));
}

void write_documents(const CLI::App& app, const std::string& folder, const std::string& environment) {
  write_text(folder + "/weir.1", manual(app, text_in(environment)));
  for (const std::string name : {"weir-conformance", "weir-kernels"}) {
    const std::string help = text_in(folder + "/" + name + ".help");
    if (help.empty()) continue;
    write_text(folder + "/" + name + ".1",
               title(name, help.substr(0, help.find('\n'))) +
                   fmt::format(".SH DESCRIPTION\n.nf\n{}.fi\n.SH SEE ALSO\n.BR weir (1)\n", roff(help)));
  }
}

std::string offers(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* command = &app;
  const CLI::Option* open = nullptr;  // the option whose value follows
  for (const std::string& word : words) {
    if (word == "--") return "";
    if (word == "=") continue;  // bash splits --backend=host into three words
    open = command->get_option_no_throw(word);
    const std::vector<std::string> commands = commands_of(*command);
    if (std::find(commands.begin(), commands.end(), word) != commands.end()) command = command->get_subcommand(word);
  }
  std::string text;
  if (open != nullptr && has_value(*open)) {
    if (open->check_lname("backend")) return "cuda\nhip\nhost\n";
    if (open->check_lname("tools")) return "faults\nrace\nranges\nrecord\nshake\ntimeline\nvalidate\n";
    text = open->get_type_name();  // CLI::IsMember: "{random,pct,both}"
    text = text.substr(std::min(text.find('{'), text.size()));
    std::replace_if(
        text.begin(), text.end(), [](char c) { return std::string_view("{,}").find(c) != std::string_view::npos; }, '\n');
    return text;
  }
  for (const std::string& name : options_of(*command)) text += name + "\n";
  for (const std::string& name : commands_of(*command)) text += name + "\n";
  return text;
}

}  // namespace weir::tool
