// SPDX-License-Identifier: Apache-2.0

// The command `weir`. It reports the backends and devices of this machine, lists a program's kernels and the kernel cache,
// runs programs with Weir's variables or tools, runs Weir's other programs, and creates new ones.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "commands.hpp"
#include "commit.hpp"
#include "doctor.hpp"
#include "layout.hpp"
#include "report.hpp"
#include "text.hpp"
#include "tools/cxx/compile.hpp"
#include "weir/backend.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"
#include "weir/registry.hpp"
#include "weir/version.hpp"

namespace {

constexpr int success = 0, not_usable = 1, usage_error = 2, output_failed = 3;

constexpr const char* exit_codes =
    "Exit status:\n  0  each --backend is usable; without --backend, there is a default device\n  1  otherwise; the output "
    "contains the reasons\n  2  the command line or an environment variable is wrong; standard error contains the reason\n  "
    "3  the output could not be written\n";

/// Formats help for commands that take a program and its arguments after --.
class Help : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string usage = CLI::Formatter::make_usage(app, name);
    if (app->get_description().find(" -- PROGRAM") == std::string::npos) return usage;
    const std::size_t end = usage.find_last_not_of('\n') + 1;
    return usage.insert(end, " -- PROGRAM [ARGUMENT]…");
  }
};

int print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return success;
  std::fprintf(stderr, "weir: writing the output: %s\n", std::strerror(errno));
  return output_failed;
}

struct InfoOptions {
  std::vector<std::string> backends;
  bool json = false;
  bool verbose = false;
};

int info(const InfoOptions& options) {
  using namespace weir::tool;
  const Json report = make_report(options.backends);
  // A driver's text may not be valid UTF-8, so replace invalid bytes.
  const std::string text = options.json ? report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"
                                        : format_report(report, output_width(), options.verbose, wants_colour());
  if (const int failed = print(text); failed != success) return failed;
  if (const std::vector<std::string> errors = bad_variables(report); !errors.empty()) {
    for (const std::string& error : errors) std::fprintf(stderr, "weir: bad variable: %s\n", error.c_str());
    return usage_error;
  }
  return all_usable(report, options.backends) ? success : not_usable;
}

int doctor() {
  using namespace weir::tool;
  const Json report = make_report({});
  const Machine machine = look_at_machine();
  std::vector<Diagnosis> all;
  for (const Json& backend : report["backends"]) all.push_back(diagnose(report, backend, machine));
  if (const int failed = print(format_diagnoses(all, report, machine, output_width(), wants_colour())); failed != success)
    return failed;
  return is_healthy(all, report) ? success : not_usable;
}

int cache(bool clears) {
  std::vector<std::string> failures;
  const std::string text = weir::tool::list_cache(clears, failures);
  for (const std::string& failure : failures) std::fprintf(stderr, "weir cache: cannot remove %s\n", failure.c_str());
  if (const int failed = print(text); failed != success) return failed;
  return failures.empty() ? success : not_usable;
}

