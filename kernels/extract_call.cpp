// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kernels/extractor.hpp"

namespace weir::kernels {

void Extractor::find_aliases(const Statement& s) {
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

bool Extractor::check_other_ways(const Function& callee, std::size_t index, const std::vector<Words>& arguments,
                                 const Words& object, const Statement& call) const {
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
        parameter.is_written || parameter.is_by_address || parameter.is_array ||
        (parameter.is_viewed && written && may_be_in_memory(other));
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

std::string_view Extractor::function_name(std::string_view qualified) {
  const std::size_t colons = qualified.rfind("::");
  return colons == std::string_view::npos ? qualified : qualified.substr(colons + 2);
}

bool Extractor::is_name_or_member(const Words& value) {
  if (value.empty() || !value[0].is_identifier() || is_keyword(value[0].text)) return false;
  for (std::size_t i = 1; i < value.size();) {
    const bool member = value[i].is(".") || value[i].is("->");
    if (!member && !value[i].is("[")) return false;
    i = member ? i + 2 : after(value, i);
  }
  return true;
}

bool Extractor::is_place(Words value) {
  while (is_at(value, 0, "(") && closing(value, 0) + 1 == value.size()) value = slice(value, 1, value.size() - 1);
  std::size_t i = 0;
  while (is_at(value, i, "*")) ++i;
  if (i >= value.size() || is_keyword(value[i].text) || !(value[i].is_identifier() || value[i].is("("))) return false;
  if (i == 0 && value[0].is("(") && !is_at(value, 1, "*")) return false;
  for (i = after(value, i); i < value.size(); i = after(value, i)) {
    const bool step = value[i].is(".") || value[i].is("->") || value[i].is("::") || value[i].is("[");
    if (!step && !(value[i].is_identifier() && !is_at(value, i + 1, "("))) return false;
  }
  return true;
}

bool Extractor::may_change_when_called(const Words& value) const {
  const auto closure = value.size() == 1 ? closures_.find(value[0].text) : closures_.end();
  if (closure == closures_.end()) return is_place(value) && unit_.operator_may_change("");
  return std::any_of(closure->second.begin(), closure->second.end(),
                     [](const Words& lambda) { return contains(lambda, "mutable"); });
}

Extractor::Use Extractor::use_at(const Words& words, std::size_t at) {
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

void Extractor::call_lambda(Words& words, std::size_t at, const Lambda& in_place, Statements& out) {
  const Word name = words[at];
  const std::size_t open = in_place.body != 0 ? closing(words, in_place.body) + 1 : at + 1;
  if (!is_at(words, open, "("))
    throw Refused(name.token, fmt::format("the lambda '{}', in which threads meet, can be called by its name, and nothing "
                                          "else",
                                          name.text));
  const std::size_t close = closing(words, open);
  const LocalLambda lambda = in_place.body != 0 ? read_lambda(slice(words, at, open), 0, capturable_, function_.made_up, out)
                                                : lambdas_.at(name.text);
  const bool again = in_place.body == 0 && !lambda.body.empty() && !inlined_.insert(lambda.body[0].token).second;
  for (const Statement& top : lambda.body) {
    const bool defines = top.is(Kind::type) && contains(top.words, "{");
    if (!again || !defines) continue;
    throw Refused(top.token, fmt::format("a class inside of the lambda '{}', in which threads meet and which is called more "
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

Words Extractor::operand(const Words& value, Statements& out, bool own, const Words& type) {
  const bool is_name = value.size() == 1 && value[0].is_identifier() && !is_keyword(value[0].text);
  const bool of_object =
      is_name && function_.place->has_object() && unit_.has_member(function_.place->of_class, value[0].text);
  const bool is_reference = is_name && own_.count(value[0].text) == 0 && others_.count(value[0].text) != 0;
  if (!own && is_name && !of_object && !is_reference) return value;
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

Words Extractor::lambda_of(const Words& argument) const {
  Words lambda = argument;
  if (argument.size() == 1 && closures_.count(argument[0].text) != 0) {
    const std::vector<Words>& all = closures_.at(argument[0].text);
    if (all.size() > 1)
      throw Refused(argument[0].token, fmt::format("'{}' is handed in where threads meet, and two lambdas have that name; "
                                                   "rename one of them",
                                                   argument[0].text));
    lambda = all[0];
  }
  if (!is_at(lambda, 0, "[")) return {};
  if (!is_at(lambda, 1, "]"))
    throw Refused(argument[0].token,
                  "a lambda that captures something is handed in where threads meet; let it capture nothing, or hand in an "
                  "object of a class");
  return lambda;
}

bool Extractor::meet(Statement& s, const Meeting& meeting, const std::vector<Words>& arguments, Statements& out) {
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
  for (const Words& argument : arguments) {
    const Words lambda = lambda_of(argument);
    s.arguments.push_back(lambda.empty() ? operand(argument, out, false) : lambda);
  }
  return meeting.result != Meeting::Result::none;
}

Words Extractor::number_of(const Parameter& parameter) {
  Words type;
  for (const Word& word : parameter.type) {
    if (!word.is("const") && !word.is("*")) type.push_back(word);
  }
  const bool is_number = std::all_of(type.begin(), type.end(), [](const Word& word) { return is_type_word(word.text); });
  return is_number && type.size() + 2 == parameter.type.size() ? type : Words{};
}

bool Extractor::is_elsewhere(const Words& value) {
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

Words Extractor::address_of_object(Words object, std::uint32_t token, Statements& out) {
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

Words Extractor::converted(const Function& callee, std::size_t index, const Words& value, const Statement& call,
                           const std::vector<Words>& arguments) {
  const Parameter& parameter = callee.parameters[index];
  const auto has_lambda = [](const Words& words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (words[i].is("[") && (i == 0 || words[i - 1].is("(") || words[i - 1].is(",") || words[i - 1].is("="))) return true;
    }
    return false;
  };
  if (!converts(callee, parameter) || (call.template_arguments.empty() && !contains(parameter.type, "*")) ||
      std::any_of(arguments.begin(), arguments.end(), has_lambda))
    return value;
  Words words = made_up(fmt::format("::weir_host::converted<{}, decltype({}_weir_types", index, call.function), call.token);
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

bool Extractor::call(Statement& s, const std::string& name, const std::vector<Words>& arguments, Statements& out,
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
    throw Refused(
        s.token, fmt::format("'{}' takes {} arguments, and {} are given", name, callee.parameters.size(), arguments.size()));
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
    if (parameter.is_by_address) {
      const bool lambda = value.size() == 1 && closures_.count(value[0].text) != 0;
      if (lambda || !is_place(value))
        throw Refused(s.token, fmt::format("'{}' takes this argument by reference: give it a variable by its name", name));
      Words address = made_up("&(", s.token);
      append(address, value);
      append(address, made_up(")", s.token));
      s.arguments.push_back(operand(address, out, true));
      continue;
    }
    if (parameter.is_called && may_change_when_called(value)) {
      throw Refused(s.token, fmt::format("'{}' takes this argument by reference, and a call may change it: let its "
                                         "operator() be const, or hand over a lambda that is not mutable",
                                         name));
    }
    if (parameter.is_copy && is_elsewhere(value) && unit_.has_barrier(name, of_class)) {
      throw Refused(s.token, fmt::format("'{}', of which there is an overload that takes a value, takes this argument by "
                                         "reference, and other threads may change it: copy it to a variable first",
                                         name));
    }
    const bool of_object = !parameter.is_array && (parameter.is_written || parameter.is_viewed || parameter.is_copy) &&
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

bool Extractor::is_array(const Words& value) const {
  if (value.size() == 4 && value[1].is("*")) {
    return std::any_of(function_.parameters.begin(), function_.parameters.end(),
                       [&](const Parameter& p) { return p.is_array && p.name.text == value[2].text; });
  }
  const auto array = dimensions_.find(value[0].text);
  return value.size() == 1 && array != dimensions_.end() && array->second > 0;
}

const Function& Extractor::signature(const std::string& name, std::uint32_t token, const std::vector<Words>& arguments,
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
    if (f.parameters.size() < arguments.size()) continue;
    const std::size_t given = arguments.size();
    if (f.parameters.size() > given && f.parameters[given].default_value.empty()) continue;
    // An array is told from a number here, since it is handed over by its address. A pointer takes both.
    bool takes = true;
    for (std::size_t i = 0; i < given; ++i) {
      const Parameter& p = f.parameters[i];
      const bool pointer = !p.is_array && !p.is_viewed && contains(p.type, "*");
      takes = takes && (pointer || p.is_array == is_array(arguments[i]));
    }
    if (!takes) continue;
    const auto same = [](const Parameter& a, const Parameter& b) {
      return a.is_written == b.is_written && a.is_viewed == b.is_viewed && a.is_by_address == b.is_by_address &&
             text_of(a.default_value) == text_of(b.default_value);
    };
    if (one != nullptr && (f.returns_value != one->returns_value || f.place->is_static != one->place->is_static ||
                           !std::equal(f.parameters.begin(), f.parameters.end(), one->parameters.begin(),
                                       one->parameters.end(), same))) {
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

}  // namespace weir::kernels
