// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

/// The instructions for a stand-in for a driver library, in the environment variable WEIR_TEST_DRIVER. They are words,
/// separated by spaces:
///
///   missing=FUNCTION        the library lacks the function
///   version=NUMBER          the version that it reports
///   devices=NUMBER          the number of devices
///   fail=FUNCTION:N:CODE    the N-th call of that function, from 1, returns CODE; N-M: the N-th to the M-th; 0: each; *N:
///                           all but one in N
///   hold=FUNCTION:N:OTHER:M the N-th call of that function waits until the other has been called M times, for 30 s
///   trace=1                 print each call to standard error, as "call NAME" and the arguments that it can print
///
/// A stand-in also has the function `weir_fail_every_call(CODE)`: after it, each call returns CODE, as if the driver had
/// shut down. The one for HIP has `weir_wait_for(FUNCTION, N)`, which waits until the function has been called N times, and
/// `weir_wait_for_next(FUNCTION, OTHER)`, which waits until FUNCTION has been called after the last call of OTHER.
///
/// Stand-ins show how Weir handles the results of a driver. They prove nothing about devices.
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
    return found == numbers_.end() ? otherwise : found->second.first;
  }

  /// Whether a count is in the range of the word.
  bool is_among(const std::string& word, int count) const {
    const auto found = numbers_.find(word);
    return found != numbers_.end() && found->second.contains(count);
  }

  /// Counts a call, writes `trace` to standard error, and delays the call if the script says so. Returns the result that
  /// replaces the call, or 0. Calls are in the trace in the order in which they are counted.
  int failure_of(const std::string& function, const std::string& trace = "") {
    std::unique_lock lock(mutex_);
    std::fputs(trace.c_str(), stderr);
    const int call = ++calls_[function];
    last_calls_[function] = ++call_;
    called_.notify_all();
    for (const Hold& hold : holds_) {
      if (hold.function != function || hold.call != call) continue;
      if (called_.wait_for(lock, std::chrono::seconds(30), [&] { return calls_[hold.other] >= hold.other_calls; })) continue;
      std::fprintf(stderr, "%s was held for %s in vain\n", function.c_str(), hold.other.c_str());
      std::abort();
    }
    const auto found = failures_.find(function);
    return found != failures_.end() && found->second.at.contains(call) ? found->second.code : 0;
  }

  /// Waits until a function has been called `n` times, at most 30 s. Returns whether it was.
  bool wait_for(const std::string& function, int calls) {
    std::unique_lock lock(mutex_);
    return called_.wait_for(lock, std::chrono::seconds(30), [&] { return calls_[function] >= calls; });
  }

  /// Waits until a function has been called after the last call of the other, at most 30 s. Returns whether it was.
  bool wait_for_next(const std::string& function, const std::string& other) {
    std::unique_lock lock(mutex_);
    return called_.wait_for(lock, std::chrono::seconds(30), [&] { return last_calls_[function] > last_calls_[other]; });
  }

 private:
  /// Parses "N", "N-M", "0" for all, or "*N".
  struct Range {
    explicit Range(const std::string& text) {
      if (text.starts_with('*')) {
        all_but = std::stoi(text.substr(1));
      } else {
        first = std::stoi(text);
        last = std::stoi(text.substr(text.find('-') + 1));
      }
    }
    bool contains(int number) const {
      return all_but != 0 ? number % all_but != 0 : first == 0 || (first <= number && number <= last);
    }
    int first = 0, last = 0, all_but = 0;
  };
  struct Failure {
    Range at;
    int code;
  };
  struct Hold {
    std::string function;
    int call;
    std::string other;
    int other_calls;
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
      } else if (key == "hold") {
        std::istringstream parts(value);
        Hold& hold = holds_.emplace_back();
        std::string number;
        std::getline(parts, hold.function, ':');
        std::getline(parts, number, ':');
        hold.call = std::stoi(number);
        std::getline(parts, hold.other, ':');
        std::getline(parts, number);
        hold.other_calls = std::stoi(number);
      } else {
        numbers_.insert_or_assign(key, Range(value));
      }
    }
  }

  std::map<std::string, bool> missing_;
  std::map<std::string, Range> numbers_;  // a single number is a range of one
  std::mutex mutex_;
  std::condition_variable called_;
  std::map<std::string, int> calls_;
  int call_ = 0;                           // number of calls so far, of all functions
  std::map<std::string, int> last_calls_;  // by function: the number of its last call
  std::map<std::string, Failure> failures_;
  std::vector<Hold> holds_;
};

}  // namespace weir::test
