// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kernels/extractor.hpp"

namespace weir::kernels {

void Extractor::run() {
  for (const Parameter& p : function_.parameters) {
    own_.insert(p.name.text);
    (p.is_array ? capturable_.arrays : capturable_.variables).insert(p.name.text);
  }
  for (const Statement& top : function_.body) {
    for_all(top, [&](const Statement& s) {
      for (const Declarator& d : s.declarators) {
        (s.is_shared() || d.is_reference() ? others_ : own_).insert(d.name.text);
        can_capture(s, d);
        if (!d.dimensions.empty() && !contains(s.specifiers, "extern")) {
          const auto [array, first] = arrays_.emplace(d.name.text, d.dimensions[0]);
          if (!first && text_of(array->second) != text_of(d.dimensions[0])) array->second.clear();
        }
        if (!s.is_shared()) dimensions_[d.name.text] = d.dimensions.size();
        if (d.dimensions.empty() && lambda_at(d.initializer, 0).body != 0) closures_[d.name.text].push_back(d.initializer);
      }
    });
  }
  for (const Statement& top : function_.body) {
    for_all(top, [&](const Statement& s) { find_aliases(s); });
  }
  list(function_.body);
}

void Extractor::list(Statements& statements) {
  Statements out;
  const auto lambdas = lambdas_;
  for (Statement& s : statements) statement(std::move(s), out);
  lambdas_ = lambdas;
  statements = std::move(out);
}

void Extractor::can_capture(const Statement& s, const Declarator& d) {
  if (s.is_shared() || contains(s.specifiers, "static")) return;
  const bool constant =
      !d.is_reference() && d.pointer.empty() && (contains(s.specifiers, "const") || contains(s.specifiers, "constexpr"));
  auto& names = constant ? capturable_.constants : d.dimensions.empty() ? capturable_.variables : capturable_.arrays;
  names.insert(d.name.text);
}

bool Extractor::any_cooperates(const Statements& statements) {
  return std::any_of(statements.begin(), statements.end(), [](const Statement& s) { return s.cooperates; });
}

const Meeting* Extractor::meeting_at(const Words& words, std::size_t i) const {
  if (!words[i].is_identifier()) return nullptr;
  return unit_.meeting(i > 1 ? words[i - 2].text : "", i > 0 ? words[i - 1].text : "", words[i].text,
                       i + 1 < words.size() ? words[i + 1].text : "");
}

Unit::Callee Extractor::callee_at(const Words& words, std::size_t i) const {
  if (!words[i].is_identifier()) return Unit::Callee::none;
  return unit_.callee(i > 1 ? words[i - 2].text : "", i > 0 ? words[i - 1].text : "", words[i].text,
                      i + 1 < words.size() ? words[i + 1].text : "", function_.place->of_class, function_.place->first);
}

bool Extractor::is_meeting_place(const Words& words, std::size_t i) const {
  return meeting_at(words, i) != nullptr || callee_at(words, i) != Unit::Callee::none || is_lambda(words, i);
}

bool Extractor::is_lambda(const Words& words, std::size_t i) const {
  return !lambdas_.empty() && can_name_variable(words, i) && lambdas_.count(words[i].text) != 0;
}

bool Extractor::has_meeting(const Words& words) const {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (is_meeting_place(words, i)) return true;
  }
  return false;
}

void Extractor::refuse_meeting(const Words& words, const char* where) const {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (is_meeting_place(words, i)) throw Refused(words[i].token, fmt::format("'{}' {}", words[i].text, where));
  }
}

bool Extractor::meets_in(const Statement& s) const {
  bool meets = false;
  for_all(s, [&](const Statement& inner) {
    for_own_words(inner, [&](const Words& words) { meets = meets || has_meeting(words); });
  });
  return meets;
}

