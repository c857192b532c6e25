// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kernels/function.hpp"
#include "kernels/vocabulary.hpp"

namespace weir::kernels {
namespace {

// What may stand before and after a sum without taking it apart.
bool is_loose_before(const Word& w) {
  for (const char* text : {"=", "(", ",", "[", "{", ";", "}", "return", "<", ">", "?", ":", "&&", "||", "==", "<=", ">="}) {
    if (w.is(text)) return true;
  }
  return false;
}
bool is_loose_after(const Words& words, std::size_t i) {
  if (i >= words.size()) return true;
  for (const char* text : {")", ",", "]", "}", ";", "<", ">", "?", ":", "&&", "||", "==", "!=", "<=", ">=", "+", "-"}) {
    if (words[i].is(text)) return true;
  }
  return false;
}

// `blockIdx.x * blockDim.x + threadIdx.x`, in any order, becomes `weir_global_x`, which the loop over threads counts in a
// way that compilers see through.
Words with_global_index(const Words& words) {
  const auto is_x = [&](std::size_t k, std::string_view variable) {
    return is_at(words, k, variable) && is_at(words, k + 1, ".") && is_at(words, k + 2, "x");
  };
  const auto is_product = [&](std::size_t k) {
    return is_at(words, k + 3, "*") &&
           ((is_x(k, "blockIdx") && is_x(k + 4, "blockDim")) || (is_x(k, "blockDim") && is_x(k + 4, "blockIdx")));
  };
  Words result;
  for (std::size_t i = 0; i < words.size();) {
    const bool matches = (is_product(i) && is_at(words, i + 7, "+") && is_x(i + 8, "threadIdx")) ||
                         (is_x(i, "threadIdx") && is_at(words, i + 3, "+") && is_product(i + 4));
    if (matches && (i == 0 || is_loose_before(words[i - 1])) && is_loose_after(words, i + 11)) {
      result.push_back(words[i]);
      result.back().text = "weir_global_x";
      i += 11;
    } else {
      result.push_back(words[i++]);
    }
  }
  return result;
}

bool begins_closed_lambda(const Words& words, std::size_t i) {
  if (!words[i].is("[") || is_at(words, i + 1, "[") || (i > 0 && words[i - 1].is("["))) return false;
  const bool subscript = i > 0 && ((words[i - 1].is_identifier() && !is_keyword(words[i - 1].text)) ||
                                   words[i - 1].is(")") || words[i - 1].is("]"));
  const bool by_default =
      is_at(words, i + 1, "=") || (is_at(words, i + 1, "&") && (is_at(words, i + 2, "]") || is_at(words, i + 2, ",")));
  return !subscript && !by_default;
}

// Whether something uses threadIdx and its like where a parameter cannot be named: a class, or a lambda that captures by a
// list.
bool hides_parameters(const Words& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool a_class = words[i].is("struct") || words[i].is("class") || words[i].is("union");
    if (!a_class && !begins_closed_lambda(words, i)) continue;
    std::size_t brace = i + 1;
    while (brace < words.size() && !words[brace].is("{") && !words[brace].is(";")) brace = after(words, brace);
    if (!is_at(words, brace, "{")) continue;
    for (std::size_t k = brace; k < closing(words, brace); ++k) {
      if (is_built_in_variable(words[k].text) && can_name_variable(words, k)) return true;
    }
  }
  return false;
}

bool declares_built_in(const Words& words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (is_built_in_variable(words[i].text) && words[i - 1].is_identifier() && !is_keyword(words[i - 1].text)) return true;
  }
  return false;
}

