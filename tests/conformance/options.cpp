// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

// Parses the options of weir-conformance.

namespace conformance {

const char* const usage = R"(weir-conformance: runs Weir's conformance suite on one device of one backend.

  --backend=NAME         the backend to test; a third party's plugin is found through WEIR_PLUGIN_PATH
                         (default: what WEIR_BACKEND chooses)
  --require=NAME         like --backend, and its absence is a failure rather than a skip
  --device=N             the device's ordinal (default: WEIR_DEVICE, or 0)
  --list                 lists the cases with the rows that they cover, and which of S1 to S48 are covered
  --known-failures=FILE  lines of BACKEND VERSION-GLOB CASE-GLOB: these cases are expected to fail, and fail the run if they
                         pass; a # begins a comment
  --timeout=SECONDS      how long one case may take (default: 300). One that takes longer is reported as hanging, and the
                         rest runs in a new process
  --one-process          runs the cases in this process, for a debugger: one that hangs or crashes ends the run
  --junit=FILE           also writes the report as JUnit XML
  --json=FILE            also writes it as JSON
  --help                 this text; doctest's own options are listed by --dt-help

An option's value may also be the next argument: --device 0.

Options of doctest pass through: --test-case=GLOB, --test-suite=NAME, --order-by=rand, --success, ...

Exit status: 0 passed, 1 failed, 2 a bad command line, 77 the backend or the device is not usable here (a skip).
)";

namespace {

// doctest ignores what it does not know, so the suite has to know what doctest does.
constexpr std::array doctest_options = {
    "?", "h", "v", "version", "c", "count", "ltc", "list-test-cases", "lts", "list-test-suites", "lr", "list-reporters",
    "tc", "test-case", "tce", "test-case-exclude", "sf", "source-file", "sfe", "source-file-exclude", "ts", "test-suite",
    "tse", "test-suite-exclude", "sc", "subcase", "sce", "subcase-exclude", "r", "reporters", "o", "out", "ob", "order-by",
    "rs", "rand-seed", "f", "first", "l", "last", "aa", "abort-after", "scfl", "subcase-filter-levels", "s", "success",
    "cs", "case-sensitive", "e", "exit", "d", "duration", "m", "minimal", "q", "quiet", "nt", "no-throw", "ne",
    "no-exitcode", "nr", "no-run", "ni", "no-intro", "nv", "no-version", "nc", "no-colors", "fc", "force-colors", "nb",
    "no-breaks", "ns", "no-skip", "gfl", "gnu-file-line", "npf", "no-path-filenames", "nln", "no-line-numbers"};

// Those with which doctest runs no case.
constexpr std::array queries = {"?",  "h",  "help",            "v",   "version",          "c",  "count",
                                "ltc", "list-test-cases", "lts", "list-test-suites", "lr", "list-reporters",
                                "nr",  "no-run"};

template <class Names>
bool is_one_of(std::string_view name, const Names& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// An option's name as doctest knows it: without dashes, prefix and value.
std::string doctest_name_of(std::string_view argument) {
  while (!argument.empty() && argument.front() == '-') argument.remove_prefix(1);
  argument = argument.substr(0, argument.find('='));
  if (argument.starts_with("dt-")) argument.remove_prefix(3);
  return std::string(argument);
}

bool is_doctest_option(std::string_view argument) {
  const std::string name = doctest_name_of(argument);
  return argument.starts_with('-') && (name == "help" || is_one_of(name, doctest_options));
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
  const std::pair<std::string_view, std::string*> texts[] = {
      {"--backend", &o.backend},   {"--require", &o.require},
      {"--junit", &o.junit},       {"--json", &o.json},
      {"--child", &o.child},       {"--child-argument", &o.child_argument},
      {"--known-failures", &o.known_failures},
  };
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const std::string_view name = argument.substr(0, argument.find('='));
    // What stands behind the '=', or the next argument.
    const auto value = [&]() -> std::string {
      std::string text;
      if (name.size() < argument.size()) {
        text = argument.substr(name.size() + 1);
      } else if (i + 1 < argc) {
        text = argv[++i];
      }
      if (text.empty() || (name.size() == argument.size() && text.starts_with('-'))) {
        throw BadOptions(std::string(name) + " takes a value");
      }
      return text;
    };
    const auto text = std::find_if(std::begin(texts), std::end(texts), [&](const auto& t) { return t.first == name; });
    if (text != std::end(texts)) {
      *text->second = value();
    } else if (name == "--device") {
      o.device = number(name, value(), 0);
    } else if (name == "--timeout") {
      o.timeout_s = number(name, value(), 1);
    } else if (argument == "--list") {
      o.list = true;
    } else if (argument == "--one-process") {
      o.one_process = true;
    } else if (argument == "--worker") {
      o.worker = true;
    } else if (argument == "--help" || argument == "-h") {
      o.help = true;
    } else if (is_doctest_option(argument)) {
      const std::string doctest_name = doctest_name_of(argument);
      if (is_one_of(doctest_name, queries)) o.query = true;
      if (doctest_name == "first" || doctest_name == "f") {
        o.first = number("--first", value(), 1);
      } else if (doctest_name == "last" || doctest_name == "l") {
        o.last = number("--last", value(), 1);
      } else {
        o.doctest.emplace_back(argument);
      }
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
  if (o.last != 0) o.doctest.push_back("--last=" + std::to_string(o.last));
  return o;
}

}  // namespace conformance