bool Extractor::branch_with_declaration(Statement& s, Statements& out) {
  std::size_t end = 0;
  while (end < s.words.size() && !s.words[end].is(";")) end = after(s.words, end);
  Statement declaration;
  const bool declares = end == s.words.size() && !s.words.empty() && parse_declaration(s.words, declaration) &&
                        declaration.declarators[0].form != Declarator::Form::none;
  if ((end == s.words.size() && !declares) || !meets_in(s)) return false;
  Statement block;
  block.token = s.token;
  Words first = slice(s.words, 0, end);
  append(first, made_up(";", s.token));
  block.body = parse_statements(first);
  s.words = declares ? Words{declaration.declarators[0].name} : slice(s.words, end + 1, s.words.size());
  block.body.push_back(std::move(s));
  statement(std::move(block), out);
  return true;
}

void Extractor::statement(Statement&& s, Statements& out) {
  switch (s.kind) {
    case Kind::block: list(s.body); break;
    case Kind::expression: return expression(std::move(s), out);
    case Kind::declaration: return declaration(std::move(s), out);
    case Kind::leave: pull(s.words, out); break;
    case Kind::branch:
      if (branch_with_declaration(s, out)) return;
      pull(s.words, out);
      list(s.body);
      list(s.other);
      break;
    case Kind::loop:
      if (loop_with_declaration(s)) return statement(std::move(s), out);
      loop(s);
      break;
    case Kind::range_loop:
      if (indexed(s)) return statement(std::move(s), out);
      for_all(std::as_const(s), [&](const Statement& inner) {
        for_own_words(
            inner, [&](const Words& words) { refuse_meeting(words, "inside a loop over a range; write it with an index"); });
      });
      break;
    case Kind::choice: {
      if (meets_in(s)) return choice(std::move(s), out);
      break;
    }
    case Kind::type: refuse_meeting(s.words, "inside a class or a declaration of a type"); break;
    default: break;
  }
  for_lists(s, [&](const Statements& inner) { s.cooperates = s.cooperates || any_cooperates(inner); });
  if (s.cooperates && (s.is(Kind::branch) || s.is(Kind::loop))) refuse_declaration(s.words);
  out.push_back(std::move(s));
}

bool Extractor::loop_with_declaration(Statement& s) {
  Statement declaration;
  if (s.loop != Statement::Loop::while_loop || !parse_declaration(s.words, declaration) ||
      declaration.declarators.size() != 1 || declaration.declarators[0].form == Declarator::Form::none || !meets_in(s))
    return false;
  own_.insert(declaration.declarators[0].name.text);
  Statement leave;
  leave.kind = Kind::branch;
  leave.token = s.token;
  leave.words = made_up("!(", s.token);
  leave.words.push_back(declaration.declarators[0].name);
  append(leave.words, made_up(")", s.token));
  Statement jump;
  jump.kind = Kind::jump;
  jump.token = s.token;
  jump.words = made_up("break", s.token);
  leave.body.push_back(std::move(jump));
  Statement body;
  body.token = s.token;
  body.body = std::move(s.body);
  declaration.kind = Kind::declaration;
  declaration.token = s.token;
  s.words = made_up("true", s.token);
  s.body = {std::move(declaration), std::move(leave), std::move(body)};
  return true;
}

