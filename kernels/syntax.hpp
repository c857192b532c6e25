// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/words.hpp"

/// The statements of a function. Expressions stay lists of words: what matters is where threads meet, which names a
/// statement uses, and how control flows.
namespace weir::kernels {

struct Declarator {
  Words pointer;  ///< `*`, `&`, `const` before the name
  Word name;
  std::vector<Words> dimensions;
  enum class Form : unsigned char { none, equals, parentheses, braces } form = Form::none;
  Words initializer;
  bool tells_type = false;  ///< `initializer` is there for the type of `auto` alone, and not computed

  bool is_reference() const { return contains(pointer, "&") || contains(pointer, "&&"); }
};

struct Statement {
  enum class Kind : unsigned char {
    block,
    expression,
    declaration,
    type,       ///< typedef, using, static_assert, a class
    label,      ///< case, default
    branch,     ///< if
    loop,       ///< for, while, do
    range_loop,
    choice,     ///< switch
    leave,      ///< return
    jump,       ///< break, continue
    meeting,    ///< threads meet: a barrier, a vote, a shuffle
    call        ///< of a function in which threads meet
  };
  enum class Loop : unsigned char { for_loop, while_loop, do_loop };

  Kind kind = Kind::block;
  std::uint32_t token = no_token;  ///< where it begins

  Words words;                    ///< expression, type, label, condition, value returned, head of a range loop, `break`
  std::vector<Statement> body;    ///< of a block, a loop, a choice; what an `if` does
  std::vector<Statement> other;   ///< what an `if` does otherwise
  bool has_other = false;
  bool is_constexpr = false;      ///< if constexpr
  Loop loop = Loop::for_loop;
  std::vector<Statement> first;   ///< of a for: what stands before the first semicolon
  std::vector<Statement> before;  ///< of a loop: meetings of the condition, before each time that it is looked at
  Words step;
  std::vector<Statement> after;   ///< of a for whose step has meetings: the step, as statements
  bool ascending = false;  ///< of a loop with the condition `i < n`: i is one more for the next thread of a row

  Words specifiers;
  std::vector<Declarator> declarators;

  std::string function;           ///< of a meeting or a call; its qualification included
  bool of_class = false;          ///< of a call: of a member function
  Words template_arguments;       ///< with the angle brackets
  std::vector<Words>
      arguments;  ///< of a meeting: expressions; of a call: names of variables, or expressions that are the same for all
  Word result;                    ///< the variable that takes the value; empty text for none

  bool cooperates = false;        ///< threads meet in it

  bool is(Kind k) const { return kind == k; }
  bool is_shared() const { return contains(specifiers, "__shared__"); }
};

/// Puts the type first where a declaration writes it around the name: `float (*p)[8] = x;` becomes
/// `::weir_host::spelled<float[8]>* p = x;`. `is_type` tells whether a name that is not built in is a type's. Throws
/// Refused.
Words with_types_first(const Words& words, const std::function<bool(const Word&)>& is_type);

/// Reads the statements of a body. Throws Refused for what it cannot read.
std::vector<Statement> parse_statements(const Words& words);

/// Reads a declaration of variables, without its semicolon. False if the words are none that this reader knows.
bool parse_declaration(const Words& words, Statement& statement);

/// Calls `visit` with each list of words that a statement itself has, those of statements in it left out.
template <class AnyStatement, class Visit>
void for_own_words(AnyStatement& s, const Visit& visit) {
  visit(s.words);
  visit(s.step);
  visit(s.specifiers);
  visit(s.template_arguments);
  for (auto& words : s.arguments) visit(words);
  for (auto& declarator : s.declarators) {
    for (auto& dimension : declarator.dimensions) visit(dimension);
    visit(declarator.initializer);
  }
}

/// Calls `visit` with each list of statements in a statement.
template <class AnyStatement, class Visit>
void for_lists(AnyStatement& s, const Visit& visit) {
  visit(s.first);
  visit(s.before);
  visit(s.after);
  visit(s.body);
  visit(s.other);
}

/// Calls `visit` with a statement and all that are in it.
template <class AnyStatement, class Visit>
void for_all(AnyStatement& s, const Visit& visit) {
  visit(s);
  for_lists(s, [&](auto& list) {
    for (auto& inner : list) for_all(inner, visit);
  });
}

}  // namespace weir::kernels
