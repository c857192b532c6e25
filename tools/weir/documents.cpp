// SPDX-License-Identifier: Apache-2.0
#include "documents.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <regex>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "weir/version.hpp"

namespace weir::tool {
namespace {

/// The completions of a word: fixed words, files, folders, processes, or none.
struct Values {
  std::vector<std::string> words;
  enum class Kind { none, words, files, folders, processes } kind = Kind::none;
};

struct Option {
  std::string letter, name;  ///< "v", "verbose"
  std::string type;          ///< "FILE"; empty for a flag
  std::string text;
  Values values;
};

struct Command {
  std::string path;  ///< "weir cache clear"
  std::string text, footer;
  std::vector<Option> options;
  std::string positional;  ///< "FILE", or empty
  std::vector<Command> commands = {};
  bool takes_program = false;  ///< whether a program follows after --

  std::string name() const { return path.substr(path.rfind(' ') + 1); }
};

std::string text_in(const std::string& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_document(const std::string& file, const std::string& text) {
  std::ofstream out(file);
  out << text;
  out.close();
  if (!out) throw std::runtime_error(fmt::format("{} cannot be written: {}", file, std::strerror(errno)));
}

Values values_of(const std::string& type, const std::string& name) {
  using Kind = Values::Kind;
  if (const std::size_t begin = type.find('{'); begin != type.npos) {  // CLI::IsMember
    Values values{{}, Kind::words};
    static const std::regex word("[a-z0-9]+");
    for (std::sregex_iterator at(type.begin() + static_cast<std::ptrdiff_t>(begin), type.end(), word), end; at != end; ++at)
      values.words.push_back(at->str());
    return values;
  }
  if (name == "backend" || name == "require") return {{"cuda", "hip", "host"}, Kind::words};
  if (name == "tools") return {{"race", "timeline", "ranges", "record", "faults", "shake", "validate"}, Kind::words};
  if (name == "standard") return {{"14", "17", "20"}, Kind::words};
  if (type.find("FILE") != type.npos || type.find("PATH") != type.npos || type.find("SOURCE") != type.npos)
    return {{}, Kind::files};
  if (type.find("FOLDER") != type.npos) return {{}, Kind::folders};
  if (type.find("PID") != type.npos) return {{}, Kind::processes};
  return {};
}

Command command_of(const CLI::App& app, const std::string& path) {
  Command command{path, app.get_description(), app.get_footer(), {}, ""};
  for (const CLI::Option* const option : app.get_options()) {
    if (option->get_positional()) {
      command.positional = option->get_name();
      continue;
    }
    const auto &letters = option->get_snames(), &names = option->get_lnames();
    const bool is_flag = option->get_expected_max() == 0;
    const std::string type = is_flag ? "" : option->get_type_name();
    command.options.push_back({letters.empty() ? "" : letters.front(), names.front(), type, option->get_description(),
                               is_flag ? Values() : values_of(type, names.front())});
  }
  for (const CLI::App* const inner : app.get_subcommands(nullptr)) {
    if (inner->get_name() != "documents") command.commands.push_back(command_of(*inner, path + " " + inner->get_name()));
  }
  command.takes_program = command.text.find(" -- PROGRAM") != std::string::npos;
  return command;
}

/// Reads the help of a program that uses another parser. Its lines have the form "  --name TYPE, --other  text".
Command command_of(const std::string& help, const std::string& name) {
  Command command{name, help.substr(0, help.find('\n')), "", {}, "SOURCE"};
  static const std::regex line("\n +(--[a-z](?: ?[^ \n])*)(?: {2,}([^\n]*))?"), option("--([a-z-]+)(?:[ =]([A-Z'][^,]*))?");
  for (std::sregex_iterator at(help.begin(), help.end(), line), end; at != end; ++at) {
    const std::string options = (*at)[1];
    for (std::sregex_iterator each(options.begin(), options.end(), option); each != end; ++each) {
      const std::string type = (*each)[2], word = (*each)[1];
      command.options.push_back({"", word, type, (*at)[2], values_of(type, word)});
    }
  }
  return command;
}

void for_each(const Command& command, const std::function<void(const Command&)>& function) {
  function(command);
  for (const Command& inner : command.commands) for_each(inner, function);
}

std::vector<std::string> words_of(const Command& command) {
  std::vector<std::string> words;
  for (const Option& option : command.options) words.push_back("--" + option.name);
  for (const Command& inner : command.commands) words.push_back(inner.name());
  if (command.takes_program) words.emplace_back("--");
  return words;
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != text.npos; at += by.size()) text.replace(at, what.size(), by);
  return text;
}

// --- Completion -------------------------------------------------------------------------------------------------------

constexpr std::string_view note =
    "# SPDX-License-Identifier: Apache-2.0\n# Made by the build, from the parser of the command.\n";

std::string in_bash(const Values& values) {
  switch (values.kind) {
    case Values::Kind::words: return fmt::format("words='{}'", fmt::join(values.words, " "));
    case Values::Kind::files: return "kind=-f";
    case Values::Kind::folders: return "kind=-d";
    case Values::Kind::processes: return "words=$(pgrep -u \"$(id -u)\" | tr '\\n' ' ')";
    case Values::Kind::none: break;
  }
  return "words=''";
}

std::string bash(const std::vector<Command>& programs) {
  std::string commands, values, words, names;
  for (const Command& program : programs) {
    names += " " + program.path;
    for_each(program, [&](const Command& command) {
      if (!command.commands.empty() || command.path != program.path) commands += fmt::format(" | '{}'", command.path);
      for (const Option& option : command.options) {
        if (option.type.empty()) continue;
        const std::string letter = option.letter.empty() ? "" : fmt::format(" | '{} -{}'", command.path, option.letter);
        values += fmt::format("    '{} --{}'{}) {} ;;\n", command.path, option.name, letter, in_bash(option.values));
      }
      words += fmt::format("        '{}')\n          words='{}'\n", command.path, fmt::join(words_of(command), " "));
      const Values positional = values_of(command.positional, "");
      if (positional.kind == Values::Kind::processes) {
        words += "          words+=\" $(pgrep -u \"$(id -u)\" | tr '\\n' ' ')\"\n";
      } else if (positional.kind != Values::Kind::none) {
        words += fmt::format("          [[ $current != -* ]] && {}\n", in_bash(positional));
      }
      words += "          ;;\n";
    });
  }
  return std::string(note) + R"(
_weir() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[0]##*/}
  local words='' kind='' i
  # Bash splits --backend=host into three words.
  if [ "$current" = '=' ]; then
    current=''
  elif [ "$previous" = '=' ]; then
    previous=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    if [ "${COMP_WORDS[i]}" = -- ]; then  # behind it stands another program, with its arguments
      kind=-f
      ((i + 1 == COMP_CWORD)) && kind=-c
      mapfile -t COMPREPLY < <(compgen "$kind" -- "$current")
      return
    fi
    case "$command ${COMP_WORDS[i]}" in
)" + "      " +
         commands.substr(3) +
         R"() command+=" ${COMP_WORDS[i]}" ;;
    esac
  done
  case "$command $previous" in
)" + values +
         R"(    *)
      case $command in
)" + words +
         R"(      esac
      ;;
  esac
  if [ -n "$kind" ]; then
    mapfile -t COMPREPLY < <(compgen "$kind" -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  fi
}