bool Extractor::indexed(Statement& s) {
  std::size_t colon = 0;
  while (colon < s.words.size() && !s.words[colon].is(":")) colon = after(s.words, colon);
  Statement element, body;
  const Words array = slice(s.words, std::min(colon + 1, s.words.size()), s.words.size());
  const auto known = arrays_.find(array.empty() ? "" : array[0].text);
  const bool parameter = array.size() == 4 && array[1].is("*") && is_array(array);
  if (!((array.size() == 1 && known != arrays_.end()) || parameter) ||
      !parse_declaration(slice(s.words, 0, colon), element) || element.declarators.size() != 1 || !meets_in(s))
    return false;
  const Word index = made_up_name("weir_index_", s.token);
  Declarator& d = element.declarators[0];
  (d.is_reference() ? others_ : own_).insert(d.name.text);
  d.form = Declarator::Form::equals;
  d.initializer = array;
  append(d.initializer, made_up("[", s.token));
  d.initializer.push_back(index);
  append(d.initializer, made_up("]", s.token));
  element.kind = Kind::declaration;
  element.token = s.token;
  body.token = s.token;
  body.body = std::move(s.body);
  s.kind = Kind::loop;
  s.loop = Statement::Loop::for_loop;
  s.body = {std::move(element), std::move(body)};
  s.first = parse_statements(made_up(fmt::format("int {} = 0;", index.text), s.token));
  const std::string count = !parameter && !known->second.empty()
                                ? text_of(known->second)
                                : fmt::format("sizeof({0}) / sizeof({0}[0])", text_of(array));
  s.words = made_up(fmt::format("{} < (int)({})", index.text, count), s.token);
  s.step = made_up(fmt::format("++{}", index.text), s.token);
  return true;
}

bool Extractor::breaks(const Statements& statements) {
  return std::any_of(statements.begin(), statements.end(), [](const Statement& s) {
    if (s.is(Kind::jump)) return s.words[0].is("break");
    return (s.is(Kind::block) || s.is(Kind::branch)) && (breaks(s.body) || breaks(s.other));
  });
}

bool Extractor::end_part(Statements& part) {
  if (part.empty()) return false;
  Statement& last = part.back();
  if (last.is(Kind::block)) return end_part(last.body);
  if (last.is(Kind::leave) || (last.is(Kind::jump) && last.words[0].is("continue"))) return true;
  if (!last.is(Kind::jump)) return false;
  part.pop_back();
  return true;
}

void Extractor::choice(Statement&& s, Statements& out) {
  struct Part {
    std::uint32_t token;
    bool is_default;
    Words condition;
    Statements statements;
  };
  pull(s.words, out);
  const Words value = operand(s.words, out, false);
  std::vector<Part> parts;
  bool behind_label = false;
  for (Statement& inner : s.body) {
    if (!inner.is(Kind::label)) {
      if (parts.empty()) throw Refused(inner.token, "a statement before the first case of a switch in which threads meet");
      parts.back().statements.push_back(std::move(inner));
      behind_label = false;
      continue;
    }
    if (!behind_label) parts.push_back({inner.token, false, {}, {}});
    behind_label = true;
    Part& part = parts.back();
    if (inner.words[0].is("default")) {
      part.is_default = true;
      continue;
    }
    if (contains(inner.words, "..."))
      throw Refused(inner.token, "a range of cases in a switch in which threads meet; write it with if and else");
    if (!part.condition.empty()) append(part.condition, made_up("||", inner.token));
    append(part.condition, value);
    append(part.condition, made_up("== (", inner.token));
    append(part.condition, slice(inner.words, 1, inner.words.size() - 1));
    append(part.condition, made_up(")", inner.token));
  }
  for (std::size_t i = parts.size(); i-- > 0;) {
    Part& part = parts[i];
    const bool ends = end_part(part.statements) || i + 1 == parts.size();
    if (breaks(part.statements)) {
      throw Refused(part.token,
                    "a case that breaks off before its end, of a switch in which threads meet; write it with if and else");
    }
    if (!ends) part.statements.insert(part.statements.end(), parts[i + 1].statements.begin(), parts[i + 1].statements.end());
  }
  const auto rest = std::find_if(parts.begin(), parts.end(), [](const Part& part) { return part.is_default; });
  Statements chain;
  if (rest != parts.end()) {
    chain = std::move(rest->statements);
    parts.erase(rest);
  }
  for (; !parts.empty(); parts.pop_back()) {
    Statement branch;
    branch.kind = Kind::branch;
    branch.token = parts.back().token;
    branch.words = std::move(parts.back().condition);
    branch.body = std::move(parts.back().statements);
    branch.has_other = !chain.empty();
    branch.other = std::move(chain);
    chain.clear();
    chain.push_back(std::move(branch));
  }
  for (Statement& more : chain) statement(std::move(more), out);
}

