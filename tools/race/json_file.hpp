// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace weir::race {

/// The reports as one JSON object, which is whole behind each `write`: a process that ends by a signal or by `_exit` leaves
/// what it has found, and one whose disk is full what it could write. Of a pipe only the end makes it whole.
class JsonFile {
 public:
  /// `name`: empty for no file. If it cannot be opened, says so on standard error.
  explicit JsonFile(std::string name);
  JsonFile(const JsonFile&) = delete;
  JsonFile& operator=(const JsonFile&) = delete;

  /// Adds a report, or null for none. `rest`: an object with the other members, as they are now.
  void write(const nlohmann::ordered_json& report, const nlohmann::ordered_json& rest);
  void finish(const nlohmann::ordered_json& rest);
  /// Whether there should be a file, and what was added could not be written.
  bool is_lost() const noexcept { return !name_.empty() && file_ < 0; }

 private:
  void put(const std::string& entry, const std::string& rest);
  int store(std::string_view text) noexcept;
  void fail(int error) noexcept;

  std::string name_;
  int file_ = -1;
  bool is_regular_ = false, has_reports_ = false;
  std::size_t end_ = 0;  // of what stays
  std::string rest_;     // behind it
};

}  // namespace weir::race
