// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "kernels/conditions.hpp"
#include "kernels/function.hpp"
#include "kernels/vocabulary.hpp"

namespace weir::kernels {
namespace {

using Kind = Statement::Kind;
using Statements = std::vector<Statement>;

class Extractor {
 public:
  Extractor(Function& function, const Unit& unit) : function_(function), unit_(unit) {}

  void run() {
    for (const Parameter& p : function_.parameters) {
      own_.insert(p.name.text);
      (p.is_array ? capturable_.arrays : capturable_.variables).insert(p.name.text);
    }
    for (const Statement& top : function_.body) {
      for_all(top, [&](const Statement& s) {
        for (const Declarator& d : s.declarators) {
          (s.is_shared() || d.is_reference() ? others_ : own_).insert(d.name.text);
          can_capture(s, d);
          if (!s.is_shared()) dimensions_[d.name.text] = d.dimensions.size();
        }
      });
    }
    for (const Statement& top : function_.body) {
      for_all(top, [&](const Statement& s) { find_aliases(s); });
    }
    list(function_.body);
  }

 private:
  // Names by which a variable may be reached that has another one: pointers, references, lambdas.
  void find_aliases(const Statement& s) {
    const auto note = [&](const Word& alias, const Words& value, bool refers) {
      refers = refers || is_at(value, 0, "[");
      for (std::size_t i = 0; i < value.size(); ++i) {
        if (!can_name_variable(value, i) || own_.count(value[i].text) == 0) continue;
        const bool address = i > 0 && value[i - 1].is("&") && is_prefix(value, i - 1);
        const auto array = dimensions_.find(value[i].text);
        const bool decays = array != dimensions_.end() && array->second > 0 && !is_at(value, i + 1, "[");
        if (refers || address || decays) aliases_[value[i].text].insert(alias.text);
      }
    };
    for (const Declarator& d : s.declarators) note(d.name, d.initializer, d.is_reference());
    if (s.words.size() > 2 && s.words[0].is_identifier() && s.words[1].is("="))
      note(s.words[0], slice(s.words, 2, s.words.size()), false);
  }

  // Refuses a call that hands over a variable of the thread's own by reference, and another way to it beside: the function
  // gets copies of such variables.
  // Returns whether it is the object, or a part of it, whose function is called: it may be seen to change meanwhile.
  bool check_other_ways(const Function& callee, std::size_t index, const std::vector<Words>& arguments, const Words& object,
                        const Statement& call) const {
    const auto base = [](const Words& value) {
      std::size_t i = 0;
      while (i < value.size() && (value[i].is("(") || value[i].is("*") || value[i].is("&"))) ++i;
      return i < value.size() && value[i].is_identifier() ? value[i].text : std::string();
    };
    const std::string name = base(arguments[index]);
    if (name.empty() || own_.count(name) == 0 || others_.count(name) != 0) return false;
    const auto aliases = aliases_.find(name);
    const bool written = callee.parameters[index].is_written;
    if (!written && !may_be_in_memory(arguments[index])) return false;  // it is a temporary
    const bool of_object = !object.empty() && base(object) == name;
    const bool is_object = of_object && !written && is_name_or_member(arguments[index]);
    bool reached = false;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (i == index) continue;
      const Words& other = arguments[i];
      const Parameter& parameter = callee.parameters[i];
      const bool by_reference =  // of what is computed it sees a copy anyway
          parameter.is_written || parameter.is_array || (parameter.is_viewed && written && may_be_in_memory(other));
      reached = reached || (by_reference && base(other) == name);
      for (std::size_t k = 0; k < other.size(); ++k) {
        if (!can_name_variable(other, k)) continue;
        reached = reached || (aliases != aliases_.end() && aliases->second.count(other[k].text) != 0);
        if (!other[k].is(name)) continue;
        const auto array = dimensions_.find(name);
        reached = reached || is_at(other, 0, "[") || (k > 0 && other[k - 1].is("&") && is_prefix(other, k - 1)) ||
                  (array != dimensions_.end() && array->second > 0 && !is_at(other, k + 1, "["));
      }
    }
    if (reached || (of_object && !is_object))
      throw Refused(call.token, fmt::format("'{}' takes '{}' by reference, and another argument reaches it, too; give it a "
                                            "copy",
                                            function_name(call.function), name));
    return is_object;
  }
  static std::string_view function_name(std::string_view qualified) {
    const std::size_t colons = qualified.rfind("::");
    return colons == std::string_view::npos ? qualified : qualified.substr(colons + 2);
  }
  // `a`, `a.b`, `a->b[0]`
  static bool is_name_or_member(const Words& value) {
    if (value.empty() || !value[0].is_identifier() || is_keyword(value[0].text)) return false;
    for (std::size_t i = 1; i < value.size();) {
      const bool member = value[i].is(".") || value[i].is("->");
      if (!member && !value[i].is("[")) return false;
      i = member ? i + 2 : after(value, i);
    }
    return true;
  }

  void list(Statements& statements) {
    Statements out;
    const auto lambdas = lambdas_;
    for (Statement& s : statements) statement(std::move(s), out);
    lambdas_ = lambdas;
    statements = std::move(out);
  }

  void can_capture(const Statement& s, const Declarator& d) {
    if (s.is_shared() || contains(s.specifiers, "static")) return;
    const bool constant = !d.is_reference() && d.pointer.empty() &&
                          (contains(s.specifiers, "const") || contains(s.specifiers, "constexpr"));
    auto& names = constant ? capturable_.constants : d.dimensions.empty() ? capturable_.variables : capturable_.arrays;
    names.insert(d.name.text);
  }

  static bool any_cooperates(const Statements& statements) {
    return std::any_of(statements.begin(), statements.end(), [](const Statement& s) { return s.cooperates; });
  }

