// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "../progress_line.hpp"
#include "commands.hpp"
#include "runs.hpp"
#include "weir/error.hpp"
#include "weir/registry.hpp"

namespace weir::tool {

int shake_program(const ShakeOptions& options) {
  // The host backend has its own schedules; on other backends the tool `shake` delays streams.
  const bool is_host = options.backend == "host";
  std::string setting = "WEIR_BACKEND=" + options.backend;
  ::setenv("WEIR_BACKEND", options.backend.c_str(), 1);
  if (!is_host) {
    try {
      (void)default_device();
    } catch (const Error& error) {
      std::fprintf(stderr, "weir shake: %s\n", error.what());
      return 2;
    }
    ::setenv("WEIR_TOOLS", "shake", 1);
    setting += " WEIR_TOOLS=shake";
  }
  setting += other_variables();
  begin_runs();
  std::string failed, first_failed;
  const char* again = "fails";
  unsigned failures = 0;
  ProgressLine progress;
  for (unsigned i = 0; i < options.seeds; ++i) {
    std::string seed = std::to_string(options.first + i);
    const bool is_pct = options.schedule == "pct" || (options.schedule == "both" && is_host && i % 2 == 1);
    if (is_pct) seed.insert(0, "pct:");
    ::setenv("WEIR_SCHEDULE", seed.c_str(), 1);
    progress.show("[" + std::to_string(i + 1) + "/" + std::to_string(options.seeds) + ", " + std::to_string(failures) +
                  " failed]");
    const Run run = run_once(options.command, std::chrono::seconds(options.timeout));
    if (run.error != 0) {
      progress.clear();
      return cannot_run(options.command.front(), run.error);
    }
    if (!run.hung && run.status == 0) continue;
    ++failures;
    failed += " " + seed;
    if (run.hung) {
      failed += " (hung)";
      progress.clear();
      std::fprintf(stderr, "weir shake: schedule %s hung: the run was killed after %u s\n", seed.c_str(), options.timeout);
    }
    if (!first_failed.empty()) continue;
    first_failed = seed;
    if (run.hung) again = "hangs";
  }
  progress.clear();
  std::fprintf(stderr, "weir shake: %u of %u schedules failed%s%s\n", failures, options.seeds, failures != 0 ? ":" : "",
               failed.c_str());
  if (failures == 0) return 0;
  std::fprintf(stderr, "weir shake: %s WEIR_SCHEDULE=%s %s %s again\n", setting.c_str(), first_failed.c_str(),
               line_of(options.command).c_str(), again);
  return 1;
}

}  // namespace weir::tool
