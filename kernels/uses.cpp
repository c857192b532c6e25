// SPDX-License-Identifier: Apache-2.0
#include "kernels/uses.hpp"

#include <algorithm>

#include "kernels/conditions.hpp"
#include "kernels/vocabulary.hpp"

namespace weir::kernels {
namespace {

bool is_step(const Words& words, std::size_t i) { return is_at(words, i, "++") || is_at(words, i, "--"); }

// The parenthesis that the one at `close` closes.
std::size_t opening(const Words& words, std::size_t close) {
  int depth = 0;
  for (std::size_t i = close + 1; i-- > 0;) {
    if (words[i].is(")")) ++depth;
    if (words[i].is("(") && --depth == 0) return i;
  }
  return 0;
}

// Whether `&` at `i` takes an address. Behind a parenthesis it does if that can be a cast.
bool takes_address(const Words& words, std::size_t i) {
  if (!words[i].is("&")) return false;
  if (is_prefix(words, i)) return true;
  if (!words[i - 1].is(")")) return false;
  const std::size_t open = opening(words, i - 1);
  const bool call = open > 0 && words[open - 1].is_identifier() && !is_keyword(words[open - 1].text);
  return !call && (i - 1 == open + 2 || words[i - 2].is("*") || is_type_word(words[i - 2].text));
}

// Whether the parenthesis at `close` ends a built-in type: `(unsigned int)`.
bool is_cast(const Words& words, std::size_t close) {
  if (!words[close].is(")")) return false;
  const std::size_t open = opening(words, close);
  if (close == open + 1) return false;
  const Words type = slice(words, open + 1, close);
  return std::all_of(type.begin(), type.end(), [](const Word& word) { return is_type_word(word.text); });
}

// The name of what is called with the parenthesis at `open`; empty if there is none. `qualified` tells of a name with `::`.
std::string_view callee(const Words& words, std::size_t open, bool& qualified) {
  qualified = false;
  if (open == 0) return {};
  std::size_t i = open - 1;
  if (words[i].is(">")) {
    int depth = 0;
    for (;; --i) {
      if (words[i].is(">")) ++depth;
      if (words[i].is("<") && --depth == 0) break;
      if (i == 0) return {};
    }
    if (i == 0) return {};
    --i;
  }
  if (!words[i].is_identifier()) return {};
  qualified = i > 0 && (words[i - 1].is("::") || words[i - 1].is(".") || words[i - 1].is("->"));
  return words[i].text;
}

class Uses {
 public:
  Uses(Function& function, const Unit& unit, const Words& words) : function_(function), unit_(unit), words_(words) {}

  void run() {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if (words_[i].variable != no_variable) variable(i);
      if (words_[i].is(")")) parentheses(i);
      if (words_[i].is("[") && lambda_at(words_, i).body != 0) lambda(i);
    }
  }

 private:
  bool is(std::size_t i, std::string_view text) const { return is_at(words_, i, text); }

  void variable(std::size_t i) {
    Variable& v = function_.variable(words_[i].variable);
    const bool array = v.declarator != nullptr && !v.declarator->dimensions.empty();
    const bool before_step = i > 0 && is_step(words_, i - 1);
    const bool address = i > 0 && takes_address(words_, i - 1);
    // Members and elements: up to where an address is followed, the variable itself is meant.
    std::size_t end = i + 1;
    bool followed = false;
    bool method = false;
    while (!followed && (is(end, ".") || is(end, "["))) {
      if (is(end, "[")) {
        followed = is_pointer(v) && end == i + 1 && !array;
        end = closing(words_, end) + 1;
      } else {
        end += 2;
        method = is(end, "(");
      }
    }
    if (is(end, "->")) followed = true;
    const bool written = (end < words_.size() && is_assignment(words_[end].text)) || is_step(words_, end) || before_step;
    if (array && !is(i + 1, "[")) v.assigned = v.escapes = true;
    if (followed) return;
    const bool class_type = !std::all_of(v.specifiers.begin(), v.specifiers.end(),
                                         [](const Word& word) { return is_type_word(word.text); });
    const bool shifts = is(end, "<<") || (is(end, ">") && is(end + 1, ">"));  // perhaps by an operator of the class's
    if (written || method || is(end, "(") || (class_type && shifts)) v.assigned = true;
    if (address) v.assigned = v.escapes = true;
    if (may_be_passed_by_reference(words_, i, end, unit_) || chosen_and_changed(i, end)) v.assigned = true;
  }

