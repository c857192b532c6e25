// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "kernels/emitter.hpp"
#include "kernels/vocabulary.hpp"

/// Pieces: statements that every thread runs by itself, from one meeting to the next.
namespace weir::kernels {

using Kind = Statement::Kind;
using Place = Variable::Place;
using Form = Declarator::Form;

namespace {

// The specifiers without what belongs to a variable and not to its type.
Words type_specifiers(const Words& specifiers, bool keep_const) {
  Words type;
  for (std::size_t i = 0; i < specifiers.size(); ++i) {
    const Word& word = specifiers[i];
    if (word.is("alignas") || word.is("__align__") || word.is("__attribute__")) {
      i = closing(specifiers, i + 1);
      continue;
    }
    bool drop = word.is("static") || word.is("extern") || word.is("constexpr") || word.is("register") || word.is("inline") ||
                word.is("__shared__") || word.is("__restrict__") || word.is("__restrict") || word.is("__device__");
    drop = drop || (word.is("const") && !keep_const);
    if (!drop) type.push_back(word);
  }
  return type;
}

std::string dimensions_of(const Declarator& d) {
  std::string text;
  for (const Words& dimension : d.dimensions) text += "[" + text_of(dimension) + "]";
  return text;
}

bool has_word(const Statement& s, const auto& matches) {
  bool found = false;
  for_all(s, [&](const Statement& inner) {
    for_own_words(inner, [&](const Words& words) { found = found || std::any_of(words.begin(), words.end(), matches); });
  });
  return found;
}

}  // namespace

// --- Variables --------------------------------------------------------------------------------------------------------

void Emitter::shared(const Statement& s, bool in_kernel_body) {
  for (const Declarator& d : s.declarators) {
    if (d.form != Form::none)
      throw Refused(s.token,
                    fmt::format("the shared variable '{}' has an initializer; shared memory begins undefined", d.name.text));
    const std::string type = text_of(type_specifiers(s.specifiers, true)) + text_of(d.pointer);
    std::string alignment = "alignas(64) ";  // the strictest of several holds
    for (std::size_t i = 0; i + 1 < s.specifiers.size(); ++i) {
      // __align__(16) is __attribute__((aligned(16))).
      if ((s.specifiers[i].is("alignas") || s.specifiers[i].is("aligned")) && s.specifiers[i + 1].is("(")) {
        alignment += fmt::format("alignas({}) ", text_of(slice(s.specifiers, i + 2, closing(s.specifiers, i + 1))));
      }
    }
    out_.at(d.name.token);
    if (contains(s.specifiers, "extern")) {
      if (d.dimensions.empty()) {
        throw Refused(s.token, fmt::format("'{}' must be declared as an array: extern __shared__ T {}[]", d.name.text,
                                           d.name.text));
      }
      // `T s[4][8]` refers to all of it, `T s[]` and `T s[][8]` point to the first element.
      const bool sized = !d.dimensions[0].empty();
      Declarator element = d;
      if (!sized) element.dimensions.erase(element.dimensions.begin());
      const std::string dimensions = dimensions_of(element);
      out_.text(
          fmt::format("[[maybe_unused]] {0} ({1} {2}){3} = {4}reinterpret_cast<{0} (*){3}>(weir_b.dynamic_shared);", type,
                      sized ? "&" : "* const", d.name.text, dimensions, sized ? "*" : ""));
    } else {
      // It lives as long as the block does, wherever it is declared; a worker runs one block at a time.
      out_.text(fmt::format("[[maybe_unused]] {}{} {} {}{};", alignment, in_kernel_body ? "" : "static thread_local", type,
                            d.name.text, dimensions_of(d)));
      out_.text(fmt::format(
          "static_assert(sizeof({}) <= ::weir_host::most_shared_bytes, \"a block has at most 227 KiB of shared memory\");",
          d.name.text));
    }
  }
}

std::string Emitter::type_of(const Statement& s, const Declarator& d) const {
  return text_of(type_specifiers(s.specifiers, true)) + " " + text_of(d.pointer) + dimensions_of(d);
}

// The lambda that a function in which threads meet is given, or nothing if `d` is none. It refers to the block's variables
// and to those that lie in arrays, and copies what each piece computes anew.
Words Emitter::lambda_value(const Declarator& d) const {
  const std::size_t open = is_at(d.initializer, 0, "(") ? 1 : 0;
  if (!d.name.text.starts_with("weir_own_") || !is_at(d.initializer, open, "[") || is_at(d.initializer, open + 1, "["))
    return {};
  Words words = d.initializer;
  Names copied;
  std::set<std::string> indices;
  for (const Word& word : words) {
    if (word.is_identifier() && unit_.reads_thread_variables(word.text)) {
      throw Refused(
          word.token,
          fmt::format("'{}', which reads threadIdx, in a lambda that is handed to a function in which threads work "
                      "together; compute it before the lambda",
                      word.text));
    }
    if (word.variable != no_variable && f_.variable(word.variable).place == Place::recomputed) copied.insert(word.variable);
    if ((word.is("threadIdx") || word.is("weir_global_x")) && !f_.uses_thread_variables) indices.insert(word.text);
  }
  if (!is_at(words, open + 1, "&") || !is_at(words, open + 2, "]")) return words;
  Words captures;
  const auto capture = [&](const std::string& name, int variable) {
    captures.push_back({Token::Kind::punctuation, ",", no_token, no_variable});
    captures.push_back({Token::Kind::identifier, name, no_token, variable});
  };
  for (const int index : copied) capture(f_.variable(index).name, index);
  for (const std::string& name : indices) capture(name, no_variable);
  words.insert(words.begin() + static_cast<std::ptrdiff_t>(open) + 2, captures.begin(), captures.end());
  return words;
}

// Where the values of a variable lie that outlives its piece.
void Emitter::storage(const Statement& s, const Declarator& d) {
  const std::string& name = d.name.text;
  out_.at(d.name.token);
  if (contains(s.specifiers, "decltype")) {
    throw Refused(s.token,
                  fmt::format("'{}' lives across a place where threads meet, and its type is written with decltype", name));
  }
  const bool unsized =
      std::any_of(d.dimensions.begin(), d.dimensions.end(), [](const Words& dimension) { return dimension.empty(); });
  if (unsized)
    throw Refused(s.token, fmt::format("the array '{}' lives across a place where threads meet; write its size", name));
  if (!contains(s.specifiers, "auto") && !d.is_reference()) {
    out_.text(fmt::format("::weir_host::lanes<{}> weir_lanes_{}(weir_b);", type_of(s, d), name));
    return;
  }
  Names names;
  add_names(d.initializer, names);
  add_what_names_need(names);
  names.erase(d.name.variable);
  out_.text(fmt::format("const auto weir_type_{} =", name));
  open_lambda(names, {}, false);
  out_.text(d.is_reference() ? "return &(" : "return (");
  const Words lambda = lambda_value(d);
  expression(lambda.empty() ? d.initializer : lambda);
  out_.text(
      fmt::format("); }}; ::weir_host::lanes<decltype(weir_type_{0}(::uint3{{}}, 0u, 0u))> weir_lanes_{0}(weir_b);", name));
}

void Emitter::bindings(const Names& names, const Names& own) {
  for (const int index : names) {  // in the order of their declarations
    const Variable& v = f_.variable(index);
    if (own.count(index) != 0) continue;
    if (v.place == Place::recomputed) {
      out_.text("[[maybe_unused]]").words(v.statement->specifiers).words(v.declarator->pointer).text(v.name).text("=");
      expression(v.declarator->initializer);
      out_.text(";");
    } else if (v.place == Place::lanes && v.kind != Variable::Kind::shared) {
      const bool reference = v.declarator != nullptr && v.declarator->is_reference();
      out_.text(fmt::format("[[maybe_unused]] auto& {0} = {1}weir_lanes_{0}.at(weir_t);", v.name, reference ? "*" : ""));
    }
  }
}

void Emitter::open_lambda(const Names& names, const Names& own, bool result_is_bool, std::string_view parameter) {
  out_.text(f_.uses_thread_variables
                ? "[&](const ::uint3 weir_index, const unsigned int weir_global_x, const unsigned int weir_t"
                : "[&]([[maybe_unused]] const ::uint3 threadIdx, [[maybe_unused]] const unsigned int weir_global_x, "
                  "[[maybe_unused]] const unsigned int weir_t");
  out_.text(fmt::format("{}) __attribute__((always_inline))", parameter));
  out_.text(result_is_bool ? "-> bool {" : "{");
  if (f_.uses_thread_variables) set_thread_variables();
  bindings(names, own);
}

void Emitter::set_thread_variables() {
  out_.text(fmt::format("::threadIdx = {}; ::weir_global_x = weir_global_x;",
                        f_.uses_thread_variables ? "weir_index" : "threadIdx"));
  sets_ = true;
}

void Emitter::condition(const Words& words) { computed(words, true); }
void Emitter::value(const Words& words) { computed(words, false); }

void Emitter::computed(const Words& words, bool as_condition) {
  Names names;
  add_names(words, names);
  add_what_names_need(names);
  Statement s;
  s.kind = Kind::expression;
  s.words = words;
  const bool sets = calls_thread_readers(names, {&s});
  open_lambda(names, {}, as_condition);
  if (sets) set_thread_variables();
  out_.text(as_condition ? "return bool(" : "return (");
  expression(words);
  out_.text("); }");
}

// --- Pieces -----------------------------------------------------------------------------------------------------------

// Whether a piece calls something that reads threadIdx and its like as variables.
bool Emitter::calls_thread_readers(const Names& names, const std::vector<const Statement*>& statements) const {
  if (f_.uses_thread_variables) return false;  // they are set anyhow
  if (unit_.hidden_code_reads_thread_variables()) return true;
  const auto reads = [&](const Word& word) { return word.is_identifier() && unit_.reads_thread_variables(word.text); };
  for (const Statement* s : statements) {
    if (has_word(*s, reads)) return true;
  }
  return std::any_of(names.begin(), names.end(), [&](int index) {
    const Variable& v = f_.variable(index);
    return v.place == Place::recomputed &&
           std::any_of(v.declarator->initializer.begin(), v.declarator->initializer.end(), reads);
  });
}

// Whether a compiler may be told that the threads of a piece do not depend on each other. A promise that it would also apply
// to what lies in memory and is a thread's own: so only for scalars of built-in types, where nothing unknown is called, and
// where a thread's own order cannot suffer.
bool Emitter::may_vectorize(const std::vector<const Statement*>& statements) const {
  bool may = !f_.uses_thread_variables && !order_matters(f_, statements);
  for (const Statement* top : statements) {
    for_all(*top, [&](const Statement& s) {
      may = may && !s.is(Kind::type) && !s.is(Kind::range_loop) && !s.is(Kind::choice) && !s.is(Kind::jump);
      if (s.is(Kind::leave) && !s.words.empty()) may = false;
      if (s.is(Kind::declaration)) {
        for (const Word& word : s.specifiers) {
          const bool known = is_type_word(word.text) || word.is("size_t") || word.text.ends_with("_t");
          may = may && known && !word.is("struct") && !word.is("volatile") && !word.is("static");
        }
        for (const Declarator& d : s.declarators) {
          const bool kept = f_.variable(d.name.variable).place != Place::piece;
          may = may && (kept || d.dimensions.empty()) && !d.is_reference();
        }
      }
      for_own_words(s, [&](const Words& words) {
        for (std::size_t i = 0; i < words.size(); ++i) {
          if (words[i].is("&") && is_prefix(words, i)) may = false;
          if (words[i].is("[") && is_prefix(words, i)) may = false;
          if (!words[i].is("(") || i == 0) continue;
          const Word& before = words[i - 1];
          if (before.is_identifier() && !is_type_word(before.text) && !is_keyword(before.text)) {
            may = may && is_plain_function(before.text) && !unit_.defines_function(before.text);
          } else if (before.is(">") && !contains(words, "static_cast") && !contains(words, "reinterpret_cast")) {
            may = may && i > 1 && !is_at(words, i - 2, ">");
          }
        }
      });
    });
  }
  return may;
}

// A piece would end the life of its objects before their scope ends.
void Emitter::check_destructors(const Statement& s) {
  for (const Declarator& d : s.declarators) {
    const bool object = std::any_of(s.specifiers.begin(), s.specifiers.end(),
                                    [](const Word& word) { return !is_type_word(word.text) || word.is("auto"); });
    if (!object || d.is_reference() || contains(d.pointer, "*") || d.name.variable == no_variable ||
        f_.variable(d.name.variable).place != Place::piece || f_.variable(d.name.variable).kind == Variable::Kind::shared)
      continue;
    const std::string& name = f_.variable(d.name.variable).name;
    out_.text(
        fmt::format("static_assert(__has_trivial_destructor(decltype({0})), \"the destructor of '{0}' would run before its "
                    "scope ends, since threads meet or leave behind it: put it in braces of its own\");",
                    name));
  }
}

void Emitter::piece(const std::vector<const Statement*>& statements, bool last) {
  Names names, own;
  for (const Statement* s : statements) {
    for (const int index : names_in(*s)) names.insert(index);
    for (const Declarator& d : s->declarators) own.insert(d.name.variable);
  }
  bool returns = false, leaves = false;
  for (const Statement* s : statements) {
    returns = returns || has_return(*s);
    leaves = leaves || leaves_by_jump(*s);
  }
  out_.at(statements[0]->token);
  if (!returns && !leaves && may_vectorize(statements) && !calls_thread_readers(names, statements)) {
    const Rows found = rows_of(statements, f_, unit_);
    if (found.useful) return rows(found, last, names, own);
  }
  out_.text(may_vectorize(statements) ? "weir_b.run<true>(weir_m," : "weir_b.run<false>(weir_m,");
  const bool sets = calls_thread_readers(names, statements);
  open_lambda(names, own, false);
  if (sets) set_thread_variables();
  out_.text("{");
  for (const Statement* s : statements) {
    statement_in_piece(*s, false, false);
    if (!last) check_destructors(*s);
  }
  out_.text("} });");
  if (leaves) out_.text("weir_m.remove(weir_gone);");
  if (returns && f_.place->is_kernel) out_.text("weir_b.retire(weir_gone);");
}

// A piece of which compilers cannot see by themselves that it works on neighbouring elements: what they need to know is
// asked of the first and the last thread of each row.
void Emitter::rows(const Rows& rows, bool last, const Names& names, const Names& own) {
  Names asked, known;
  for (const Statement* s : rows.known) {
    known.insert(s->declarators[0].name.variable);
    add_names(s->declarators[0].initializer, asked);
  }
  for (const RowPart& part : rows.parts) add_names(part.condition, asked);
  for (const Words& index : rows.indices) add_names(index, asked);
  add_what_names_need(asked);
  const auto counting =
      std::count_if(rows.parts.begin(), rows.parts.end(), [](const RowPart& p) { return !p.counting.empty(); });
  out_.text(fmt::format("weir_b.run_rows<{}>(weir_m,", counting));
  open_lambda(asked, known, false, fmt::format(", ::weir_host::row_end<{}>& weir_end", counting));
  for (const Statement* s : rows.known) {
    out_.text("[[maybe_unused]]");
    declaration_in_piece(*s, true);
  }
  int bit = 0;
  for (const RowPart& part : rows.parts) {
    if (part.counting.empty()) {  // what stands behind it may have no meaning where it is false
      out_.text(part.negated ? "if (" : "if (!bool(").words(part.condition);
      out_.text(fmt::format("{} {{ weir_end.closed = true; return; }}", part.negated ? ")" : "))"));
      continue;
    }
    out_.text(fmt::format("weir_end.holds |= (unsigned int){}bool(", part.negated ? "!" : ""));
    expression(part.condition);
    out_.text(fmt::format(") << {0}; weir_end.levels[{0}] = ::weir_host::level((", bit++));
    expression(part.counting);
    out_.text("), (");
    expression(part.fixed);
    out_.text("), 0);");
  }
  const auto limit = [&](const Words& words, std::string_view function) {
    out_.text(fmt::format("weir_end.limit(::weir_host::{}(", function));
    expression(words);
    out_.text("));");
  };
  for (const Words& index : rows.indices) limit(index, "room_behind");
  for (const Words& words : rows.converted) limit(words, "room_of_whole");
  out_.text("},");
  open_lambda(names, own, false, ", [[maybe_unused]] const size_t weir_along");
  out_.text("{");
  side_by_side_ = rows.texts;
  for (const Statement* s : rows.body) {
    statement_in_piece(*s, false, false);
    if (!last) check_destructors(*s);
  }
  side_by_side_.clear();
  out_.text("} });");
  takes_rows_ = true;
}

void Emitter::statements_in_piece(const Statements& list, bool in_loop, bool in_choice) {
  out_.text("{");
  for (const Statement& s : list) statement_in_piece(s, in_loop, in_choice);
  out_.text("}");
}

void Emitter::statement_in_piece(const Statement& s, bool in_loop, bool in_choice) {
  out_.at(s.token);
  switch (s.kind) {
    case Kind::block: statements_in_piece(s.body, in_loop, in_choice); break;
    case Kind::expression:
      expression(s.words);
      out_.text(";");
      break;
    case Kind::declaration:
      if (s.is_shared()) {
        shared(s, false);
      } else {
        declaration_in_piece(s, true);
      }
      break;
    case Kind::type:
    case Kind::label: out_.words(s.words); break;
    case Kind::branch:
      out_.text(s.is_constexpr ? "if constexpr (" : "if (");
      expression(s.words);
      out_.text(")");
      statements_in_piece(s.body, in_loop, in_choice);
      if (s.has_other) {
        out_.text("else");
        statements_in_piece(s.other, in_loop, in_choice);
      }
      break;
    case Kind::loop:
      if (s.loop == Statement::Loop::do_loop) {
        out_.text("do");
        statements_in_piece(s.body, true, false);
        out_.text("while (");
        expression(s.words);
        out_.text(");");
        break;
      }
      out_.text(s.loop == Statement::Loop::for_loop ? "for (" : "while (");
      if (s.loop == Statement::Loop::for_loop) {
        if (s.first.empty()) {
          out_.text(";");
        } else if (s.first[0].is(Kind::declaration)) {
          declaration_in_piece(s.first[0], true);
        } else {
          expression(s.first[0].words);
          out_.text(";");
        }
      }
      expression(s.words);
      if (s.loop == Statement::Loop::for_loop) {
        out_.text(";");
        expression(s.step);
      }
      out_.text(")");
      statements_in_piece(s.body, true, false);
      break;
    case Kind::range_loop:
    case Kind::choice:
      out_.text(s.is(Kind::choice) ? "switch (" : "for (");
      expression(s.words);
      out_.text(")");
      statements_in_piece(s.body, in_loop || s.is(Kind::range_loop), s.is(Kind::choice));
      break;
    case Kind::leave:
      out_.text("{");
      if (!s.words.empty() && f_.returns_value && !f_.place->is_kernel) {
        out_.text("weir_return.at(weir_t) =");
        expression(s.words);
        out_.text(";");
      }
      out_.text("weir_gone.set(weir_t, ::weir_host::returned); return; }");
      break;
    case Kind::jump: {
      const bool breaks = s.words[0].is("break");
      if (in_loop || (breaks && in_choice)) {
        out_.words(s.words).text(";");
      } else {
        out_.text(fmt::format("{{ weir_gone.set(weir_t, ::weir_host::{}); return; }}", breaks ? "broke_off" : "continued"));
      }
      break;
    }
    case Kind::meeting:
    case Kind::call: throw Refused(s.token, fmt::format("'{}' cannot stand here", s.function));
  }
}

void Emitter::plain_declarator(const Declarator& d) {
  out_.words(d.pointer).word(d.name);
  for (const Words& dimension : d.dimensions) out_.text("[").words(dimension).text("]");
  switch (d.form) {
    case Form::none: return;
    case Form::equals: out_.text("="); break;
    case Form::parentheses: out_.text("("); break;
    case Form::braces: out_.text("{"); break;
  }
  expression(d.initializer);
  if (d.form != Form::equals) out_.text(d.form == Form::braces ? "}" : ")");
}

void Emitter::declaration_in_piece(const Statement& s, bool with_end) {
  bool open = false;
  for (const Declarator& d : s.declarators) {
    const bool kept = d.name.variable != no_variable && f_.variable(d.name.variable).place == Place::lanes;
    if (kept) {
      if (open) out_.text(";");
      open = false;
      kept_declaration(s, d);
      continue;
    }
    if (open) {
      out_.text(",");
    } else {
      out_.words(s.specifiers);
    }
    open = true;
    plain_declarator(d);
  }
  if (open && with_end) out_.text(";");
}

// The beginning of a variable's life in the array over the threads.
void Emitter::kept_declaration(const Statement& s, const Declarator& d) {
  const std::string& name = d.name.text;
  out_.at(d.name.token);
  if (d.is_reference()) {
    out_.text(fmt::format("weir_lanes_{}.at(weir_t) = &(", name));
    expression(d.initializer);
    out_.text(fmt::format("); auto& {0} = *weir_lanes_{0}.at(weir_t);", name));
    return;
  }
  out_.text(fmt::format("[[maybe_unused]] auto& {0} = weir_lanes_{0}.at(weir_t);", name));
  const bool deduced = contains(s.specifiers, "auto");
  const std::string type = deduced ? fmt::format("decltype(weir_type_{}(::uint3{{}}, 0u, 0u))", name) : type_of(s, d);
  if (deduced && !lambda_value(d).empty()) {  // the same lambda, which has a type of its own wherever it is written
    out_.text(fmt::format("::new (::weir_host::memory{{&{0}}}) {1}(weir_type_{0}({2}, weir_global_x, weir_t));", name, type,
                          f_.uses_thread_variables ? "weir_index" : "threadIdx"));
    return;
  }
  const bool list = d.form == Form::braces || (d.form == Form::equals && d.initializer[0].is("{"));
  if (d.form == Form::none) {
    out_.text(fmt::format("::weir_host::begin({});", name));
    return;
  }
  if (!list && !d.dimensions.empty()) {
    throw Refused(
        s.token, fmt::format("the array '{}' lives across a place where threads meet; give it its values one by one", name));
  }
  out_.text(fmt::format("{{ using weir_T = {};", type));
  out_.text(list ? fmt::format("::weir_host::copy({}, weir_T", name)
                 : fmt::format("::new (::weir_host::memory{{&{}}}) weir_T(", name));
  if (d.form == Form::braces) out_.text("{");
  expression(d.initializer);
  if (d.form == Form::braces) out_.text("}");
  out_.text("); }");
}

// --- Expressions ------------------------------------------------------------------------------------------------------

// Atomics on the block's own memory need no other worker's leave.
void Emitter::expression(const Words& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Word& word = words[i];
    const bool plain_call = word.is_identifier() && is_atomic(word.text) && is_at(words, i + 1, "(") &&
                            is_at(words, i + 2, "&") && i + 3 < words.size() && words[i + 3].variable != no_variable &&
                            f_.variable(words[i + 3].variable).kind == Variable::Kind::shared &&
                            (i == 0 || !words[i - 1].is("::"));
    if (plain_call) {
      // Exactly as many subscripts as dimensions: an element of the array itself, and nothing that it points to.
      const std::size_t dimensions = f_.variable(words[i + 3].variable).declarator->dimensions.size();
      std::size_t end = i + 4, subscripts = 0;
      while (is_at(words, end, "[")) {
        end = closing(words, end) + 1;
        ++subscripts;
      }
      if (subscripts == dimensions && is_at(words, end, ",")) {
        Word alone = word;
        alone.text = "::weir_host::alone::" + word.text.substr(0, word.text.find('_'));
        out_.word(alone);
        continue;
      }
    }
    out_.word(word);
    if (side_by_side_.empty() || !word.is("[")) continue;
    const Words index = slice(words, i + 1, closing(words, i));
    if (side_by_side_.count(text_of(index)) == 0) continue;
    out_.text("::weir_host::along(").words(index).text(", weir_along)");
    i += index.size();
  }
}

}  // namespace weir::kernels
