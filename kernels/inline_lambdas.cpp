// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kernels/conditions.hpp"
#include "kernels/function.hpp"

/// Lambdas of a function in which threads meet. A call of one does what its body says, under names of its own.
namespace weir::kernels {
namespace {

using Kind = Statement::Kind;

void rename(Words& words, const std::string& from, const Words& to) {
  Words result;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool named = words[i].is(from) && can_name_variable(words, i);
    if (named) {
      append(result, to);
    } else {
      result.push_back(words[i]);
    }
  }
  words = std::move(result);
}

Words one_word(std::string text, std::uint32_t token) {
  return {{Token::Kind::identifier, std::move(text), token, no_variable}};
}

Statement declaration_of(Words type, Declarator d) {
  Statement s;
  s.kind = Kind::declaration;
  s.token = d.name.token;
  s.specifiers = std::move(type);
  s.declarators.push_back(std::move(d));
  return s;
}

// Whether an expression is an element, a member, or what a pointer leads to, and nothing is called on the way.
bool is_path(const Words& words) {
  std::size_t i = 0;
  while (is_at(words, i, "*")) ++i;
  if (i >= words.size() || !words[i].is_identifier() || is_keyword(words[i].text)) return false;
  bool steps = i > 0;
  for (++i; i < words.size(); i = after(words, i)) {
    const bool member = words[i].is_identifier() && (words[i - 1].is(".") || words[i - 1].is("->"));
    if (!member && !words[i].is(".") && !words[i].is("->") && !words[i].is("[")) return false;
    steps = true;
  }
  return steps;
}

bool changes(const Words& words) {
  return std::any_of(words.begin(), words.end(), [](const Word& word) {
    return word.is("++") || word.is("--") || is_assignment(word.text);
  });
}

}  // namespace

LocalLambda read_lambda(const Words& words, std::size_t first, const Capturable& own, int& made_up_names,
                        std::vector<Statement>& out) {
  const Lambda at = lambda_at(words, first);
  const std::uint32_t token = words[first].token;
  LocalLambda lambda;
  lambda.body = slice(words, at.body + 1, closing(words, at.body));
  std::size_t arrow = at.parameters != 0 ? closing(words, at.parameters) : closing(words, first);
  while (arrow < at.body && !words[arrow].is("->")) ++arrow;
  if (arrow < at.body) lambda.result = slice(words, arrow + 1, at.body);
  if (contains(lambda.result, "&")) throw Refused(token, "a lambda in which threads meet and that returns a reference");

  if (at.parameters != 0) {
    for (const Words& parameter : split_at_commas(slice(words, at.parameters + 1, closing(words, at.parameters)))) {
      Statement s;
      if (parameter.size() == 1 && parameter[0].is("void")) continue;
      if (!parse_declaration(parameter, s) || s.declarators.size() != 1 ||
          s.declarators[0].form != Declarator::Form::none || !s.declarators[0].dimensions.empty()) {
        throw Refused(token,
                      "a parameter of a lambda in which threads meet is not understood: give it a type and a name, and "
                      "no default");
      }
      lambda.names.insert(s.declarators[0].name.text);
      lambda.parameters.push_back(std::move(s.declarators[0]));
      lambda.types.push_back(std::move(s.specifiers));
    }
  }
  std::set<std::string> everywhere = lambda.names;  // in the whole body
  const std::vector<Statement> body = parse_statements(lambda.body);
  for (const Statement& top : body) {
    for (const Declarator& d : top.declarators) everywhere.insert(d.name.text);
    for_all(top, [&](const Statement& s) {
      for (const Declarator& d : s.declarators) lambda.names.insert(d.name.text);
    });
  }
  for (const std::string& name : lambda.names) {
    if (everywhere.count(name) != 0) continue;
    for (const Statement& top : body) {
      bool declared = false, named = false;
      for_all(top, [&](const Statement& s) {
        for (const Declarator& d : s.declarators) declared = declared || d.name.is(name);
        for_own_words(s, [&](const Words& own_words) {
          for (std::size_t i = 0; i < own_words.size(); ++i)
            named = named || (own_words[i].is(name) && can_name_variable(own_words, i));
        });
      });
      if (!named || declared) continue;
      throw Refused(token, fmt::format("a lambda in which threads meet declares '{}' in a part of its body, and names "
                                       "another one elsewhere; rename one of them",
                                       name));
    }
  }

  // What it captures by value is copied where it is written.
  const auto copy = [&](const std::string& name, Words value) {
    const bool same = value.size() == 1 && value[0].is(name);
    if (same && own.arrays.count(name) != 0) {
      throw Refused(token, fmt::format("a lambda in which threads meet captures the array '{}' by value; capture it by "
                                       "reference",
                                       name));
    }
    if (same && own.variables.count(name) == 0 && own.constants.count(name) != 0) return;
    Declarator d;
    d.name = one_word(fmt::format("weir_copy_{}_{}", ++made_up_names, name), token)[0];
    d.form = Declarator::Form::equals;
    d.initializer = std::move(value);
    rename(lambda.body, name, {d.name});
    out.push_back(declaration_of(made_up("auto", token), std::move(d)));
  };
  const std::vector<Words> captures = split_at_commas(slice(words, first + 1, closing(words, first)));
  std::set<std::string> apart;  // what `=` does not capture, since it is named beside it
  for (const Words& capture : captures) {
    if (capture.empty()) throw Refused(token, "a capture of a lambda in which threads meet is missing");
    apart.insert(capture[is_at(capture, 0, "&") && capture.size() > 1 ? 1 : 0].text);
  }
  for (const Words& capture : captures) {
    if (is_at(capture, 0, "&") && capture.size() <= 2) continue;
    if (is_at(capture, 0, "&"))
      throw Refused(token, "a lambda in which threads meet that captures a reference by a new name");
    if (is_at(capture, 0, "=")) {
      std::set<std::string> named;
      for (std::size_t i = 0; i < lambda.body.size(); ++i) {
        const std::string& name = lambda.body[i].text;
        if (can_name_variable(lambda.body, i) && own.variables.count(name) + own.arrays.count(name) != 0 &&
            lambda.names.count(name) == 0 && apart.count(name) == 0)
          named.insert(name);
      }
      for (const std::string& name : named) copy(name, one_word(name, token));
    } else if (capture.size() == 1 && capture[0].is_identifier() && !capture[0].is("weir_self") && !capture[0].is("this")) {
      copy(capture[0].text, capture);
    } else if (capture.size() > 2 && capture[1].is("=")) {
      copy(capture[0].text, slice(capture, 2, capture.size()));
    }
  }
  return lambda;
}

