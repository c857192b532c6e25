// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kernels/extractor.hpp"

namespace weir::kernels {

void Extractor::put_apart(Words& words, const Condition& c, std::size_t at, Statements& out) {
  const std::uint32_t token = words[at].token;
  if (c.kind == Condition::Kind::choice) check_is_value(words, c, words[at]);
  const bool binds = std::exchange(binds_, false);
  const Word name = made_up_name("weir_chosen_", token);
  const auto assignment = [&](const Words& value) {
    Statement s;
    s.kind = Kind::expression;
    s.token = token;
    s.words = {name};
    append(s.words, made_up("= (", token));
    append(s.words, value);
    append(s.words, made_up(")", token));
    return s;
  };
  Statement declaration, branch;
  declaration.kind = Kind::declaration;
  branch.kind = Kind::branch;
  declaration.token = branch.token = token;
  Declarator d;
  d.name = name;
  const Words condition = slice(words, c.first, c.op);
  if (c.kind == Condition::Kind::choice) {
    declaration.specifiers = made_up("auto", token);
    d.tells_type = true;
    d.initializer = for_its_type(slice(words, c.first, c.last));
    branch.words = condition;
    branch.body.push_back(assignment(slice(words, c.op + 1, c.colon)));
    branch.has_other = true;
    branch.other.push_back(assignment(slice(words, c.colon + 1, c.last)));
  } else {
    declaration.specifiers = made_up("bool", token);
    d.form = Declarator::Form::equals;
    d.initializer = made_up("bool (", token);
    append(d.initializer, condition);
    append(d.initializer, made_up(")", token));
    if (c.kind == Condition::Kind::either) branch.words = made_up("!", token);
    branch.words.push_back(name);
    Words value = made_up("bool (", token);
    append(value, slice(words, c.op + 1, c.last));
    append(value, made_up(")", token));
    branch.body.push_back(assignment(value));
  }
  declaration.declarators.push_back(std::move(d));
  statement(std::move(declaration), out);
  statement(std::move(branch), out);
  words.erase(words.begin() + static_cast<std::ptrdiff_t>(c.first), words.begin() + static_cast<std::ptrdiff_t>(c.last));
  words.insert(words.begin() + static_cast<std::ptrdiff_t>(c.first), name);
  binds_ = binds;
}

bool Extractor::may_be_in_memory(const Words& words) const {
  if (words.empty() || !(words[0].is_identifier() || words[0].is("(") || words[0].is("*") || words[0].is("::") ||
                         words[0].is("++") || words[0].is("--")))
    return false;
  for (const char* word : {"true", "false", "nullptr", "sizeof"}) {
    if (words[0].is(word)) return false;
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!is_meeting_place(words, i)) continue;
    const Use use = use_at(words, i);
    if (use.first == 0 && use.close + 1 == words.size()) return false;
  }
  bool computed = false;
  for (std::size_t i = 1; i < words.size(); i = after(words, i)) {
    if (words[i].is("?") || words[i].is(",") || is_assignment(words[i].text)) return true;
    for (const char* op : {"+", "-", "/", "%", "^", "|", "<<", "==", "!=", "<=", ">=", "&&", "||"})
      computed = computed || (words[i].is(op) && words[i].kind == Token::Kind::punctuation);
  }
  return !computed;
}

void Extractor::check_is_value(const Words& words, const Condition& c, const Word& named) const {
  if (!may_be_in_memory(slice(words, c.op + 1, c.colon)) || !may_be_in_memory(slice(words, c.colon + 1, c.last))) return;
  const auto names_function = [&](std::size_t open) {
    if (open == 0) return false;
    const Word& before = words[open - 1];
    if (before.is(">")) {
      std::size_t angle = open - 1;
      while (angle > 0 && !words[angle].is("<")) --angle;
      return angle == 0 || !words[angle - 1].text.ends_with("_cast");
    }
    if (before.is("]") || before.is(")")) return true;
    if (!before.is_identifier() || is_keyword(before.text) || is_type_word(before.text) || is_meeting_place(words, open - 1))
      return false;
    const bool member = open > 1 && (words[open - 2].is(".") || words[open - 2].is("->"));
    if (member) return true;
    if (unit_.defines_function(before.text)) return unit_.takes_references(before.text);
    return !is_plain_function(before.text);
  };
  std::size_t first = c.first, last = c.last;
  bool written = false;
  while (first > 0 && is_at(words, last, ")") && words[first - 1].is("(") && !names_function(first - 1)) {
    --first;
    ++last;
  }
  const std::size_t chosen = last;  // then its elements and members
  while (is_at(words, last, "[") || (is_at(words, last, ".") && last + 1 < words.size()))
    last = words[last].is("[") ? after(words, last) : last + 2;
  if (last < words.size()) {
    for (const char* op : {"++", "--"}) written = written || words[last].is(op);
    written = written || is_assignment(words[last].text) || (last != chosen && words[last].is("("));
  }
  if (first > 0) {
    for (const char* op : {"++", "--", "&"}) written = written || words[first - 1].is(op);
    // an argument, which may be taken by reference
    for (std::size_t i = first; i-- > 0;) {
      if (!(words[i].is("(") || words[i].is("{")) || closing(words, i) < last) continue;
      written = written || ((words[first - 1].is(",") || i + 1 == first) && names_function(i));
      break;
    }
  }
  written = written || (binds_ && (first == 0 || words[first - 1].is(",") || words[first - 1].is("{")));
  if (!written) return;
  throw Refused(named.token, fmt::format("'{}' in a ?: that may choose between variables, which is written, handed on, or "
                                         "given a name; write it with if and else, or give a variable its value",
                                         named.text));
}

