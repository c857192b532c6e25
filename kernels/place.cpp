// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <utility>

#include "kernels/function.hpp"
#include "kernels/uses.hpp"
#include "kernels/vocabulary.hpp"

namespace weir::kernels {
namespace {

using Kind = Statement::Kind;
using Place = Variable::Place;

bool is_known_type(std::string_view name) {
  constexpr std::string_view types[] = {"size_t",   "ptrdiff_t", "int8_t",   "uint8_t",   "int16_t",  "uint16_t", "int32_t",
                                        "uint32_t", "int64_t",   "uint64_t", "uintptr_t", "intptr_t", "dim3",     "uint3",
                                        "float2",   "float3",    "float4",   "int2",      "int4",     "double2",  "std"};
  return std::find(std::begin(types), std::end(types), name) != std::end(types);
}

// Words that depend on no variable: keywords of expressions, types, names of constants.
bool is_harmless(const Words& words, std::size_t i, const Function& f, const Unit& unit) {
  const std::string& text = words[i].text;
  if (unit.objects_act() && unit.defines_class(text)) return false;
  if (is_type_word(text) || is_known_type(text) || unit.is_constant(text) || text == "warpSize") return true;
  for (const char* keyword :
       {"sizeof", "alignof", "true", "false", "nullptr", "static_cast", "reinterpret_cast", "const_cast"}) {
    if (text == keyword) return true;
  }
  if (is_at(words, i + 1, "(") && is_plain_function(text) && !unit.defines_function(text)) return true;
  return contains(f.template_parameters, text) || unit.is_constant_of(f.place->of_class, text);
}

class Places {
 public:
  Places(Function& function, const Unit& unit) : f_(function), unit_(unit) {}

  void run() {
    list(f_.body, 0, true);
    choose_uniform();
    choose_recomputed();
    for (const auto& [index, values] : assignments_) f_.variable(index).assigned = true;
    for (Variable& v : f_.variables) {
      const bool lanes = v.kind == Variable::Kind::parameter || v.kind == Variable::Kind::result ||
                         v.kind == Variable::Kind::operand || ((v.in_head || v.before_condition) && v.at_list_level);
      if (v.place == Place::piece && lanes) v.place = Place::lanes;
    }
  }

 private:
  struct Assignment {
    Words value;
    int control;
    bool in_step;
  };

  void list(const std::vector<Statement>& statements, int control, bool list_level) {
    for (const Statement& s : statements) statement(s, control, list_level);
  }

  int control_of(const Statement& s) const {
    for (std::size_t i = 1; i < f_.controls.size(); ++i) {
      if (f_.controls[i].statement == &s) return static_cast<int>(i);
    }
    return 0;
  }

  void assignments(const Words& words, int control, bool list_level, bool in_step) {
    const auto parts = in_step ? split_at_commas(words) : std::vector<Words>{words};
    for (const Words& part : parts) {
      WholeAssignment a = list_level ? read_whole_assignment(part) : WholeAssignment{};
      if (a.variable == no_variable) {
        note_uses(f_, unit_, part);
      } else {
        note_uses(f_, unit_, a.value);
        assignments_[a.variable].push_back({std::move(a.value), control, in_step});
      }
    }
  }