void Extractor::refuse_declaration(const Words& condition) {
  Statement declaration;
  if (condition.empty() || !parse_declaration(condition, declaration) ||
      declaration.declarators[0].form == Declarator::Form::none)
    return;
  throw Refused(condition[0].token,
                "a declaration in the condition of a statement in which threads meet; write it before the statement");
}

void Extractor::loop(Statement& s) {
  const auto lambdas = lambdas_;  // what the head declares hides what is around the loop
  for (const Statement& first : s.first) {
    for (const Declarator& d : first.declarators) declare(d.name.text);
  }
  list(s.body);
  pull(s.words, s.before);
  if (has_meeting(s.step)) {
    for (Words& part : split_at_commas(s.step)) {
      Statement one;
      one.kind = Kind::expression;
      one.token = part.empty() ? s.token : part[0].token;
      one.words = std::move(part);
      statement(std::move(one), s.after);
    }
    s.step.clear();
  }
  lambdas_ = lambdas;
  bool cooperates = s.cooperates || any_cooperates(s.body) || !s.before.empty() || !s.after.empty();
  for (const Statement& first : s.first) {
    for_own_words(first, [&](const Words& words) { cooperates = cooperates || has_meeting(words); });
  }
  if (cooperates) list(s.first);
  s.cooperates = cooperates;
}

void Extractor::expression(Statement&& s, Statements& out) {
  if (!has_meeting(s.words)) {
    out.push_back(std::move(s));
    return;
  }
  for (Words& part : split_at_commas(s.words)) {
    pull(part, out);
    const bool only_result = part.empty() || (part.size() == 1 && part[0].text.starts_with("weir_result_"));
    if (only_result) continue;
    Statement rest;
    rest.kind = Kind::expression;
    rest.token = s.token;
    rest.words = std::move(part);
    out.push_back(std::move(rest));
  }
}

void Extractor::declaration(Statement&& s, Statements& out) {
  for (Declarator& d : s.declarators) {
    for (const Words& dimension : d.dimensions) refuse_meeting(dimension, "in the size of an array");
    if (lambda_at(d.initializer, 0).body != 0 &&
        closing(d.initializer, lambda_at(d.initializer, 0).body) + 1 == d.initializer.size() && has_meeting(d.initializer)) {
      LocalLambda lambda = read_lambda(d.initializer, 0, capturable_, function_.made_up, out);
      declare(d.name.text);
      lambda.declared = declared_.size();
      lambdas_[d.name.text] = std::move(lambda);
      continue;
    }
    declare(d.name.text);
    can_capture(s, d);
    const bool of_numbers =
        std::all_of(s.specifiers.begin(), s.specifiers.end(), [](const Word& word) { return is_type_word(word.text); });
    binds_ = d.is_reference() || (!of_numbers && (d.form != Declarator::Form::equals || is_at(d.initializer, 0, "{")));
    if (!d.tells_type)
      pull(d.initializer, out, d.form == Declarator::Form::braces || d.form == Declarator::Form::parentheses);
    Statement one;
    one.kind = Kind::declaration;
    one.token = s.token;
    one.specifiers = s.specifiers;
    one.declarators.push_back(std::move(d));
    out.push_back(std::move(one));
    binds_ = false;
  }
}