Words Extractor::for_its_type(Words words) {
  for (;;) {
    std::size_t at = words.size();
    while (at > 0 && !is_meeting_place(words, at - 1)) --at;
    if (at == 0) return words;
    const Use use = use_at(words, --at);
    const auto refuse = [&] {
      throw Refused(words[at].token, fmt::format("'{}' behind ?:; write it with if and else", words[at].text));
    };
    const Meeting* const meeting = meeting_at(words, at);
    std::string text;
    std::vector<Words> arguments = use.arguments;
    if (meeting != nullptr) {
      if (meeting->result == Meeting::Result::none || lambda_around(words, at).body != 0) refuse();
      text = meeting->result == Meeting::Result::same ? "(int)sizeof(" : fmt::format("::weir_host::type_{}(", meeting->name);
      if (use.member) {
        Words group = slice(words, use.first, at - 1);
        if (words[at - 1].is("->")) group.insert(group.begin(), made_up("*", words[at].token)[0]);
        arguments.insert(arguments.begin(), std::move(group));
      }
    } else {
      if (callee_at(words, at) != Unit::Callee::function) refuse();
      const Function& callee = signature(words[at].text, words[at].token, arguments, false);
      if (!callee.returns_value || callee.place->overload >= 0 || callee.parameters.size() != arguments.size()) refuse();
      Statement as_call;
      as_call.token = words[at].token;
      as_call.function = use.name;
      as_call.template_arguments = use.template_arguments;
      for (std::size_t i = 0; i < arguments.size(); ++i) {
        if (lambda_at(arguments[i], 0).body != 0) refuse();
        const Parameter& parameter = callee.parameters[i];
        Words one = made_up("::weir_host::lanes_for(", words[at].token);
        append(one, made_up(parameter.is_array || parameter.is_by_address ? "&("
                            : parameter.is_viewed ? "::weir_host::address_of("
                                                  : "(",
                            words[at].token));
        append(one, converted(callee, i, use.arguments[i], as_call, use.arguments));
        append(one, made_up("))", words[at].token));
        arguments[i] = std::move(one);
      }
      text = "::weir_host::given<::weir_host::value_of<decltype(" + use.name + "_weir";
    }
    Words replacement = made_up(text, words[at].token);
    if (meeting == nullptr) {
      append(replacement, use.template_arguments);
      append(replacement, made_up(arguments.empty() ? "(weir_b, weir_m" : "(weir_b, weir_m,", words[at].token));
    }
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (i > 0) append(replacement, made_up(",", words[at].token));
      append(replacement, arguments[i]);
    }
    append(replacement, made_up(meeting == nullptr ? ")) > > ()" : ")", words[at].token));
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(use.first),
                words.begin() + static_cast<std::ptrdiff_t>(use.close + 1));
    words.insert(words.begin() + static_cast<std::ptrdiff_t>(use.first), replacement.begin(), replacement.end());
  }
}

std::size_t Extractor::postfix_begin(const Words& words, std::size_t end) {
  std::size_t i = end;
  for (;;) {
    while (i > 0 && (words[i - 1].is(")") || words[i - 1].is("]") || words[i - 1].is("}"))) {
      int depth = 0;
      do {
        --i;
        if (words[i].is(")") || words[i].is("]") || words[i].is("}")) ++depth;
        if (words[i].is("(") || words[i].is("[") || words[i].is("{")) --depth;
      } while (i > 0 && depth > 0);
    }
    if (i > 0 && words[i - 1].is(">")) {
      int depth = 0;
      do {
        --i;
        if (words[i].is(">")) ++depth;
        if (words[i].is("<")) --depth;
      } while (i > 0 && depth > 0);
    }
    if (i > 0 && words[i - 1].is_identifier() && (!is_keyword(words[i - 1].text) || words[i - 1].is("this"))) --i;
    if (i > 1 && words[i - 1].is("template")) --i;
    if (i > 0 && words[i - 1].is("::"))
      --i;
    else if (i > 0 && (words[i - 1].is(".") || words[i - 1].is("->")))
      --i;
    else
      return i;
  }
}

void Extractor::refuse_two_comparisons(const Words& words) const {
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (!words[i].is("<") || !words[i - 1].is_identifier()) continue;
    const std::string& name = words[i - 1].text;
    const bool of_thread = i > 2 && words[i - 2].is(".") &&
                           (words[i - 3].is("threadIdx") || words[i - 3].is("blockIdx") || words[i - 3].is("blockDim") ||
                            words[i - 3].is("gridDim"));
    if (!of_thread && (!can_name_variable(words, i - 1) || own_.count(name) + others_.count(name) == 0)) continue;
    const std::size_t close = closing_angle(words, i);
    for (std::size_t k = i; k < close; k = after(words, k)) {
      if (!words[k].is(",")) continue;
      throw Refused(words[i].token, fmt::format("'{} < ..., ... >' beside a meeting may be two comparisons; write each "
                                                "in parentheses",
                                                name));
    }
  }
}