  void statement(const Statement& s, int control, bool list_level) {
    const bool inner = list_level && s.cooperates;
    switch (s.kind) {
      case Kind::expression: return assignments(s.words, control, list_level, false);
      case Kind::declaration:
        for (const Declarator& d : s.declarators) {
          note_uses(f_, unit_, d.initializer);
          if (d.is_reference()) note_binding(f_, d.initializer);
          note_construction(f_, s.specifiers, d.initializer, unit_);
          for (const Words& dimension : d.dimensions) note_uses(f_, unit_, dimension);
        }
        return;
      case Kind::loop: {
        const int own = control_of(s);
        list(s.first, own, inner);
        list(s.before, own, inner);
        note_uses(f_, unit_, s.words);
        assignments(s.step, own, inner, true);
        list(s.body, own, inner);
        return list(s.after, own, inner);
      }
      case Kind::range_loop: note_binding(f_, s.words); break;
      case Kind::meeting:
      case Kind::call:
        for (std::size_t i = s.is(Kind::meeting) && is_of_group(*find_meeting(s.function)) ? 1 : 0; i < s.arguments.size();
             ++i) {
          const Words& argument = s.arguments[i];
          if (argument.size() == 1 && argument[0].variable != no_variable) direct_.push_back(argument[0].variable);
        }
        return;
      default: break;
    }
    note_uses(f_, unit_, s.words);
    const bool control_structure = s.is(Kind::branch) || s.is(Kind::range_loop) || s.is(Kind::choice);
    const int own = control_structure ? control_of(s) : control;
    for_lists(s, [&](const std::vector<Statement>& inner_list) { list(inner_list, own, inner); });
  }

  bool can_be_uniform(const Variable& v) const {
    if (v.kind == Variable::Kind::result) return v.block_wide;
    if (!v.at_list_level || v.assigned || v.escapes) return false;
    if (v.kind == Variable::Kind::parameter) return f_.place->is_kernel && !contains(v.specifiers, "&");
    if (v.kind == Variable::Kind::shared || v.declarator == nullptr || v.name.starts_with("weir_own_")) return false;
    const bool of_class = std::any_of(v.specifiers.begin(), v.specifiers.end(), [&](const Word& word) {
      return !is_type_word(word.text) && !is_known_type(word.text) && !word.text.ends_with("_t");
    });
    if (of_class && unit_.objects_act() && !contains(v.pointer, "*")) return false;
    const Declarator& d = *v.declarator;
    const bool table = contains(v.specifiers, "const") || contains(v.specifiers, "constexpr");
    const bool plain = (d.dimensions.empty() || (table && d.form != Declarator::Form::none)) && !d.is_reference() &&
                       (table || !contains(v.specifiers, "static")) && !contains(v.specifiers, "volatile") &&
                       !contains(v.specifiers, "decltype");
    return plain && (d.form != Declarator::Form::none || !contains(v.specifiers, "auto")) &&
           (d.initializer.empty() || !d.initializer[0].is("["));
  }

  // Whether all threads for which `v` lives agree on passing the control structure `c`, on the way to an assignment.
  bool passes_together(int c, const Variable& v, bool in_step) const {
    const Statement& s = *f_.controls[static_cast<std::size_t>(c)].statement;
    if (s.is(Kind::branch)) return is_uniform(s.words, f_, unit_);
    if (!s.is(Kind::loop)) return false;
    const bool together = jumps_uniformly(s, f_, unit_);
    // A variable of the loop's own head is gone for those who leave the loop.
    if (c == v.scope && v.in_head) return in_step || together;
    return together && is_uniform(s.words, f_, unit_);
  }

  // The initializer; of a table of constants, without its braces.
  static Words values_of(const Declarator& d) {
    if (d.dimensions.empty()) return d.initializer;
    Words values;
    for (const Word& word : d.initializer) {
      if (!word.is("{") && !word.is("}")) values.push_back(word);
    }
    return values;
  }

  // Whether it is the same for all threads whatever it is computed from: `constexpr int n = logarithm(width);`.
  bool is_computed_by_compiler(const Variable& v) const {
    const Words& words = v.declarator->initializer;
    return contains(v.specifiers, "constexpr") && std::all_of(words.begin(), words.end(), [&](const Word& word) {
             return word.variable == no_variable || f_.variable(word.variable).place == Place::uniform;
           });
  }

