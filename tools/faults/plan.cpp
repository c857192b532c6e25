// SPDX-License-Identifier: Apache-2.0
#include "tools/faults/plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/base/near_match.hpp"
#include "tools/model/scrambled.hpp"

namespace weir::faults {
namespace {

constexpr std::uint64_t greatest_code = 2000;  // the error numbers of CUDA and HIP are smaller

[[noreturn]] void bad_plan(std::string_view part, const std::string& detail) {
  throw Error(Errc::invalid_environment, fmt::format("reading WEIR_FAULTS, '{}'", part), "", detail);
}

std::string_view trimmed(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\n'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// Removes the text up to the first `separator` from `text` and returns it without the separator.
std::string_view take(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return trimmed(part);
}

template <class Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Returns the names of an enumeration's values. Its to_string must return "unknown" after the last value.
template <class Enum>
std::vector<std::string_view> words(int first) {
  std::vector<std::string_view> all;
  for (int i = first; to_string(static_cast<Enum>(i)) != "unknown"; ++i) all.push_back(to_string(static_cast<Enum>(i)));
  return all;
}

const std::vector<std::string_view>& operations() {
  static const std::vector<std::string_view> all = words<OperationKind>(0);
  return all;
}

const std::vector<std::string_view>& codes() {
  static const std::vector<std::string_view> all = words<Errc>(1);
  return all;
}

template <class Names>
std::string did_you_mean(std::string_view word, const Names& names, std::string_view otherwise) {
  const std::string_view near = detail::nearest_name(word, names);
  return near.empty() ? std::string(otherwise) : fmt::format("did you mean '{}'?", near);
}

bool is_function(std::string_view name) {
  const std::size_t prefix = name.starts_with("cu") ? 2 : name.starts_with("hip") ? 3 : 0;
  return prefix != 0 && prefix < name.size() && name[prefix] >= 'A' && name[prefix] <= 'Z';
}

void read_subject(std::string_view part, std::string_view name, Rule& rule) {
  if (is_function(name)) {
    rule.subject = Subject::function;
    rule.function = name;
  } else if (name == "driver") {
    rule.subject = Subject::any_function;
  } else if (name == "any") {
    rule.subject = Subject::any_operation;
  } else {
    const std::string_view full = name == "alloc" ? "allocate" : name == "launch" ? "kernel" : name;
    const auto found = std::find(operations().begin(), operations().end(), full);
    if (found == operations().end()) {
      bad_plan(
          part,
          fmt::format(
              "'{}' is neither an operation of Weir nor a driver's function (cu…, hip…); {}", name,
              did_you_mean(name, operations(),
                           fmt::format("operations are {}; 'any' means every operation, and 'driver' every call of a driver",
                                       fmt::join(operations(), ", ")))));
    }
    rule.kind = static_cast<OperationKind>(found - operations().begin());
  }
}

void read_when(std::string_view part, std::string_view when, Rule& rule) {
  const auto wrong = [&] {
    bad_plan(part, fmt::format("'{}' is not a time: write 3 for the third time, 3- for the third and all later ones, 3-5 "
                               "for the third to the fifth, 10% for a probability",
                               when));
  };
  if (when.ends_with('%')) {
    const std::optional<double> percent = number<double>(when.substr(0, when.size() - 1));
    if (!percent || !(*percent >= 0 && *percent <= 100)) wrong();
    rule.chance = *percent / 100;
    return;
  }
  std::string_view rest = when;
  const bool is_range = when.find('-') != std::string_view::npos;
  const std::optional<std::uint64_t> first = number<std::uint64_t>(take(rest, '-'));
  if (!first || *first == 0) wrong();
  rule.first = *first;
  if (!is_range) {
    rule.last = rule.first;
  } else if (!rest.empty()) {
    const std::optional<std::uint64_t> last = number<std::uint64_t>(trimmed(rest));
    if (!last || *last < rule.first) wrong();
    rule.last = *last;
  }
}

std::chrono::nanoseconds read_time(std::string_view part, std::string_view text) {
  constexpr std::pair<std::string_view, double> units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  for (const auto& [unit, nanoseconds] : units) {
    if (!text.ends_with(unit)) continue;
    const std::optional<double> count = number<double>(trimmed(text.substr(0, text.size() - unit.size())));
    if (count && *count >= 0 && *count * nanoseconds <= 3600e9) {
      return std::chrono::nanoseconds(std::llround(*count * nanoseconds));
    }
  }
  bad_plan(part, fmt::format("'{}' is not a duration of at most an hour; write it like 200us, 5ms or 1.5s", text));
}

void read_outcome(std::string_view part, std::string_view outcome, Rule& rule) {
  std::string_view rest = outcome;
  const std::string_view word = take(rest, ' ');
  rest = trimmed(rest);
  if (word == "delay") {
    rule.delay = read_time(part, rest);
    return;
  }
  rule.sticky = rest == "sticky";
  if (!rest.empty() && !rule.sticky) {
    bad_plan(part, fmt::format("'{}' follows the failure; only 'sticky' may follow it", rest));
  }
  if (word.empty()) bad_plan(part, "it has no effect; write '=' and a failure, or 'delay' and a duration");
  if (rule.is_of_driver()) {
    rule.native = word;
    return;
  }
  if (rule.subject == Subject::operation &&
      (rule.kind == OperationKind::free || rule.kind == OperationKind::destroy_graph)) {
    bad_plan(part, "a free cannot fail, but can be delayed; a driver's function that frees can fail, such as cuMemFree");
  }
  const auto found = std::find(codes().begin(), codes().end(), word);
  if (found == codes().end()) {
    bad_plan(part, fmt::format("'{}' is not a code of weir::Errc, with which operations fail; {}", word,
                               did_you_mean(word, codes(),
                                            "codes are, for example, out_of_memory, device_fault and backend_failure")));
  }
  rule.errc = static_cast<Errc>(found - codes().begin() + 1);
}

Rule read_rule(std::string_view part) {
  Rule rule;
  rule.text = part;
  std::string_view rest = part;
  std::string_view subject = take(rest, '=');
  if (part.find('=') == std::string_view::npos) {
    bad_plan(part,
             "it has no '='; a part is WHAT:WHEN=FAILURE, such as 'allocate:3=out_of_memory', or 'seed=7', or 'count'");
  }
  const bool says_when = subject.find(':') != std::string_view::npos;
  const std::string_view name = take(subject, ':');
  read_subject(part, name, rule);
  if (says_when) read_when(part, trimmed(subject), rule);
  read_outcome(part, trimmed(rest), rule);
  return rule;
}

}  // namespace

bool Rule::means(std::uint64_t time, std::uint64_t seed) const noexcept {
  using model::scrambled;
  if (chance) return static_cast<double>(scrambled(scrambled(seed) + time) >> 11U) < *chance * 9007199254740992.0;  // 2^53
  return first <= time && time <= last;
}

Plan parse(std::string_view text) {
  Plan plan;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view part = take(rest, ';');
    if (part.empty()) continue;
    if (part == "count") {
      plan.counts = true;
    } else if (part.starts_with("seed=")) {
      const auto seed = number<std::uint64_t>(part.substr(5));
      if (!seed) bad_plan(part, "the seed must be a whole number");
      plan.seed = *seed;
    } else {
      plan.rules.push_back(read_rule(part));
    }
  }
  if (plan.rules.empty() && !plan.counts) {
    bad_plan(text, "it has no rule; unset it, or write WHAT:WHEN=FAILURE, such as 'allocate:3=out_of_memory', or 'count'");
  }
  return plan;
}

int native_code(const Rule& rule, const Driver& driver) {
  if (const auto& all = driver.functions;
      rule.subject == Subject::function && std::find(all.begin(), all.end(), rule.function) == all.end()) {
    bad_plan(rule.text,
             fmt::format("the backend {} does not call a function '{}'; {}", driver.backend, rule.function,
                         did_you_mean(rule.function, all, "WEIR_FAULTS=count lists the functions that a program calls")));
  }
  if (rule.delay) return 0;
  if (const auto code = number<int>(rule.native); code && *code != 0) return *code;
  std::vector<std::string> names;
  for (int code = 1; code <= static_cast<int>(greatest_code); ++code) {
    names.push_back(driver.error_name(code));
    if (names.back() == rule.native) return code;
  }
  std::erase(names, "");
  bad_plan(rule.text, fmt::format("'{}' is not an error of the driver of backend {}; {}", rule.native, driver.backend,
                                  did_you_mean(rule.native, names, "write the driver's name of the error, or its number")));
}

bool is_function_of(std::string_view function, std::string_view backend) noexcept {
  return function.starts_with("cu") ? backend == "cuda" : backend == "hip";
}

bool outlives_the_device(std::string_view function) noexcept {
  constexpr std::string_view parts[] = {
      "Init",      "GetError",       "GetVersion",          "DeviceGet", "GetDevice",
      "SetDevice", "DeviceTotalMem", "DeviceCanAccessPeer", "Current",   "ExchangeStreamCaptureMode"};
  return std::any_of(std::begin(parts), std::end(parts),
                     [&](std::string_view part) { return function.find(part) != std::string_view::npos; });
}

}  // namespace weir::faults