int flight(const std::vector<std::string>& files) {
  weir::tool::FlightReport report;
  try {
    report = weir::tool::compare_flights(files);
  } catch (const std::runtime_error& error) {
    std::fprintf(stderr, "weir flight: %s\n", error.what());
    return usage_error;
  }
  if (const int failed = print(report.text); failed != success) return failed;
  return report.agrees ? success : not_usable;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Shows what Weir can use on this machine, and why not the rest; runs, tests and measures programs.", "weir");
  const std::string commit = WEIR_COMMIT;
  app.set_version_flag("--version",
                       std::string("weir ") + weir::version() + (commit.empty() ? "" : " (commit " + commit + ")"));
  app.require_subcommand(1);
  app.footer(exit_codes);
  app.formatter(std::make_shared<Help>());

  const CLI::Validator not_empty(
      [](std::string& text) { return std::string(text.empty() ? "it is empty; omit the option for the default" : ""); }, "");
  const char* const inspection = "Inspect this machine";
  const char* const tool_run = "Run a program with a tool";
  const auto add = [&](const char* group, const char* name, const char* text, const char* footer) {
    CLI::App* const command = app.add_subcommand(name, text);
    command->group(group);
    command->footer(footer);
    return command;
  };
  // Adds an option with a text as its value.
  const auto add_text = [&](CLI::App* command, const char* name, auto& value, const char* type, const char* text) {
    return command->add_option(name, value, text)->type_name(type)->check(not_empty);
  };

  InfoOptions options;
  CLI::App* const info_command =
      add(inspection, "info", "Show whether each backend is usable or why not, its devices, and their absent features",
          exit_codes);
  add_text(info_command, "--backend", options.backends, "NAME", "Only this backend; may be repeated")
      ->allow_extra_args(false);
  info_command->add_flag("--json", options.json, "Print everything as JSON");
  info_command->add_flag("-v,--verbose", options.verbose,
                         "Every property, every feature with the reason if it is absent, and every file that was tried");

  CLI::App* const doctor_command = add(
      inspection, "doctor", "For each unusable backend, show what was searched and found, the cause, and a command to try",
      "Exit status:\n  0  the best backend for this machine is usable\n  1  it is not usable, or a variable is wrong\n  2  "
      "the command line, or a variable that every program reads, does not parse\n  3  the output could not be written\n");

  CLI::App* const kernels_command =
      add(inspection, "kernels", "Kernels that were compiled ahead of time: weir kernels inspect FILE",
          "Exit status:\n  0  the output lists the kernels\n  1  there are no kernels, or the file is damaged or cannot be "
          "read\n  2  the command line does not parse\n  3  the output could not be written\n");
  kernels_command->require_subcommand(1);
  std::string inspected;
  kernels_command->add_subcommand("inspect", "List the contents of a bundle, or of a program that contains bundles")
      ->add_option("FILE", inspected, "A program, a shared library, an archive, or a bundle")
      ->required();

  CLI::App* const cache_command =
      add(inspection, "cache", "Compiled kernels that are stored for later processes: weir cache size",
          "Exit status:\n  0  done\n  1  an entry cannot be removed\n  2  the command line, or WEIR_CACHE_DIR, is wrong\n  "
          "3  the "
          "output could not be written\n");
  cache_command->require_subcommand(1);
  cache_command->add_subcommand("size", "The folder, and the size of each backend's entries");
  CLI::App* const clear_command = cache_command->add_subcommand("clear", "Remove the entries; other files remain");

  std::string new_folder;
  CLI::App* const new_command = add(
      "Begin a program", "new", "Create a folder with a program, a kernel and a CMakeLists.txt: weir new FOLDER",
      "Exit status:\n  0  done; the output shows how to build and run the program\n  1  the folder is not empty or cannot "
      "be created\n  2  the command line does not parse\n  3  the output could not be written\n");
  new_command->add_option("FOLDER", new_folder, "A new or empty folder; its name becomes the program's name")->required();

  // Only for the list of commands: `weir::cxx::run` parses its options.
  add("Begin a program", "c++", "Compile a whole CUDA program for all backends: weir c++ prog.cu -o prog",
      "It takes nvcc's options: docs/cuda-programs.md.\n\nExit status:\n  0  done\n  1  it does not compile, or no Clang "
      "was found\n  2  the command line is wrong\n");

  weir::tool::RunOptions run_options;
  auto& variables = run_options.variables;
  CLI::App* const run_command =
      add(tool_run, "run", "Run a program with Weir's variables set: weir run [OPTIONS] -- PROGRAM [ARGUMENT]…",
          "Exit status: the program's; 3 if the program succeeded with the tool race but did not use Weir; 2 if the "
          "command\nline does not parse, 126 if the program cannot be run, 127 if it does not exist\n");
  add_text(run_command, "--tools", variables["WEIR_TOOLS"], "NAMES",
           "WEIR_TOOLS: tools that observe the program, such as race and timeline");
  run_command
      ->add_option("--stuck", variables["WEIR_STUCK"],
                   "WEIR_STUCK: report calls that take longer than TIME (default: 30s), and allow `weir stuck`")
      ->type_name("TIME")
      ->expected(0, 1);

  CLI::App* const timeline_command =
      add(tool_run, "timeline",
          "Run a program, and write a trace of its streams: weir timeline [OPTIONS] -- PROGRAM [ARGUMENT]…",
          "Prints how busy the streams were, how much they overlapped, and the longest waits, on standard error.\n\nExit "
          "status: as weir run, and 128 + N if signal N ended the program; 3 if the program succeeded but there is no "
          "trace,\nor if the trace cannot be written (then the program is not run)\n");
  add_text(timeline_command, "-o,--output", variables["WEIR_TIMELINE"], "FILE",
           "WEIR_TIMELINE: the trace for Perfetto (default: weir.pftrace)");

  CLI::App* const record_command =
      add(tool_run, "record",
          "Run a program, and record its operations for weir replay: weir record [OPTIONS] -- PROGRAM [ARGUMENT]…",
          "The file contains the program's kernels and data: docs/record.md.\n\nExit status: as weir timeline\n");
  add_text(record_command, "-o,--output", variables["WEIR_RECORD_FILE"], "FILE",
           "WEIR_RECORD_FILE (default: weir.recording)");
  for (CLI::App* const command : {run_command, timeline_command, record_command})
    add_text(command, "--backend", variables["WEIR_BACKEND"], "NAMES",
             "WEIR_BACKEND: a name, or names in order of preference");

  std::string replayed, replay_backend;
  CLI::App* const replay_command = add(
      "Replay a recording", "replay",
      "Run a recording on the default backend, and compare the results: weir replay [OPTIONS] FILE",
      "Exit status:\n  0  all results are equal to the recording\n  1  a result differs, or an operation failed\n  2  the "
      "file is damaged or cannot be used on this backend, or the command line does not parse\n  3  all results are equal, "
      "but the recording is incomplete: the program did not end, or the file is truncated\n");
  add_text(replay_command, "--backend", replay_backend, "NAME", "The backend to use instead of WEIR_BACKEND");
  replay_command->add_option("FILE", replayed, "A file of weir record")->required();

  weir::tool::ShakeOptions shake_options;
  const auto positive = [](const std::string& text) {
    const bool is_positive = text.find_first_not_of('0') != std::string::npos && text[0] != '-';
    return std::string(is_positive ? "" : "'" + text + "' is not a whole number of at least 1");
  };
  CLI::App* const shake_command = add(
      tool_run, "shake",
      "Run a program repeatedly in unusual orders of its streams: weir shake [OPTIONS] -- PROGRAM [ARGUMENT]…",
      "Exit status: 0 if the program's was 0 each time, otherwise 1; 2 if the command line does not parse or the backend "
      "is\nnot usable; 126 if the program cannot be run, 127 if it does not exist\n");
  shake_command->add_option("--seeds", shake_options.seeds, "The number of runs (default: 20)")
      ->type_name("N")
      ->check(positive);
  add_text(shake_command, "--backend", shake_options.backend, "NAME", "The program's backend (default: host)");
  shake_command->add_option("--first", shake_options.first, "The first seed, a value of WEIR_SCHEDULE (default: 1)")
      ->type_name("N")
      ->check(positive);
  shake_command
      ->add_option("--schedule", shake_options.schedule,
                   "random: each next stream is drawn; pct: streams have priorities, which change at a few steps; both "
                   "(default): in turn")
      ->check(CLI::IsMember({"random", "pct", "both"}));
  shake_command
      ->add_option("--timeout", shake_options.timeout,
                   "A run that takes longer is killed and counts as failed (default: 60; 0: no limit)")
      ->type_name("SECONDS")
      ->check(CLI::Range(0, 1000000));

  weir::tool::RaceOptions race_options;
  CLI::App* const race_command = add(
      tool_run, "race",
      "Run a program with the tool race, which finds missing waits: weir race [OPTIONS] -- PROGRAM [ARGUMENT]…",
      "Exit status: without --witness the program's, or 66 if there was a race; with --witness 0 if there was no race, 1 "
      "if\na race changed the results, 3 if there were races but none changed them. 3 if the program succeeded but did not "
      "use\nWeir; 2 if the command line does not parse, 126 if the program cannot be run, 127 if it does not exist\n");
  race_command->add_flag(
      "--witness", race_options.witness,
      "Then run it on the host backend in both orders of each two operations, and report the differences");
  add_text(race_command, "--schedule", race_options.schedule, "SEED|pct:SEED",
           "The value of WEIR_SCHEDULE for all runs (default: 1)")
      ->needs("--witness");
  add_text(race_command, "--output-file", race_options.outputs, "FILE", "A file that the program writes, to compare as well")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->needs("--witness");
  race_command
      ->add_option("--timeout", race_options.timeout,
                   "A run that takes longer is killed as a deadlock (default: 10 times as long as the first run, plus 10)")
      ->type_name("SECONDS")
      ->check(CLI::Range(1, 1000000))
      ->needs("--witness");
  add_text(race_command, "--json", race_options.json, "FILE", "A file for the verdicts, as JSON")->needs("--witness");

  int stuck_process = 0;
  CLI::App* const stuck_command =
      add(tool_run, "stuck", "Show what a hanging process waits for, if it was started with WEIR_STUCK: weir stuck PID",
          "Exit status: 0 after the report; 1 if there is no such process, or it was not started with WEIR_STUCK; 2 if "
          "the\ncommand line does not parse\n");
  stuck_command->add_option("PID", stuck_process, "The process's id")->required()->check([](const std::string& text) {
    const bool is_number = text.find_first_not_of("0123456789") == std::string::npos && text.size() < 10 && text != "0";
    return std::string(is_number ? "" : "'" + text + "' is not a process id");
  });

  std::vector<std::string> flight_files;
  CLI::App* const flight_command =
      add("Find the rank that did not come", "flight",
          "Compare what the ranks of failed communicators left (WEIR_FLIGHT_RECORD): weir flight FILE…",
          "Exit status:\n  0  all ranks left a record and called the same operations\n  1  a rank left none, is behind, or "
          "called another operation\n  2  a file is not a record, or the command line does not parse\n  3  the output could "
          "not be written\n");
  flight_command->add_option("FILE", flight_files, "The record of one rank")->required();

  // Arguments after -- belong to the program to run. Unknown arguments before -- are refused below.
  for (CLI::App* const command : {run_command, timeline_command, record_command, shake_command, race_command})
    command->allow_extras();
  const auto end = std::find_if(argv + 1, argv + argc, [](const char* word) { return std::string_view(word) == "--"; });
  if (end != argv + argc) run_options.command.assign(end + 1, argv + argc);
  shake_options.command = race_options.command = run_options.command;
  const int own = static_cast<int>(end - argv);
  // This command has the options of nvcc, which CLI11 does not parse.
  if (argc > 1 && std::string_view(argv[1]) == "c++") return weir::cxx::run({argv + 2, argv + argc});
  // For the completions of shells, and for the build. These are no commands for users.
  if (argc > 1 && std::string_view(argv[1]) == "offer") return print(weir::tool::offers(app, {argv + 2, argv + argc}));
  if (argc == 4 && std::string_view(argv[1]) == "documents") {
    weir::tool::write_documents(app, argv[2], argv[3]);
    return success;
  }
  try {
    app.parse(own, argv);
    if (run_command->count("--stuck") != 0 && variables["WEIR_STUCK"].find_first_not_of("{}") == std::string::npos)
      variables["WEIR_STUCK"] = "30s";
    const bool takes_program = *run_command || *timeline_command || *record_command || *shake_command || *race_command;
    if (takes_program) {
      const CLI::App* const command = app.get_subcommands().front();
      const auto throw_usage = [&](const std::string& cause, const std::string& program) {
        throw CLI::ValidationError(cause + "; write: weir " + command->get_name() + " [OPTION]… -- " + program,
                                   CLI::ExitCodes::ValidationError);
      };
      if (const auto extras = command->remaining(); !extras.empty()) {
        if (extras.front().starts_with('-')) throw CLI::ExtrasError({extras.front()});
        throw_usage("'" + extras.front() + "' must come after --", extras.front() + " [ARGUMENT]…");
      }
      if (run_options.command.empty()) throw_usage("a program is missing", "PROGRAM [ARGUMENT]…");
      const bool is_pct = shake_options.schedule == "pct";
      const auto wrong = [](const char* what) { throw CLI::ValidationError(what, CLI::ExitCodes::ValidationError); };
      if (shake_options.seeds - 1 > std::numeric_limits<unsigned>::max() - shake_options.first)
        wrong("--first and --seeds: the last seed must be less than 4294967296");
      if (is_pct && shake_options.backend != "host") {
        wrong("--schedule=pct needs --backend=host: on GPUs Weir cannot choose the order, and delays streams at random");
      }
    }
    if (!takes_program && end != argv + argc) throw CLI::ExtrasError({"--"});
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // --help, --version
      std::ostringstream text;
      app.exit(error, text);
      return print(text.str());
    }
    const std::string mistake = weir::tool::explain_mistake(app, own, argv);
    const auto parsed = app.get_subcommands();
    const std::string command = parsed.empty() ? "" : " " + parsed.front()->get_name();
    std::fprintf(stderr, "weir%s: %s\nweir%s --help lists the commands and options\n", command.c_str(),
                 mistake.empty() ? error.what() : mistake.c_str(), command.c_str());
    return usage_error;
  }
  try {
    if (*run_command) return weir::tool::run_program(run_options);
    if (*timeline_command || *record_command) {
      variables["WEIR_TOOLS"] = *timeline_command ? "timeline" : "record";
      return weir::tool::trace_program(run_options);
    }
    if (*replay_command) {
      if (!replay_backend.empty()) ::setenv("WEIR_BACKEND", replay_backend.c_str(), 1);
      return weir::tool::replay_recording(replayed);
    }
    if (*flight_command) return flight(flight_files);
    if (*stuck_command) return weir::tool::ask_what_is_stuck(stuck_process);
    if (*shake_command) return weir::tool::shake_program(shake_options);
    if (*race_command) return weir::tool::race_program(race_options);
    if (*kernels_command) return print(weir::tool::inspect_kernels(inspected));
    if (*cache_command) return cache(clear_command->parsed());
    if (*new_command) return print(weir::tool::make_program(new_folder));
    return *doctor_command ? doctor() : info(options);
  } catch (const weir::Error& error) {
    std::fprintf(stderr, "weir: %s\n", error.what());
    return error.errc() == weir::Errc::invalid_environment ? usage_error : not_usable;
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "weir: %s\n", exception.what());
    return not_usable;
  }
}
