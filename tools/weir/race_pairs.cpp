// SPDX-License-Identifier: Apache-2.0
#include "race_pairs.hpp"

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <system_error>

namespace weir::tool {
namespace {

/// Sets an environment variable. The destructor restores the former value.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* const before = std::getenv(name)) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

RaceSide side_of(const Json& json) { return {json["name"], json["last"], json["operation"], json["place"]}; }

}  // namespace

PrivateFolder::PrivateFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "weir-race-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::system_error(errno, std::generic_category(), "making " + name);
  path_ = name;
}

PrivateFolder::~PrivateFolder() {
  std::error_code none;
  std::filesystem::remove_all(path_, none);
}

std::vector<RacePair> find_races(const std::vector<std::string>& command, const std::string& schedule,
                                 std::chrono::seconds timeout, const PrivateFolder& folder, Run& run) {
  const std::string file = folder / "pairs";
  const char* const user_options = std::getenv("WEIR_RACE");
  ::setenv("WEIR_BACKEND", "host", 1);
  ::setenv("WEIR_SCHEDULE", schedule.c_str(), 1);
  const Variable tools("WEIR_TOOLS", "race");
  const Variable options("WEIR_RACE", (user_options != nullptr ? std::string(user_options) + "," : "") + "pairs=" + file +
                                          ",tally=" + (folder / "tally"));
  run = run_once(command, timeout);
  run.used_weir = std::filesystem::exists(folder / "tally");
  std::vector<RacePair> pairs;
  std::ifstream in(file);
  bool has_other_memory = false;
  for (std::string line; std::getline(in, line);) {
    Json report = Json::parse(line);
    if (report.contains("memory")) {
      has_other_memory = true;
      continue;
    }
    RaceSide first = side_of(report["first"]), second = side_of(report["second"]);
    pairs.push_back({std::move(first), std::move(second), std::move(report)});
  }
  for (RacePair& pair : pairs) pair.has_other_memory = has_other_memory;
  return pairs;
}

}  // namespace weir::tool
