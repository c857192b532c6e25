// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "kernels/conditions.hpp"
#include "kernels/function.hpp"
#include "kernels/vocabulary.hpp"

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

void rename(std::vector<Statement>& statements, const std::string& from, const Words& to) {
  for (Statement& top : statements) {
    for_all(top, [&](Statement& s) {
      for_own_words(s, [&](Words& words) { rename(words, from, to); });
      for (Declarator& d : s.declarators) {
        if (d.name.is(from)) d.name.text = to[0].text;
      }
    });
  }
}

template <class Test>
bool any_words(const std::vector<Statement>& statements, const Test& test) {
  bool found = false;
  for (const Statement& top : statements) {
    for_all(top, [&](const Statement& s) { for_own_words(s, [&](const Words& words) { found = found || test(words); }); });
  }
  return found;
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

// Whether a lambda's body may change what an argument by reference to something constant names: all that it changes by
// itself is a variable of its own, and it calls none but meetings and plain functions.
bool may_change_others(const LocalLambda& lambda) {
  std::set<std::string> own;
  for (const Declarator& d : lambda.parameters) {
    if (!d.is_reference()) own.insert(d.name.text);
  }
  for (const Statement& top : lambda.body) {
    for_all(top, [&](const Statement& s) {
      for (const Declarator& d : s.declarators) {
        if (!d.is_reference()) own.insert(d.name.text);
      }
    });
  }
  return any_words(lambda.body, [&](const Words& words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      const bool steps = words[i].is("++") || words[i].is("--");
      if (steps || is_assignment(words[i].text)) {
        const std::size_t at = steps && is_prefix(words, i) ? i + 1 : i - 1;
        if (at >= words.size() || !can_name_variable(words, at) || own.count(words[at].text) == 0) return true;
        for (const char* further : {".", "->", "["}) {
          if (is_at(words, at + 1, further)) return true;
        }
        if (at > 0 && words[at - 1].is("*") && is_prefix(words, at - 1)) return true;
      }
      const bool called = i > 0 && words[i].is("(") && words[i - 1].kind != Token::Kind::punctuation;
      const bool known = called && (is_keyword(words[i - 1].text) || is_type_word(words[i - 1].text) ||
                                    is_plain_function(words[i - 1].text) || find_meeting(words[i - 1].text) != nullptr);
      if ((called && !known) || (words[i].is("(") && i > 0 && (words[i - 1].is(")") || words[i - 1].is("]")))) return true;
    }
    return false;
  });
}

// Whether what a path leads to may be found before the body runs, read or not: it is a variable's own member, or the body
// names it, and has no condition under which it would not be read.
bool may_be_read_first(const Words& path, const std::vector<Statement>& body, const std::string& name) {
  const bool own = !path[0].is("*") && !contains(path, "->") && !contains(path, "[");
  bool conditional = any_words(body, [](const Words& words) {
    return contains(words, "?") || contains(words, "&&") || contains(words, "||");
  });
  for (const Statement& top : body) {
    for_all(top, [&](const Statement& s) {
      conditional = conditional || s.is(Kind::branch) || s.is(Kind::choice) || s.is(Kind::loop) || s.is(Kind::range_loop);
    });
  }
  return own || (!conditional && names_variable(body, name));
}

// Gives names of their own to what the parts of a body declare. `inner`: the list is such a part.
void rename_inner(std::vector<Statement>& statements, bool inner, int& made_up_names);
void rename_inner(Statement& s, int& made_up_names) {
  const auto apart = [&](const Declarator& d) {
    const std::string name = d.name.text;
    std::vector<Statement> whole;  // a loop's head holds for all of it
    whole.push_back(std::move(s));
    rename(whole, name, one_word(fmt::format("weir_nested_{}_{}", ++made_up_names, name), d.name.token));
    s = std::move(whole[0]);
  };
  for (std::size_t i = 0; i < s.first.size(); ++i) {
    for (std::size_t k = 0; k < s.first[i].declarators.size(); ++k) apart(Declarator(s.first[i].declarators[k]));
  }
  for_lists(s, [&](std::vector<Statement>& list) {
    if (&list != &s.first) rename_inner(list, true, made_up_names);
  });
}
void rename_inner(std::vector<Statement>& statements, bool inner, int& made_up_names) {
  for (std::size_t i = 0; i < statements.size(); ++i) {
    for (std::size_t k = 0; inner && k < statements[i].declarators.size(); ++k) {
      const Declarator d = statements[i].declarators[k];
      const Words name = one_word(fmt::format("weir_nested_{}_{}", ++made_up_names, d.name.text), d.name.token);
      // From the declarator on: what stands before it means another variable.
      Statement& s = statements[i];
      s.declarators[k].name = name[0];
      for (std::size_t later = k; later < s.declarators.size(); ++later) {
        rename(s.declarators[later].initializer, d.name.text, name);
        for (Words& dimension : s.declarators[later].dimensions) rename(dimension, d.name.text, name);
      }
      std::vector<Statement> rest(std::make_move_iterator(statements.begin() + static_cast<std::ptrdiff_t>(i) + 1),
                                  std::make_move_iterator(statements.end()));
      rename(rest, d.name.text, name);
      std::move(rest.begin(), rest.end(), statements.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    }
    rename_inner(statements[i], made_up_names);
  }
}

}  // namespace