void Extractor::check_always_evaluated(const Words& words, std::size_t at, const Word& named, bool list) {
  const auto refuse = [&](const char* where) { throw Refused(named.token, fmt::format("'{}' {}", named.text, where)); };
  std::vector<bool> in_angles(at, false);  // template arguments
  for (std::size_t i = 1; i < at; ++i) {
    const std::size_t close = words[i].is("<") && words[i - 1].is_identifier() ? closing_angle(words, i) : 0;
    for (std::size_t k = i; k < std::min(close, at); ++k) in_angles[k] = true;
  }
  int depth = 0;
  bool passed_comma = false;
  for (std::size_t i = at; i-- > 0;) {
    const Word& word = words[i];
    if (word.kind != Token::Kind::punctuation || in_angles[i]) continue;
    if (word.is(")") || word.is("]") || word.is("}")) ++depth;
    if (word.is("(") || word.is("[") || word.is("{")) {
      if (depth-- > 0) continue;
      depth = 0;
      const bool argument = i > 0 && (words[i - 1].is_identifier() || words[i - 1].is(">"));
      if (word.is("{")) {
        const Words inside = slice(words, i, std::min(closing(words, i) + 1, words.size()));
        if (contains(inside, ";") || contains(inside, "return")) refuse("inside a lambda");
        // The elements of a list are computed in their order.
        for (std::size_t k = i; k < at; ++k) {
          if (words[k].is("++") || words[k].is("--") || is_assignment(words[k].text))
            refuse("behind a change of a variable in a list; make it a statement of its own");
        }
      } else if (passed_comma && word.is("(") && !argument) {
        refuse("behind a comma operator; make it a statement of its own");
      }
      passed_comma = false;
    }
    if (depth == 0 && word.is(",")) passed_comma = true;
  }
  if (passed_comma && !list) refuse("behind a comma operator; make it a statement of its own");
  for (std::size_t k = 0; list && k < at; ++k) {
    if (words[k].is("++") || words[k].is("--") || is_assignment(words[k].text))
      refuse("behind a change of a variable in a list; make it a statement of its own");
  }
}

std::vector<std::string> Extractor::path_at(const Words& words, std::size_t i) const {
  std::vector<std::string> path{words[i].text};
  if (function_.place->has_object() && own_.count(path[0]) + others_.count(path[0]) == 0 &&
      unit_.has_member(function_.place->of_class, path[0]))
    path.insert(path.begin(), "weir_self");
  for (++i; i < words.size(); i = after(words, i)) {
    const bool member = (words[i].is(".") || words[i].is("->")) && i + 1 < words.size() && !is_at(words, i + 2, "(");
    if (!member && !words[i].is("[")) break;
    path.push_back(member ? words[++i].text : "[");
  }
  return path;
}

void Extractor::check_unchanged(const Words& words, std::size_t first, std::size_t last, const Word& named) const {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < first; i = after(words, i)) {
    if (is_assignment(words[i].text)) begin = i + 1;
  }
  for (std::size_t i = begin; i < first; ++i) {
    Words changed;
    const bool steps = words[i].is("++") || words[i].is("--");
    if (steps && is_prefix(words, i)) {
      std::size_t end = i + 1;
      while (end < first && (words[end].is_identifier() || words[end].is("*") || words[end].is(".") || words[end].is("->") ||
                             words[end].is("[") || words[end].is("(")))
        end = after(words, end);
      changed = slice(words, i + 1, std::min(end, first));
    } else if (steps || is_assignment(words[i].text)) {
      bool closed = steps;  // an assignment is made behind what is assigned
      int depth = 0;
      for (std::size_t k = i; k < first && !closed; ++k) {
        if (words[k].is("(") || words[k].is("[") || words[k].is("{")) ++depth;
        if (words[k].is(")") || words[k].is("]") || words[k].is("}")) closed = --depth < 0;
      }
      if (closed) changed = slice(words, postfix_begin(words, i), i);
    }
    for (std::size_t c = 0; c < changed.size(); c = changed[c].is("[") ? after(changed, c) : c + 1) {
      if (!can_name_variable(changed, c)) continue;
      const auto path = path_at(changed, c);
      for (std::size_t k = first; k < last; ++k) {
        if (!can_name_variable(words, k)) continue;
        const auto other = path_at(words, k);
        const auto ends = std::mismatch(path.begin(), path.end(), other.begin(), other.end());
        if (ends.first != path.end() && ends.second != other.end()) continue;
        throw Refused(named.token, fmt::format("'{}' behind a change of '{}' in the same expression; make it a statement "
                                               "of its own",
                                               named.text, words[k].text));
      }
    }
  }
}

}  // namespace weir::kernels
