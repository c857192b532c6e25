// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kernels/emitter.hpp"
#include "kernels/vocabulary.hpp"

/// Lists of statements that a block runs in step, and what control does to the threads that take part.
namespace weir::kernels {

using Kind = Statement::Kind;
using Place = Variable::Place;

Emitter::Emitter(Function& function, const Unit& unit) : f_(function), unit_(unit), out_(unit.source()) {}

std::string Emitter::quoted_place(std::uint32_t token) const {
  std::string text = "\"";
  for (const char c : place_of(unit_.source(), token)) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + '"';
}

void Emitter::fail_unless(std::string_view condition) {
  out_.text(fmt::format("if (!{}) return{};", condition, !f_.place->is_kernel && f_.returns_value ? " weir_return" : ""));
}

void Emitter::head_of_body() {
  if (!f_.uses_thread_variables) {
    out_.text(
        "[[maybe_unused]] const ::uint3 blockIdx = weir_b.index; [[maybe_unused]] const ::dim3 blockDim = weir_b.launched; "
        "[[maybe_unused]] const ::dim3 gridDim = weir_b.grid;");
  }
  out_.text("[[maybe_unused]] ::weir_host::marks weir_gone(weir_b);");
  for (const Parameter& p : f_.parameters) {
    if (p.variable == no_variable || f_.variable(p.variable).place == Place::uniform) continue;
    const std::string& name = f_.variable(p.variable).name;
    if (p.is_written) {
      out_.text(fmt::format("auto& weir_lanes_{0} = weir_in_{0};", name));
      continue;
    }
    Words type;
    for (const Word& word : p.type) {
      if (!word.is("__restrict__") && !word.is("__restrict") && !word.is("&")) type.push_back(word);
    }
    out_.text("::weir_host::lanes<").words(type).text(fmt::format("> weir_lanes_{}(weir_b);", name));
    out_.text(
        "weir_b.run<true>(weir_m, [&](const ::uint3, const unsigned int, const unsigned int weir_t) "
        "__attribute__((always_inline)) {");
    out_.text(
        fmt::format("::weir_host::pass(weir_lanes_{0}.at(weir_t), ::weir_host::get(weir_in_{0}, weir_t)); }});", name));
  }
}

std::string Emitter::kernel_body() {
  out_.text("{ ::weir_host::mask& weir_m = weir_b.alive;");
  head_of_body();
  list(f_.body, Loop::none);
  out_.text("(void)weir_m; }");
  return out_.result();
}

static bool depends_on_template(const Function& f, const Parameter& p) {
  return std::any_of(p.type.begin(), p.type.end(), [&](const Word& word) {
    return word.is_identifier() && contains(f.template_parameters, word.text) && !is_type_word(word.text);
  });
}

bool converts(const Function& f, const Parameter& p) {
  return f.place->overload < 0 && f.place->of_class < 0 && !p.is_written && !p.is_array && !p.is_viewed &&
         depends_on_template(f, p);
}

// A parameter's type without what is of the parameter alone: `const T* const` becomes `const T*`.
static Words without_own_const(const Words& type) {
  std::size_t own = 0;  // behind the last asterisk
  const auto next = [&](std::size_t i) {
    const std::size_t close = type[i].is("<") ? closing_angle(type, i) : 0;
    return close != 0 ? close + 1 : i + 1;
  };
  for (std::size_t i = 0; i < type.size(); i = next(i)) {
    if (type[i].is("*")) own = i;
  }
  Words result;
  for (std::size_t i = 0; i < type.size();) {
    const bool left_out = (type[i].is("const") && i >= own) || type[i].is("&") || type[i].is("__restrict__") ||
                          type[i].is("__restrict");
    for (const std::size_t end = next(i); i < end; ++i) {
      if (!left_out) result.push_back(type[i]);
    }
  }
  return result;
}

std::string Emitter::function() {
  const auto depends = [&](const Parameter& p) { return depends_on_template(f_, p); };
  out_.at(f_.place->name_token);
  if (f_.place->overload >= 0) {  // what tells which function a call means
    if (!f_.template_parameters.empty()) out_.text("template <").words(f_.template_parameters).text(">");
    out_.text(fmt::format("{} ::weir_host::overload<{}>* {}_weir_choice(", f_.place->of_class >= 0 ? "static" : "",
                          f_.place->overload, f_.place->name));
    const std::size_t first = f_.place->has_object() ? 1 : 0;
    for (std::size_t i = first; i < f_.parameters.size(); ++i) out_.text(i == first ? "" : ",").words(f_.parameters[i].type);
    out_.text(");");
  }
  if (std::any_of(f_.parameters.begin(), f_.parameters.end(), [&](const Parameter& p) { return converts(f_, p); })) {
    const auto list = [&] {  // as they were written: one that is handed over as a pointer was a reference
      std::string separator;
      for (const Parameter& p : f_.parameters) {
        const bool reference = p.is_viewed && p.type.back().is("*");
        out_.text(std::exchange(separator, ",")).words(slice(p.type, 0, p.type.size() - (reference ? 1 : 0)));
        if (reference) out_.text("&");
      }
    };
    out_.text("template <").words(f_.template_parameters).text("> ::weir_host::types<");
    list();
    out_.text(fmt::format("> {}_weir_types(", f_.place->name));
    list();
    out_.text(");");
  }
  std::string own;
  for (std::size_t i = 0; i < f_.parameters.size(); ++i) {
    if (!depends(f_.parameters[i])) own += fmt::format("{}class weir_A{}", own.empty() ? "" : ", ", i);
  }
  if (!f_.template_parameters.empty() || !own.empty()) {
    out_.text("template <")
        .words(f_.template_parameters)
        .text(!f_.template_parameters.empty() && !own.empty() ? "," : "")
        .text(own)
        .text(">");
  }
  out_.text("static");
  if (f_.returns_value) {
    out_.text("::weir_host::lanes<").words(f_.return_type).text(">");
  } else {
    out_.text("void");
  }
  out_.text(fmt::format("{}_weir(::weir_host::block& weir_b, const ::weir_host::mask& weir_in", f_.place->name));
  if (f_.place->overload >= 0) out_.text(fmt::format(", ::weir_host::overload<{}>*", f_.place->overload));
  for (std::size_t i = 0; i < f_.parameters.size(); ++i) {
    const Parameter& p = f_.parameters[i];
    if (depends(p)) {
      out_.text(", ::weir_host::lanes<").words(without_own_const(p.type)).text(">&");
    } else {
      out_.text(fmt::format(", {}weir_A{}&", p.is_written ? "" : "const ", i));
    }
    if (p.variable != no_variable)
      out_.text(fmt::format("weir_in_{}", f_.variable(p.variable).name));
    else if (!f_.place->has_body && !p.name.text.empty())
      out_.text("weir_in_" + p.name.text);
  }
  out_.text(")");
  if (!f_.place->has_body) {
    out_.text(";");
    return out_.result();
  }
  out_.text("{ ::weir_host::mask weir_m(weir_in);");
  if (f_.returns_value) out_.text("::weir_host::lanes<").words(f_.return_type).text("> weir_return(weir_b);");
  head_of_body();
  list(f_.body, Loop::none);
  out_.text(f_.returns_value ? "return weir_return; }" : "}");
  return out_.result();
}

// --- Lists ------------------------------------------------------------------------------------------------------------

bool Emitter::leaves_by_jump(const Statement& s) const { return has_jumps(s) || has_return(s); }

Emitter::Way Emitter::way_of(const Statement& s, Loop loop) const {
  if (s.is(Kind::type)) return Way::type;
  if (s.is(Kind::declaration)) {
    if (s.is_shared()) return Way::shared;
    if (s.declarators.size() == 1 && s.declarators[0].name.variable != no_variable) {
      const Place place = f_.variable(s.declarators[0].name.variable).place;
      if (place == Place::uniform) return Way::uniform_declaration;
      if (place == Place::recomputed) return Way::recomputed;
    }
    return Way::piece;
  }
  if (s.is(Kind::expression) && is_uniform_assignment(s.words, f_, unit_)) return Way::uniform_assignment;
  // Where the whole block breaks off or continues a loop, it does so as one.
  if (s.cooperates || (loop == Loop::together && has_jumps(s))) return Way::structured;
  return Way::piece;
}

void Emitter::add_names(const Words& words, Names& names) const {
  for (const Word& word : words) {
    if (word.variable != no_variable) names.insert(word.variable);
  }
}

// What recomputed variables are computed from, and what lambdas use.
void Emitter::add_what_names_need(Names& names) const {
  for (std::size_t before = 0; before != names.size();) {
    before = names.size();
    for (const int index : Names(names)) {
      const Variable& v = f_.variable(index);
      if (v.place == Place::recomputed) add_names(v.declarator->initializer, names);
    }
  }
}

Emitter::Names Emitter::names_in(const Statement& s) const {
  Names names;
  for_all(s, [&](const Statement& inner) {
    for_own_words(inner, [&](const Words& words) { add_names(words, names); });
    if (inner.result.variable != no_variable) names.insert(inner.result.variable);
  });
  add_what_names_need(names);
  return names;
}

bool Emitter::is_lambda(const Variable& v) {
  return v.declarator != nullptr && !v.declarator->initializer.empty() && v.declarator->initializer[0].is("[");
}

// Decides which variables that a piece declares must outlive it.
void Emitter::keep_variables(const Statements& statements, const std::vector<Way>& ways, const std::vector<int>& pieces) {
  for (bool changed = true; changed;) {
    changed = false;
    std::vector<Names> names;
    for (const Statement& s : statements) names.push_back(names_in(s));
    for (std::size_t i = 0; i < statements.size(); ++i) {
      if (ways[i] != Way::piece || !statements[i].is(Kind::declaration)) continue;
      for (const Declarator& d : statements[i].declarators) {
        Variable& v = f_.variable(d.name.variable);
        if (v.place == Place::piece) {
          bool kept = v.escapes && !is_lambda(v);
          for (std::size_t k = 0; k < statements.size(); ++k) {
            kept = kept || ((ways[k] != Way::piece || pieces[k] != pieces[i]) && names[k].count(d.name.variable) != 0);
          }
          if (!kept) continue;
          if (contains(v.specifiers, "static"))
            throw Refused(statements[i].token,
                          fmt::format("the static variable '{}' in a kernel whose threads work together", v.name));
          if (is_lambda(v)) {
            const Words& lambda = d.initializer;
            const bool by_reference = is_at(lambda, 1, "]") || is_at(lambda, 1, "&");
            if (!by_reference || contains(slice(lambda, 0, closing(lambda, 0)), "=")) {
              throw Refused(statements[i].token,
                            fmt::format("the lambda '{}' is used behind a place where threads meet; let it capture by "
                                        "reference, [&]",
                                        v.name));
            }
            v.place = Place::recomputed;
          } else {
            v.place = Place::lanes;
          }
          changed = true;
        }
        // The type of `auto` is found from its initializer, outside of the piece.
        if (v.place != Place::lanes || !contains(v.specifiers, "auto")) continue;
        for (const Word& word : d.initializer) {
          if (word.variable == no_variable) continue;
          Variable& needed = f_.variable(word.variable);
          const bool here =
              std::any_of(statements.begin(), statements.end(), [&](const Statement& s) { return needed.statement == &s; });
          if (needed.place != Place::piece || !here || needed.kind == Variable::Kind::shared) continue;
          needed.place = is_lambda(needed) ? Place::recomputed : Place::lanes;
          changed = true;
        }
      }
    }
  }
}

void Emitter::list(const Statements& statements, Loop loop) {
  std::vector<Way> ways;
  for (const Statement& s : statements) ways.push_back(way_of(s, loop));
  // Which piece a statement belongs to. What only declares something for all threads does not end a piece.
  std::vector<int> pieces(statements.size(), 0);
  int count = 0;
  bool open = false;
  for (std::size_t i = 0; i < statements.size(); ++i) {
    if (ways[i] == Way::piece) {
      if (!open) ++count;
      open = !leaves_by_jump(statements[i]);
      pieces[i] = count;
    } else if (ways[i] == Way::uniform_assignment || ways[i] == Way::structured) {
      open = false;
    }
  }
  keep_variables(statements, ways, pieces);
  for (std::size_t i = 0; i < statements.size(); ++i) ways[i] = way_of(statements[i], loop);

  std::vector<const Statement*> pending;
  int wraps = 0;
  const auto flush = [&](bool last = false) {
    if (!pending.empty()) piece(pending, last);
    pending.clear();
  };
  // Behind a place where threads may leave, nothing is done for a block of which none is left.
  const auto wrap = [&](std::size_t i) {
    if (i + 1 == statements.size()) return;
    out_.text("if (weir_m.any()) {");
    ++wraps;
  };
  for (std::size_t i = 0; i < statements.size(); ++i) {
    const Statement& s = statements[i];
    switch (ways[i]) {
      case Way::piece:
        if (s.is(Kind::declaration)) {
          for (const Declarator& d : s.declarators) {
            if (f_.variable(d.name.variable).place == Place::lanes) storage(s, d);
          }
        }
        pending.push_back(&s);
        if (leaves_by_jump(s)) {
          flush();
          wrap(i);
        }
        break;
      case Way::recomputed: {
        // What is the same for all threads is asked of a group outside of pieces, too.
        const Variable& v = f_.variable(s.declarators[0].name.variable);
        if (is_lambda(v)) pending.push_back(&s);  // behind what it refers to
        if (!v.is_group) break;
        Names names;
        add_names(v.declarator->initializer, names);
        add_what_names_need(names);
        out_.text(fmt::format("[[maybe_unused]] const auto {} =", v.name));
        open_lambda(names, {}, false);
        out_.text("return ");
        expression(v.declarator->initializer);
        out_.text("; }(::uint3{}, 0u, 0u);");
        break;
      }
      case Way::shared: shared(s, f_.place->is_kernel && &statements == &f_.body); break;
      case Way::type: {
        const std::string names = using_of_split(unit_, s.words);
        out_.at(s.token);
        if (names.empty()) {
          out_.words(s.words);
        } else {
          out_.text(names);
        }
        break;
      }
      case Way::uniform_declaration:  // before the piece that is being gathered, which cannot change what it depends on
        out_.at(s.token).text("[[maybe_unused]]");
        declaration_in_piece(s, true);
        break;
      case Way::uniform_assignment:
        flush();
        expression(s.words);
        out_.text(";");
        break;
      case Way::structured:
        flush();
        structured(s, loop);
        if (leaves_by_jump(s)) wrap(i);
        break;
    }
  }
  flush(true);
  for (; wraps > 0; --wraps) out_.text("}");
}

// --- Control ----------------------------------------------------------------------------------------------------------

void Emitter::structured(const Statement& s, Loop loop_kind) {
  out_.at(s.token);
  switch (s.kind) {
    case Kind::block:
      out_.text("{");
      list(s.body, loop_kind);
      out_.text("}");
      break;
    case Kind::branch: branch(s, loop_kind); break;
    case Kind::loop: loop(s); break;
    case Kind::meeting: meeting(s); break;
    case Kind::call: call(s); break;
    case Kind::jump: out_.words(s.words).text(";"); break;
    default: throw Refused(s.token, "this statement is not understood where threads work together");
  }
}

void Emitter::branch(const Statement& s, Loop loop_kind) {
  if (is_uniform(s.words, f_, unit_)) {
    out_.text(s.is_constexpr ? "if constexpr (" : "if (");
    expression(s.words);
    out_.text(") {");
    list(s.body, loop_kind);
    out_.text("}");
    if (!s.has_other) return;
    out_.text("else {");
    list(s.other, loop_kind);
    out_.text("}");
    return;
  }
  out_.text("{ ::weir_host::mask weir_then(weir_m.n), weir_else(weir_m.n); weir_b.divide(weir_m, weir_then, weir_else,");
  condition(s.words);
  out_.text("); ::weir_host::mask& weir_outer = weir_m; if (weir_then.any()) { ::weir_host::mask& weir_m = weir_then;");
  if (ends_kernel(s)) out_.text("weir_b.awaited = &weir_m;");
  list(s.body, loop_kind);
  out_.text("(void)weir_m; }");
  if (s.has_other) {
    out_.text("if (weir_else.any()) { ::weir_host::mask& weir_m = weir_else;");
    list(s.other, loop_kind);
    out_.text("(void)weir_m; }");
  }
  leave_list(s);
  out_.text("}");
}

// Whether it is a branch, or one in such a branch, behind which a kernel does nothing.
bool Emitter::ends_kernel(const Statement& s) const {
  if (!f_.place->is_kernel) return false;
  const Statements* statements = &f_.body;
  while (!statements->empty()) {
    const Statement& last = statements->back();
    if (last.has_other || !(last.is(Kind::branch) || last.is(Kind::block))) return false;
    if (&last == &s) return last.is(Kind::branch);
    statements = &last.body;
  }
  return false;
}

// Behind a structure under a mask of its own: those who left it for good leave what is around it.
void Emitter::leave_list(const Statement& s) {
  out_.text(leaves_by_jump(s) ? "weir_outer.remove(weir_gone);" : "(void)weir_outer;");
}

void Emitter::loop(const Statement& s) {
  bool continues = false, varying_step = !s.after.empty();
  for_all(s,
          [&](const Statement& inner) { continues = continues || (inner.is(Kind::jump) && inner.words[0].is("continue")); });
  for (const Words& part : split_at_commas(s.step)) varying_step = varying_step || !is_uniform_assignment(part, f_, unit_);
  const bool together = is_uniform(s.words, f_, unit_) && jumps_uniformly(s, f_, unit_) &&
                        !(continues && (varying_step || s.loop == Statement::Loop::do_loop));
  out_.text("{");
  list(s.first, Loop::none);
  if (together) {
    loop_together(s);
  } else {
    loop_masked(s);
  }
  out_.text("}");
}

void Emitter::step(const Statement& s) {
  list(s.after, Loop::none);
  if (s.step.empty()) return;
  std::vector<Statement> steps;
  for (Words& part : split_at_commas(s.step)) {
    if (part.empty()) throw Refused(s.token, "this head of a for loop is not understood");
    Statement one;
    one.kind = Kind::expression;
    one.token = part[0].token;
    one.words = std::move(part);
    steps.push_back(std::move(one));
  }
  list(steps, Loop::none);
}

void Emitter::loop_together(const Statement& s) {
  bool uniform_step = s.after.empty();
  for (const Words& part : split_at_commas(s.step)) uniform_step = uniform_step && is_uniform_assignment(part, f_, unit_);
  const auto look = [&] {
    list(s.before, Loop::none);
    if (s.words.empty()) return;
    out_.text("if (!(");
    expression(s.words);
    out_.text(")) break;");
  };
  out_.text("for (;;");
  if (uniform_step) expression(s.step);
  out_.text(") {");
  if (s.loop != Statement::Loop::do_loop) look();
  out_.text("{");
  list(s.body, Loop::together);
  out_.text("}");
  if (has_return(s)) out_.text("if (!weir_m.any()) break;");
  if (!uniform_step) step(s);
  if (s.loop == Statement::Loop::do_loop) look();
  out_.text("}");
}

void Emitter::loop_masked(const Statement& s) {
  const bool leaves =
      std::any_of(s.body.begin(), s.body.end(), [&](const Statement& inner) { return leaves_by_jump(inner); });
  const auto look = [&] {
    list(s.before, Loop::none);
    if (s.words.empty()) return;
    if (is_uniform(s.words, f_, unit_)) {
      out_.text("if (!(");
      expression(s.words);
      out_.text(")) break;");
      return;
    }
    const bool ascending = s.ascending && is_uniform(slice(s.words, 2, s.words.size()), f_, unit_);  // i < n
    out_.text(ascending ? "weir_b.narrow_ascending(weir_m," : "weir_b.narrow(weir_m,");
    condition(s.words);
    if (ascending) {
      out_.text(",");
      value(slice(s.words, 0, 1));
    }
    out_.text("); if (!weir_m.any()) break;");
  };
  out_.text(
      "::weir_host::mask weir_loop(weir_m); ::weir_host::mask& weir_outer = weir_m; for (;;) { ::weir_host::mask& weir_m = "
      "weir_loop;");
  if (s.loop != Statement::Loop::do_loop) look();
  out_.text(leaves ? "{ ::weir_host::mask weir_m(weir_loop);" : "{");
  list(s.body, Loop::masked);
  out_.text("}");
  if (leaves) out_.text("weir_loop.end_iteration(weir_gone); if (!weir_m.any()) break;");
  step(s);
  if (s.loop == Statement::Loop::do_loop) look();
  out_.text("}");
  out_.text(has_return(s) ? "weir_outer.remove(weir_gone);" : "(void)weir_outer;");
}

// --- Meetings ---------------------------------------------------------------------------------------------------------

bool Emitter::is_lanes(const Word& word) const {
  return word.variable != no_variable && f_.variable(word.variable).place == Place::lanes &&
         f_.variable(word.variable).kind != Variable::Kind::shared;
}

// A variable of the threads as the array it lies in; anything else as it is.
void Emitter::argument(const Words& words) {
  if (words.size() == 1 && is_lanes(words[0])) {
    const Variable& v = f_.variable(words[0].variable);
    if (v.declarator != nullptr && v.declarator->is_reference()) {
      throw Refused(words[0].token,
                    fmt::format("the reference '{}' is handed in where threads meet; copy it to a variable first", v.name));
    }
    out_.at(words[0].token).text("weir_lanes_" + v.name);
  } else {
    expression(words);
  }
}

void Emitter::meeting(const Statement& s) {
  const Meeting& m = *find_meeting(s.function);
  const std::string name = "meet" + s.function;
  const std::string place = quoted_place(s.token);
  std::string result;
  if (!s.result.text.empty()) {
    const bool same = m.result == Meeting::Result::same;
    if (same) {
      out_.text(fmt::format("int {};", s.result.text));
    } else {
      out_.text(fmt::format("::weir_host::lanes<decltype(::weir_host::type_{}(", s.function));
      for (std::size_t i = 0; i < s.arguments.size(); ++i) {
        if (i > 0) out_.text(",");
        if (is_at(s.arguments[i], 0, "[")) {
          out_.text("0");  // a lambda, which says nothing about the type and may not stand here
        } else {
          argument(s.arguments[i]);
        }
      }
      out_.text(fmt::format("))> weir_lanes_{}(weir_b);", s.result.text));
    }
    result = (same ? "" : "weir_lanes_") + s.result.text;
  }
  out_.text(fmt::format("if (!::weir_host::{}(weir_b, weir_m, {}", name, place));
  if (!result.empty()) out_.text(", " + result);
  for (const Words& words : s.arguments) {
    out_.text(",");
    argument(words);
  }
  out_.text(fmt::format(")) return{};", !f_.place->is_kernel && f_.returns_value ? " weir_return" : ""));
}

void Emitter::call(const Statement& s) {
  if (!s.result.text.empty()) out_.text(fmt::format("auto weir_lanes_{} =", s.result.text));
  out_.text(s.function + "_weir").words(s.template_arguments).text("(weir_b, weir_m");
  const auto functions = unit_.find_cooperating(s.function.substr(s.function.find_last_of(": ") + 1), s.of_class);
  if (functions[0]->overload >= 0) {
    out_.text(", decltype(" + s.function + "_weir_choice").words(s.template_arguments).text("(");
    const std::size_t first = functions[0]->has_object() ? 1 : 0;
    for (std::size_t i = first; i < s.arguments.size(); ++i) {
      out_.text(i == first ? "::weir_host::passed(" : ", ::weir_host::passed(");
      argument(s.arguments[i]);
      out_.text(")");
    }
    out_.text("))()");
  }
  for (const Words& words : s.arguments) {
    out_.text(",");
    argument(words);
  }
  out_.text(");");
  fail_unless("weir_b.going_on()");
}

}  // namespace weir::kernels
