// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/instructions/counting.hpp"
#include "tests/unit/subprocess.hpp"

// Counts the instructions that Weir adds to each call, and compares them with the numbers for this compiler in
// instructions.json:
//
//   weir_instructions [--update] [--keep FOLDER] [PART-OF-A-NAME]
//
// `--update` writes the counts to that file. `--keep` keeps callgrind's files, for callgrind_annotate. The exit status is 1
// if an operation needs 3 % more instructions than in the file, or more atomic operations or driver calls; it is 77 if there
// is nothing to compare with.

namespace {

using nlohmann::ordered_json;

constexpr int skipped = 77;

/// What ten runs through Weir take more than ten calls of the driver's functions.
struct Cost {
  std::int64_t instructions = 0;
  std::int64_t atomics = 0;  // bus-locked instructions
  std::int64_t calls = 0;    // of the driver
};

std::string find_valgrind() {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::error_code error;
    if (std::filesystem::exists(folder + "/valgrind", error)) return folder + "/valgrind";
  }
  return "";
}

/// Of "OPERATION|SIDE" what one dump says.
void read_dump(const std::filesystem::path& file, std::map<std::string, Cost>& costs) {
  std::string name;
  std::int64_t instructions = 0, atomics = 0;
  std::ifstream in(file);
  const std::string request = "desc: Trigger: Client Request: ", totals = "totals: ";
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(request)) name = line.substr(request.size());
    if (line.starts_with(totals)) std::istringstream(line.substr(totals.size())) >> instructions >> atomics;
  }
  if (name.empty()) return;  // the end of the program
  costs[name].instructions = instructions;
  costs[name].atomics = atomics;
}

/// In the order in which they were counted.
std::vector<std::pair<std::string, Cost>> count(const std::string& valgrind, const std::string& program,
                                                const std::string& folder, const std::string& filter) {
  const weir::test::Outcome outcome = weir::test::run(
      valgrind,
      {"--tool=callgrind", "--collect-bus=yes", "--callgrind-out-file=" + folder + "/dump", program, "--count", filter},
      {{"WEIR_BACKEND", "cuda"},
       {"WEIR_PLUGIN_PATH", WEIR_TEST_PLUGINS},
       {"WEIR_CUDA_DRIVER", WEIR_TEST_FAKE_CUDA},
       {"WEIR_NVRTC", "/nonexistent/libnvrtc.so"},
       {"WEIR_TEST_DRIVER", "quick=1 missing=cuFuncGetParamInfo"}});
  if (outcome.status != 0) {
    std::cerr << outcome.output << outcome.errors << "the program that is counted failed\n";
    std::exit(1);
  }
  std::map<std::string, Cost> costs;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) read_dump(entry.path(), costs);
  std::vector<std::string> names;
  std::istringstream lines(outcome.output);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t last = line.rfind('|');
    costs[line.substr(0, last)].calls = std::stoll(line.substr(last + 1));
    if (line.find("|weir|") != std::string::npos) names.push_back(line.substr(0, line.find("|weir|")));
  }
  std::vector<std::pair<std::string, Cost>> result;
  for (const std::string& name : names) {
    const Cost weir = costs[name + "|weir"], raw = costs[name + "|raw"];
    result.emplace_back(name,
                        Cost{weir.instructions - raw.instructions, weir.atomics - raw.atomics, weir.calls - raw.calls});
  }
  return result;
}

/// What is more than it may be; empty where nothing is.
std::string compare(const Cost& now, const ordered_json& written) {
  std::string more;
  // Ten runs differ by some instructions with where things happen to lie in memory.
  const auto instructions = written.at("instructions").get<std::int64_t>();
  if (now.instructions > instructions + std::max<std::int64_t>(std::abs(instructions) * 3 / 100, 20))
    more += " instructions";
  if (now.atomics > written.at("atomics").get<std::int64_t>()) more += " atomics";
  if (now.calls > written.at("calls").get<std::int64_t>()) more += " calls";
  return more;
}

ordered_json read_baseline() {
  std::ifstream in(WEIR_TEST_BASELINE);
  return in ? ordered_json::parse(in) : ordered_json::object();
}

int measure(const std::string& program, bool update, std::string folder, const std::string& filter) {
  const std::string valgrind = find_valgrind();
  if (valgrind.empty() || !WEIR_HAS_CALLGRIND_HEADER) {
    std::cout << "skipped: instructions are counted by valgrind, which is not "
              << (valgrind.empty() ? "on this machine"
                                   : "whole: its header valgrind/callgrind.h was missing when this was built")
              << "; ci/install-deps.sh installs it\n";
    return skipped;
  }
  const weir::test::TemporaryFolder temporary;
  if (folder.empty()) folder = temporary.path();
  std::filesystem::create_directories(folder);
  const auto costs = count(valgrind, program, folder, filter);

  ordered_json baseline = read_baseline();
  ordered_json& known = baseline[WEIR_TEST_COMPILER];
  if (known.is_null()) known = ordered_json::object();
  int failures = 0, compared = 0;
  std::printf("%s: what %d runs through Weir take more than the driver's own calls\n", WEIR_TEST_COMPILER,
              weir::test::counted_runs);
  std::printf("%-40s %12s %8s %6s\n", "operation", "instructions", "atomics", "calls");
  for (const auto& [name, cost] : costs) {
    std::string remark;
    if (known.contains(name)) {
      const std::string more = compare(cost, known[name]);
      const auto before = known[name].at("instructions").get<long long>();
      if (!more.empty()) remark = "  MORE" + more + " than is written: " + known[name].dump();
      if (more.empty() && before != cost.instructions) remark = "  (" + std::to_string(before) + " are written)";
      failures += more.empty() ? 0 : 1;
      ++compared;
    } else {
      remark = "  skipped: nothing is written for it";
    }
    std::printf("%-40s %12lld %8lld %6lld%s\n", name.c_str(), static_cast<long long>(cost.instructions),
                static_cast<long long>(cost.atomics), static_cast<long long>(cost.calls), update ? "" : remark.c_str());
    if (update) {
      known[name] = {{"instructions", cost.instructions}, {"atomics", cost.atomics}, {"calls", cost.calls}};
    }
  }
  if (update) {
    std::ofstream(WEIR_TEST_BASELINE) << baseline.dump(1) << '\n';
    return 0;
  }
  if (compared == 0) {
    std::printf("skipped: %s has nothing for \"%s\"; weir_instructions --update writes it\n", WEIR_TEST_BASELINE,
                WEIR_TEST_COMPILER);
    return skipped;
  }
  if (failures != 0) {
    std::printf(
        "%d of %d operations take more than is written in %s. If that is worth it, weir_instructions --update writes it "
        "down\n",
        failures, compared, WEIR_TEST_BASELINE);
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try {
  bool update = false;
  std::string folder, filter;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--count") == 0) return weir::test::run_counted(i + 1 < argc ? argv[i + 1] : "");
    if (std::strcmp(argv[i], "--update") == 0) {
      update = true;
    } else if (std::strcmp(argv[i], "--keep") == 0 && i + 1 < argc) {
      folder = argv[++i];
    } else {
      filter = argv[i];
    }
  }
  return measure(std::filesystem::canonical("/proc/self/exe"), update, folder, filter);
} catch (const std::exception& e) {
  std::cerr << e.what() << '\n';
  return 1;
}
