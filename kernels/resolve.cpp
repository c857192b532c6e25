// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>

#include "kernels/function.hpp"
#include "kernels/vocabulary.hpp"

namespace weir::kernels {
namespace {

using Kind = Statement::Kind;

class Resolver {
 public:
  explicit Resolver(Function& function) : function_(function) {}

  void run() {
    function_.controls.push_back({nullptr, 0});
    scopes_.emplace_back();
    for (Parameter& p : function_.parameters) {
      if (p.name.text.empty()) continue;
      Variable v;
      v.kind = Variable::Kind::parameter;
      v.specifiers = p.type;
      v.at_list_level = true;
      p.variable = declare(p.name, std::move(v));
    }
    list(function_.body, 0, true, false);
  }

 private:
  using Scope = std::map<std::string, int>;

  int find(const std::string& name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      const auto found = scope->find(name);
      if (found != scope->end()) return found->second;
    }
    return no_variable;
  }

  int declare(Word& name, Variable&& v) {
    v.name = name.text;
    if (find(name.text) != no_variable || outside_.count(name.text) != 0)
      v.name = fmt::format("weir_{}_{}", ++renamed_, name.text);
    const int index = static_cast<int>(function_.variables.size());
    scopes_.back()[name.text] = index;
    name.variable = index;
    name.text = v.name;
    function_.variables.push_back(std::move(v));
    return index;
  }

  void words(Words& list) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (!can_name_variable(list, i) || list[i].variable != no_variable) continue;
      list[i].variable = find(list[i].text);
      // What a lambda or a class declares itself stands behind its type.
      if (list[i].variable == no_variable && !(i > 0 && list[i - 1].is_identifier() && !is_keyword(list[i - 1].text)))
        outside_.insert(list[i].text);
      if (list[i].variable != no_variable) list[i].text = function_.variable(list[i].variable).name;
    }
  }

  void list(std::vector<Statement>& statements, int control, bool list_level, bool in_head) {
    for (Statement& s : statements) statement(s, control, list_level, in_head);
  }
  void scope(std::vector<Statement>& statements, int control, bool list_level) {
    scopes_.emplace_back();
    list(statements, control, list_level, false);
    scopes_.pop_back();
  }

  int enter(const Statement& s, int parent) {
    function_.controls.push_back({&s, parent});
    return static_cast<int>(function_.controls.size()) - 1;
  }

  void statement(Statement& s, int control, bool list_level, bool in_head) {
    const bool inner_level = list_level && s.cooperates;
    switch (s.kind) {
      case Kind::block: scope(s.body, control, inner_level); break;
      case Kind::declaration: declaration(s, control, list_level, in_head); break;
      case Kind::type: type(s); break;
      case Kind::branch: {
        words(s.words);
        const int inner = enter(s, control);
        scope(s.body, inner, inner_level);
        scope(s.other, inner, inner_level);
        break;
      }
      case Kind::loop:
      case Kind::choice:
      case Kind::range_loop: {
        const int inner = enter(s, control);
        scopes_.emplace_back();
        list(s.first, inner, inner_level, true);
        scope_of_before(s, inner, inner_level);
        scopes_.pop_back();
        break;
      }
      case Kind::meeting:
      case Kind::call: {
        words(s.words);
        for (Words& argument : s.arguments) words(argument);
        words(s.template_arguments);
        check_references(s);
        if (s.result.text.empty()) break;
        Variable v;
        v.kind = Variable::Kind::result;
        v.scope = control;
        v.at_list_level = list_level;
        const Meeting* const meeting = s.is(Kind::meeting) ? find_meeting(s.function) : nullptr;
        v.block_wide = meeting != nullptr && meeting->result == Meeting::Result::same;
        declare(s.result, std::move(v));
        break;
      }
      default: words(s.words); break;
    }
  }

  // What the condition needs is declared around the body: it stands before the condition each time.
  void scope_of_before(Statement& s, int control, bool list_level) {
    if (s.loop == Statement::Loop::do_loop) scope(s.body, control, list_level);
    before_condition_ = true;
    list(s.before, control, list_level, false);
    before_condition_ = false;
    words(s.words);
    words(s.step);
    if (s.loop != Statement::Loop::do_loop) scope(s.body, control, list_level);
    before_condition_ = true;
    list(s.after, control, list_level, false);
    before_condition_ = false;
  }

  void declaration(Statement& s, int control, bool list_level, bool in_head) {
    words(s.specifiers);
    for (Declarator& d : s.declarators) {
      for (Words& dimension : d.dimensions) words(dimension);
      Variable v;
      v.specifiers = s.specifiers;
      v.declarator = &d;
      v.pointer = d.pointer;
      v.statement = &s;
      v.scope = control;
      v.in_head = in_head;
      v.before_condition = before_condition_;
      v.at_list_level = list_level;
      if (s.is_shared()) v.kind = Variable::Kind::shared;
      if (d.name.text.starts_with("weir_operand_") || d.name.text.starts_with("weir_own_")) v.kind = Variable::Kind::operand;
      std::vector<std::size_t> own;  // `T* p = reinterpret_cast<decltype(p)>(q)`
      for (std::size_t i = 2; i < d.initializer.size(); ++i) {
        if (d.initializer[i].is(d.name.text) && d.initializer[i - 1].is("(") && d.initializer[i - 2].is("decltype"))
          own.push_back(i);
      }
      words(d.initializer);
      const int index = declare(d.name, std::move(v));
      for (const std::size_t i : own) {
        d.initializer[i].variable = index;
        d.initializer[i].text = d.name.text;
      }
    }
  }

  // A class in a function sees constants of the function by their first names.
  void type(Statement& s) {
    Words copy = s.words;
    words(copy);
    for (std::size_t i = 0; i < copy.size(); ++i) {
      if (copy[i].text != s.words[i].text && contains(copy, "{")) {
        throw Refused(s.words[i].token,
                      fmt::format("'{}' in a class inside a function hides, or is, a variable that hides another one; "
                                  "rename one of them",
                                  s.words[i].text));
      }
    }
    s.words = std::move(copy);
  }

  // What is passed by reference, and so copied in and out.
  void check_references(const Statement& s) const {
    for (const Word& word : s.words) {
      const Variable* const v = word.variable == no_variable ? nullptr : &function_.variable(word.variable);
      // A parameter by reference is the function's own until it returns.
      const bool own = v != nullptr &&
                       (v->kind == Variable::Kind::parameter ||
                        (v->kind != Variable::Kind::shared && !contains(v->pointer, "&") && !contains(v->specifiers, "&")));
      if (!own) {
        throw Refused(
            word.token,
            fmt::format("'{}' is passed by reference to '{}', in which threads work together, and is no variable of "
                        "the thread's own; pass its address",
                        word.text, s.function.substr(s.function.find_last_of(": ") + 1)));
      }
    }
  }

  Function& function_;
  std::vector<Scope> scopes_;
  std::set<std::string> outside_;  // names that meant no variable of the function up to here
  int renamed_ = 0;
  bool before_condition_ = false;
};