  bool stays_uniform(int index) const {
    const Variable& v = f_.variable(index);
    if (v.kind == Variable::Kind::result) return true;
    if (v.declarator != nullptr && !is_computed_by_compiler(v) && !is_uniform(values_of(*v.declarator), f_, unit_))
      return false;
    const auto found = assignments_.find(index);
    if (found == assignments_.end()) return true;
    for (const Assignment& a : found->second) {
      if (!is_uniform(a.value, f_, unit_)) return false;
      int c = a.control;
      while (c != v.scope) {
        if (!passes_together(c, v, a.in_step)) return false;
        c = f_.controls[static_cast<std::size_t>(c)].parent;
      }
      if (v.in_head && c != 0 && !passes_together(c, v, a.in_step && c == a.control)) return false;
    }
    return true;
  }

  void choose_uniform() {
    for (Variable& v : f_.variables) {
      if (can_be_uniform(v)) v.place = Place::uniform;
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t i = 0; i < f_.variables.size(); ++i) {
        Variable& v = f_.variables[i];
        if (v.place != Place::uniform || stays_uniform(static_cast<int>(i))) continue;
        v.place = Place::piece;
        changed = true;
      }
    }
  }

  bool never_assigned(int index) const { return !f_.variable(index).assigned && assignments_.count(index) == 0; }

  static bool is_scalar(const Words& specifiers) {
    return std::all_of(specifiers.begin(), specifiers.end(),
                       [](const Word& word) { return is_type_word(word.text) || word.text.ends_with("_t"); });
  }

  // Whether an expression follows from the thread's index and from what never changes, costs little and cannot fail.
  bool is_pure(const Words& words) const {
    if (words.empty() || words.size() > 40) return false;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const Word& word = words[i];
      if (word.kind == Token::Kind::string) return false;
      if (word.kind == Token::Kind::punctuation) {
        if (word.is("[") || word.is("->") || word.is("{") || is_assignment(word.text) || word.is("++") || word.is("--"))
          return false;
        if ((word.is("*") || word.is("&")) && is_prefix(words, i)) return false;
        if (word.is("/") || word.is("%")) {
          const bool number = i + 1 < words.size() && words[i + 1].kind == Token::Kind::number && !words[i + 1].is("0");
          if (!number && !is_at(words, i + 1, "warpSize") && !is_at(words, i + 1, "blockDim")) return false;
        }
      }
      if (!word.is_identifier() || (i > 0 && words[i - 1].is("."))) continue;
      if (word.text.starts_with("make_") || (is_built_in_variable(word.text) && !is_at(words, i + 1, "."))) return false;
      if (word.variable != no_variable) {
        const Variable& v = f_.variable(word.variable);
        const bool fixed = v.place == Place::recomputed || (v.place == Place::uniform && v.kind != Variable::Kind::shared);
        // What a loop counts is the same from one piece to the next, until the loop's step.
        if (!fixed || !(never_assigned(word.variable) || word.text.starts_with("weir_offset_"))) return false;
      } else if (!is_built_in_variable(word.text) && !word.is("weir_global_x") && !is_harmless(words, i, f_, unit_)) {
        return false;
      }
    }
    return true;
  }

  // A block, a grid or a tile of one: it follows from the thread's index, and takes part in meetings by what it is.
  bool is_fixed_group(const Variable& v) const {
    if (!v.at_list_level || v.in_head || v.escapes || v.declarator == nullptr || v.kind == Variable::Kind::shared)
      return false;
    const Declarator& d = *v.declarator;
    if (!d.dimensions.empty() || !d.pointer.empty() || d.form != Declarator::Form::equals) return false;
    bool makes_group = false;
    for (std::size_t i = 0; i < d.initializer.size(); ++i) {
      const Word& word = d.initializer[i];
      makes_group =
          makes_group || word.is("weir_this_thread_block") || word.is("weir_this_grid") || word.is("tiled_partition");
      if (!word.is_identifier() || is_at(d.initializer, i + 1, "::")) continue;
      if (word.variable == no_variable) {
        const bool known = word.is("weir_this_thread_block") || word.is("weir_this_grid") || word.is("tiled_partition") ||
                           is_built_in_variable(word.text) || is_harmless(d.initializer, i, f_, unit_);
        if (!known) return false;
      } else if (!never_assigned(word.variable) || (f_.variable(word.variable).place != Place::uniform &&
                                                    f_.variable(word.variable).place != Place::recomputed)) {
        return false;
      }
    }
    return makes_group;
  }

