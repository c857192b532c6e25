// SPDX-License-Identifier: Apache-2.0
#include "kernels/uses.hpp"

#include <algorithm>

#include "kernels/conditions.hpp"
#include "kernels/vocabulary.hpp"

namespace weir::kernels {
namespace {

bool is_step(const Words& words, std::size_t i) { return is_at(words, i, "++") || is_at(words, i, "--"); }

// Whether `&` at `i` takes an address. Behind a parenthesis it does if that can be a cast.
bool takes_address(const Words& words, std::size_t i) {
  if (!words[i].is("&")) return false;
  if (is_prefix(words, i)) return true;
  if (!words[i - 1].is(")")) return false;
  const std::size_t open = opening(words, i - 1);
  const bool call = open > 0 && words[open - 1].is_identifier() && !is_keyword(words[open - 1].text);
  return !call && (i - 1 == open + 2 || words[i - 2].is("*") || is_type_word(words[i - 2].text));
}

bool is_assembly(const Words& words) {
  return contains(words, "asm") || contains(words, "__asm__") || contains(words, "__asm");
}

// Whether a lambda may capture it by a reference of another name: `[&r = x]`.
bool is_captured_anew(const Words& words, std::size_t i) {
  while (i > 0 && !words[i].is("=") && !words[i].is(",") && !words[i].is(";")) --i;
  return words[i].is("=") && i > 2 && words[i - 2].is("&") && (words[i - 3].is("[") || words[i - 3].is(","));
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
    const bool assembly = is_assembly(words_);
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if (words_[i].variable != no_variable) variable(i);
      if (words_[i].variable != no_variable && (assembly || is_captured_anew(words_, i)))
        function_.variable(words_[i].variable).assigned = true;
      if (words_[i].is(")")) parentheses(i);
      if (words_[i].is("[") && lambda_at(words_, i).body != 0) lambda(i);
    }
  }

 private:
  bool is(std::size_t i, std::string_view text) const { return is_at(words_, i, text); }

  // Whether a variable may be of a class: then operators may be functions of it, which may change it.
  bool may_be_of_class(const Variable& v) const {
    return !is_pointer(v) && !std::all_of(v.specifiers.begin(), v.specifiers.end(), [&](const Word& word) {
      const bool scalar = is_type_word(word.text) || (word.text.ends_with("_t") && !unit_.is_constant(word.text));
      return scalar && !word.is("auto");
    });
  }

  // The name of the class that a variable is of, if it is of one.
  static std::string_view class_of(const Variable& v) {
    std::string_view name;
    const Words& type = v.specifiers;
    for (std::size_t i = 0; i < type.size(); ++i) {
      if (type[i].is_identifier() && !is_type_word(type[i].text)) name = type[i].text;
      const std::size_t close = type[i].is("<") ? closing_angle(type, i) : 0;
      if (close != 0) i = close;
    }
    return name;
  }

  // Whether an operator that stands beside `[first, last)`, or is a conversion, may change an object that is named there.
  bool operator_changes(std::size_t first, std::size_t last) const {
    const auto changes = [&](std::size_t i) {
      return i < words_.size() && words_[i].kind == Token::Kind::punctuation && unit_.operator_may_change(words_[i].text);
    };
    const auto shifts = [&](std::size_t i) { return is(i, ">") && is(i + 1, ">") && unit_.operator_may_change(">>"); };
    return unit_.operator_may_change("") || changes(last) || shifts(last) ||
           (first > 0 && (changes(first - 1) || (first > 1 && shifts(first - 2))));
  }

