// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "kernels/syntax.hpp"
#include "kernels/unit.hpp"
#include "kernels/words.hpp"

/// What a class has, as far as it matters for functions of it in which threads meet.
namespace weir::kernels {

bool Unit::has_member(int of_class, std::string_view name) const {
  const ClassPlace& c = class_places_[static_cast<std::size_t>(of_class)];
  if (c.members.count(name) != 0) return true;
  for (int base = 0; base < of_class; ++base) {  // a base stands before what is made from it
    const std::string& base_name = class_places_[static_cast<std::size_t>(base)].name;
    if (std::find(c.bases.begin(), c.bases.end(), base_name) != c.bases.end() && has_member(base, name)) return true;
  }
  return false;
}

bool Unit::defines_member_function(int of_class, std::string_view name) const {
  if (of_class < 0) return false;
  const auto has = [&](const FunctionPlace& f) { return f.of_class == of_class && f.name == name; };
  return has_member(of_class, name) || std::any_of(functions_.begin(), functions_.end(), has) ||
         std::any_of(member_functions_.begin(), member_functions_.end(), has);
}

bool Unit::has_pointer(std::string_view class_name, std::string_view member) const {
  bool found = false;
  for (const ClassPlace& c : class_places_) {
    if (c.name != class_name) continue;
    if (c.pointers.count(member) == 0) return false;
    found = true;
  }
  return found;
}

// Notes the class whose brace that is, and those in it; nothing if it is no class.
void Unit::read_class(std::size_t first, std::size_t brace) {
  ClassPlace c{};
  std::size_t key = first;
  for (; is(key, "template"); key = after_template(key)) {
    for (std::size_t k = key; k < after_template(key); ++k) {
      if (is_identifier(k) && (is(k + 1, ",") || is(k + 1, ">") || is(k + 1, "="))) c.constants.emplace(word(k));
    }
  }
  while (key < brace && !is(key, "struct") && !is(key, "class") && !is(key, "enum") && !is(key, "=")) ++key;
  if (!is(key, "struct") && !is(key, "class")) return;
  for (++key; is(key + 1, "(") || is(key, "[");) key = is(key, "[") ? after(key) : after(key + 1);  // alignas(16)
  if (!is_identifier(key)) return;
  c.name = word(key);
  c.first = static_cast<std::uint32_t>(first);
  c.open = static_cast<std::uint32_t>(brace);
  while (key < brace && !is(key, ":")) ++key;
  for (; key < brace; ++key) {
    if (is_identifier(key) && (is(key + 1, "{") || is(key + 1, ",") || is(key + 1, "<"))) c.bases.emplace_back(word(key));
  }
  const int index = static_cast<int>(class_places_.size());
  class_places_.push_back(c);
  const std::size_t last = source_.tokens[brace].match;
  std::size_t declaration = brace + 1;
  for (std::size_t i = declaration; i < last;) {
    const bool behind_parameters = i > 0 && (is(i - 1, ")") || is(i - 1, "const") || is(i - 1, "noexcept"));
    if (is(i, ";")) {
      note_member(declaration, i, c);
      declaration = ++i;
    } else if (is(i, ":") && (is(i - 1, "public") || is(i - 1, "private") || is(i - 1, "protected"))) {
      declaration = ++i;
    } else if (is(i, ":") && behind_parameters) {  // what a constructor gives its members
      for (++i; i < last && !is(i, "{");) {
        while (i < last && !is(i, "(") && !is(i, "{")) ++i;
        i = after(i);
        i = is(i, ",") ? i + 1 : i;
      }
    } else if (is(i, "template")) {
      i = after_template(i);
    } else if (is(i, "{")) {
      if (!behind_parameters && !is(i - 1, "}")) read_class(declaration, i);
      const bool ends = behind_parameters || is(i - 1, "}");
      i = after(i);
      if (ends) declaration = i;
    } else if (is(i, "(") && i > declaration) {
      FunctionPlace f{};
      if (is(i - 1, c.name) && takes_changing_reference(i, c.name)) classes_keep_references_ = true;
      bool plain = is_identifier(i - 1) && !is(i - 1, c.name) && !is(i - 1, "alignas") && !is(i - 1, "__align__");
      for (std::size_t k = declaration; plain && k < i; ++k)
        plain = !is(k, "operator") && !is(k, "virtual") && !is(k, "friend") && !is(k, "~") && !is(k, "__attribute__");
      if (!plain || !read_place(declaration, i, f)) {
        i = after(i);
        continue;
      }
      f.of_class = index;
      members_take_references_ = members_take_references_ || takes_changing_reference(i, "");
      for (std::size_t k = f.head; k < i; ++k) f.is_static = f.is_static || is(k, "static");
      if (!f.is_static) c.members.insert(f.name);
      declaration = i = f.end;
      if (f.has_body) member_functions_.push_back(std::move(f));
    } else {
      i = is(i, "[") ? after(i) : i + 1;
    }
  }
  class_places_[static_cast<std::size_t>(index)] = std::move(c);
}

bool Unit::defines_class(std::string_view name) const {
  return std::any_of(class_places_.begin(), class_places_.end(), [&](const ClassPlace& c) { return c.name == name; });
}

// Whether one of the parameters behind `open` refers to something that is not constant; `except` by `&&`.
bool Unit::takes_changing_reference(std::size_t open, std::string_view except) const {
  bool constant = false;
  for (std::size_t k = open + 1; k < source_.tokens[open].match; ++k) {
    if (is(k, ",")) constant = false;
    constant = constant || is(k, "const");
    const bool moves = is(k, "&") && is(k + 1, "&") && is(k - 1, except);
    if (moves) ++k;
    if (is(k, "&") && !constant && !moves) return true;
  }
  return false;
}

void Unit::find_changing_operators() {
  std::vector<bool> inside;  // of the braces around a token: whether they are no namespace's
  bool own_constants = false;
  for (std::size_t i = 0; i < source_.tokens.size(); ++i) own_constants = own_constants || is(i, "mutable");
  std::size_t declaration = 0;
  for (std::size_t i = 0; i < source_.tokens.size(); ++i) {
    if (is(i, "{")) {
      bool opens_scope = i > 1 && is(i - 2, "extern");
      for (std::size_t k = declaration; k < i; ++k) opens_scope = opens_scope || is(k, "namespace");
      inside.push_back(!opens_scope);
    }
    if (is(i, "}") && !inside.empty()) inside.pop_back();
    if (is(i, "{") || is(i, "}") || is(i, ";")) declaration = i + 1;
    if (!is(i, "operator")) continue;
    std::string name;
    std::size_t open = i + 1;
    if (is(open, "(")) {
      open += 2;
      members_take_references_ = members_take_references_ || takes_changing_reference(open, "");
    }
    for (; open < source_.tokens.size() && !is(open, "("); ++open)
      name = is_identifier(open) || name == " " ? " " : name.append(word(open));
    if (open >= source_.tokens.size()) return;
    bool of_object = !inside.empty() && inside.back();
    for (std::size_t k = declaration; k < i; ++k) of_object = of_object && !is(k, "friend") && !is(k, "static");
    const bool constant = is(source_.tokens[open].match + 1, "const") && !own_constants;
    if ((of_object && !constant) || takes_changing_reference(open, "")) changing_operators_.insert(name == " " ? "" : name);
  }
}

// Whether a constructor or destructor does anything behind its parameters, but to give members their values.
bool Unit::acts(std::size_t parameters) const {
  std::size_t i = after(parameters);
  const auto ends = [&] { return i >= source_.tokens.size() || is(i, ";") || is(i, "=") || is(i, "}"); };
  while (!ends() && !is(i, "{") && !is(i, ":")) i = after(i);
  if (is(i, ":")) {
    for (++i; !ends() && !is(i, "{");) {
      while (!ends() && !is(i, "(") && !is(i, "{")) ++i;
      if (ends()) return false;
      for (std::size_t k = i; k < source_.tokens[i].match; ++k) {
        if (word(k).starts_with("atomic")) return true;
      }
      i = after(i);
      if (is(i, ",")) ++i;
    }
  }
  return is(i, "{") && !is(i + 1, "}");
}

// What named functions of a class do, is seen where they are called.
void Unit::find_acting_objects() {
  std::map<std::size_t, std::size_t> named;
  for (const auto* list : {&functions_, &member_functions_}) {
    for (const FunctionPlace& f : *list) {
      if (f.of_class >= 0) named.emplace(f.body, f.end);
    }
  }
  for (const ClassPlace& c : class_places_) {
    for (std::size_t i = c.open; i < source_.tokens[c.open].match; ++i) {
      const auto function = named.find(i);
      if (function != named.end()) i = function->second;
      const bool made = is(i, c.name) && is(i + 1, "(") && !is(i - 1, "::");
      objects_act_ =
          objects_act_ || is(i, "threadIdx") || (names(i) && thread_readers_.count(word(i)) != 0) || (made && acts(i + 1));
    }
  }
}

// What a declaration in a class declares that is no function.
void Unit::note_member(std::size_t first, std::size_t last, ClassPlace& c) {
  const bool names_type = is(first, "typedef") || is(first, "using") || is(first, "struct") || is(first, "class");
  if (names_type) {
    const std::size_t name = is(first, "typedef") ? last - 1 : first + 1;
    if (is_identifier(name)) c.constants.emplace(word(name));
    for (std::size_t k = last; k > first && !is(k, "}") && !is(first, "using") && !is(first, "typedef"); --k) {
      if (is_identifier(k) && k > name) c.members.emplace(word(k));  // struct {…} member;
    }
    return;
  }
  if (is(first, "enum")) {
    for (std::size_t k = first; k < last; ++k) {
      if (is_identifier(k) && (is(k - 1, "{") || is(k - 1, ","))) c.constants.emplace(word(k));
    }
    return;
  }
  Statement s;
  try {
    if (!parse_declaration(words_of(source_, first, last), s)) return;
  } catch (const Refused&) {
    return;
  }
  for (const Declarator& d : s.declarators) {
    classes_keep_references_ = classes_keep_references_ || d.is_reference();
    const bool constant = contains(s.specifiers, "constexpr") || contains(s.specifiers, "const");
    const bool pointer = contains(d.pointer, "*") && !d.is_reference() && d.dimensions.empty();
    if (!contains(s.specifiers, "static") && pointer) c.pointers.insert(d.name.text);
    if (!contains(s.specifiers, "static"))
      c.members.insert(d.name.text);
    else if (constant)
      c.constants.insert(d.name.text);
  }
}

}  // namespace weir::kernels