Parameter read_parameter(const Words& words) {
  Parameter p;
  std::size_t end = words.size();
  for (std::size_t i = 0; i < words.size(); i = after(words, i)) {
    if (words[i].is("=")) {
      p.default_value = slice(words, i + 1, words.size());
      end = i;
      break;
    }
  }
  Words rest = slice(words, 0, end);
  // A pointer to an array, `float (*p)[8]`, or to a function.
  for (std::size_t i = 0; i + 4 < rest.size(); ++i) {
    if (!rest[i].is("(") || !rest[i + 1].is("*")) continue;
    std::size_t name = i + 2;
    while (name < rest.size() && (rest[name].is("*") || is_type_word(rest[name].text))) ++name;  // `* const`
    if (name + 2 >= rest.size() || !rest[name].is_identifier() || !rest[name + 1].is(")")) continue;
    p.name = rest[name];
    for (std::size_t k = 0; k < rest.size(); ++k) {
      if (k != name && !(k > i && k < name && !rest[k].is("*"))) p.type.push_back(rest[k]);
    }
    return p;
  }
  // A reference to an array is passed as its address.
  for (std::size_t i = 0; i + 4 < rest.size(); ++i) {
    if (!rest[i].is("(") || !rest[i + 1].is("&") || !rest[i + 2].is_identifier() || !rest[i + 3].is(")")) continue;
    p.name = rest[i + 2];
    rest[i + 1].text = "*";
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i) + 2);
    if (rest[i + 3].is("(")) {  // to a function: its address serves
      p.type = rest;
      return p;
    }
    rest.erase(std::remove_if(rest.begin(), rest.end(), [](const Word& word) { return word.is("const"); }), rest.end());
    p.type = rest;
    p.is_viewed = p.is_array = true;
    return p;
  }
  // An array is a pointer to its first element, which may be an array.
  bool array = false;
  Words element;
  while (!rest.empty() && rest.back().is("]")) {
    std::size_t open = rest.size() - 1;
    while (open > 0 && !rest[open].is("[")) --open;
    element.insert(element.begin(), rest.begin() + static_cast<std::ptrdiff_t>(open), rest.end());
    rest.resize(open);
    array = true;
  }
  if (array) element = slice(element, closing(element, 0) + 1, element.size());
  const bool named =
      rest.size() > 1 && rest.back().is_identifier() && !is_type_word(rest.back().text) && !rest[rest.size() - 2].is("::");
  if (contains(rest, "...") || contains(rest, "(")) {
    throw Refused(words[0].token, "this parameter of a function in which threads work together is not understood");
  }
  p.name = named ? rest.back() : Word{};
  if (named) rest.pop_back();
  p.type.clear();
  for (const Word& word : rest) {
    if (!word.is("__grid_constant__")) p.type.push_back(word);
  }
  if (array && element.empty()) p.type.push_back({Token::Kind::punctuation, "*", words[0].token, no_variable});
  if (!element.empty()) {
    append(p.type, made_up("(*)", words[0].token));
    append(p.type, element);
  }
  // In `const T*&` the reference is not to something constant.
  bool constant = false;
  for (const Word& word : rest) constant = word.is("const") || (constant && !word.is("*"));
  p.is_written = contains(rest, "&") && !constant;
  p.is_viewed = contains(rest, "&") && constant;
  for (Word& word : p.type) {
    if (p.is_viewed && word.is("&")) word.text = "*";
  }
  return p;
}

// The type of what is returned by name, where `auto` stands for it: that of a parameter or of a variable. Nothing if it
// cannot be told.
Words deduced_result(const Function& f) {
  Words result;
  bool known = true;
  const auto type_of = [&](const Words& value) {
    Words type;
    if (value.size() != 1 || !value[0].is_identifier()) return type;
    const auto take = [&](const Words& words) {
      for (const Word& word : words) {
        if (!word.is("const") && !word.is("&")) type.push_back(word);
      }
    };
    for (const Parameter& p : f.parameters) {
      if (p.name.text == value[0].text && !contains(p.type, "*")) take(p.type);
    }
    for (const Statement& s : f.body) {
      if (!s.is(Statement::Kind::declaration) || contains(s.specifiers, "auto") || contains(s.specifiers, "static"))
        continue;
      for (const Declarator& d : s.declarators) {
        if (d.name.text != value[0].text || !d.dimensions.empty()) continue;
        type.clear();
        take(s.specifiers);
        append(type, d.pointer);
      }
    }
    return type;
  };
  for (const Statement& s : f.body) {
    for_all(s, [&](const Statement& inner) {
      if (!inner.is(Statement::Kind::leave)) return;
      const Words type = type_of(inner.words);
      const auto same = [](const Word& a, const Word& b) { return a.text == b.text; };
      if (type.empty() || (!result.empty() && !std::equal(type.begin(), type.end(), result.begin(), result.end(), same)))
        known = false;
      result = type;
    });
  }
  return known ? result : Words{};
}