  void choose_recomputed() {
    for (std::size_t i = 0; i < f_.variables.size(); ++i) {  // a variable names those before it alone
      Variable& v = f_.variables[i];
      const int index = static_cast<int>(i);
      if (v.place == Place::piece && !f_.uses_thread_variables && never_assigned(index) &&
          std::find(direct_.begin(), direct_.end(), index) == direct_.end() && is_fixed_group(v)) {
        v.place = Place::recomputed;
        v.is_group = true;
        continue;
      }
      if (v.place != Place::piece || v.kind != Variable::Kind::local || !v.at_list_level || v.in_head || v.escapes ||
          !never_assigned(index))
        continue;
      const Declarator& d = *v.declarator;
      const bool plain = d.dimensions.empty() && !d.is_reference() && d.form == Declarator::Form::equals &&
                         !contains(v.specifiers, "static") && !contains(v.specifiers, "volatile") && is_scalar(v.specifiers);
      if (!plain || f_.uses_thread_variables || std::find(direct_.begin(), direct_.end(), index) != direct_.end()) continue;
      if (is_pure(d.initializer)) v.place = Place::recomputed;
    }
  }

  Function& f_;
  const Unit& unit_;
  std::map<int, std::vector<Assignment>> assignments_;
  std::vector<int> direct_;  // variables that are handed in where threads meet, and so must lie in memory
};

void find_jumps(const std::vector<Statement>& list, bool together, const Function& f, const Unit& unit, bool& all_together) {
  for (const Statement& s : list) {
    if (s.is(Kind::jump)) {
      all_together = all_together && together;
    } else if (s.is(Kind::branch)) {
      const bool inner = together && is_uniform(s.words, f, unit);
      find_jumps(s.body, inner, f, unit, all_together);
      find_jumps(s.other, inner, f, unit, all_together);
    } else if (s.is(Kind::block)) {
      find_jumps(s.body, together, f, unit, all_together);
    } else if (s.is(Kind::choice) && has_jumps(s)) {
      all_together = false;
    }
  }
}

bool jumps_out(const std::vector<Statement>& list, bool in_loop, bool in_choice) {
  return std::any_of(list.begin(), list.end(), [&](const Statement& s) {
    if (s.is(Kind::jump)) return !in_loop && !(in_choice && s.words[0].is("break"));
    const bool loop = in_loop || s.is(Kind::loop) || s.is(Kind::range_loop);
    const bool choice = (in_choice && !s.is(Kind::loop)) || s.is(Kind::choice);
    return jumps_out(s.body, loop, choice) || jumps_out(s.other, loop, choice);
  });
}

}  // namespace