complete -F _weir)" +
         names + "\n";
}

std::string in_zsh(const Values& values) {
  switch (values.kind) {
    case Values::Kind::words: return fmt::format("({})", fmt::join(values.words, " "));
    case Values::Kind::files: return "_files";
    case Values::Kind::folders: return "_directories";
    case Values::Kind::processes: return "_pids";
    case Values::Kind::none: break;
  }
  return "";
}

std::string zsh_text(std::string text) {
  text = text.substr(0, text.find_first_of("\n;"));
  for (const char* const each : {"[", "]", ":"}) text = replaced(text, each, std::string("\\") + each);
  return replaced(text, "'", "'\\''");
}

void zsh_arguments(const Command& command, std::string& out) {
  const std::string function = replaced(replaced(command.path, " ", "_"), "-", "_");
  for (const Command& inner : command.commands) zsh_arguments(inner, out);
  out += fmt::format("_{}() {{\n", function);
  if (!command.commands.empty()) {
    out += "  local -a commands\n  local context state line\n  commands=(\n";
    for (const Command& inner : command.commands) out += fmt::format("    '{}:{}'\n", inner.name(), zsh_text(inner.text));
    out += "  )\n";
  }
  out += "  _arguments -C";
  for (const Option& option : command.options) {
    const std::string value =
        option.type.empty()
            ? ""
            : fmt::format(":{}:{}", zsh_text(option.type.substr(0, option.type.find(':'))), in_zsh(option.values));
    out +=
        fmt::format(" \\\n    '*--{}{}[{}]{}'", option.name, option.type.empty() ? "" : "=", zsh_text(option.text), value);
    if (!option.letter.empty()) out += fmt::format(" \\\n    '*-{}[{}]{}'", option.letter, zsh_text(option.text), value);
  }
  if (command.takes_program) {
    out += " \\\n    '*:: :_normal'";
  } else if (!command.commands.empty()) {
    out += " \\\n    '1:command:->command' '*::argument:->argument'";
  } else if (const std::string files = in_zsh(values_of(command.positional, "")); !files.empty()) {
    out += fmt::format(" \\\n    '*:{}:{}'", command.positional, files);
  }
  out += '\n';
  if (!command.commands.empty()) {
    out += "  case $state in\n    command) _describe command commands ;;\n    argument)\n      case ${line[1]} in\n";
    for (const Command& inner : command.commands)
      out += fmt::format("        {}) _{} ;;\n", inner.name(), replaced(replaced(inner.path, " ", "_"), "-", "_"));
    out += "      esac\n      ;;\n  esac\n";
  }
  out += "}\n\n";
}