  // Whether `?:` may choose what stands in `[first, last)`, and its result is changed, called or handed on by reference.
  bool chosen_and_changed(std::size_t first, std::size_t last) const {
    bool chosen = false;
    for (;;) {
      if (first > 0 && (is(first - 1, "?") || is(first - 1, ":"))) {
        chosen = true;
        for (int depth = 0; first > 0; --first) {
          const Word& word = words_[first - 1];
          if (word.is(")") || word.is("]") || word.is("}")) ++depth;
          if ((word.is("(") || word.is("[") || word.is("{")) && depth-- == 0) break;
          if (depth == 0 && (word.is(",") || word.is("return") || is_assignment(word.text))) break;
        }
        while (last < words_.size() && !is(last, ")") && !is(last, "]") && !is(last, "}") && !is(last, ","))
          last = after(words_, last);
      }
      if (chosen && may_be_passed_by_reference(words_, first, last, unit_)) return true;
      const bool argument = first > 1 && (words_[first - 2].is_identifier() || is(first - 2, "]"));
      if (first == 0 || !is(first - 1, "(") || !is(last, ")") || (argument && !is(first - 2, "return"))) break;
      --first;
      ++last;
    }
    if (!chosen) return false;
    if (first > 0 && (is_step(words_, first - 1) || takes_address(words_, first - 1))) return true;
    while (is(last, ".") && last + 2 < words_.size()) last += 2;
    return is(last, "(") || is(last, "[") || is_step(words_, last) ||
           (last < words_.size() && is_assignment(words_[last].text));
  }

  // What a lambda returns by reference may be changed where it is called.
  void lambda(std::size_t first) {
    const Lambda at = lambda_at(words_, first);
    std::size_t i = closing(words_, at.parameters != 0 ? at.parameters : first);
    bool reference = false;
    while (++i < at.body) reference = reference || is(i, "&") || is(i, "decltype");
    for (; reference && i < closing(words_, at.body); ++i) {
      if (words_[i].variable != no_variable) function_.variable(words_[i].variable).assigned = true;
    }
  }

  // `(…) = `, `(…)++`, `++(…)`, `&(…)`: whatever is named inside.
  void parentheses(std::size_t close) {
    const std::size_t open = opening(words_, close);
    const bool written = (close + 1 < words_.size() && is_assignment(words_[close + 1].text)) ||
                         is_step(words_, close + 1) || (open > 0 && is_step(words_, open - 1));
    const bool address = open > 0 && takes_address(words_, open - 1);
    if (!written && !address) return;
    if (open > 0 && is(open - 1, "*") && is_prefix(words_, open - 1)) return;
    for (std::size_t i = open; i < close; ++i) {
      if (words_[i].variable == no_variable) continue;
      Variable& v = function_.variable(words_[i].variable);
      v.assigned = true;
      v.escapes = v.escapes || address;
    }
  }

  Function& function_;
  const Unit& unit_;
  const Words& words_;
};

}  // namespace

WholeAssignment read_whole_assignment(const Words& words) {
  WholeAssignment a;
  if (words.size() == 2 && (is_step(words, 0) || is_step(words, 1))) {
    a.variable = words[is_step(words, 0) ? 1 : 0].variable;
  } else if (words.size() > 2 && words[0].variable != no_variable && is_assignment(words[1].text)) {
    a.variable = words[0].variable;
    a.value = slice(words, 2, words.size());
    for (std::size_t i = 0; i < a.value.size(); i = after(a.value, i)) {
      if (a.value[i].is(",")) a.variable = no_variable;
    }
  }
  return a;
}

bool may_be_passed_by_reference(const Words& words, std::size_t i, std::size_t end, const Unit& unit, bool unknown) {
  if (i == 0 || !(words[i - 1].is("(") || words[i - 1].is(",")) || !(is_at(words, end, ")") || is_at(words, end, ",")))
    return false;
  int depth = 0;
  std::size_t open = i;
  while (open-- > 0) {
    const Word& word = words[open];
    if (word.kind != Token::Kind::punctuation) continue;
    if (word.is(")") || word.is("]") || word.is("}")) ++depth;
    if ((word.is("(") || word.is("[") || word.is("{")) && depth-- == 0) break;
  }
  if (open >= words.size()) return false;
  if (words[open].is("{")) return false;  // a list of values
  if (words[open].is("[")) return !words[i - 1].is("[");
  bool qualified = false;
  const std::string_view name = callee(words, open, qualified);
  if (name.empty())
    return unknown && open > 0 && !is_cast(words, open - 1) &&
           (words[open - 1].is(")") || words[open - 1].is("]") || words[open - 1].is(">"));
  if (is_keyword(name) || is_type_word(name) || is_atomic(name) || unit.is_constant(name)) return false;
  if (unit.defines_function(name)) return unit.takes_references(name);
  return unknown && !is_plain_function(name);
}

void note_uses(Function& function, const Unit& unit, const Words& words) { Uses(function, unit, words).run(); }

void note_binding(Function& function, const Words& words) {
  for (const Word& word : words) {
    if (word.variable == no_variable) continue;
    Variable& v = function.variable(word.variable);
    v.assigned = v.escapes = true;
  }
}

bool is_pointer(const Variable& v) {
  if (v.kind == Variable::Kind::parameter) return !v.specifiers.empty() && contains(v.specifiers, "*");
  return contains(v.pointer, "*") ||
         (v.kind == Variable::Kind::shared && v.declarator != nullptr && !v.declarator->dimensions.empty());
}

}  // namespace weir::kernels