// Where a parameter is named that is a reference to something constant, what its pointer leads to.
Words with_views_followed(const Function& f, const Words& words) {
  Words result;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool viewed = can_name_variable(words, i) &&
                        std::any_of(f.parameters.begin(), f.parameters.end(),
                                    [&](const Parameter& p) { return p.is_viewed && p.name.text == words[i].text; });
    if (viewed) append(result, made_up("(*", words[i].token));
    result.push_back(words[i]);
    if (viewed) append(result, made_up(")", words[i].token));
  }
  return result;
}

// `auto [a, b] = value;` as an object and references to its parts.
Words with_bindings_named(const Words& words) {
  Words result;
  int count = 0;
  for (std::size_t i = 0; i < words.size();) {
    const bool begins = i == 0 || words[i - 1].is(";") || words[i - 1].is("{") || words[i - 1].is("}");
    std::size_t open = i;
    while (open < words.size() && (words[open].is("const") || words[open].is("auto") || words[open].is("&"))) ++open;
    const std::size_t close = begins && open > i && is_at(words, open, "[") ? closing(words, open) : words.size();
    std::size_t end = close;
    while (end < words.size() && !words[end].is(";")) end = after(words, end);
    if (!is_at(words, close + 1, "=") || end >= words.size()) {
      result.push_back(words[i++]);
      continue;
    }
    const std::uint32_t token = words[open].token;
    const std::string object = fmt::format("weir_binding_{}", ++count);
    append(result, slice(words, i, open));
    append(result, made_up(object, token));
    append(result, slice(words, close + 1, end + 1));
    const std::vector<Words> names = split_at_commas(slice(words, open + 1, close));
    for (std::size_t k = 0; k < names.size(); ++k) {
      append(result, made_up("auto &", token));
      append(result, names[k]);
      append(result, made_up(fmt::format("= ::weir_host::part<{}, {}>({});", k, names.size(), object), token));
    }
    i = end + 1;
  }
  return result;
}

// Lets a function take what it refers to by its address where it cannot get a copy, and a copy where overloads take one.
void choose_way(Function& f, const Unit& unit, std::size_t index) {
  Parameter& p = f.parameters[index];
  if (!p.is_array && !p.is_written && unit.takes_value_or_view(f.place->name, f.place->of_class >= 0, index)) {
    if (p.is_viewed) p.type.pop_back();  // what was the reference
    p.is_viewed = false;
    p.is_copy = true;
    return;
  }
  const bool rvalue = contains(p.type, "&&");
  if (f.place->is_kernel || p.is_array || !(rvalue || (p.is_written && unit.is_by_address(f.place->name, index)))) return;
  // What is called or forwarded, and nothing else, may as well be a copy.
  bool called = rvalue;
  const auto functions = unit.find_cooperating(f.place->name, f.place->of_class >= 0);
  const bool declaration = unit.source().spelling(f.place->body) == ";" && !functions.empty();
  const FunctionPlace& definition = declaration ? *functions[0] : *f.place;
  const Words body = words_of(unit.source(), definition.body, definition.end);
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (!body[i].is(p.name.text) || !can_name_variable(body, i)) continue;
    const bool forwarded = i > 1 && body[i - 1].is("(") && body[i - 2].is(">") && is_at(body, i + 1, ")");
    called = called && (forwarded || is_at(body, i + 1, "("));
  }
  Words type;
  for (Word& word : p.type) {
    const bool reference = word.is("&") || word.is("&&");
    if (reference && called) continue;
    if (reference) word.text = "*";
    type.push_back(word);
  }
  p.type = std::move(type);
  p.is_viewed = p.is_by_address = !called;
  p.is_called = called;
  p.is_written = false;
}

}  // namespace