bool is_uniform(const Words& words, const Function& f, const Unit& unit) {
  std::size_t type_end = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Word& word = words[i];
    if (word.is("(") && is_at(words, i + 1, "*") && is_at(words, i + 2, ")")) {  // in a type: `(float (*)[8])x`
      for (type_end = i + 3; is_at(words, type_end, "[");) type_end = closing(words, type_end) + 1;
    }
    if (i < type_end && (word.is("*") || word.is("["))) continue;
    if (word.kind == Token::Kind::string) return false;
    if (word.kind == Token::Kind::punctuation) {
      const bool of_shared =
          i > 0 && words[i - 1].variable != no_variable && f.variable(words[i - 1].variable).kind == Variable::Kind::shared;
      if (word.is("[") && !(of_shared && i > 1 && words[i - 2].is("&") && is_prefix(words, i - 2))) return false;
      if (word.is("->") || word.is("{") || is_assignment(word.text) || word.is("++") || word.is("--")) return false;
      if (word.is("*") && is_prefix(words, i)) return false;
      const bool before_shared = i + 1 < words.size() && words[i + 1].variable != no_variable &&
                                 f.variable(words[i + 1].variable).kind == Variable::Kind::shared;
      if (word.is("&") && is_prefix(words, i) && !before_shared) return false;
      continue;
    }
    if (!word.is_identifier()) continue;
    const bool member = i > 0 && (words[i - 1].is(".") || words[i - 1].is("::"));
    if (member) {
      if (is_at(words, i + 1, "(") && !is_plain_function(word.text)) return false;
      continue;
    }
    if (word.variable != no_variable) {
      const Variable& v = f.variable(word.variable);
      if (v.kind == Variable::Kind::shared) {
        const bool address = (v.declarator != nullptr && !v.declarator->dimensions.empty()) ||
                             (i > 0 && words[i - 1].is("&") && is_prefix(words, i - 1));
        if (!address || (is_at(words, i + 1, "[") && !(i > 0 && words[i - 1].is("&") && is_prefix(words, i - 1))))
          return false;
      } else if (v.is_group && v.place == Place::recomputed) {
        const bool of_all =
            is_at(words, i + 1, ".") && i + 2 < words.size() &&
            (words[i + 2].is("size") || words[i + 2].is("num_threads") || words[i + 2].is("meta_group_size"));
        if (!of_all) return false;
        i += 2;
      } else if (v.place != Place::uniform) {
        return false;
      }
    } else if (word.is("threadIdx") || word.is("weir_global_x")) {
      return false;
    } else if (!is_built_in_variable(word.text) && !is_harmless(words, i, f, unit)) {
      return false;
    }
  }
  return true;
}

bool is_uniform_assignment(const Words& words, const Function& f, const Unit&) {
  const WholeAssignment a = read_whole_assignment(words);
  return a.variable != no_variable && f.variable(a.variable).place == Place::uniform;
}

bool has_jumps(const Statement& s) {
  if (s.is(Kind::jump)) return true;
  const bool loop = s.is(Kind::loop) || s.is(Kind::range_loop);
  return jumps_out(s.body, loop, s.is(Kind::choice)) || jumps_out(s.other, loop, false);
}

bool has_return(const Statement& s) {
  bool found = false;
  for_all(s, [&](const Statement& inner) { found = found || inner.is(Kind::leave); });
  return found;
}

bool jumps_uniformly(const Statement& loop, const Function& f, const Unit& unit) {
  bool together = true;
  find_jumps(loop.body, true, f, unit, together);
  return together;
}

void place_variables(Function& function, const Unit& unit) { Places(function, unit).run(); }

void refer_in_lambdas(Function& f) {
  const auto refer = [&](Words& words, bool is_named) {
    for (std::size_t i = 0; i + 2 < words.size(); ++i) {
      if (!words[i].is("[") || !words[i + 1].is("=") || !words[i + 2].is("]")) continue;
      std::size_t brace = i + 3;
      while (brace < words.size() && !words[brace].is("{")) brace = after(words, brace);
      if (brace >= words.size() || contains(slice(words, i, brace), "mutable")) continue;
      bool changes = false;  // which matters where the lambda outlives the expression that it stands in
      for (std::size_t k = brace; is_named && k < closing(words, brace); ++k) {
        if (words[k].variable == no_variable) continue;
        const Variable& v = f.variable(words[k].variable);
        changes = changes || (v.assigned && v.kind != Variable::Kind::shared);
      }
      if (!changes) words[i + 1].text = "&";
    }
  };
  for (Statement& s : f.body) {
    for_all(s, [&](Statement& inner) {
      refer(inner.words, false);
      for (Words& argument : inner.arguments) refer(argument, false);
      for (Declarator& d : inner.declarators) refer(d.initializer, true);
    });
  }
}

}  // namespace weir::kernels
