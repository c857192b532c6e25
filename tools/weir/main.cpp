// SPDX-License-Identifier: Apache-2.0

// The command `weir`: what Weir finds on this machine, and why not more.

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "layout.hpp"
#include "mistake.hpp"
#include "report.hpp"
#include "text.hpp"
#include "weir/error.hpp"
#include "weir/version.hpp"

namespace {

constexpr int success = 0, not_usable = 1, usage_error = 2, output_failed = 3;

constexpr const char* exit_codes =
    "Exit status:\n"
    "  0  what was asked for is usable: each --backend; without one, a default device\n"
    "  1  it is not; the reasons are in the output\n"
    "  2  the command line or an environment variable is wrong; the reason is on standard error\n"
    "  3  the output could not be written\n";

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
  // What a driver says may be no UTF-8; it is printed all the same.
  const std::string text = options.json ? report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"
                                        : format_report(report, output_width(), options.verbose);
  if (const int failed = print(text); failed != success) return failed;
  if (const std::vector<std::string> errors = bad_variables(report); !errors.empty()) {
    for (const std::string& error : errors) std::fprintf(stderr, "weir: bad variable: %s\n", error.c_str());
    return usage_error;
  }
  return all_usable(report, options.backends) ? success : not_usable;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("What Weir finds on this machine: backends, devices, features, and why what is missing is missing.", "weir");
  app.set_version_flag("--version", std::string("weir ") + weir::version());
  app.require_subcommand(1);
  app.footer(exit_codes);

  InfoOptions options;
  CLI::App* const info_command = app.add_subcommand(
      "info", "List every known backend with its state, or the reason and all that was tried; devices; features");
  info_command->add_option("--backend", options.backends, "Only this backend; may be given several times")
      ->type_name("NAME")
      ->allow_extra_args(false);
  info_command->add_flag("--json", options.json, "Print all there is as JSON");
  info_command->add_flag("-v,--verbose", options.verbose, "Every property, and what was tried for usable backends, too");
  info_command->footer(exit_codes);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    const std::string mistake = weir::tool::explain_mistake(app, argc, argv);
    std::fprintf(stderr, "weir: %s\nweir --help tells what there is\n", mistake.empty() ? error.what() : mistake.c_str());
    return usage_error;
  }
  try {
    return info(options);
  } catch (const weir::Error& error) {
    std::fprintf(stderr, "weir: %s\n", error.what());
    return error.errc() == weir::Errc::invalid_environment ? usage_error : not_usable;
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "weir: %s\n", exception.what());
    return not_usable;
  }
}