Function read_function(const Unit& unit, const FunctionPlace& place) {
  Function f;
  f.place = &place;
  const TokenizedSource& source = unit.source();
  if (place.is_template) {
    const Words all = words_of(source, place.first + 1, place.head);
    if (all.size() < 2 || !all.front().is("<") || !all.back().is(">")) {
      throw Refused(place.first, "this head of a template is not understood");
    }
    f.template_parameters = slice(all, 1, all.size() - 1);
  }
  for (const Word& word : words_of(source, place.head, place.name_token)) {
    bool specifier = word.kind == Token::Kind::string;
    for (const char* text : {"extern", "static", "inline", "__device__", "__host__", "__forceinline__", "__noinline__",
                             "__inline__", "constexpr", "__global__"}) {
      specifier = specifier || word.is(text);
    }
    if (!specifier) f.return_type.push_back(word);
  }
  std::uint32_t arrow = place.close + 1;
  while (arrow < place.body && source.spelling(arrow) != "->") ++arrow;
  if (arrow < place.body) f.return_type = words_of(source, arrow + 1, place.body);
  const bool deduced = f.return_type.size() == 1 && f.return_type[0].is("auto");
  f.returns_value = !(f.return_type.size() == 1 && f.return_type[0].is("void"));
  const auto check_return_type = [&] {
    const Words& type = f.return_type;
    if (place.is_kernel || (type.size() == 1 && !type[0].is("auto"))) return;
    if (type.empty() || contains(type, "auto") || contains(type, "&") || contains(type, "(") || contains(type, "[")) {
      throw Refused(place.name_token,
                    fmt::format("what '{}' returns must be written as a type, and be no reference: threads of a block "
                                "work together in it",
                                place.name));
    }
  };
  if (!deduced) check_return_type();
  for (const Words& parameter : split_at_commas(words_of(source, place.open + 1, place.close))) {
    if (parameter.empty() || (parameter.size() == 1 && parameter[0].is("void"))) continue;
    const std::size_t index = f.parameters.size();
    f.parameters.push_back(read_parameter(parameter));
    choose_way(f, unit, index);
  }
  if (!place.has_body) return f;
  if (place.has_object()) {  // it gets the address of the object, which each thread may have of its own
    Parameter self;
    bool constant = false;
    for (std::uint32_t i = place.close + 1; i < place.body; ++i) constant = constant || source.spelling(i) == "const";
    self.type = made_up((constant ? "const " : "") + unit.class_of(place).name + " *", place.name_token);
    self.name = made_up("weir_self", place.name_token)[0];
    f.parameters.insert(f.parameters.begin(), std::move(self));
  }
  Words body;
  for (Word& word : words_of(source, place.body + 1, place.end - 1)) {  // lambdas and classes have such keywords
    if (word.is("__device__") || word.is("__host__") || word.is("__noinline__")) continue;
    if (word.is("__forceinline__")) word.text = "inline";
    if (word.is("this") && place.has_object()) word.text = "weir_self";
    body.push_back(std::move(word));
  }
  if (!place.is_kernel) body = with_views_followed(f, body);
  body = with_bindings_named(body);
  body = with_types_first(body, [&](const Word& name) {
    if (unit.defines_function(name.text) || is_plain_function(name.text)) return false;
    for (const Parameter& p : f.parameters) {
      if (p.name.text == name.text) return false;
    }
    for (std::size_t i = 0; i + 1 < body.size(); ++i) {  // a variable has a value
      if (body[i].text == name.text && body[i + 1].is("=") && !(i > 0 && body[i - 1].is("using"))) return false;
    }
    return !unit.defines_member_function(place.of_class, name.text);
  });
  if (declares_built_in(body)) throw Refused(place.name_token, "a variable named threadIdx, blockIdx, blockDim or gridDim");
  f.uses_thread_variables = hides_parameters(body);
  f.body = parse_statements(f.uses_thread_variables ? body : with_global_index(body));
  if (deduced && !place.is_kernel) {
    f.return_type = deduced_result(f);
    check_return_type();
  }
  return f;
}

}  // namespace weir::kernels