  const Meeting* meeting_at(const Words& words, std::size_t i) const {
    if (!words[i].is_identifier()) return nullptr;
    return unit_.meeting(i > 1 ? words[i - 2].text : "", i > 0 ? words[i - 1].text : "", words[i].text,
                         i + 1 < words.size() ? words[i + 1].text : "");
  }
  Unit::Callee callee_at(const Words& words, std::size_t i) const {
    if (!words[i].is_identifier()) return Unit::Callee::none;
    return unit_.callee(i > 1 ? words[i - 2].text : "", i > 0 ? words[i - 1].text : "", words[i].text,
                        i + 1 < words.size() ? words[i + 1].text : "", function_.place->of_class, function_.place->first);
  }
  bool is_meeting_place(const Words& words, std::size_t i) const {
    return meeting_at(words, i) != nullptr || callee_at(words, i) != Unit::Callee::none || is_lambda(words, i);
  }
  bool is_lambda(const Words& words, std::size_t i) const {
    return !lambdas_.empty() && can_name_variable(words, i) && lambdas_.count(words[i].text) != 0;
  }
  bool has_meeting(const Words& words) const {
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (is_meeting_place(words, i)) return true;
    }
    return false;
  }
  void refuse_meeting(const Words& words, const char* where) const {
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (is_meeting_place(words, i)) throw Refused(words[i].token, fmt::format("'{}' {}", words[i].text, where));
    }
  }

  bool meets_in(const Statement& s) const {
    bool meets = false;
    for_all(s, [&](const Statement& inner) {
      for_own_words(inner, [&](const Words& words) { meets = meets || has_meeting(words); });
    });
    return meets;
  }

  // `if (T x = …; condition)` and `if (T x = …)` become a block.
  bool branch_with_declaration(Statement& s, Statements& out) {
    std::size_t end = 0;
    while (end < s.words.size() && !s.words[end].is(";")) end = after(s.words, end);
    Statement declaration;
    const bool declares = end == s.words.size() && !s.words.empty() && parse_declaration(s.words, declaration) &&
                          declaration.declarators[0].form != Declarator::Form::none;
    if ((end == s.words.size() && !declares) || !meets_in(s)) return false;
    Statement block;
    block.token = s.token;
    Words first = slice(s.words, 0, end);
    append(first, made_up(";", s.token));
    block.body = parse_statements(first);
    s.words = declares ? Words{declaration.declarators[0].name} : slice(s.words, end + 1, s.words.size());
    block.body.push_back(std::move(s));
    statement(std::move(block), out);
    return true;
  }

  void statement(Statement&& s, Statements& out) {
    switch (s.kind) {
      case Kind::block: list(s.body); break;
      case Kind::expression: return expression(std::move(s), out);
      case Kind::declaration: return declaration(std::move(s), out);
      case Kind::leave: pull(s.words, out); break;
      case Kind::branch:
        if (branch_with_declaration(s, out)) return;
        pull(s.words, out);
        list(s.body);
        list(s.other);
        break;
      case Kind::loop: loop(s); break;
      case Kind::range_loop:
        for_all(std::as_const(s), [&](const Statement& inner) {
          for_own_words(inner, [&](const Words& words) {
            refuse_meeting(words, "inside a loop over a range; write it with an index");
          });
        });
        break;
      case Kind::choice: {
        if (meets_in(s)) return choice(std::move(s), out);
        break;
      }
      case Kind::type: refuse_meeting(s.words, "inside a class or a declaration of a type"); break;
      default: break;
    }
    for_lists(s, [&](const Statements& inner) { s.cooperates = s.cooperates || any_cooperates(inner); });
    if (s.cooperates && (s.is(Kind::branch) || s.is(Kind::loop))) refuse_declaration(s.words);
    out.push_back(std::move(s));
  }

  static bool breaks(const Statements& statements) {
    return std::any_of(statements.begin(), statements.end(), [](const Statement& s) {
      if (s.is(Kind::jump)) return s.words[0].is("break");
      return (s.is(Kind::block) || s.is(Kind::branch)) && (breaks(s.body) || breaks(s.other));
    });
  }
  // Takes the break off the end of a part of a switch. False if control may fall through to the next part.
  static bool end_part(Statements& part) {
    if (part.empty()) return false;
    Statement& last = part.back();
    if (last.is(Kind::block)) return end_part(last.body);
    if (last.is(Kind::leave) || (last.is(Kind::jump) && last.words[0].is("continue"))) return true;
    if (!last.is(Kind::jump)) return false;
    part.pop_back();
    return true;
  }

  // A switch in which threads meet becomes a chain of ifs.
  void choice(Statement&& s, Statements& out) {
    struct Part {
      std::uint32_t token;
      bool is_default;
      Words condition;
      Statements statements;
    };
    pull(s.words, out);
    const Words value = operand(s.words, out, false);
    std::vector<Part> parts;
    bool behind_label = false;
    for (Statement& inner : s.body) {
      if (!inner.is(Kind::label)) {
        if (parts.empty()) throw Refused(inner.token, "a statement before the first case of a switch in which threads meet");
        parts.back().statements.push_back(std::move(inner));
        behind_label = false;
        continue;
      }
      if (!behind_label) parts.push_back({inner.token, false, {}, {}});
      behind_label = true;
      Part& part = parts.back();
      if (inner.words[0].is("default")) {
        part.is_default = true;
        continue;
      }
      if (contains(inner.words, "..."))
        throw Refused(inner.token, "a range of cases in a switch in which threads meet; write it with if and else");
      if (!part.condition.empty()) append(part.condition, made_up("||", inner.token));
      append(part.condition, value);
      append(part.condition, made_up("== (", inner.token));
      append(part.condition, slice(inner.words, 1, inner.words.size() - 1));
      append(part.condition, made_up(")", inner.token));
    }
    for (std::size_t i = parts.size(); i-- > 0;) {
      Part& part = parts[i];
      const bool ends = end_part(part.statements) || i + 1 == parts.size();
      if (breaks(part.statements)) {
        throw Refused(part.token,
                      "a case that breaks off before its end, of a switch in which threads meet; write it with if and else");
      }
      if (!ends)
        part.statements.insert(part.statements.end(), parts[i + 1].statements.begin(), parts[i + 1].statements.end());
    }
    const auto rest = std::find_if(parts.begin(), parts.end(), [](const Part& part) { return part.is_default; });
    Statements chain;
    if (rest != parts.end()) {
      chain = std::move(rest->statements);
      parts.erase(rest);
    }
    for (; !parts.empty(); parts.pop_back()) {
      Statement branch;
      branch.kind = Kind::branch;
      branch.token = parts.back().token;
      branch.words = std::move(parts.back().condition);
      branch.body = std::move(parts.back().statements);
      branch.has_other = !chain.empty();
      branch.other = std::move(chain);
      chain.clear();
      chain.push_back(std::move(branch));
    }
    for (Statement& more : chain) statement(std::move(more), out);
  }

  // The variable would have to live as long as the statement, for each thread.
  static void refuse_declaration(const Words& condition) {
    Statement declaration;
    if (condition.empty() || !parse_declaration(condition, declaration) ||
        declaration.declarators[0].form == Declarator::Form::none)
      return;
    throw Refused(condition[0].token,
                  "a declaration in the condition of a statement in which threads meet; write it before the statement");
  }

  void loop(Statement& s) {
    const auto lambdas = lambdas_;  // what the head declares hides what is around the loop
    for (const Statement& first : s.first) {
      for (const Declarator& d : first.declarators) declare(d.name.text);
    }
    list(s.body);
    pull(s.words, s.before);
    if (has_meeting(s.step)) {
      for (Words& part : split_at_commas(s.step)) {
        Statement one;
        one.kind = Kind::expression;
        one.token = part.empty() ? s.token : part[0].token;
        one.words = std::move(part);
        statement(std::move(one), s.after);
      }
      s.step.clear();
    }
    lambdas_ = lambdas;
    bool cooperates = s.cooperates || any_cooperates(s.body) || !s.before.empty() || !s.after.empty();
    for (const Statement& first : s.first) {
      for_own_words(first, [&](const Words& words) { cooperates = cooperates || has_meeting(words); });
    }
    if (cooperates) list(s.first);
    s.cooperates = cooperates;
  }

  void expression(Statement&& s, Statements& out) {
    if (!has_meeting(s.words)) {
      out.push_back(std::move(s));
      return;
    }
    for (Words& part : split_at_commas(s.words)) {
      pull(part, out);
      const bool only_result = part.empty() || (part.size() == 1 && part[0].text.starts_with("weir_result_"));
      if (only_result) continue;
      Statement rest;
      rest.kind = Kind::expression;
      rest.token = s.token;
      rest.words = std::move(part);
      out.push_back(std::move(rest));
    }
  }

  void declaration(Statement&& s, Statements& out) {
    for (Declarator& d : s.declarators) {
      for (const Words& dimension : d.dimensions) refuse_meeting(dimension, "in the size of an array");
      if (lambda_at(d.initializer, 0).body != 0 && closing(d.initializer, lambda_at(d.initializer, 0).body) + 1 ==
          d.initializer.size() && has_meeting(d.initializer)) {
        LocalLambda lambda = read_lambda(d.initializer, 0, capturable_, function_.made_up, out);
        declare(d.name.text);
        lambda.declared = declared_.size();
        lambdas_[d.name.text] = std::move(lambda);
        continue;
      }
      declare(d.name.text);
      can_capture(s, d);
      const bool of_numbers = std::all_of(s.specifiers.begin(), s.specifiers.end(),
                                          [](const Word& word) { return is_type_word(word.text); });
      binds_ = d.is_reference() || (!of_numbers && (d.form != Declarator::Form::equals || is_at(d.initializer, 0, "{")));
      if (!d.tells_type)
        pull(d.initializer, out, d.form == Declarator::Form::braces || d.form == Declarator::Form::parentheses);
      Statement one;
      one.kind = Kind::declaration;
      one.token = s.token;
      one.specifiers = s.specifiers;
      one.declarators.push_back(std::move(d));
      out.push_back(std::move(one));
      binds_ = false;
    }
  }

  // A call of a meeting or of a function in which threads meet.
  struct Use {
    std::size_t first, close;  ///< of the whole, with what stands before the name
    bool member;
    std::string name;  ///< with what qualifies it
    Words template_arguments;
    std::vector<Words> arguments;
  };
  static Use use_at(const Words& words, std::size_t at) {
    Use use;
    use.member = at > 0 && (words[at - 1].is(".") || words[at - 1].is("->"));
    use.first = use.member ? postfix_begin(words, at - 1) : at;
    if (!use.member && use.first > 0 && (words[use.first - 1].is("::") || words[use.first - 1].is("template")))
      use.first = postfix_begin(words, use.first);
    for (std::size_t i = use.first; i <= at; ++i) {
      const bool apart = i > use.first && words[i].is_identifier() && words[i - 1].is_identifier();
      use.name += (apart ? " " : "") + words[i].text;
    }
    std::size_t open = at + 1;
    if (is_at(words, open, "<")) {
      const std::size_t close = closing_angle(words, open);
      if (close == 0) throw Refused(words[at].token, fmt::format("this use of '{}' is not understood", words[at].text));
      use.template_arguments = slice(words, open, close + 1);
      open = close + 1;
    }
    if (!is_at(words, open, "("))
      throw Refused(words[at].token, fmt::format("'{}' can be called, and nothing else", words[at].text));
    use.close = closing(words, open);
    if (use.close == words.size()) throw Refused(words[at].token, "this parenthesis is not closed");
    use.arguments = split_at_commas(slice(words, open + 1, use.close));
    if (std::any_of(use.arguments.begin(), use.arguments.end(), [](const Words& argument) { return argument.empty(); })) {
      throw Refused(words[at].token, fmt::format("an argument of '{}' is missing", words[at].text));
    }
    return use;
  }

  // The meeting that is computed first: what is assigned before what it is assigned to, else from the left to the right, and
  // arguments before their function.
  std::size_t next_meeting(const Words& words) const {
    const auto find = [&](std::size_t first, std::size_t last) {
      while (first < last && !is_meeting_place(words, first)) ++first;
      return first;
    };
    std::size_t at = find(0, words.size());
    if (at == words.size()) return at;
    for (std::size_t i = at; i < words.size(); i = after(words, i)) {
      if (!is_assignment(words[i].text)) continue;
      const std::size_t assigned = find(i + 1, words.size());
      if (assigned < words.size()) at = assigned;
    }
    for (;;) {
      std::size_t open = at;
      while (open < words.size() && !words[open].is("(")) ++open;
      const std::size_t close = open < words.size() ? closing(words, open) : open;
      const std::size_t inner = find(at + 1, close);
      if (inner >= close) return at;
      at = inner;
    }
  }

  // Takes all meetings out of an expression, those first that are computed first, and puts the variables with their results
  // in their place. `list`: they are arguments or elements of a list.
  void pull(Words& words, Statements& out, bool list = false) {
    for (;;) {
      std::size_t at = next_meeting(words);
      if (at == words.size()) return;
      refuse_two_comparisons(words);
      const Lambda around = lambda_around(words, at);
      if (around.body != 0) {
        if (!is_at(words, closing(words, around.body) + 1, "(")) {
          throw Refused(words[at].token,
                        fmt::format("'{}' inside a lambda that is handed on; threads may meet in one that is "
                                    "called where it is written, or by the name of a variable",
                                    words[at].text));
        }
        at = around.first;
      }
      if (const Condition condition = condition_around(words, at); condition.kind != Condition::Kind::none) {
        check_always_evaluated(words, condition.first, words[at], list);
        check_unchanged(words, condition.first, condition.last, words[at]);
        put_apart(words, condition, at, out);
        continue;
      }
      check_always_evaluated(words, at, words[at], list);
      std::size_t last = around.body != 0 ? closing(words, around.body) + 1 : at;
      while (last < words.size() && !words[last].is("(")) ++last;
      check_unchanged(words, at, std::min(closing(words, last) + 1, words.size()), words[at]);
      if (around.body != 0 || is_lambda(words, at)) {
        call_lambda(words, at, around, out);
        continue;
      }
      const Meeting* const meeting = meeting_at(words, at);
      Use use = use_at(words, at);
      const bool member = use.member;
      const std::size_t first = use.first, close = use.close;
      std::vector<Words>& arguments = use.arguments;
      Statement s;
      s.token = words[at].token;
      s.cooperates = true;
      const bool of_class = meeting == nullptr && callee_at(words, at) == Unit::Callee::member;
      Words object;
      if (of_class) {
        object = slice(words, first, at);
        pull(object, out);
      } else if (member) {
        Words group = slice(words, first, at - 1);
        pull(group, out);
        if (words[at - 1].is("->")) {
          Words followed = made_up("*(", s.token);
          append(followed, group);
          append(followed, made_up(")", s.token));
          group = std::move(followed);
        }
        arguments.insert(arguments.begin(), std::move(group));
      }
      s.function = std::move(use.name);
      s.template_arguments = std::move(use.template_arguments);
      const bool whole = first == 0 && close + 1 == words.size();
      Statements after_call;
      const bool value = meeting != nullptr ? meet(s, *meeting, arguments, out)
                                            : call(s, words[at].text, arguments, out, after_call, of_class, object);
      if (!value && !whole)
        throw Refused(s.token, fmt::format("'{}' inside an expression; make it a statement of its own", s.function));
      Words replacement;
      if (value) {
        s.result = made_up_name("weir_result_", s.token);
        replacement.push_back(s.result);
      }
      out.push_back(std::move(s));
      for (Statement& more : after_call) out.push_back(std::move(more));
      words.erase(words.begin() + static_cast<std::ptrdiff_t>(first),
                  words.begin() + static_cast<std::ptrdiff_t>(close + 1));
      words.insert(words.begin() + static_cast<std::ptrdiff_t>(first), replacement.begin(), replacement.end());
    }
  }

  void declare(const std::string& name) {
    declared_.push_back(name);
    lambdas_.erase(name);
  }

  // A call of a lambda in which threads meet: what it does is done here.
  void call_lambda(Words& words, std::size_t at, const Lambda& in_place, Statements& out) {
    const Word name = words[at];
    const std::size_t open = in_place.body != 0 ? closing(words, in_place.body) + 1 : at + 1;
    if (!is_at(words, open, "("))
      throw Refused(name.token, fmt::format("the lambda '{}', in which threads meet, can be called by its name, and nothing "
                                            "else",
                                            name.text));
    const std::size_t close = closing(words, open);
    const LocalLambda lambda = in_place.body != 0
                                   ? read_lambda(slice(words, at, open), 0, capturable_, function_.made_up, out)
                                   : lambdas_.at(name.text);
    const bool again = in_place.body == 0 && !lambda.body.empty() && !inlined_.insert(lambda.body[0].token).second;
    for (const Statement& top : lambda.body) {
      const bool defines = top.is(Kind::type) && contains(top.words, "{");
      if (!again || !defines) continue;
      throw Refused(top.token,
                    fmt::format("a class inside of the lambda '{}', in which threads meet and which is called more "
                                "than once; define it before the lambda",
                                name.text));
    }
    for (std::size_t i = in_place.body != 0 ? declared_.size() : lambda.declared; i < declared_.size(); ++i) {
      const std::string& other = declared_[i];
      if (other.starts_with("weir_") || lambda.names.count(other) != 0 || !names_variable(lambda.body, other)) continue;
      throw Refused(name.token, fmt::format("the lambda '{}', in which threads meet, names '{}', of which there is another "
                                            "one where it is called; rename one of them",
                                            name.text, other));
    }
    Statements body = inlined(lambda, split_at_commas(slice(words, open + 1, close)), name, function_.made_up);
    Words value;
    if (!body.empty() && body.back().is(Kind::leave)) {
      value = std::move(body.back().words);
      body.pop_back();
    }
    for (Statement& s : body) statement(std::move(s), out);
    Words replacement;
    if (!value.empty()) {
      Statement s;
      s.kind = Kind::declaration;
      s.token = name.token;
      s.specifiers = lambda.result.empty() ? made_up("auto", name.token) : lambda.result;
      Declarator d;
      d.name = made_up_name("weir_value_", name.token);
      d.form = Declarator::Form::equals;
      d.initializer = std::move(value);
      replacement.push_back(d.name);
      s.declarators.push_back(std::move(d));
      statement(std::move(s), out);
    } else if (at != 0 || close + 1 != words.size()) {
      throw Refused(name.token, "a lambda in which threads meet, inside an expression, whose last statement is no return");
    }
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(at), words.begin() + static_cast<std::ptrdiff_t>(close + 1));
    words.insert(words.begin() + static_cast<std::ptrdiff_t>(at), replacement.begin(), replacement.end());
  }

  // What is computed under a condition inside of an expression becomes an `if`, and a variable with the value.
  void put_apart(Words& words, const Condition& c, std::size_t at, Statements& out) {
    const std::uint32_t token = words[at].token;
    if (c.kind == Condition::Kind::choice) check_is_value(words, c, words[at]);
    const bool binds = std::exchange(binds_, false);
    const Word name = made_up_name("weir_chosen_", token);
    const auto assignment = [&](const Words& value) {
      Statement s;
      s.kind = Kind::expression;
      s.token = token;
      s.words = {name};
      append(s.words, made_up("= (", token));
      append(s.words, value);
      append(s.words, made_up(")", token));
      return s;
    };
    Statement declaration, branch;
    declaration.kind = Kind::declaration;
    branch.kind = Kind::branch;
    declaration.token = branch.token = token;
    Declarator d;
    d.name = name;
    const Words condition = slice(words, c.first, c.op);
    if (c.kind == Condition::Kind::choice) {
      declaration.specifiers = made_up("auto", token);
      d.tells_type = true;
      d.initializer = for_its_type(slice(words, c.first, c.last));
      branch.words = condition;
      branch.body.push_back(assignment(slice(words, c.op + 1, c.colon)));
      branch.has_other = true;
      branch.other.push_back(assignment(slice(words, c.colon + 1, c.last)));
    } else {
      declaration.specifiers = made_up("bool", token);
      d.form = Declarator::Form::equals;
      d.initializer = made_up("bool (", token);
      append(d.initializer, condition);
      append(d.initializer, made_up(")", token));
      if (c.kind == Condition::Kind::either) branch.words = made_up("!", token);
      branch.words.push_back(name);
      Words value = made_up("bool (", token);
      append(value, slice(words, c.op + 1, c.last));
      append(value, made_up(")", token));
      branch.body.push_back(assignment(value));
    }
    declaration.declarators.push_back(std::move(d));
    statement(std::move(declaration), out);
    statement(std::move(branch), out);
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(c.first), words.begin() + static_cast<std::ptrdiff_t>(c.last));
    words.insert(words.begin() + static_cast<std::ptrdiff_t>(c.first), name);
    binds_ = binds;
  }

  // Whether an expression may name something in memory: it is no number, no result of a meeting, and nothing is computed.
  bool may_be_in_memory(const Words& words) const {
    if (words.empty() || !(words[0].is_identifier() || words[0].is("(") || words[0].is("*") || words[0].is("::") ||
                           words[0].is("++") || words[0].is("--")))
      return false;
    for (const char* word : {"true", "false", "nullptr", "sizeof"}) {
      if (words[0].is(word)) return false;
    }
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (!is_meeting_place(words, i)) continue;
      const Use use = use_at(words, i);
      if (use.first == 0 && use.close + 1 == words.size()) return false;
    }
    bool computed = false;
    for (std::size_t i = 1; i < words.size(); i = after(words, i)) {
      if (words[i].is("?") || words[i].is(",") || is_assignment(words[i].text)) return true;
      for (const char* op : {"+", "-", "/", "%", "^", "|", "<<", "==", "!=", "<=", ">=", "&&", "||"})
        computed = computed || (words[i].is(op) && words[i].kind == Token::Kind::punctuation);
    }
    return !computed;
  }

  // The value of a choice is computed before the expression. What it chooses in memory is not what is written then.
  void check_is_value(const Words& words, const Condition& c, const Word& named) const {
    if (!may_be_in_memory(slice(words, c.op + 1, c.colon)) || !may_be_in_memory(slice(words, c.colon + 1, c.last))) return;
    const auto names_function = [&](std::size_t open) {
      if (open == 0) return false;
      const Word& before = words[open - 1];
      if (before.is(">")) {
        std::size_t angle = open - 1;
        while (angle > 0 && !words[angle].is("<")) --angle;
        return angle == 0 || !words[angle - 1].text.ends_with("_cast");
      }
      if (before.is("]") || before.is(")")) return true;
      if (!before.is_identifier() || is_keyword(before.text) || is_type_word(before.text) ||
          is_meeting_place(words, open - 1))
        return false;
      const bool member = open > 1 && (words[open - 2].is(".") || words[open - 2].is("->"));
      if (member) return true;
      if (unit_.defines_function(before.text)) return unit_.takes_references(before.text);
      return !is_plain_function(before.text);
    };
    std::size_t first = c.first, last = c.last;
    bool written = false;
    while (first > 0 && is_at(words, last, ")") && words[first - 1].is("(") && !names_function(first - 1)) {
      --first;
      ++last;
    }
    const std::size_t chosen = last;  // then its elements and members
    while (is_at(words, last, "[") || (is_at(words, last, ".") && last + 1 < words.size()))
      last = words[last].is("[") ? after(words, last) : last + 2;
    if (last < words.size()) {
      for (const char* op : {"++", "--"}) written = written || words[last].is(op);
      written = written || is_assignment(words[last].text) || (last != chosen && words[last].is("("));
    }
    if (first > 0) {
      for (const char* op : {"++", "--", "&"}) written = written || words[first - 1].is(op);
      // an argument, which may be taken by reference
      for (std::size_t i = first; i-- > 0;) {
        if (!(words[i].is("(") || words[i].is("{")) || closing(words, i) < last) continue;
        written = written || ((words[first - 1].is(",") || i + 1 == first) && names_function(i));
        break;
      }
    }
    written = written || (binds_ && (first == 0 || words[first - 1].is(",") || words[first - 1].is("{")));
    if (!written) return;
    throw Refused(named.token, fmt::format("'{}' in a ?: that may choose between variables, which is written, handed on, or "
                                           "given a name; write it with if and else, or give a variable its value",
                                           named.text));
  }

  // An expression that has the type of `words`, and in which nothing meets, since nothing of it is computed.
  Words for_its_type(Words words) {
    for (;;) {
      std::size_t at = words.size();
      while (at > 0 && !is_meeting_place(words, at - 1)) --at;
      if (at == 0) return words;
      const Use use = use_at(words, --at);
      const auto refuse = [&] {
        throw Refused(words[at].token, fmt::format("'{}' behind ?:; write it with if and else", words[at].text));
      };
      const Meeting* const meeting = meeting_at(words, at);
      std::string text;
      std::vector<Words> arguments = use.arguments;
      if (meeting != nullptr) {
        if (meeting->result == Meeting::Result::none || lambda_around(words, at).body != 0) refuse();
        text =
            meeting->result == Meeting::Result::same ? "(int)sizeof(" : fmt::format("::weir_host::type_{}(", meeting->name);
        if (use.member) {
          Words group = slice(words, use.first, at - 1);
          if (words[at - 1].is("->")) group.insert(group.begin(), made_up("*", words[at].token)[0]);
          arguments.insert(arguments.begin(), std::move(group));
        }
      } else {
        if (callee_at(words, at) != Unit::Callee::function) refuse();
        const Function& callee = signature(words[at].text, words[at].token, arguments, false);
        if (!callee.returns_value || callee.place->overload >= 0 || callee.parameters.size() != arguments.size()) refuse();
        Statement as_call;
        as_call.token = words[at].token;
        as_call.function = use.name;
        as_call.template_arguments = use.template_arguments;
        for (std::size_t i = 0; i < arguments.size(); ++i) {
          if (lambda_at(arguments[i], 0).body != 0) refuse();
          const Parameter& parameter = callee.parameters[i];
          Words one = made_up("::weir_host::lanes_for(", words[at].token);
          append(one, made_up(parameter.is_array    ? "&("
                              : parameter.is_viewed ? "::weir_host::address_of("
                                                    : "(",
                              words[at].token));
          append(one, converted(callee, i, use.arguments[i], as_call, use.arguments));
          append(one, made_up("))", words[at].token));
          arguments[i] = std::move(one);
        }
        text = "::weir_host::given<::weir_host::value_of<decltype(" + use.name + "_weir";
      }
      Words replacement = made_up(text, words[at].token);
      if (meeting == nullptr) {
        append(replacement, use.template_arguments);
        append(replacement, made_up(arguments.empty() ? "(weir_b, weir_m" : "(weir_b, weir_m,", words[at].token));
      }
      for (std::size_t i = 0; i < arguments.size(); ++i) {
        if (i > 0) append(replacement, made_up(",", words[at].token));
        append(replacement, arguments[i]);
      }
      append(replacement, made_up(meeting == nullptr ? ")) > > ()" : ")", words[at].token));
      words.erase(words.begin() + static_cast<std::ptrdiff_t>(use.first),
                  words.begin() + static_cast<std::ptrdiff_t>(use.close + 1));
      words.insert(words.begin() + static_cast<std::ptrdiff_t>(use.first), replacement.begin(), replacement.end());
    }
  }

  // Where the expression begins whose member stands behind `end`.
  static std::size_t postfix_begin(const Words& words, std::size_t end) {
    std::size_t i = end;
    for (;;) {
      while (i > 0 && (words[i - 1].is(")") || words[i - 1].is("]") || words[i - 1].is("}"))) {
        int depth = 0;
        do {
          --i;
          if (words[i].is(")") || words[i].is("]") || words[i].is("}")) ++depth;
          if (words[i].is("(") || words[i].is("[") || words[i].is("{")) --depth;
        } while (i > 0 && depth > 0);
      }
      if (i > 0 && words[i - 1].is(">")) {
        int depth = 0;
        do {
          --i;
          if (words[i].is(">")) ++depth;
          if (words[i].is("<")) --depth;
        } while (i > 0 && depth > 0);
      }
      if (i > 0 && words[i - 1].is_identifier() && (!is_keyword(words[i - 1].text) || words[i - 1].is("this"))) --i;
      if (i > 1 && words[i - 1].is("template")) --i;
      if (i > 0 && words[i - 1].is("::"))
        --i;
      else if (i > 0 && (words[i - 1].is(".") || words[i - 1].is("->")))
        --i;
      else
        return i;
    }
  }

  // `a < b, c > d` reads like the arguments of a template.
  void refuse_two_comparisons(const Words& words) const {
    for (std::size_t i = 1; i < words.size(); ++i) {
      if (!words[i].is("<") || !words[i - 1].is_identifier()) continue;
      const std::string& name = words[i - 1].text;
      const bool of_thread = i > 2 && words[i - 2].is(".") &&
                             (words[i - 3].is("threadIdx") || words[i - 3].is("blockIdx") || words[i - 3].is("blockDim") ||
                              words[i - 3].is("gridDim"));
      if (!of_thread && (!can_name_variable(words, i - 1) || own_.count(name) + others_.count(name) == 0)) continue;
      const std::size_t close = closing_angle(words, i);
      for (std::size_t k = i; k < close; k = after(words, k)) {
        if (!words[k].is(",")) continue;
        throw Refused(words[i].token, fmt::format("'{} < ..., ... >' beside a meeting may be two comparisons; write each "
                                                  "in parentheses", name));
      }
    }
  }

  // Refuses a meeting, `named`, that would be computed before what stands before `at`.
  static void check_always_evaluated(const Words& words, std::size_t at, const Word& named, bool list) {
    const auto refuse = [&](const char* where) {
      throw Refused(named.token, fmt::format("'{}' {}", named.text, where));
    };
    std::vector<bool> in_angles(at, false);  // template arguments
    for (std::size_t i = 1; i < at; ++i) {
      const std::size_t close = words[i].is("<") && words[i - 1].is_identifier() ? closing_angle(words, i) : 0;
      for (std::size_t k = i; k < std::min(close, at); ++k) in_angles[k] = true;
    }
    int depth = 0;
    bool passed_comma = false;
    for (std::size_t i = at; i-- > 0;) {
      const Word& word = words[i];
      if (word.kind != Token::Kind::punctuation || in_angles[i]) continue;
      if (word.is(")") || word.is("]") || word.is("}")) ++depth;
      if (word.is("(") || word.is("[") || word.is("{")) {
        if (depth-- > 0) continue;
        depth = 0;
        const bool argument = i > 0 && (words[i - 1].is_identifier() || words[i - 1].is(">"));
        if (word.is("{")) {
          const Words inside = slice(words, i, std::min(closing(words, i) + 1, words.size()));
          if (contains(inside, ";") || contains(inside, "return")) refuse("inside a lambda");
          // The elements of a list are computed in their order.
          for (std::size_t k = i; k < at; ++k) {
            if (words[k].is("++") || words[k].is("--") || is_assignment(words[k].text))
              refuse("behind a change of a variable in a list; make it a statement of its own");
          }
        } else if (passed_comma && word.is("(") && !argument) {
          refuse("behind a comma operator; make it a statement of its own");
        }
        passed_comma = false;
      }
      if (depth == 0 && word.is(",")) passed_comma = true;
    }
    if (passed_comma && !list) refuse("behind a comma operator; make it a statement of its own");
    for (std::size_t k = 0; list && k < at; ++k) {
      if (words[k].is("++") || words[k].is("--") || is_assignment(words[k].text))
        refuse("behind a change of a variable in a list; make it a statement of its own");
    }
  }

  // A variable and the members and elements behind it, as far as no function is called: `s`, `v`, `[` of `s->v[i]`. Members
  // of the function's own object begin with `weir_self`.
  std::vector<std::string> path_at(const Words& words, std::size_t i) const {
    std::vector<std::string> path{words[i].text};
    if (function_.place->has_object() && own_.count(path[0]) + others_.count(path[0]) == 0 &&
        unit_.has_member(function_.place->of_class, path[0]))
      path.insert(path.begin(), "weir_self");
    for (++i; i < words.size(); i = after(words, i)) {
      const bool member = (words[i].is(".") || words[i].is("->")) && i + 1 < words.size() && !is_at(words, i + 2, "(");
      if (!member && !words[i].is("[")) break;
      path.push_back(member ? words[++i].text : "[");
    }
    return path;
  }

  // Refuses a meeting, `named`, that is computed in `[first, last)` and names a variable which the same expression changes
  // before it: `i++ << shuffle(i)`. What stands left of an assignment is computed behind what is assigned.
  void check_unchanged(const Words& words, std::size_t first, std::size_t last, const Word& named) const {
    std::size_t begin = 0;
    for (std::size_t i = 0; i < first; i = after(words, i)) {
      if (is_assignment(words[i].text)) begin = i + 1;
    }
    for (std::size_t i = begin; i < first; ++i) {
      Words changed;
      const bool steps = words[i].is("++") || words[i].is("--");
      if (steps && is_prefix(words, i)) {
        std::size_t end = i + 1;
        while (end < first && (words[end].is_identifier() || words[end].is("*") || words[end].is(".") ||
                               words[end].is("->") || words[end].is("[") || words[end].is("(")))
          end = after(words, end);
        changed = slice(words, i + 1, std::min(end, first));
      } else if (steps || is_assignment(words[i].text)) {
        bool closed = steps;  // an assignment is made behind what is assigned
        int depth = 0;
        for (std::size_t k = i; k < first && !closed; ++k) {
          if (words[k].is("(") || words[k].is("[") || words[k].is("{")) ++depth;
          if (words[k].is(")") || words[k].is("]") || words[k].is("}")) closed = --depth < 0;
        }
        if (closed) changed = slice(words, postfix_begin(words, i), i);
      }
      for (std::size_t c = 0; c < changed.size(); c = changed[c].is("[") ? after(changed, c) : c + 1) {
        if (!can_name_variable(changed, c)) continue;
        const auto path = path_at(changed, c);
        for (std::size_t k = first; k < last; ++k) {
          if (!can_name_variable(words, k)) continue;
          const auto other = path_at(words, k);
          const auto ends = std::mismatch(path.begin(), path.end(), other.begin(), other.end());
          if (ends.first != path.end() && ends.second != other.end()) continue;
          throw Refused(named.token, fmt::format("'{}' behind a change of '{}' in the same expression; make it a statement "
                                                 "of its own",
                                                 named.text, words[k].text));
        }
      }
    }
  }

  Word made_up_name(const char* prefix, std::uint32_t token) {
    return {Token::Kind::identifier, fmt::format("{}{}", prefix, ++function_.made_up), token, no_variable};
  }

  // A variable with the value of an argument, declared in `out`. A variable's own name stays what it is.
  Words operand(const Words& value, Statements& out, bool own, const Words& type = {}) {
    const bool is_name = value.size() == 1 && value[0].is_identifier() && !is_keyword(value[0].text);
    const bool of_object =
        is_name && function_.place->has_object() && unit_.has_member(function_.place->of_class, value[0].text);
    if (!own && is_name && !of_object) return value;
    if (is_at(value, 0, "{"))
      throw Refused(value[0].token, "a list in braces for a function in which threads meet; write its type before it");
    Statement s;
    s.kind = Kind::declaration;
    s.token = value[0].token;
    s.specifiers = type.empty() ? made_up("auto", s.token) : type;
    Declarator d;
    d.name = made_up_name(own ? "weir_own_" : "weir_operand_", s.token);
    d.form = Declarator::Form::equals;
    d.initializer = made_up("(", s.token);
    append(d.initializer, value);
    append(d.initializer, made_up(")", s.token));
    Words name{d.name};
    s.declarators.push_back(std::move(d));
    out.push_back(std::move(s));
    return name;
  }

  bool meet(Statement& s, const Meeting& meeting, const std::vector<Words>& arguments, Statements& out) {
    const int count = static_cast<int>(arguments.size());
    if (count < meeting.least_arguments || count > meeting.most_arguments) {
      throw Refused(s.token, fmt::format("'{}' takes {} arguments, and {} are given",
                                         is_of_group(meeting) ? meeting.name.substr(7) : meeting.name,
                                         meeting.least_arguments == meeting.most_arguments
                                             ? fmt::format("{}", meeting.least_arguments)
                                             : fmt::format("{} to {}", meeting.least_arguments, meeting.most_arguments),
                                         count));
    }
    s.kind = Kind::meeting;
    s.function = meeting.name;
    for (Words argument : arguments) {
      // What a lambda that captures nothing does, as a function's address, whose type can be written twice.
      if (is_at(argument, 0, "[") && is_at(argument, 1, "]")) argument.insert(argument.begin(), made_up("+", s.token)[0]);
      s.arguments.push_back(operand(argument, out, false));
    }
    return meeting.result != Meeting::Result::none;
  }

  // The type of the number that such a parameter refers to, which its argument is converted to; nothing if it is no built-in
  // type.
  static Words number_of(const Parameter& parameter) {
    Words type;
    for (const Word& word : parameter.type) {
      if (!word.is("const") && !word.is("*")) type.push_back(word);
    }
    const bool is_number = std::all_of(type.begin(), type.end(), [](const Word& word) { return is_type_word(word.text); });
    return is_number && type.size() + 2 == parameter.type.size() ? type : Words{};
  }

  // Whether an expression names something in memory that is no variable of the thread's own: what other threads may change.
  bool is_elsewhere(const Words& value) {
    std::size_t i = is_at(value, 0, "*") ? 1 : 0;
    const bool followed = i == 1;
    if (i >= value.size() || !value[i].is_identifier() || is_keyword(value[i].text)) return false;
    const std::string& name = value[i].text;
    if (unit_.is_constant(name) || unit_.is_constant_of(function_.place->of_class, name)) return false;
    if (contains(function_.template_parameters, name)) return false;
    std::size_t elements = 0;
    bool is_followed = followed;
    for (++i; i < value.size(); i = after(value, i)) {
      const bool step = value[i].is(".") || value[i].is("->") || value[i].is("[") ||
                        (value[i].is_identifier() && value[i - 1].kind == Token::Kind::punctuation);
      if (!step || (value[i].is_identifier() && is_at(value, i + 1, "("))) return false;
      is_followed = is_followed || value[i].is("->");
      elements += value[i].is("[") ? 1 : 0;
    }
    const bool own = (own_.count(name) != 0 && others_.count(name) == 0) || name.starts_with("weir_");
    const auto array = dimensions_.find(name);  // more subscripts than it has follow a pointer
    return is_followed || !own || elements > (array != dimensions_.end() ? array->second : 0);
  }

  // Where the object lies whose member function is called: the variable with its address. `object`: what stands before the
  // function's name; nothing for another function of the same class.
  Words address_of_object(Words object, std::uint32_t token, Statements& out) {
    if (object.empty() || object.back().is("::")) return made_up("weir_self", token);
    const bool by_address = object.back().is("->");
    object.pop_back();
    if (by_address) return operand(object, out, true);
    std::size_t i = is_at(object, 0, "(") && is_at(object, 1, "*") ? after(object, 0) : 1;
    while (i < object.size() && (object[i].is(".") || object[i].is("->") || object[i].is("[") ||
                                 (object[i].is_identifier() && !is_at(object, i + 1, "("))))
      i = after(object, i);
    const bool has_name = i == object.size() && object[0].kind != Token::Kind::string;
    Words address = made_up(has_name ? "&(" : "::weir_host::hold(", token);
    append(address, object);
    append(address, made_up(")", token));
    if (has_name) return operand(address, out, true);
    Words held = made_up("::weir_host::held_at(", token);
    append(held, operand(address, out, true));
    append(held, made_up(")", token));
    return operand(held, out, true);
  }

  // An argument as a parameter of its type takes it: `const T*` a `float*`, and a `float` in `f<float>(0)` an `int`. A
  // lambda may not stand where only types are asked for.
  static Words converted(const Function& callee, std::size_t index, const Words& value, const Statement& call,
                         const std::vector<Words>& arguments) {
    const Parameter& parameter = callee.parameters[index];
    const auto has_lambda = [](const Words& words) {
      for (std::size_t i = 0; i < words.size(); ++i) {
        if (words[i].is("[") && (i == 0 || words[i - 1].is("(") || words[i - 1].is(",") || words[i - 1].is("=")))
          return true;
      }
      return false;
    };
    if (!converts(callee, parameter) || (call.template_arguments.empty() && !contains(parameter.type, "*")) ||
        std::any_of(arguments.begin(), arguments.end(), has_lambda))
      return value;
    Words words =
        made_up(fmt::format("::weir_host::converted<{}, decltype({}_weir_types", index, call.function), call.token);
    append(words, call.template_arguments);
    append(words, made_up("(", call.token));
    for (std::size_t i = 0; i < callee.parameters.size(); ++i) {
      if (i > 0) append(words, made_up(",", call.token));
      append(words, made_up(callee.parameters[i].is_array ? "&(" : "(", call.token));
      append(words, i < arguments.size() ? arguments[i] : callee.parameters[i].default_value);
      append(words, made_up(")", call.token));
    }
    append(words, made_up("))>(", call.token));
    append(words, value);
    append(words, made_up(")", call.token));
    return words;
  }

  bool call(Statement& s, const std::string& name, const std::vector<Words>& arguments, Statements& out,
            Statements& after_call, bool of_class, const Words& object) {
    const Function& callee = signature(name, s.token, arguments, of_class);
    s.of_class = of_class;
    if (callee.place->has_object()) {
      const Words self = address_of_object(object, s.token, out);
      if (self[0].is("weir_self") && !function_.place->has_object())
        throw Refused(s.token, fmt::format("'{}' is called without an object", name));
      if (!object.empty() && !object.back().is("::"))
        s.function = fmt::format("::weir_host::class_at<decltype(weir_lanes_{})>::{}{}", self[0].text,
                                 s.template_arguments.empty() ? "" : "template ", name);
      s.arguments.push_back(self);
    }
    if (arguments.size() > callee.parameters.size()) {
      throw Refused(s.token, fmt::format("'{}' takes {} arguments, and {} are given", name, callee.parameters.size(),
                                         arguments.size()));
    }
    s.kind = Kind::call;
    for (std::size_t i = 0; i < callee.parameters.size(); ++i) {
      const Parameter& parameter = callee.parameters[i];
      const Words& value = i < arguments.size() ? arguments[i] : parameter.default_value;
      if (value.empty())
        throw Refused(s.token, fmt::format("'{}' takes {} arguments, and {} are given", name, callee.parameters.size(),
                                           arguments.size()));
      // The value goes in and comes out again, which is the same as a reference to a variable that no other thread sees.
      if (parameter.is_written && !parameter.is_array && !parameter.is_viewed &&
          (value.size() != 1 || !value[0].is_identifier())) {
        throw Refused(
            s.token,
            fmt::format("'{}' takes this argument by reference: give it a variable of the thread's own, by its name", name));
      }
      const bool of_object = !parameter.is_array && (parameter.is_written || parameter.is_viewed) &&
                             check_other_ways(callee, i, arguments, object, s);  // of arrays it gets the address
      if (parameter.is_array) {
        Words address = made_up("&(", s.token);
        append(address, value);
        append(address, made_up(")", s.token));
        s.arguments.push_back(operand(address, out, true));
        continue;
      }
      if (of_object) {  // its address, unless it must be converted
        Words address = made_up("::weir_host::address_of_either(&(", s.token);
        append(address, value);
        append(address, made_up("),", s.token));
        append(address, operand(value, out, true, number_of(parameter)));
        append(address, made_up(")", s.token));
        s.arguments.push_back(operand(address, out, true));
        continue;
      }
      if (parameter.is_viewed) {
        Words address = made_up("::weir_host::address_of(", s.token);
        append(address, is_elsewhere(value) ? value : operand(value, out, true, number_of(parameter)));
        append(address, made_up(")", s.token));
        s.arguments.push_back(operand(address, out, true));
        continue;
      }
      s.arguments.push_back(operand(converted(callee, i, value, s, arguments), out, true));
      if (!parameter.is_written) continue;
      s.words.push_back(value[0]);
      Statement back;
      back.kind = Kind::expression;
      back.token = s.token;
      back.words = {value[0], {Token::Kind::punctuation, "=", s.token, no_variable}, s.arguments.back()[0]};
      after_call.push_back(std::move(back));
    }
    return callee.returns_value;
  }

  // Whether it is the name of an array, or of a parameter that refers to one.
  bool is_array(const Words& value) const {
    if (value.size() == 4 && value[1].is("*")) {
      return std::any_of(function_.parameters.begin(), function_.parameters.end(),
                         [&](const Parameter& p) { return p.is_array && p.name.text == value[2].text; });
    }
    const auto array = dimensions_.find(value[0].text);
    return value.size() == 1 && array != dimensions_.end() && array->second > 0;
  }

  // What is called with such arguments: of several functions, one with which all of them agree in what matters here.
  const Function& signature(const std::string& name, std::uint32_t token, const std::vector<Words>& arguments,
                            bool of_class) {
    const auto key = std::pair(name, of_class);
    const auto found = heads_of_.find(key);
    if (found == heads_of_.end()) {
      for (const FunctionPlace* const place : unit_.find_cooperating(name, of_class)) {
        heads_.push_back(*place);
        heads_.back().has_body = false;
        heads_of_[key].push_back(read_function(unit_, heads_.back()));
      }
      return signature(name, token, arguments, of_class);
    }
    const std::vector<Function>& all = found->second;
    if (all.size() == 1) return all[0];
    const Function* one = nullptr;
    for (const Function& f : all) {
      if (f.parameters.size() != arguments.size()) continue;
      // An array is told from a number here, since it is handed over by its address.
      bool takes = true;
      for (std::size_t i = 0; i < arguments.size(); ++i) takes = takes && f.parameters[i].is_array == is_array(arguments[i]);
      if (!takes) continue;
      const auto same = [](const Parameter& a, const Parameter& b) {
        return a.is_written == b.is_written && a.is_viewed == b.is_viewed;
      };
      if (one != nullptr && (f.returns_value != one->returns_value || f.place->is_static != one->place->is_static ||
                             !std::equal(f.parameters.begin(), f.parameters.end(), one->parameters.begin(), same))) {
        throw Refused(
            token,
            fmt::format(
                "functions '{}' in which threads work together differ in what they return or take by reference, or need "
                "no object; "
                "give each a name of its own",
                name));
      }
      one = &f;
    }
    if (one == nullptr)
      throw Refused(token, fmt::format("no function '{}' has {} parameters; give all arguments", name, arguments.size()));
    return *one;
  }

  Function& function_;
  const Unit& unit_;
  std::set<std::string> own_, others_;             // variables: the thread's own, and those that are shared or references
  std::map<std::string, std::size_t> dimensions_;  // of own arrays
  std::map<std::string, std::set<std::string>> aliases_;  // of own variables: other names that lead to them
  std::map<std::string, LocalLambda> lambdas_;     // those in which threads meet, by the names that they have here
  std::set<std::uint32_t> inlined_;                // lambdas that have been called, by where they begin
  Capturable capturable_;
  bool binds_ = false;                             // what is declared may be a reference to its initializer
  std::vector<std::string> declared_;              // names, in the order in which they were
  std::deque<FunctionPlace> heads_;
  std::map<std::pair<std::string, bool>, std::vector<Function>> heads_of_;  // by name; of members, too
};

}  // namespace

void extract_meetings(Function& function, const Unit& unit) { Extractor(function, unit).run(); }

}  // namespace weir::kernels