  void variable(std::size_t i) {
    Variable& v = function_.variable(words_[i].variable);
    const bool array = v.declarator != nullptr && !v.declarator->dimensions.empty();
    const bool of_class = may_be_of_class(v);
    if (array && !is(i + 1, "[")) v.assigned = v.escapes = true;
    bool pointer = is_pointer(v) && !array;
    std::size_t first = i, last = i + 1;
    const bool followed = is(i + 1, ".") && (is(i + 3, "[") || is(i + 3, "->"));
    if (followed && unit_.has_pointer(class_of(v), words_[i + 2].text)) return;  // `parameters.out[i] = …`
    do {
      // Members and elements: up to where an address is followed, the variable itself is meant.
      for (; is(last, ".") || is(last, "["); pointer = false) {
        const bool element = is(last, "[");
        if (element && pointer) return;
        if (element && of_class && unit_.operator_may_change("[]")) v.assigned = true;
        last = element ? closing(words_, last) + 1 : last + 2;
      }
      if (is(last, "->")) {
        v.assigned = v.assigned || (of_class && unit_.operator_may_change("->"));
        return;
      }
      const bool written = (last < words_.size() && is_assignment(words_[last].text)) || is_step(words_, last) ||
                           (first > 0 && is_step(words_, first - 1));
      const bool address = first > 0 && takes_address(words_, first - 1);
      const bool passed = is(last, "(") || may_be_passed_by_reference(words_, first, last, unit_);
      if (written || address || passed || (of_class && operator_changes(first, last))) v.assigned = true;
      if (address || (passed && unit_.classes_keep_references())) v.escapes = true;
    } while (widen(first, last));
  }

  // From what `?:` chooses between to the choice, and from what parentheses enclose to the parentheses.
  bool widen(std::size_t& first, std::size_t& last) const {
    const std::size_t begin = first;
    if (first > 0 && (is(first - 1, "?") || is(first - 1, ":"))) {
      for (int depth = 0; first > 0; --first) {
        const Word& word = words_[first - 1];
        if (word.is(")") || word.is("]") || word.is("}")) ++depth;
        if ((word.is("(") || word.is("[") || word.is("{")) && depth-- == 0) break;
        if (depth == 0 && (word.is(",") || word.is("return") || is_assignment(word.text))) break;
      }
      while (last < words_.size() && !is(last, ")") && !is(last, "]") && !is(last, "}") && !is(last, ","))
        last = after(words_, last);
    }
    const bool argument = first > 1 && (words_[first - 2].is_identifier() || is(first - 2, "]")) && !is(first - 2, "return");
    if (first > 0 && is(first - 1, "(") && is(last, ")") && !argument) {
      --first;
      ++last;
    }
    return first != begin;
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
    const bool follows = open > 0 && is(open - 1, "*") && is_prefix(words_, open - 1);
    const bool operates = operator_changes(open, close + 1);
    for (std::size_t i = open; i < close; ++i) {
      if (words_[i].variable == no_variable) continue;
      Variable& v = function_.variable(words_[i].variable);
      if (operates && may_be_of_class(v)) v.assigned = true;
      if (follows || !(written || address)) continue;
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
  if (i == 0 || !(words[i - 1].is("(") || words[i - 1].is(",") || words[i - 1].is("{"))) return false;
  if (!is_at(words, end, ")") && !is_at(words, end, ",") && !is_at(words, end, "}")) return false;
  int depth = 0;
  std::size_t open = i;
  while (open-- > 0) {
    const Word& word = words[open];
    if (word.kind != Token::Kind::punctuation) continue;
    if (word.is(")") || word.is("]") || word.is("}")) ++depth;
    if ((word.is("(") || word.is("[") || word.is("{")) && depth-- == 0) break;
  }
  if (open >= words.size()) return false;
  if (words[open].is("{")) return unit.classes_keep_references();  // else a list of values
  if (words[open].is("[")) return !words[i - 1].is("[");
  bool qualified = false;
  const std::string_view name = callee(words, open, qualified);
  if (name.empty())
    return unknown && open > 0 && !is_cast(words, open - 1) &&
           (words[open - 1].is(")") || words[open - 1].is("]") || words[open - 1].is(">"));
  if (is_keyword(name) || is_type_word(name) || is_atomic(name)) return false;
  if (unit.is_constant(name)) return unit.classes_keep_references();  // else a class takes values
  if (unit.defines_function(name)) return unit.takes_references(name);
  return unknown && !is_plain_function(name);
}

bool is_cast(const Words& words, std::size_t close) {
  if (!words[close].is(")")) return false;
  const std::size_t open = opening(words, close);
  if (close == open + 1) return false;
  const Words type = slice(words, open + 1, close);
  return std::all_of(type.begin(), type.end(), [](const Word& word) { return is_type_word(word.text); });
}

bool assigns(const Words& words, const std::string& name, const Unit& unit, bool unknown) {
  const auto changes = [&](std::size_t i) {
    return i < words.size() && (is_assignment(words[i].text) || is_step(words, i));
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].is("&") && is_at(words, i + 1, "{") && contains(words, name)) return true;  // a lambda returns a reference
    if (!words[i].is(name) || !can_name_variable(words, i)) continue;
    if (is_assembly(words) || is_captured_anew(words, i)) return true;
    if (may_be_passed_by_reference(words, i, i + 1, unit, unknown)) return true;
    std::size_t first = i, last = i + 1;  // of the variable, its member, and the parentheses around it
    while (is_at(words, last, ".") && last + 1 < words.size()) {
      if (is_at(words, last + 2, "(")) return true;
      last += 2;
    }
    for (;;) {
      if (changes(last)) return true;
      if (first == 0) break;
      if (is_step(words, first - 1) || takes_address(words, first - 1)) return true;
      if (!words[first - 1].is("(") || !is_at(words, last, ")")) break;
      --first;
      ++last;
    }
  }
  // `(c ? a : b) = …`
  for (std::size_t open = 0; open < words.size(); ++open) {
    if (!words[open].is("(")) continue;
    const std::size_t close = closing(words, open);
    if (!changes(close + 1)) continue;
    const Words group = slice(words, open, close);
    if (contains(group, "?") && contains(group, name)) return true;
  }
  return false;
}

