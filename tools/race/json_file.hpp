// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

/// The JSON file of the race reports.
namespace weir::race {

/// Writes the reports as one JSON object. The file is valid JSON after each `write`, so that a process that ends by a signal
/// or by `_exit`, or whose disk is full, leaves the reports made so far. A pipe receives valid JSON only with `finish`.
class JsonFile {
 public:
  /// `name`: empty for no file. Prints an error to standard error if the file cannot be opened.
  explicit JsonFile(std::string name);
  JsonFile(const JsonFile&) = delete;
  JsonFile& operator=(const JsonFile&) = delete;

  /// Adds `report`, unless it is null. `rest`: an object with the current values of the other members.
  void write(const nlohmann::ordered_json& report, const nlohmann::ordered_json& rest);
  void finish(const nlohmann::ordered_json& rest);
  /// Whether a file was requested and could not be written.
  bool is_lost() const noexcept { return !name_.empty() && file_ < 0; }

 private:
  void put(const std::string& entry, const std::string& rest);
  int store(std::string_view text) noexcept;
  void fail(int error) noexcept;

  std::string name_;
  int file_ = -1;
  bool is_regular_ = false, has_reports_ = false;
  std::size_t end_ = 0;  // size of the text that is never overwritten
  std::string rest_;     // the text after `end_`
};

}  // namespace weir::race
