// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <sstream>
#include <string>

/// What a stand-in for a driver library is told to do, by the environment variable WEIR_TEST_DRIVER: words separated by spaces,
///
///   missing=FUNCTION        the library does not have it
///   version=NUMBER          what it says its version is
///   devices=NUMBER          how many devices it shows
///   fail=FUNCTION:N:CODE    the N-th call of that function, from 1, returns CODE; N-M: the N-th to the M-th; 0: each
///   trace=1                 each call on standard error, "call NAME" and what the stand-in knows of its arguments
///
/// Stand-ins show how Weir takes what a driver answers. They prove nothing about devices.
namespace weir::test {

class Script {
 public:
  static Script& instance() {
    static auto* const script = new Script(std::getenv("WEIR_TEST_DRIVER"));
    return *script;
  }

  bool is_missing(const std::string& function) const { return missing_.contains(function); }
  int number(const std::string& word, int otherwise) const {
    const auto found = numbers_.find(word);
    return found == numbers_.end() ? otherwise : found->second;
  }

  /// Whether a count is in the range that the word gives.
  bool is_among(const std::string& word, int count) const {
    const auto found = ranges_.find(word);
    return found != ranges_.end() && found->second.contains(count);
  }

  /// Counts a call; what it is to return instead of being carried out, or 0.
  int failure_of(const std::string& function) {
    const std::lock_guard lock(mutex_);
    const auto found = failures_.find(function);
    if (found == failures_.end()) return 0;
    Failure& failure = found->second;
    ++failure.calls;
    return failure.at.contains(failure.calls) ? failure.code : 0;
  }

 private:
  /// "N", "N-M", or "0" for all.
  struct Range {
    explicit Range(const std::string& text) : first(std::stoi(text)), last(std::stoi(text.substr(text.find('-') + 1))) {}
    bool contains(int number) const { return first == 0 || (first <= number && number <= last); }
    int first, last;
  };
  struct Failure {
    Range at;
    int code, calls = 0;
  };

  explicit Script(const char* text) {
    std::istringstream words(text != nullptr ? text : "");
    for (std::string word; words >> word;) {
      const std::string key = word.substr(0, word.find('=')), value = word.substr(word.find('=') + 1);
      if (key == "missing") {
        missing_[value] = true;
      } else if (key == "fail") {
        const std::size_t first = value.find(':'), second = value.find(':', first + 1);
        failures_.insert_or_assign(value.substr(0, first), Failure{Range(value.substr(first + 1, second - first - 1)),
                                                                   std::stoi(value.substr(second + 1))});
      } else {
        numbers_[key] = std::stoi(value);
        ranges_.insert_or_assign(key, Range(value));
      }
    }
  }

  std::map<std::string, bool> missing_;
  std::map<std::string, int> numbers_;
  std::map<std::string, Range> ranges_;
  std::mutex mutex_;
  std::map<std::string, Failure> failures_;
};

}  // namespace weir::test