std::vector<Statement> inlined(const LocalLambda& lambda, const std::vector<Words>& arguments, const Word& call,
                               int& made_up_names) {
  if (arguments.size() != lambda.parameters.size()) {
    throw Refused(call.token, fmt::format("the lambda '{}' takes {} arguments, and {} are given", call.text,
                                          lambda.parameters.size(), arguments.size()));
  }
  Words body = lambda.body;
  std::vector<Statement> statements;
  const auto own_name = [&](const std::string& name) { return fmt::format("weir_inner_{}_{}", ++made_up_names, name); };
  std::set<std::string> references, converted;
  std::vector<Words> places = arguments;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    Declarator d = lambda.parameters[i];
    if (!d.is_reference()) continue;
    Words& place = places[i];
    while (is_at(place, 0, "(") && closing(place, 0) + 1 == place.size()) place = slice(place, 1, place.size() - 1);
    const bool path = is_path(place);
    const bool name = path || (place.size() == 1 && place[0].is_identifier());
    const std::string base = name ? std::find_if(place.begin(), place.end(), [](const Word& word) {
                                      return word.is_identifier();
                                    })->text
                                  : "";
    if (!name && contains(place, "?") && changes(body)) {
      throw Refused(call.token,
                    fmt::format("the lambda '{}', in which threads meet, takes a choice by reference: let it take a value",
                                call.text));
    }
    if (path) {  // where it lies is found once
      Declarator at;
      at.name = one_word(own_name("at"), call.token)[0];
      at.pointer = made_up("*", call.token);
      at.form = Declarator::Form::equals;
      at.initializer = made_up("&(", call.token);
      append(at.initializer, place);
      append(at.initializer, made_up(")", call.token));
      place = made_up("(*", call.token);
      place.push_back(at.name);
      append(place, made_up(")", call.token));
      statements.push_back(declaration_of(made_up("auto", call.token), std::move(at)));
    }
    if (!name && !contains(lambda.types[i], "const")) {
      throw Refused(call.token,
                    fmt::format("the lambda '{}', in which threads meet, takes an argument by reference: give it a "
                                "variable by its name",
                                call.text));
    }
    if (!name) continue;
    references.insert(d.name.text);
    if (contains(lambda.types[i], "auto") || !(contains(lambda.types[i], "const") || contains(d.pointer, "&&"))) continue;
    // It may be converted, and what it is converted to would not change with the variable.
    bool address = false;
    for (std::size_t k = 1; k < body.size(); ++k)
      address = address || (body[k].is(d.name.text) && body[k - 1].is("&") && is_prefix(body, k - 1));
    if (address || contains(d.pointer, "&&") || contains(body, base)) {
      throw Refused(call.token,
                    fmt::format("the lambda '{}', in which threads meet, takes '{}' by reference and names it itself, or "
                                "takes the address of its parameter: let it take a value",
                                call.text, base));
    }
    converted.insert(d.name.text);
  }
  // First the names that the lambda declares itself, since an argument may have the same one.
  std::map<std::string, std::string> renamed;
  for (const std::string& name : lambda.names) {
    if (references.count(name) == 0) renamed[name] = own_name(name);
  }
  for (const auto& [from, to] : renamed) rename(body, from, one_word(to, call.token));
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    Declarator d = lambda.parameters[i];
    if (references.count(d.name.text) != 0) {
      Words value = places[i];
      if (converted.count(d.name.text) != 0) {
        value = made_up("(static_cast<", call.token);
        append(value, lambda.types[i]);
        append(value, d.pointer);
        append(value, made_up(">(", call.token));
        append(value, places[i]);
        append(value, made_up("))", call.token));
      }
      rename(body, d.name.text, value);
      continue;
    }
    d.name = one_word(renamed[d.name.text], call.token)[0];
    Words pointer;
    for (const Word& word : d.pointer) {
      if (!word.is("&") && !word.is("&&")) pointer.push_back(word);
    }
    d.pointer = std::move(pointer);
    d.form = Declarator::Form::equals;
    d.initializer = made_up("(", call.token);
    append(d.initializer, arguments[i]);
    append(d.initializer, made_up(")", call.token));
    statements.push_back(declaration_of(lambda.types[i], std::move(d)));
  }
  for (Statement& s : parse_statements(body)) statements.push_back(std::move(s));
  for (std::size_t i = 0; i < statements.size(); ++i) {
    for_all(statements[i], [&](const Statement& inner) {
      if (!inner.is(Kind::leave) || (i + 1 == statements.size() && &inner == &statements[i])) return;
      throw Refused(inner.token,
                    fmt::format("a return before the end of the lambda '{}', in which threads meet; let it return "
                                "once, at its end",
                                call.text));
    });
  }
  return statements;
}

}  // namespace weir::kernels