// `decltype(v)` is the type that `v` is declared with. A piece has a reference by the name of `v` where its value lies in an
// array over the threads.
void keep_declared_types(const Function& f, Words& words) {
  Words result;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool of_variable = words[i].is("decltype") && is_at(words, i + 1, "(") && is_at(words, i + 3, ")") &&
                             words[i + 2].variable != no_variable;
    const Variable* const v = of_variable ? &f.variable(words[i + 2].variable) : nullptr;
    const bool reference = v != nullptr && (contains(v->pointer, "&") || contains(v->specifiers, "&") ||
                                            (v->declarator != nullptr && v->declarator->is_reference()));
    if (v == nullptr || reference) {
      result.push_back(words[i]);
      continue;
    }
    append(result, made_up("::weir_host::declared<", words[i].token));
    append(result, slice(words, i, i + 4));
    append(result, made_up(">", words[i].token));
    i += 3;
  }
  words = std::move(result);
}

}  // namespace

void resolve_names(Function& function) {
  Resolver(function).run();
  for (Statement& top : function.body) {
    for_all(top, [&](Statement& s) { for_own_words(s, [&](Words& words) { keep_declared_types(function, words); }); });
  }
}

void follow_members(Function& f, const Unit& unit) {
  if (!f.place->has_object()) return;
  const int self = f.parameters[0].variable;
  for (Statement& top : f.body) {
    for_all(top, [&](Statement& s) {
      for_own_words(s, [&](Words& words) {
        Words result;
        for (std::size_t i = 0; i < words.size(); ++i) {
          if (can_name_variable(words, i) && words[i].variable == no_variable &&
              unit.has_member(f.place->of_class, words[i].text)) {
            result.push_back({Token::Kind::identifier, "weir_self", words[i].token, self});
            result.push_back({Token::Kind::punctuation, "->", words[i].token, no_variable});
          }
          result.push_back(words[i]);
        }
        words = std::move(result);
      });
    });
  }
}

}  // namespace weir::kernels