std::string zsh(const std::vector<Command>& programs) {
  std::string names, functions, choice;
  for (const Command& program : programs) {
    names += " " + program.path;
    zsh_arguments(program, functions);
    choice += fmt::format("  {}) _{} \"$@\" ;;\n", program.path, replaced(program.path, "-", "_"));
  }
  return fmt::format("#compdef{}\n{}\n{}case $service in\n{}esac\n", names, note, functions, choice);
}

std::string in_fish(const Values& values) {
  switch (values.kind) {
    case Values::Kind::words: return fmt::format(" -x -a '{}'", fmt::join(values.words, " "));
    case Values::Kind::files: return " -r -F";
    case Values::Kind::folders: return " -x -a '(__fish_complete_directories)'";
    case Values::Kind::processes: return " -x -a '(__fish_complete_pids)'";
    case Values::Kind::none: break;
  }
  return " -x";
}

std::string fish(const std::vector<Command>& programs) {
  std::string text = std::string(note) + R"(
# The program behind --, with its arguments.
function __weir_program
    set -l words (commandline -opc)
    set -l at (contains -i -- -- $words)
    and complete -C (string join ' ' -- $words[(math $at + 1)..-1] (commandline -ct))
end

)";
  const auto described = [](const std::string& what) {
    return fmt::format(" -d '{}'", replaced(what.substr(0, what.find_first_of("\n;")), "'", "\\'"));
  };
  for (const Command& program : programs) {
    text += fmt::format("complete -c {} -f\n", program.path);
    for_each(program, [&](const Command& command) {
      const bool is_program = command.path == program.path;
      const std::string condition = is_program && command.commands.empty() ? ""
                                    : is_program                           ? " -n __fish_use_subcommand"
                                                 : fmt::format(" -n '__fish_seen_subcommand_from {}'", command.name());
      for (const Command& inner : command.commands)
        text += fmt::format("complete -c {}{} -a {}{}\n", program.path, condition, inner.name(), described(inner.text));
      for (const Option& option : command.options) {
        text += fmt::format("complete -c {}{}{} -l {}{}{}\n", program.path, condition,
                            option.letter.empty() ? "" : " -s " + option.letter, option.name,
                            option.type.empty() ? "" : in_fish(option.values), described(option.text));
      }
      if (command.takes_program) text += fmt::format("complete -c {}{} -a '(__weir_program)'\n", program.path, condition);
      if (!command.positional.empty())
        text += fmt::format("complete -c {}{}{}\n", program.path, condition,
                            replaced(in_fish(values_of(command.positional, "")), " -r", ""));
    });
  }
  return text;
}

// --- Manual -----------------------------------------------------------------------------------------------------------

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

std::string manual(const Command& app, const std::string& environment) {
  std::string text = title(app.path, app.text) + ".SH SYNOPSIS\n";
  for_each(app, [&](const Command& command) {
    if (!command.commands.empty()) return;
    text += fmt::format(".B {}\n[OPTION]...{}{}\n.br\n", roff(command.path),
                        command.positional.empty() ? "" : " " + command.positional,
                        command.takes_program ? " \\-\\- PROGRAM [ARGUMENT]..." : "");
  });
  text += ".SH COMMANDS\n";
  for_each(app, [&](const Command& command) {
    const bool is_app = &command == &app;
    text += is_app ? "" : fmt::format(".SS {}\n{}\n", roff(command.path), roff(command.text));
    for (const Option& option : command.options) {
      text += fmt::format(".TP\n.B {}\\-\\-{}{}\n{}\n", option.letter.empty() ? "" : "\\-" + option.letter + ", ",
                          roff(option.name), option.type.empty() ? "" : " " + roff(option.type), roff(option.text));
    }
    if (!command.footer.empty() && !is_app) text += fmt::format(".PP\n.nf\n{}\n.fi\n", roff(command.footer));
  });
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
.B weir run \-\-backend=hip,host \-\-device=1 \-\- ./solver \-\-steps 100
Runs a program on the second AMD GPU.
.TP
.B weir race \-\- ./solver
Runs a program, and reports the waits that it lacks.
.SH SEE ALSO
.BR weir\-conformance (1),
.BR weir\-kernels (1)
)";
}

}  // namespace

void write_documents(const CLI::App& app, const std::string& folder, const std::string& environment) {
  std::vector<Command> programs{command_of(app, "weir")};
  write_document(folder + "/weir.1", manual(programs.front(), text_in(environment)));
  for (const std::string name : {"weir-conformance", "weir-kernels"}) {
    const std::string help = text_in(folder + "/" + name + ".help");
    if (help.empty()) continue;
    programs.push_back(command_of(help, name));
    write_document(folder + "/" + name + ".1",
                   title(name, programs.back().text) +
                       fmt::format(".SH DESCRIPTION\n.nf\n{}.fi\n.SH SEE ALSO\n.BR weir (1)\n", roff(help)));
    if (name != "weir-conformance") continue;
    for (Command& command : programs.front().commands) {  // `weir conformance` runs this program, so it has the same options
      if (command.name() == "conformance") command.options = programs.back().options;
    }
  }
  write_document(folder + "/weir.bash", bash(programs));
  write_document(folder + "/_weir", zsh(programs));
  write_document(folder + "/weir.fish", fish(programs));
}

}  // namespace weir::tool
