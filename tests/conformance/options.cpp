// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

namespace conformance {

const char* const usage = R"(weir-conformance: runs Weir's conformance suite on one device of one backend.

  --backend=NAME         the backend to test; a third party's plugin is found through WEIR_PLUGIN_PATH
                         (default: what WEIR_BACKEND chooses)
  --require=NAME         like --backend, and its absence is a failure rather than a skip
  --device=N             the device's ordinal (default: WEIR_DEVICE, or 0)
  --list                 lists the cases with the rows that they cover, and which of S1 to S48 are covered
  --known-failures=FILE  lines of BACKEND VERSION-GLOB CASE-GLOB: these cases are expected to fail, and fail the run if they
                         pass; a # begins a comment
  --timeout=SECONDS      how long one case may take before the suite gives up (default: 300)
  --help                 this text; doctest's own options are listed by --dt-help

Options of doctest pass through: --test-case=GLOB, --test-suite=NAME, --order-by=rand, --success, ...

Exit status: 0 passed, 1 failed, 2 a bad command line, 77 the backend or the device is not usable here (a skip).
)";

namespace {

// doctest ignores what it does not know, so the suite has to know what doctest does.
constexpr std::array doctest_options = {
    "?", "h", "v", "version", "c", "count", "ltc", "list-test-cases", "lts", "list-test-suites", "lr", "list-reporters", "tc",
    "test-case", "tce", "test-case-exclude", "sf", "source-file", "sfe", "source-file-exclude", "ts", "test-suite", "tse",
    "test-suite-exclude", "sc", "subcase", "sce", "subcase-exclude", "r", "reporters", "o", "out", "ob", "order-by", "rs",
    "rand-seed", "f", "first", "l", "last", "aa", "abort-after", "scfl", "subcase-filter-levels", "s", "success", "cs",
    "case-sensitive", "e", "exit", "d", "duration", "m", "minimal", "q", "quiet", "nt", "no-throw", "ne", "no-exitcode", "nr",
    "no-run", "ni", "no-intro", "nv", "no-version", "nc", "no-colors", "fc", "force-colors", "nb", "no-breaks", "ns", "no-skip",
    "gfl", "gnu-file-line", "npf", "no-path-filenames", "nln", "no-line-numbers"};

bool is_doctest_option(std::string_view argument) {
  while (!argument.empty() && argument.front() == '-') argument.remove_prefix(1);
  argument = argument.substr(0, argument.find('='));
  if (argument.starts_with("dt-")) argument.remove_prefix(3);
  return argument == "help" || std::find(doctest_options.begin(), doctest_options.end(), argument) != doctest_options.end();
}

int number(std::string_view option, std::string_view text, int least) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least) {
    throw BadOptions(std::string(option) + " takes a whole number from " + std::to_string(least) + ", and not '" +
                     std::string(text) + "'");
  }
  return value;
}

}  // namespace

Options parse_options(int argc, const char* const* argv) {
  Options o;
  o.doctest.emplace_back(argc > 0 ? argv[0] : "weir-conformance");
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const auto value_of = [&](std::string_view option) -> std::optional<std::string> {
      if (!argument.starts_with(option)) return std::nullopt;
      const std::string_view rest = argument.substr(option.size());
      if (rest.empty() || rest.front() != '=') return std::nullopt;
      if (rest.size() == 1) throw BadOptions(std::string(option) + "= takes a value");
      return std::string(rest.substr(1));
    };
    if (const auto backend = value_of("--backend")) {
      o.backend = *backend;
    } else if (const auto require = value_of("--require")) {
      o.require = *require;
    } else if (const auto device = value_of("--device")) {
      o.device = number("--device", *device, 0);
    } else if (const auto file = value_of("--known-failures")) {
      o.known_failures = *file;
    } else if (const auto timeout = value_of("--timeout")) {
      o.timeout_s = number("--timeout", *timeout, 1);
    } else if (const auto child = value_of("--child")) {
      o.child = *child;
    } else if (const auto child_argument = value_of("--child-argument")) {
      o.child_argument = *child_argument;
    } else if (argument == "--list") {
      o.list = true;
    } else if (argument == "--help" || argument == "-h") {
      o.help = true;
    } else if (is_doctest_option(argument)) {
      o.doctest.emplace_back(argument);
    } else {
      throw BadOptions("unknown option '" + std::string(argument) + "'");
    }
  }
  if (!o.require.empty()) {
    if (!o.backend.empty() && o.backend != o.require) {
      throw BadOptions("--backend=" + o.backend + " and --require=" + o.require + " ask for two backends");
    }
    o.backend = o.require;
  }
  return o;
}

}  // namespace conformance
