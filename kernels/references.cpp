// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/unit.hpp"
#include "kernels/words.hpp"

/// How functions in which threads meet take what they may change by reference. The value of a variable of the thread's own
/// goes in and comes out again, as an array over the threads. All else is handed over by its address.
namespace weir::kernels {

bool Unit::is_by_address(std::string_view function, std::size_t parameter) const {
  const auto found = by_address_.find(function);
  return found != by_address_.end() && found->second.count(parameter) != 0;
}

bool Unit::takes_value_or_view(std::string_view function, bool member, std::size_t parameter) const {
  const std::vector<const FunctionPlace*> all = find_cooperating(function, member);
  bool by_value = false, by_view = false;
  for (const FunctionPlace* f : all) {
    const std::vector<Words> parameters = split_at_commas(words_of(source_, f->open + 1, f->close));
    if (parameter >= parameters.size() || contains(parameters[parameter], "(")) continue;
    const bool reference = contains(parameters[parameter], "&");
    by_value = by_value || (!reference && !contains(parameters[parameter], "&&"));
    by_view = by_view || (reference && contains(parameters[parameter], "const"));
  }
  return by_value && by_view;
}

bool Unit::has_barrier(std::string_view function, bool member) const {
  const std::vector<const FunctionPlace*> all = find_cooperating(function, member);
  return std::any_of(all.begin(), all.end(), [&](const FunctionPlace* f) {
    for (std::uint32_t i = f->body; i < f->end; ++i) {
      const Meeting* const meeting = find_meeting(word(i));
      const bool waits = is(i, "sync") || (meeting != nullptr && (meeting->result == Meeting::Result::none ||
                                                                   meeting->scope == Meeting::Scope::block));
      const bool other =
          word(i) != function && (cooperating_.count(word(i)) != 0 || cooperating_members_.count(word(i)) != 0);
      if (waits || other) return true;
    }
    return false;
  });
}

// Names of what is shared, and of references and what lies outside of functions.
std::set<std::string_view> Unit::names_of_others() const {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < source_.tokens.size(); ++i) {
    if (is(i, "&") && is_identifier(i + 1) && (is(i + 2, "=") || is(i + 2, "{"))) names.insert(word(i + 1));
    if (!is(i, "__shared__") && !is(i, "__device__") && !is(i, "__managed__")) continue;
    std::size_t k = i + 1;
    while (k < source_.tokens.size() && !is(k, ";") && !is(k, "{") && !is(k, "(")) {
      if (is_identifier(k) && (is(k + 1, ";") || is(k + 1, ",") || is(k + 1, "[") || is(k + 1, "="))) names.insert(word(k));
      k = is(k, "[") ? after(k) : k + 1;
    }
  }
  return names;
}

void Unit::find_by_address() {
  const std::set<std::string_view> others = names_of_others();
  std::set<std::size_t> declared;
  for (const FunctionPlace& f : functions_) declared.insert(f.name_token);
  // The parameters of the function that a token is in which are taken by address.
  const auto pointers_around = [&](std::size_t token) {
    std::set<std::string> names;
    for (const FunctionPlace& f : functions_) {
      if (!f.has_body || token < f.body || token >= f.end || by_address_.count(f.name) == 0) continue;
      const std::vector<Words> parameters = split_at_commas(words_of(source_, f.open + 1, f.close));
      for (const std::size_t k : by_address_.find(f.name)->second) {
        if (k >= parameters.size()) continue;
        for (std::size_t i = 0; i < parameters[k].size() && !parameters[k][i].is("="); ++i) {
          if (parameters[k][i].is_identifier()) names.insert(parameters[k][i].text);
        }
      }
    }
    return names;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < source_.tokens.size(); ++i) {
      if (!is_identifier(i) || declared.count(i) != 0) continue;
      if (cooperating_.count(word(i)) == 0 && cooperating_members_.count(word(i)) == 0) continue;
      std::size_t open = i + 1;
      if (is(open, "<")) open = after_angle(open);
      if (!is(open, "(") || after(open) == open + 1) continue;
      const std::vector<Words> arguments = split_at_commas(words_of(source_, open + 1, after(open) - 1));
      const std::set<std::string> pointers = pointers_around(i);
      for (std::size_t k = 0; k < arguments.size(); ++k) {
        const Words& argument = arguments[k];
        const bool own = argument.size() == 1 && argument[0].is_identifier() && others.count(argument[0].text) == 0 &&
                         pointers.count(argument[0].text) == 0;
        if (!own) changed = by_address_[std::string(word(i))].insert(k).second || changed;
      }
    }
  }
}

}  // namespace weir::kernels
