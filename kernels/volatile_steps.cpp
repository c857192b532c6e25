// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <utility>

#include "kernels/function.hpp"

/// What was written for warps that run in step: the last rounds of a sum or a scan in a volatile array, without a
/// `__syncwarp()` between them. The statement reads for all threads first, and then writes for all.
namespace weir::kernels {
namespace {

using Names = std::set<std::string, std::less<>>;

// What is declared as a pointer to something volatile, or as an array of it.
Names volatile_arrays(const Words& words) {
  Names names;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].is("volatile")) continue;
    bool pointer = false;
    for (std::size_t k = i + 1; k + 1 < words.size(); ++k) {
      const Word& next = words[k + 1];
      pointer = pointer || words[k].is("*");
      if (words[k].is(";") || words[k].is(")") || words[k].is("=") || words[k].is("{")) break;
      const bool ends = next.is("[") || (pointer && (next.is(";") || next.is(",") || next.is(")") || next.is("=")));
      if (!words[k].is_identifier() || !ends) continue;
      names.insert(words[k].text);
      break;
    }
  }
  return names;
}

// The assignment in `s[i] += … s[…] …`, which begins at `first` and ends before `last`; 0 if it is something else.
std::size_t assignment_in_step(const Words& words, std::size_t first, std::size_t last, const Names& names) {
  if (!words[first].is_identifier() || names.count(words[first].text) == 0) return 0;
  std::size_t at = first + 1;
  while (at < last && words[at].is("[")) at = closing(words, at) + 1;
  if (at == first + 1 || at >= last || !is_assignment(words[at].text)) return 0;
  for (std::size_t i = first; i < at; ++i) {
    if (words[i].is("++") || words[i].is("--")) return 0;
  }
  for (std::size_t i = at + 1; i + 1 < last; ++i) {
    if (words[i].is_identifier() && names.count(words[i].text) != 0 && words[i + 1].is("[")) return at;
  }
  return 0;
}

class Stepper {
 public:
  Stepper(Function& function, Names names) : function_(function), names_(std::move(names)) {}

  void list(std::vector<Statement>& statements) {
    std::vector<Statement> out;
    for (Statement& s : statements) {
      for_lists(s, [&](std::vector<Statement>& inner) { list(inner); });
      const std::size_t at =
          s.is(Statement::Kind::expression) && !s.words.empty() ? assignment_in_step(s.words, 0, s.words.size(), names_) : 0;
      if (at == 0) {
        out.push_back(std::move(s));
      } else {
        apart(s.words, at, out);
      }
    }
    statements = std::move(out);
  }

 private:
  void apart(const Words& words, std::size_t at, std::vector<Statement>& out) {
    const std::uint32_t token = words[0].token;
    const std::string value = "weir_step_" + std::to_string(function_.made_up++);
    const std::string operation = words[at].text.substr(0, words[at].text.size() - 1);
    Words text = made_up("__syncwarp(); const auto " + value + " =", token);
    if (!operation.empty()) {
      append(text, slice(words, 0, at));
      append(text, made_up(operation + " (", token));
    }
    append(text, slice(words, at + 1, words.size()));
    if (!operation.empty()) append(text, made_up(")", token));
    append(text, made_up("; __syncwarp();", token));
    append(text, slice(words, 0, at));
    append(text, made_up("= " + value + "; __syncwarp();", token));
    for (Statement& s : parse_statements(text)) out.push_back(std::move(s));
  }

  Function& function_;
  Names names_;
};

}  // namespace

bool relies_on_steps(const Words& words) {
  const Names names = volatile_arrays(words);
  if (names.empty()) return false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool begins = i > 0 && (words[i - 1].is(";") || words[i - 1].is("{") || words[i - 1].is("}") ||
                                  words[i - 1].is(")") || words[i - 1].is("else"));
    if (!begins) continue;
    std::size_t end = i;
    while (end < words.size() && !words[end].is(";")) end = after(words, end);
    if (assignment_in_step(words, i, std::min(end, words.size()), names) != 0) return true;
  }
  return false;
}

void put_volatile_in_step(Function& function, const Unit& unit) {
  const Words words = words_of(unit.source(), function.place->open, function.place->end);
  if (relies_on_steps(words)) Stepper(function, volatile_arrays(words)).list(function.body);
}

}  // namespace weir::kernels