std::size_t Extractor::next_meeting(const Words& words) const {
  const auto find = [&](std::size_t first, std::size_t last) {
    while (first < last && !is_meeting_place(words, first)) ++first;
    return first;
  };
  std::size_t at = find(0, words.size());
  if (at == words.size()) return at;
  for (std::size_t i = at; i < words.size(); i = after(words, i)) {
    if (!is_assignment(words[i].text)) continue;
    const std::size_t assigned = find(i + 1, words.size());
    if (assigned < words.size()) at = assigned;
  }
  for (;;) {
    std::size_t open = at;
    while (open < words.size() && !words[open].is("(")) ++open;
    const std::size_t close = open < words.size() ? closing(words, open) : open;
    const std::size_t inner = find(at + 1, close);
    if (inner >= close) return at;
    at = inner;
  }
}

void Extractor::pull(Words& words, Statements& out, bool list) {
  for (;;) {
    std::size_t at = next_meeting(words);
    if (at == words.size()) return;
    refuse_two_comparisons(words);
    const Lambda around = lambda_around(words, at);
    if (around.body != 0) {
      if (!is_at(words, closing(words, around.body) + 1, "(")) {
        throw Refused(words[at].token, fmt::format("'{}' inside a lambda that is handed on; threads may meet in one that is "
                                                   "called where it is written, or by the name of a variable",
                                                   words[at].text));
      }
      at = around.first;
    }
    if (const Condition condition = condition_around(words, at); condition.kind != Condition::Kind::none) {
      check_always_evaluated(words, condition.first, words[at], list);
      check_unchanged(words, condition.first, condition.last, words[at]);
      put_apart(words, condition, at, out);
      continue;
    }
    check_always_evaluated(words, at, words[at], list);
    std::size_t last = around.body != 0 ? closing(words, around.body) + 1 : at;
    while (last < words.size() && !words[last].is("(")) ++last;
    check_unchanged(words, at, std::min(closing(words, last) + 1, words.size()), words[at]);
    if (around.body != 0 || is_lambda(words, at)) {
      call_lambda(words, at, around, out);
      continue;
    }
    const Meeting* const meeting = meeting_at(words, at);
    Use use = use_at(words, at);
    const bool member = use.member;
    const std::size_t first = use.first, close = use.close;
    std::vector<Words>& arguments = use.arguments;
    Statement s;
    s.token = words[at].token;
    s.cooperates = true;
    const bool of_class = meeting == nullptr && callee_at(words, at) == Unit::Callee::member;
    Words object;
    if (of_class) {
      object = slice(words, first, at);
      pull(object, out);
    } else if (member) {
      Words group = slice(words, first, at - 1);
      pull(group, out);
      if (words[at - 1].is("->")) {
        Words followed = made_up("*(", s.token);
        append(followed, group);
        append(followed, made_up(")", s.token));
        group = std::move(followed);
      }
      arguments.insert(arguments.begin(), std::move(group));
    }
    s.function = std::move(use.name);
    s.template_arguments = std::move(use.template_arguments);
    const bool whole = first == 0 && close + 1 == words.size();
    Statements after_call;
    const bool value = meeting != nullptr ? meet(s, *meeting, arguments, out)
                                          : call(s, words[at].text, arguments, out, after_call, of_class, object);
    if (!value && !whole)
      throw Refused(s.token, fmt::format("'{}' inside an expression; make it a statement of its own", s.function));
    Words replacement;
    if (value) {
      s.result = made_up_name("weir_result_", s.token);
      replacement.push_back(s.result);
    }
    out.push_back(std::move(s));
    for (Statement& more : after_call) out.push_back(std::move(more));
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(first), words.begin() + static_cast<std::ptrdiff_t>(close + 1));
    words.insert(words.begin() + static_cast<std::ptrdiff_t>(first), replacement.begin(), replacement.end());
  }
}

void Extractor::declare(const std::string& name) {
  declared_.push_back(name);
  lambdas_.erase(name);
}

Word Extractor::made_up_name(const char* prefix, std::uint32_t token) {
  return {Token::Kind::identifier, fmt::format("{}{}", prefix, ++function_.made_up), token, no_variable};
}

void extract_meetings(Function& function, const Unit& unit) { Extractor(function, unit).run(); }

}  // namespace weir::kernels
