// SPDX-License-Identifier: Apache-2.0
#include "kernels/counted_loop.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "kernels/uses.hpp"

namespace weir::kernels {
namespace {

using Kind = Statement::Kind;
using Statements = std::vector<Statement>;

bool names(const Statement& s, const std::string& name) {
  bool found = false;
  for_all(s, [&](const Statement& inner) {
    for_own_words(inner, [&](const Words& words) { found = found || contains(words, name); });
    for (const Declarator& d : inner.declarators) found = found || d.name.is(name);
  });
  return found;
}

// Whether a break of this loop or switch stands in the list.
bool breaks(const Statements& list) {
  return std::any_of(list.begin(), list.end(), [](const Statement& s) {
    if (s.is(Kind::jump)) return contains(s.words, "break");
    if (s.is(Kind::loop) || s.is(Kind::range_loop) || s.is(Kind::choice)) return false;
    return breaks(s.body) || breaks(s.other);
  });
}

// Whether it is a sum's operand as it stands: no operator in it binds less tightly than `+`.
bool is_operand(const Words& words) {
  for (std::size_t i = 0; i < words.size(); i = after(words, i)) {
    if (words[i].is("<<") || words[i].is(">>")) return false;
  }
  return !words.empty() && !has_loose_operator(words);
}

// `i = i + step` and `i = step + i` as `i += step`.
Words as_increment(const Words& words) {
  if (words.size() < 5 || !words[1].is("=")) return words;
  Words step;
  if (words[2].is(words[0].text) && words[3].is("+")) step = slice(words, 4, words.size());
  if (words.back().is(words[0].text) && words[words.size() - 2].is("+")) step = slice(words, 2, words.size() - 2);
  if (!is_operand(step) || contains(step, words[0].text)) return words;
  Words result{words[0], words[1]};
  result[1].text = "+=";
  append(result, step);
  return result;
}

// `while (condition) { …; i += step; }` as a for loop.
void make_for(Statement& s) {
  Statements* body = &s.body;
  while (body->size() == 1 && body->front().is(Kind::block)) body = &body->front().body;
  Statement turn;
  turn.body = *body;
  if (body->empty() || !body->back().is(Kind::expression) || has_jumps(turn)) return;
  const Words& step = body->back().words;
  for (const Statement& inner : *body) {
    for (const Declarator& d : inner.declarators) {
      if (contains(step, d.name.text)) return;
    }
  }
  s.loop = Statement::Loop::for_loop;
  s.step = std::move(body->back().words);
  body->pop_back();
}

// `for (T i = k; …; k += step, i = k)`: `i` is made of `k` in each turn.
void count_one(Statement& s) {
  const std::vector<Words> steps = split_at_commas(s.step);
  if (steps.size() != 2 || steps[1].size() != 3 || s.first.size() != 1) return;
  const Statement first = s.first[0];
  if (!first.is(Kind::declaration) || first.declarators.size() != 1 || first.declarators[0].initializer.size() != 1) return;
  const Declarator& copy = first.declarators[0];
  const Word& counted = copy.initializer[0];
  if (contains(s.words, copy.name.text)) return;
  if (!steps[1][0].is(copy.name.text) || !steps[1][1].is("=") || !steps[1][2].is(counted.text)) return;
  s.first.clear();
  s.step = steps[0];
  Statement block;
  block.token = s.token;
  block.body.push_back(first);
  Statement rest;
  rest.token = s.token;
  rest.body = std::move(s.body);
  block.body.push_back(std::move(rest));
  s.body = {block};
}

// A `continue` leaves a loop of one turn.
void enclose_continue(Statement& s) {
  Statement all;
  all.body = s.body;
  if (!has_jumps(all) || breaks(s.body)) return;
  Statement once;
  once.kind = Kind::loop;
  once.loop = Statement::Loop::do_loop;
  once.token = s.token;
  once.words = made_up("false", s.token);
  once.body = std::move(s.body);
  s.body = {once};
}

// Whether a lambda or a pointer may lead to the variable, or it is assigned to.
bool may_change(const Statement& s, const std::string& name, const Unit& unit) {
  bool found = assigns(s, name, unit);
  for_all(s, [&](const Statement& inner) {
    for_own_words(inner, [&](const Words& words) { found = found || (contains(words, name) && contains(words, "&")); });
    for (const Declarator& d : inner.declarators) found = found || d.name.is(name);
  });
  return found;
}

// `T i = first;` before the loop, of which the loop can have a variable of its own.
std::optional<Statement> declaration_before(const Statements& statements, std::size_t at, const std::string& name,
                                            const Unit& unit) {
  for (std::size_t k = at + 1; k < statements.size(); ++k) {
    if (names(statements[k], name)) return {};
  }
  std::set<std::string> declared;  // between the two
  for (std::size_t k = at; k-- > 0;) {
    for (const Declarator& d : statements[k].declarators) {
      if (d.name.is(name)) {
        const bool same_names = std::none_of(d.initializer.begin(), d.initializer.end(),
                                             [&](const Word& word) { return declared.count(word.text) != 0; });
        if (!same_names || !statements[k].is(Kind::declaration) || d.form != Declarator::Form::equals) return {};
        Statement own = statements[k];
        own.declarators = {d};
        for (Statement others = statements[k]; const Declarator& other : statements[k].declarators) {
          others.declarators = {other};
          if (!other.name.is(name) && may_change(others, name, unit)) return {};
        }
        return own;
      }
      declared.insert(d.name.text);
    }
    if (may_change(statements[k], name, unit)) return {};
  }
  return {};
}

// `T i;` or `T i = …;` of a variable that is used in loops alone which begin with `i = …`.
std::optional<Statement> declaration_of_counter(const Function& function, const std::string& name) {
  std::optional<Statement> found;
  bool elsewhere = false;
  const auto look = [&](const Statement& s, const auto& look_in) -> void {
    if (s.is(Kind::loop) && s.loop == Statement::Loop::for_loop && s.first.size() == 1 && s.first[0].is(Kind::expression) &&
        is_at(s.first[0].words, 0, name) && is_at(s.first[0].words, 1, "=") &&
        !contains(slice(s.first[0].words, 2, s.first[0].words.size()), name))
      return;
    const auto declares = [&](const Statements& list) {
      return std::any_of(list.begin(), list.end(), [&](const Statement& inner) {
        return std::any_of(inner.declarators.begin(), inner.declarators.end(),
                           [&](const Declarator& d) { return d.name.is(name); });
      });
    };
    if (s.is(Kind::loop) && (declares(s.first) || declares(s.before))) return;  // it has one of its own
    for_own_words(s, [&](const Words& words) { elsewhere = elsewhere || contains(words, name); });
    for (const Declarator& d : s.declarators) {
      if (!d.name.is(name)) continue;
      elsewhere = elsewhere || found || !s.is(Kind::declaration);
      found = s;
      found->declarators = {d};
    }
    for_lists(s, [&](const Statements& list) {
      for (const Statement& inner : list) look_in(inner, look_in);
    });
  };
  for (const Statement& s : function.body) look(s, look);
  for (const Parameter& p : function.parameters) elsewhere = elsewhere || p.name.is(name);
  if (elsewhere) return {};
  return found;
}

}  // namespace

std::optional<Statement> as_counted_loop(const Statements& statements, std::size_t at, const Function& function,
                                         const Unit& unit) {
  Statement s = statements[at];
  if (s.loop == Statement::Loop::while_loop) make_for(s);
  if (s.loop != Statement::Loop::for_loop || s.words.empty()) return {};
  count_one(s);
  s.step = as_increment(s.step);
  if (s.step.size() < 3 || !s.step[0].is_identifier() || !s.step[1].is("+=")) return {};
  const std::string& name = s.step[0].text;
  if (s.first.empty()) {
    std::optional<Statement> own = declaration_before(statements, at, name, unit);
    if (!own) return {};
    s.first.push_back(std::move(*own));
  } else if (s.first.size() == 1 && s.first[0].is(Kind::expression) && is_at(s.first[0].words, 0, name) &&
             is_at(s.first[0].words, 1, "=")) {
    std::optional<Statement> own = declaration_of_counter(function, name);
    if (!own) return {};
    own->declarators[0].form = Declarator::Form::equals;
    own->declarators[0].initializer = slice(s.first[0].words, 2, s.first[0].words.size());
    s.first = {std::move(*own)};
  }
  if (s.first.size() != 1 || !s.first[0].is(Kind::declaration) || s.first[0].declarators.size() != 1 ||
      !s.first[0].declarators[0].name.is(name))
    return {};
  enclose_continue(s);
  return s;
}

}  // namespace weir::kernels