bool names_variable(const std::vector<Statement>& statements, const std::string& name) {
  return any_words(statements, [&](const Words& words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (words[i].is(name) && can_name_variable(words, i)) return true;
    }
    return false;
  });
}

LocalLambda read_lambda(const Words& words, std::size_t first, const Capturable& own, int& made_up_names,
                        std::vector<Statement>& out) {
  const Lambda at = lambda_at(words, first);
  const std::uint32_t token = words[first].token;
  LocalLambda lambda;
  std::size_t arrow = at.parameters != 0 ? closing(words, at.parameters) : closing(words, first);
  while (arrow < at.body && !words[arrow].is("->")) ++arrow;
  if (arrow < at.body) lambda.result = slice(words, arrow + 1, at.body);
  if (contains(lambda.result, "&")) throw Refused(token, "a lambda in which threads meet and that returns a reference");

  if (at.parameters != 0) {
    for (const Words& parameter : split_at_commas(slice(words, at.parameters + 1, closing(words, at.parameters)))) {
      Statement s;
      if (parameter.size() == 1 && parameter[0].is("void")) continue;
      const Words declared = with_types_first(parameter, [](const Word&) { return true; });
      if (!parse_declaration(declared, s) || s.declarators.size() != 1 ||
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
  lambda.body = parse_statements(slice(words, at.body + 1, closing(words, at.body)));
  rename_inner(lambda.body, false, made_up_names);
  for (const Statement& top : lambda.body) {
    for (const Declarator& d : top.declarators) lambda.names.insert(d.name.text);
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
      for (const auto* const all : {&own.variables, &own.arrays}) {
        for (const std::string& name : *all) {
          if (names_variable(lambda.body, name) && lambda.names.count(name) == 0 && apart.count(name) == 0)
            copy(name, one_word(name, token));
        }
      }
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
  std::vector<Statement> body = lambda.body;
  std::vector<Statement> statements;
  const auto own_name = [&](const std::string& name) { return fmt::format("weir_inner_{}_{}", ++made_up_names, name); };
  std::set<std::string> references, converted;
  std::vector<Words> places = arguments;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    Declarator d = lambda.parameters[i];
    if (!d.is_reference()) continue;
    Words& place = places[i];
    while (is_at(place, 0, "(") && closing(place, 0) + 1 == place.size()) place = slice(place, 1, place.size() - 1);
    // An element that nothing changes meanwhile is as good as its value, and it may have no address: a bit-field.
    const bool path = is_path(place) && !is_built_in_variable(place[0].text) &&
                      (!contains(lambda.types[i], "const") || may_change_others(lambda) ||
                       !may_be_read_first(place, lambda.body, d.name.text));
    const bool name = path || (place.size() == 1 && place[0].is_identifier() && !place[0].is("warpSize"));
    const std::string base = name ? std::find_if(place.begin(), place.end(), [](const Word& word) {
                                      return word.is_identifier();
                                    })->text
                                  : "";
    if (!name && contains(place, "?") && any_words(body, changes)) {
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
    if (!names_variable(body, d.name.text)) continue;
    if (contains(lambda.types[i], "auto") || !(contains(lambda.types[i], "const") || contains(d.pointer, "&&"))) continue;
    // It may be converted, and what it is converted to would not change with the variable.
    bool address = false;
    any_words(body, [&](const Words& part) {
      for (std::size_t k = 1; k < part.size(); ++k)
        address = address || (part[k].is(d.name.text) && part[k - 1].is("&") && is_prefix(part, k - 1));
      return false;
    });
    if (address || contains(d.pointer, "&&") || names_variable(body, base)) {
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
  for (Statement& s : body) statements.push_back(std::move(s));
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