bool assigns(const Statement& statement, const std::string& name, const Unit& unit) {
  bool found = false;
  for_all(statement, [&](const Statement& s) {
    for_own_words(s, [&](const Words& words) { found = found || assigns(words, name, unit, true); });
    for (const Declarator& d : s.declarators) found = found || (d.is_reference() && contains(d.initializer, name));
    found = found || (s.is(Statement::Kind::range_loop) && contains(s.words, name));
  });
  return found;
}

void note_uses(Function& function, const Unit& unit, const Words& words) { Uses(function, unit, words).run(); }

void note_binding(Function& function, const Words& words) {
  for (const Word& word : words) {
    if (word.variable == no_variable) continue;
    Variable& v = function.variable(word.variable);
    v.assigned = v.escapes = true;
  }
}

void note_construction(Function& function, const Words& specifiers, const Words& initializer, const Unit& unit) {
  const bool number = std::all_of(specifiers.begin(), specifiers.end(),
                                  [](const Word& word) { return is_type_word(word.text) && !word.is("auto"); });
  if (number || !unit.classes_keep_references()) return;
  const bool braces = is_at(initializer, 0, "{") && closing(initializer, 0) + 1 == initializer.size();
  for (const Words& value : split_at_commas(braces ? slice(initializer, 1, initializer.size() - 1) : initializer)) {
    if (value.empty() || value[0].variable == no_variable) continue;
    Variable& v = function.variable(value[0].variable);
    v.assigned = v.escapes = true;
  }
}

bool is_pointer(const Variable& v) {
  if (v.kind == Variable::Kind::parameter) return !v.specifiers.empty() && contains(v.specifiers, "*");
  return contains(v.pointer, "*") ||
         (v.kind == Variable::Kind::shared && v.declarator != nullptr && !v.declarator->dimensions.empty());
}

}  // namespace weir::kernels
