// SPDX-License-Identifier: Apache-2.0
#include "kernels/unit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <utility>

#include "kernels/function.hpp"
#include "kernels/vocabulary.hpp"
#include "kernels/words.hpp"

namespace weir::kernels {

Unit::Unit(const TokenizedSource& source) : source_(source) {
  scan(0, source.tokens.size());
  find_namespaces();
  find_cooperation();
  number_overloads();
  find_by_address();
  find_thread_readers();
  find_changing_operators();
}

std::vector<const FunctionPlace*> Unit::find_cooperating(std::string_view name, bool member) const {
  std::vector<const FunctionPlace*> found;
  for (const FunctionPlace& f : functions_) {
    if (f.has_body && f.cooperates && !f.is_kernel && f.name == name && (f.of_class >= 0) == member) found.push_back(&f);
  }
  return found;
}

Unit::Callee Unit::callee(std::string_view qualifier, std::string_view before, std::string_view name, std::string_view next,
                          int of_class, std::size_t token) const {
  if (next != "(" && next != "<") return Callee::none;
  const bool function = cooperating_.count(name) != 0;
  const bool of_object = before == "." || before == "->";
  if (cooperating_members_.count(name) != 0) {
    const bool of_a_class =
        std::any_of(class_places_.begin(), class_places_.end(), [&](const ClassPlace& c) { return c.name == qualifier; });
    const bool of_a_namespace = namespaces_.count(qualifier) != 0;
    if (of_object || (before == "::" ? (!function && !of_a_namespace) || qualifier == ">" || of_a_class
                                     : defines_member_function(of_class, name)))
      return Callee::member;
  }
  const bool global = before == "::" && qualifier != ">" && !names_scope(qualifier);
  const bool alone = !of_object && before != "::" && is_plain_function(name);
  if (function && (global || alone)) {  // `::max` is none of a namespace's, and `max` none of another's
    const auto is_meant = [&](const FunctionPlace& f) {
      return f.name == name && (global ? namespaces_around(f.first).empty() : is_seen(f, token));
    };
    if (std::none_of(functions_.begin(), functions_.end(), is_meant)) return Callee::none;
  }
  return function && !of_object ? Callee::function : Callee::none;
}

// Whether a word before `::` is what the name is looked for in.
bool Unit::names_scope(std::string_view word) {
  return !word.empty() && !is_keyword(word) &&
         (word[0] == '_' || std::isalnum(static_cast<unsigned char>(word[0])) != 0);
}

// The names of the namespaces that a token stands in.
std::set<std::string_view> Unit::namespaces_around(std::size_t token) const {
  std::set<std::string_view> names;
  for (std::size_t i = token; i-- > 0;) {
    if (is(i, "}") && source_.tokens[i].match < i) {
      i = source_.tokens[i].match;
    } else if (is(i, "{")) {
      std::size_t k = i;
      while (k > 0 && (is(k - 1, "::") || (is_identifier(k - 1) && !is(k - 1, "namespace")))) --k;
      for (const bool opens = k > 0 && is(k - 1, "namespace"); opens && k < i; ++k) {
        if (is_identifier(k)) names.insert(word(k));
      }
    }
  }
  return names;
}

// Whether the name of a function means it at a token, without a namespace before it.
bool Unit::is_seen(const FunctionPlace& f, std::size_t token) const {
  const auto here = namespaces_around(token), own = namespaces_around(f.first);
  const auto used = [&](std::string_view name) { return used_.count(name) != 0; };
  return std::includes(here.begin(), here.end(), own.begin(), own.end()) || used(f.name) ||
         std::any_of(own.begin(), own.end(), used);
}

std::size_t Unit::after(std::size_t i) const { return std::max<std::size_t>(source_.tokens[i].match, i) + 1; }

// The token behind `template <…>` at `i`.
std::size_t Unit::after_template(std::size_t i) const { return is(i + 1, "<") ? after_angle(i + 1) : i + 1; }

// The token behind `<…>` at `i`; that one itself if it does not end.
std::size_t Unit::after_angle(std::size_t i) const {
  int depth = 0;
  for (std::size_t k = i; k < source_.tokens.size() && !is(k, ";") && !is(k, "}");) {
    if (is(k, "<")) ++depth;
    if (is(k, ">") && --depth == 0) return k + 1;
    k = is(k, "(") || is(k, "[") || is(k, "{") ? after(k) : k + 1;
  }
  return i;
}

// Whether the token can be the name of something at namespace scope.
bool Unit::names(std::size_t i) const { return is_identifier(i) && !(i > 0 && (is(i - 1, ".") || is(i - 1, "->"))); }

void Unit::scan(std::size_t first, std::size_t last) {
  std::size_t declaration = first;
  for (std::size_t i = first; i < last;) {
    if (is(i, ";")) {
      note_declaration(declaration, i);
      declaration = ++i;
    } else if (is(i, "}")) {
      declaration = ++i;
    } else if (is(i, "template")) {
      i = after_template(i);
    } else if (is(i, "{")) {
      const std::size_t end = after(i);
      bool opens_scope = i >= 2 && is(i - 2, "extern") && source_.tokens[i - 1].kind == Token::Kind::string;
      for (std::size_t k = declaration; k < i; ++k) opens_scope = opens_scope || is(k, "namespace");
      if (opens_scope) {
        scan(i + 1, end - 1);
        declaration = end;
      } else {
        note_class(declaration, i);
        read_class(declaration, i);
        classes_.emplace_back(i, end);
        // The body of an operator ends its declaration; behind a class there may be a variable.
        if (i > 0 && (is(i - 1, ")") || is(i - 1, "const") || is(i - 1, "noexcept"))) declaration = end;
      }
      i = end;
    } else if (is(i, "(") && i > declaration) {
      const bool attribute = is(i - 1, "__launch_bounds__") || is(i - 1, "__attribute__") || is(i - 1, "decltype") ||
                             is(i - 1, "alignas") || is(i - 1, "__align__") || is(i - 1, "noexcept") ||
                             is(i - 1, "static_assert");
      const bool named = is_identifier(i - 1) || specialized_name(declaration, i) != 0;
      const std::size_t end = named && !attribute ? function_at(declaration, i) : 0;
      if (end != 0) {
        declaration = i = end;
      } else {
        i = after(i);
      }
    } else {
      i = is(i, "[") ? after(i) : i + 1;
    }
  }
}

// The name in `template <> … name<…>(`, if that is what stands before the parenthesis; else 0.
std::size_t Unit::specialized_name(std::size_t declaration, std::size_t open) const {
  if (!is(open - 1, ">") || !is(declaration, "template") || after_template(declaration) != declaration + 3) return 0;
  int depth = 0;
  for (std::size_t i = open - 1; i > declaration + 3; --i) {
    if (is(i, ">")) ++depth;
    if (is(i, "<") && --depth == 0) return is_identifier(i - 1) ? i - 1 : 0;
  }
  return 0;
}

// Reads where the function stands whose parameters begin at `open`. False if it is none.
bool Unit::read_place(std::size_t declaration, std::size_t open, FunctionPlace& f) const {
  const std::size_t close = source_.tokens[open].match;
  if (close <= open) return false;
  std::size_t i = close + 1;
  while (is(i, "const") || is(i, "noexcept") || is(i, "->") || is(i, "__attribute__") ||
         (i > close + 1 && !is(i, "{") && !is(i, ";") && i < source_.tokens.size())) {
    i = is(i, "(") || is(i, "[") ? after(i) : i + 1;
  }
  if (!is(i, "{") && !is(i, ";")) return false;
  const std::size_t specialized = specialized_name(declaration, open);
  const std::size_t name = specialized != 0 ? specialized : open - 1;
  f.name = word(name);
  f.first = static_cast<std::uint32_t>(declaration);
  f.name_token = static_cast<std::uint32_t>(name);
  f.open = static_cast<std::uint32_t>(open);
  f.close = static_cast<std::uint32_t>(close);
  f.body = static_cast<std::uint32_t>(i);
  f.has_body = is(i, "{");
  f.end = static_cast<std::uint32_t>(f.has_body ? after(i) : i + 1);
  std::size_t head = declaration;
  while (is(head, "template")) head = after_template(head);
  f.is_template = head != declaration;
  f.head = static_cast<std::uint32_t>(head);
  for (std::size_t k = head; k < open; ++k) f.is_kernel = f.is_kernel || is(k, "__global__");
  for (std::size_t k = head; k < open; ++k) {
    if (is(k, "=")) return false;  // the initializer of a variable
  }
  return true;
}

// Notes the function whose parameters begin at `open`, and returns the token behind it; 0 if it is none.
std::size_t Unit::function_at(std::size_t declaration, std::size_t open) {
  FunctionPlace f{};
  if (!read_place(declaration, open, f)) return 0;
  const std::size_t close = f.close;
  if (f.has_body) {
    defined_.insert(f.name);
    for (std::size_t k = open; k < close; ++k) {
      if (is(k, "&")) by_reference_.insert(f.name);
    }
  }
  functions_.push_back(std::move(f));
  return functions_.back().end;
}

// Constants and names of types.
void Unit::note_declaration(std::size_t first, std::size_t last) {
  while (is(first, "template")) first = after_template(first);
  if (first >= last) return;
  if (is(first, "typedef")) {
    if (is_identifier(last - 1)) constants_.emplace(word(last - 1));
    return;
  }
  if (is(first, "using")) {
    if (is(first + 2, "=")) constants_.emplace(word(first + 1));
    return;
  }
  bool constant = false, variable = false;
  for (std::size_t k = first; k < last && !is(k, "="); ++k) {
    constant = constant || is(k, "const") || is(k, "constexpr") || is(k, "__constant__");
    variable = variable || is(k, "__device__") || is(k, "__managed__") || is(k, "__shared__") || is(k, "*");
  }
  if (!constant || variable) return;
  for (std::size_t k = first; k < last;) {
    if (is_identifier(k) && (k + 1 == last || is(k + 1, "=") || is(k + 1, ",") || is(k + 1, "{") || is(k + 1, "["))) {
      constants_.emplace(word(k));
      while (k < last && !is(k, ",")) k = is(k, "(") || is(k, "[") || is(k, "{") ? after(k) : k + 1;
    }
    ++k;
  }
}

void Unit::note_class(std::size_t first, std::size_t brace) {
  for (std::size_t k = first; k < brace; ++k) {
    const bool key = is(k, "struct") || is(k, "class") || is(k, "union") || is(k, "enum");
    if (key && is_identifier(k + 1)) constants_.emplace(word(is(k + 1, "class") || is(k + 1, "struct") ? k + 2 : k + 1));
    if (is(k, "enum")) {
      for (std::size_t e = brace + 1; e < source_.tokens[brace].match; ++e) {
        if (is_identifier(e) && (is(e - 1, "{") || is(e - 1, ","))) constants_.emplace(word(e));
      }
    }
  }
}

// The names of namespaces, and which of them mean cooperative_groups. Without any of those there are no groups.
void Unit::find_namespaces() {
  for (std::size_t i = 0; i < source_.tokens.size(); ++i) {
    for (std::size_t k = i + 1; is(i, "namespace") && is_identifier(k); k += 2) {
      namespaces_.emplace(word(k));
      if (!is(k + 1, "::")) break;
    }
    if (is(i, "using")) {  // `using namespace a::b;`, `using a::b;`
      for (std::size_t k = i + 1; is_identifier(k) || is(k, "::"); ++k) {
        if (is(k + 1, ";")) used_.emplace(word(k));
      }
    }
    if (!is(i, "cooperative_groups")) continue;
    uses_groups_ = true;
    group_namespaces_.insert("cooperative_groups");
    if (i >= 3 && is(i - 3, "namespace") && is(i - 1, "=")) group_namespaces_.emplace(word(i - 2));
    using_groups_ = using_groups_ || (i >= 2 && is(i - 2, "using") && is(i - 1, "namespace"));
  }
}

const Meeting* Unit::meeting(std::string_view qualifier, std::string_view before, std::string_view name,
                             std::string_view next) const {
  const bool member = before == "." || before == "->";
  if (!member) {
    if (const Meeting* const found = find_meeting(name)) return found;
  }
  if (!uses_groups_ || next != "(") return nullptr;
  const Meeting* const found = find_group_meeting(name, member);
  if (found == nullptr || member) return found;
  const bool qualified = before == "::";
  return (qualified ? group_namespaces_.count(qualifier) != 0 : using_groups_ && !defines_function(name)) ? found : nullptr;
}

void Unit::find_cooperation() {
  // Of a member function, what calls it may be another one of that name: it is looked for in code for the device alone.
  const auto is_for_device = [&](const FunctionPlace& f) {
    for (std::size_t k = f.head; k < f.open; ++k) {
      if (is(k, "__device__") || is(k, "__global__")) return true;
    }
    return false;
  };
  const auto meets = [&](std::size_t first, std::size_t last, const FunctionPlace* f) -> std::size_t {
    const bool members = f != nullptr && is_for_device(*f);
    for (std::size_t i = first; i < last; ++i) {
      if (!is_identifier(i)) continue;
      const std::string_view qualifier = i > 1 ? word(i - 2) : "", before = i > 0 ? word(i - 1) : "";
      if (meeting(qualifier, before, word(i), word(i + 1)) != nullptr) return i;
      const Callee called = callee(qualifier, before, word(i), word(i + 1), members ? f->of_class : -1, i);
      if (called == Callee::function || (called == Callee::member && members)) return i;
      if (f != nullptr && f->is_kernel && names(i) && is(i, "__shared__")) return i;
    }
    return 0;
  };
  const auto in_step = [&](const FunctionPlace& f) {
    for (std::size_t i = f.open; i < f.end; ++i) {
      if (is(i, "volatile")) return relies_on_steps(words_of(source_, f.open, f.end));
    }
    return false;
  };
  std::set<std::string, std::less<>> kernels;  // of which one cooperates: a template and its specializations
  for (bool changed = true; changed;) {
    changed = false;
    for (FunctionPlace& f : functions_) {
      const bool is_overload = (f.is_kernel ? kernels : cooperating_).count(f.name) != 0;
      if (!f.has_body || f.cooperates || (!is_overload && meets(f.body, f.end, &f) == 0 && !in_step(f))) continue;
      f.cooperates = changed = true;
      (f.is_kernel ? kernels : cooperating_).insert(f.name);
    }
    for (FunctionPlace& f : member_functions_) {
      if (f.cooperates || (cooperating_members_.count(f.name) == 0 && meets(f.body, f.end, &f) == 0 && !in_step(f)) ||
          !is_for_device(f))
        continue;
      f.cooperates = changed = true;
      cooperating_members_.insert(f.name);
    }
  }
  const auto cooperates = [](const FunctionPlace& f) { return f.cooperates; };
  std::copy_if(member_functions_.begin(), member_functions_.end(), std::back_inserter(functions_), cooperates);
  member_functions_.erase(std::remove_if(member_functions_.begin(), member_functions_.end(), cooperates),
                          member_functions_.end());
  for (const FunctionPlace& f : functions_) {
    if (f.of_class < 0 && f.cooperates && f.has_body && f.name_token > 0 && is(f.name_token - 1, "::")) {
      throw Refused(f.name_token,
                    fmt::format("threads of a block work together in the member function '{}', which is defined "
                                "outside of its class; define it in the class",
                                f.name));
    }
    if (f.of_class >= 0 && uses_groups_ && find_group_meeting(f.name, true) != nullptr) {
      throw Refused(f.name_token, fmt::format("threads of a block work together in the member function '{}', whose name is "
                                              "that of a function of groups; give it another name",
                                              f.name));
    }
  }
  for (const FunctionPlace& f : functions_) {
    if (f.of_class >= 0) split_members_.emplace(f.first, f.end);
  }
  for (const auto& [first, last] : classes_) {
    for (std::size_t i = first; i < last; ++i) {
      for (auto f = split_members_.find(i); f != split_members_.end(); f = split_members_.find(i)) i = f->second;
      if (i >= last || meets(i, i + 1, nullptr) == 0) continue;
      throw Refused(
          static_cast<std::uint32_t>(i),
          fmt::format("'{}' in a class, but in no plain __device__ member function: threads of a block cannot meet "
                      "in constructors, operators, virtual functions and initializers",
                      word(i)));
    }
  }
  std::vector<bool> inside(source_.tokens.size() + 1, false);
  for (FunctionPlace& f : functions_) {
    if (!f.has_body && cooperating_.count(f.name) != 0 && !f.is_kernel && f.of_class < 0) f.cooperates = true;
    if (f.has_body && f.cooperates) std::fill(inside.begin() + f.first, inside.begin() + f.end, true);
  }
  for (std::size_t i = 0; i < source_.tokens.size(); ++i) {
    if (is(i, "__shared__") && !inside[i]) lone_shared_.push_back(static_cast<std::uint32_t>(i));
  }
}

// The words of a function's parameters, which tell it from others of its name.
std::string Unit::signature(const FunctionPlace& f) const {
  std::string text;
  for (std::size_t i = f.first; i < f.head; ++i) text.append(word(i)).append(" ");
  for (std::size_t i = f.open; i < f.close; ++i) text.append(word(i)).append(" ");
  return text;
}

bool Unit::is_specialization(const FunctionPlace& f) const {
  return !f.is_kernel && f.of_class < 0 && is(f.first, "template") && f.head == f.first + 3;
}

// Whether calls mean the same if a specialization is an overload: none stands before it, and none names the template's
// arguments.
bool Unit::is_like_overload(const FunctionPlace& specialization) const {
  for (std::size_t i = 0; i < source_.tokens.size(); ++i) {
    const auto is_head = [&](const FunctionPlace& f) { return f.name_token == i; };
    if (word(i) != specialization.name || std::any_of(functions_.begin(), functions_.end(), is_head)) continue;
    if (i < specialization.first || is(i + 1, "<")) return false;
  }
  return true;
}

// A kernel is the only one of its name. Which of several functions a call means is left to the compiler, by their numbers.
void Unit::number_overloads() {
  for (FunctionPlace& f : functions_) {
    if (!f.has_body || !f.cooperates) continue;
    int number = 0, count = 0;
    bool several = false;  // of a class: all classes' functions of a name are numbered, or none
    for (const FunctionPlace& other : functions_) {
      if (!other.has_body || other.name != f.name || (other.of_class >= 0) != (f.of_class >= 0)) continue;
      if (f.of_class >= 0 && other.of_class != f.of_class) {
        several = several || std::any_of(functions_.begin(), functions_.end(), [&](const FunctionPlace& third) {
                    return &third != &other && third.name == f.name && third.of_class == other.of_class;
                  });
        continue;
      }
      if (&other != &f && (f.is_kernel != other.is_kernel || (is_specialization(f) && !is_like_overload(f)))) {
        throw Refused(
            f.name_token,
            fmt::format("threads of a block work together in '{}', of which there are several functions, and one is a "
                        "kernel, or a template's specialization that is called before it or with arguments of the "
                        "template; give each a name of its own",
                        f.name));
      }
      if (&other < &f) ++number;
      ++count;
    }
    if (count > 1 || several) f.overload = number;
  }
  for (FunctionPlace& f : functions_) {  // declarations, in the words of the definition
    if (f.has_body || !f.cooperates) continue;
    const auto definitions = find_cooperating(f.name);
    if (f.is_template && std::all_of(definitions.begin(), definitions.end(),
                                     [&](const FunctionPlace* other) { return is_specialization(*other); })) {
      f.cooperates = false;  // of a template that has specializations alone; they are overloads
      continue;
    }
    for (const FunctionPlace& other : functions_) {
      if (other.has_body && other.cooperates && other.of_class < 0 && other.name == f.name &&
          signature(other) == signature(f))
        f.overload = other.overload;
    }
    const auto several = find_cooperating(f.name);
    if (f.overload < 0 && several.size() > 1) {
      throw Refused(f.name_token,
                    fmt::format("this declaration of '{}', in which threads work together, is that of none of its "
                                "definitions; write its parameters with the same words",
                                f.name));
    }
  }
}

void Unit::find_thread_readers() {
  const auto reads = [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      if (names(i) && (is_built_in_variable(word(i)) || thread_readers_.count(word(i)) != 0)) return true;
    }
    return false;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (const FunctionPlace& f : functions_) {
      if (!f.has_body || f.is_kernel || f.cooperates || f.of_class >= 0 || thread_readers_.count(f.name) != 0 ||
          !reads(f.body, f.end))
        continue;
      thread_readers_.insert(f.name);
      changed = true;
    }
  }
  for (const auto& [first, last] : classes_) {
    std::size_t from = first;  // functions that are split read none of these variables
    for (auto f = split_members_.lower_bound(first); f != split_members_.end() && f->second <= last; ++f) {
      hidden_reader_ = hidden_reader_ || reads(from, f->first);
      from = f->second;
    }
    hidden_reader_ = hidden_reader_ || reads(from, last);
  }
  find_acting_objects();
}

}  // namespace weir::kernels
