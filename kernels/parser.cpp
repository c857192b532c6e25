// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include "kernels/syntax.hpp"

namespace weir::kernels {
namespace {

using Kind = Statement::Kind;

bool is_class_key(const Word& word) { return word.is("struct") || word.is("class") || word.is("union") || word.is("enum"); }

// Of `struct name : base { …`, which begins at `key`: where the name stands, or `key` if it has none, and where the brace.
// Zeros if it is no definition of a class: `struct name variable = {…}`.
struct ClassHead {
  std::size_t name, open;
};
ClassHead class_head(const Words& words, std::size_t key) {
  if (key >= words.size() || !is_class_key(words[key])) return {0, 0};
  std::size_t i = key + 1, name = key;
  while (is_at(words, i, "class") || is_at(words, i, "struct")) ++i;  // enum class
  while (is_at(words, i, "alignas") || is_at(words, i, "__align__") || is_at(words, i, "__attribute__"))
    i = closing(words, i + 1) + 1;
  if (i < words.size() && words[i].is_identifier()) name = i++;
  if (is_at(words, i, "final")) ++i;
  if (is_at(words, i, ":")) {
    while (i < words.size() && !words[i].is("{")) ++i;
  }
  return is_at(words, i, "{") ? ClassHead{name, i} : ClassHead{0, 0};
}

constexpr std::string_view one_each =
    "a pointer or reference to an array, or to a function, in a declaration of several variables; give each a declaration "
    "of its own";

class Parser {
 public:
  explicit Parser(const Words& words) : words_(words) {}

  std::vector<Statement> run() {
    std::vector<Statement> statements;
    while (at_ < words_.size()) statement(statements);
    return statements;
  }

 private:
  bool is(std::string_view text, std::size_t ahead = 0) const { return is_at(words_, at_ + ahead, text); }
  std::uint32_t token() const {
    return at_ < words_.size() ? words_[at_].token : words_.empty() ? no_token : words_.back().token;
  }

  [[noreturn]] void refuse(const std::string& reason) const { throw Refused(token(), reason); }

  Statement begin(Kind kind) const {
    Statement s;
    s.kind = kind;
    s.token = token();
    return s;
  }

  // What stands in the parentheses at the position, which moves behind them.
  Words group() {
    if (!is("(")) refuse("a '(' was expected here");
    const std::size_t close = closing(words_, at_);
    if (close == words_.size()) refuse("this parenthesis is not closed");
    Words inside = slice(words_, at_ + 1, close);
    at_ = close + 1;
    return inside;
  }

  // One statement, with or without braces.
  std::vector<Statement> body() {
    std::vector<Statement> statements;
    if (is("{")) {
      const std::size_t close = closing(words_, at_);
      if (close == words_.size()) refuse("this brace is not closed");
      statements = parse_statements(slice(words_, at_ + 1, close));
      at_ = close + 1;
    } else {
      statement(statements);
    }
    return statements;
  }

  void statement(std::vector<Statement>& out) {
    if (at_ >= words_.size()) refuse("a statement was expected behind this");
    if (is(";")) {
      ++at_;
    } else if (is("{")) {
      Statement s = begin(Kind::block);
      s.body = body();
      out.push_back(std::move(s));
    } else if (is("[") && is("[", 1)) {  // an attribute
      at_ = closing(words_, at_) + 1;
    } else if (is("if")) {
      out.push_back(branch());
    } else if (is("for")) {
      out.push_back(for_loop());
    } else if (is("while") || is("do")) {
      out.push_back(while_loop());
    } else if (is("switch")) {
      Statement s = begin(Kind::choice);
      ++at_;
      s.words = group();
      s.body = body();
      out.push_back(std::move(s));
    } else if (is("case") || is("default")) {
      out.push_back(label());
    } else {
      simple(out);
    }
  }

  Statement branch() {
    Statement s = begin(Kind::branch);
    ++at_;
    if (is("constexpr")) {
      s.is_constexpr = true;
      ++at_;
    }
    s.words = group();
    s.body = body();
    if (is("else")) {
      ++at_;
      s.has_other = true;
      s.other = body();
    }
    return s;
  }

  Statement for_loop() {
    Statement s = begin(Kind::loop);
    ++at_;
    const Words head = group();
    std::vector<Words> parts(1);
    for (std::size_t i = 0; i < head.size();) {
      if (head[i].is(";")) {
        parts.emplace_back();
        ++i;
        continue;
      }
      for (const std::size_t end = after(head, i); i < end; ++i) parts.back().push_back(head[i]);
    }
    if (parts.size() == 1) {
      s.kind = Kind::range_loop;
      s.words = head;
    } else if (parts.size() == 3) {
      if (!parts[0].empty()) {
        Words first = parts[0];
        first.push_back({Token::Kind::punctuation, ";", first.back().token, no_variable});
        s.first = parse_statements(first);
      }
      s.words = parts[1];
      s.step = parts[2];
    } else {
      throw Refused(s.token, "this head of a for loop is not understood");
    }
    s.body = body();
    return s;
  }

  Statement while_loop() {
    Statement s = begin(Kind::loop);
    s.loop = is("do") ? Statement::Loop::do_loop : Statement::Loop::while_loop;
    ++at_;
    if (s.loop == Statement::Loop::while_loop) {
      s.words = group();
      s.body = body();
      return s;
    }
    s.body = body();
    if (!is("while")) refuse("a do loop without its while");
    ++at_;
    s.words = group();
    if (is(";")) ++at_;
    return s;
  }

  Statement label() {
    Statement s = begin(Kind::label);
    while (at_ < words_.size() && !is(":")) s.words.push_back(words_[at_++]);
    s.words.push_back({Token::Kind::punctuation, ":", token(), no_variable});
    ++at_;
    return s;
  }

  // What ends with a semicolon.
  void simple(std::vector<Statement>& out) {
    for (const std::string_view word : {"goto", "try", "co_await", "co_yield", "co_return", "__label__"}) {
      if (is(word)) refuse("'" + std::string(word) + "' in a function in which threads of a block work together");
    }
    if (words_[at_].is_identifier() && is(":", 1) && !is_keyword(words_[at_].text)) {
      refuse("a label in a function in which threads of a block work together");
    }
    Statement s = begin(Kind::expression);
    const bool a_type = is("typedef") || is("using") || is("static_assert") || is("namespace");
    std::size_t end = at_;
    while (end < words_.size() && !words_[end].is(";")) end = after(words_, end);
    Words words = slice(words_, at_, end);
    at_ = end + 1;
    if (!a_type) take_class_apart(words, out);
    if (a_type || class_head(words, 0).open != 0) {
      s.kind = Kind::type;
      s.words = std::move(words);
      s.words.push_back({Token::Kind::punctuation, ";", s.token, no_variable});
    } else if (words[0].is("return")) {
      s.kind = Kind::leave;
      s.words = slice(words, 1, words.size());
    } else if (words[0].is("break") || words[0].is("continue")) {
      s.kind = Kind::jump;
      s.words = std::move(words);
    } else if (parse_declaration(words, s)) {
      s.kind = Kind::declaration;
    } else if (!choose(words, s)) {
      s.words = std::move(words);
    }
    out.push_back(std::move(s));
  }

  // `c ? a : b;` is `if (c) a; else b;`, so that threads may meet in `a` and `b` as in any other statement.
  static bool choose(const Words& words, Statement& s) {
    std::size_t question = 0, colon = 0;
    int depth = 0;
    for (std::size_t i = 0; i < words.size(); i = after(words, i)) {
      if (words[i].is("?") && depth++ == 0 && question == 0) question = i;
      if (words[i].is(":") && --depth == 0 && colon == 0) colon = i;
      const bool outside = question == 0 || colon != 0;
      if (outside && (words[i].is(",") || (colon == 0 && is_assignment(words[i].text)))) return false;
    }
    if (question == 0 || colon <= question + 1 || colon + 1 == words.size()) return false;
    const auto statement_of = [&](std::size_t first, std::size_t last) {
      Words part = slice(words, first, last);
      part.push_back({Token::Kind::punctuation, ";", part.back().token, no_variable});
      return parse_statements(part);
    };
    s.kind = Kind::branch;
    s.words = slice(words, 0, question);
    s.body = statement_of(question + 1, colon);
    s.has_other = true;
    s.other = statement_of(colon + 1, words.size());
    return true;
  }

  // `__shared__ union { … } s` becomes a class, which is added to `out`, and the declaration of a variable, which `words`
  // are then: a variable that a class declares would be overlooked.
  static void take_class_apart(Words& words, std::vector<Statement>& out) {
    std::size_t key = 0;
    while (key < words.size() && !is_class_key(words[key]) &&
           (is_type_word(words[key].text) || words[key].is("alignas") || words[key].is("__align__")))
      key = is_at(words, key + 1, "(") ? closing(words, key + 1) + 1 : key + 1;
    const auto [name_at, open] = class_head(words, key);
    if (open == 0) return;
    const std::size_t close = closing(words, open);
    if (close + 1 >= words.size()) return;
    Words type = slice(words, key, close + 1);
    Word name = words[name_at];
    if (name_at == key) {
      name = {Token::Kind::identifier, "weir_class_" + std::to_string(words[key].token), words[key].token, no_variable};
      type.insert(type.begin() + static_cast<std::ptrdiff_t>(open - key), name);
    }
    Statement s;
    s.kind = Kind::type;
    s.token = words[key].token;
    s.words = std::move(type);
    s.words.push_back({Token::Kind::punctuation, ";", s.token, no_variable});
    out.push_back(std::move(s));
    Words rest = slice(words, 0, key);
    rest.push_back(name);
    for (std::size_t i = close + 1; i < words.size(); ++i) rest.push_back(words[i]);
    words = std::move(rest);
  }

  const Words& words_;
  std::size_t at_ = 0;
};

bool is_pointer_word(const Word& word) {
  return word.is("*") || word.is("&") || word.is("&&") || word.is("const") || word.is("volatile") ||
         word.is("__restrict__") || word.is("__restrict");
}

bool names_a_type_alone(const Word& word) {
  return is_type_word(word.text) && !word.is("const") && !word.is("constexpr") && !word.is("volatile") &&
         !word.is("static") && !word.is("extern") && !word.is("register") && !is_class_key(word) && !word.is("typename") &&
         !word.is("inline") && !word.is("__shared__") && !word.is("__device__") && !word.is("__constant__") &&
         !word.is("__restrict__") && !word.is("__restrict");
}

// The end of a type's name at `i`: `a::b<c>::d`.
std::size_t type_name_end(const Words& words, std::size_t i) {
  if (is_at(words, i, "::")) ++i;
  for (++i; i < words.size();) {
    if (words[i].is("<")) {
      const std::size_t close = closing_angle(words, i);
      if (close == 0) break;
      i = close + 1;
    } else if (words[i].is("::") && i + 1 < words.size() && words[i + 1].is_identifier()) {
      i += 2;
    } else {
      break;
    }
  }
  return i;
}

// The specifiers of a declaration: [0, result). 0 if there are none.
std::size_t specifiers_end(const Words& words) {
  bool type = false;
  std::size_t i = 0;
  while (i < words.size()) {
    const Word& word = words[i];
    if ((word.is("alignas") || word.is("__attribute__") || word.is("__align__") || (word.is("decltype") && !type)) &&
        is_at(words, i + 1, "(")) {
      type = type || word.is("decltype");
      i = closing(words, i + 1) + 1;
    } else if (word.is_identifier() && is_type_word(word.text)) {
      type = type || names_a_type_alone(word);
      ++i;
    } else if (!type && (word.is("::") || (word.is_identifier() && !is_keyword(word.text)))) {
      const std::size_t end = type_name_end(words, i);
      std::size_t next = end;
      while (next < words.size() && is_pointer_word(words[next])) ++next;
      if (next >= words.size() || !words[next].is_identifier() || is_keyword(words[next].text)) return 0;
      const bool declares = next + 1 == words.size() || words[next + 1].is("=") || words[next + 1].is(",") ||
                            words[next + 1].is("[") || words[next + 1].is("(") || words[next + 1].is("{");
      // `T const x`, `T __shared__ x`
      if (!declares && !is_type_word(words[next].text)) return 0;
      type = true;
      i = end;
    } else {
      break;
    }
  }
  return type ? i : 0;
}

}  // namespace

bool parse_declaration(const Words& words, Statement& statement) {
  const std::size_t first = specifiers_end(words);
  if (first == 0 || first >= words.size() || words[first].is("(") || words[first].is("{")) return false;
  if (words[first].is("[") || (is_pointer_word(words[first]) && is_at(words, first + 1, "["))) {
    throw Refused(words[first].token,
                  "a structured binding in a function in which threads of a block work together; name the members");
  }
  std::vector<Declarator> declarators;
  for (const Words& part : split_at_commas(slice(words, first, words.size()))) {
    Declarator d;
    std::size_t i = 0;
    while (i < part.size() && is_pointer_word(part[i])) {
      if (!part[i].is("__restrict__") && !part[i].is("__restrict")) d.pointer.push_back(part[i]);
      ++i;
    }
    if (is_at(part, i, "(") && !declarators.empty()) throw Refused(part[i].token, std::string(one_each));
    if (i == part.size() || !part[i].is_identifier() || is_keyword(part[i].text)) return false;
    d.name = part[i++];
    while (is_at(part, i, "[")) {
      const std::size_t close = closing(part, i);
      d.dimensions.push_back(slice(part, i + 1, close));
      i = close + 1;
    }
    if (i < part.size()) {
      if (part[i].is("=")) {
        d.form = Declarator::Form::equals;
        d.initializer = slice(part, i + 1, part.size());
      } else if (part[i].is("(") || part[i].is("{")) {
        d.form = part[i].is("(") ? Declarator::Form::parentheses : Declarator::Form::braces;
        const std::size_t close = closing(part, i);
        if (close + 1 != part.size()) return false;
        d.initializer = slice(part, i + 1, close);
      } else {
        return false;
      }
      if (d.form == Declarator::Form::equals && d.initializer.empty()) return false;
    }
    declarators.push_back(std::move(d));
  }
  if (declarators.empty()) return false;
  statement.specifiers = slice(words, 0, first);
  statement.declarators = std::move(declarators);
  return true;
}

namespace {

// `float (*p)[8]`: a declaration whose type stands around the name, from the words before the parenthesis to the one behind
// it.
struct TypeAround {
  std::size_t open = 0;  // the parenthesis; 0 if this is none
  std::size_t end = 0;
  std::size_t name = 0, pointer_end = 0;
  bool deduced = false;
};

TypeAround read_type_around(const Words& words, std::size_t first, const std::function<bool(const Word&)>& is_type) {
  TypeAround t;
  bool type = false;
  const Word* named = nullptr;  // a type that is not built in
  std::size_t i = first;
  for (; i < words.size() && !words[i].is("("); ++i) {
    if (is_type_word(words[i].text)) {
      type = type || names_a_type_alone(words[i]);
      t.deduced = t.deduced || words[i].is("auto");
    } else if (!type && words[i].is("decltype") && is_at(words, i + 1, "(")) {
      type = true;
      i = closing(words, i + 1);
    } else if (!type && (words[i].is("::") || (words[i].is_identifier() && !is_keyword(words[i].text)))) {
      type = true;
      named = &words[i];
      const std::size_t end = type_name_end(words, i);
      for (std::size_t k = i; k < end && !words[k].is("<"); ++k) {
        if (words[k].is_identifier()) named = &words[k];
      }
      i = end - 1;
    } else if (!type || !is_pointer_word(words[i])) {
      return {};
    }
  }
  if (!type || i == words.size()) return {};
  std::size_t k = i + 1;
  bool reference = false;
  while (k < words.size() && is_pointer_word(words[k])) reference = words[k++].text.starts_with("&") || reference;
  const bool pointer = reference || contains(slice(words, i, k), "*");
  t.name = k++;
  if (k >= words.size() || !words[t.name].is_identifier() || is_keyword(words[t.name].text)) return {};
  while (is_at(words, k, "[")) k = closing(words, k) + 1;
  if (!pointer) {  // `float (x) = 1;`
    const bool declares = named == nullptr && is_at(words, k, ")") &&
                          (is_at(words, k + 1, "=") || is_at(words, k + 1, "[") || is_at(words, k + 1, "(") ||
                           is_at(words, k + 1, "{"));
    return declares ? TypeAround{i, k + 1, t.name, k + 1, true} : TypeAround{};
  }
  if (!is_at(words, k, ")")) return {};
  t.pointer_end = ++k;
  while (is_at(words, k, "[")) k = closing(words, k) + 1;
  if (k == t.pointer_end && is_at(words, k, "(")) k = closing(words, k) + 1;
  const bool initialized =
      k == words.size() || is_at(words, k, "=") || is_at(words, k, "{") || is_at(words, k, ":");  // a parameter ends
  const bool another = is_at(words, k + 1, "(") && k + 2 < words.size() && is_pointer_word(words[k + 2]);
  const bool listed = is_at(words, k, ",") && (named == nullptr || another);
  if (!initialized && (reference || !is_at(words, k, ";")) && !listed) return {};
  if (named != nullptr && (k == t.pointer_end || !is_type(*named))) return {};  // a call: `f(*p) = 1;`, `row(&x)[1] = 2;`
  t.end = k;
  t.open = i;
  return t;
}

bool begins_statement(const Words& words, std::size_t i) {
  if (i == 0 || words[i - 1].is(";") || words[i - 1].is("{") || words[i - 1].is("}")) return true;
  if (i == 1) return false;
  const bool keyword = words[i - 2].is("for") || words[i - 2].is("if") || words[i - 2].is("while");
  return (words[i - 1].is("(") && keyword) || (words[i - 1].is("]") && words[i - 2].is("]"));
}

// What follows a variable whose type stands around its name, up to `end`: its initializer, and other variables of that type,
// whose names alone are left. `around` stands behind each name.
Words with_names_alone(const Words& words, std::size_t first, std::size_t end, const Words& around) {
  Words result;
  bool is_first = true;
  for (const Words& part : split_at_commas(slice(words, first, end))) {
    if (is_first) {
      result = part;
      is_first = false;
      continue;
    }
    const std::size_t close = is_at(part, 0, "(") ? closing(part, 0) : part.size();
    std::size_t k = close + 1;
    bool same = k + around.size() <= part.size();
    for (const Word& word : around) same = same && part[k++].is(word.text);
    if (!same || close < 3 || !part[close - 1].is_identifier() || !(k == part.size() || part[k].is("=") || part[k].is("{")))
      throw Refused(words[first - 1].token, std::string(one_each));
    result.push_back({Token::Kind::punctuation, ",", part[0].token, no_variable});
    append(result, slice(part, 1, close));
    append(result, slice(part, k, part.size()));
  }
  return result;
}

}  // namespace

Words with_types_first(const Words& words, const std::function<bool(const Word&)>& is_type) {
  Words result;
  for (std::size_t i = 0; i < words.size();) {
    const TypeAround t = begins_statement(words, i) ? read_type_around(words, i, is_type) : TypeAround{};
    if (t.open == 0) {
      result.push_back(words[i++]);
      continue;
    }
    std::size_t end = t.end;
    while (end < words.size() && !words[end].is(";") && !words[end].is(")")) end = after(words, end);
    Words type;
    for (; i < t.open; ++i) {
      const bool of_type = words[i].is("const") || words[i].is("volatile") || !is_type_word(words[i].text) ||
                           names_a_type_alone(words[i]) || is_class_key(words[i]) || words[i].is("typename");
      (of_type ? type : result).push_back(words[i]);
    }
    if (!t.deduced) {  // what is around `auto` follows from the initializer
      append(result, made_up("::weir_host::spelled<", words[t.name].token));
      append(type, slice(words, t.pointer_end, t.end));
      append(type, made_up(">", words[t.name].token));
    }
    append(result, type);
    append(result, slice(words, t.open + 1, t.pointer_end - 1));
    append(result, with_types_first(with_names_alone(words, t.end, end, slice(words, t.pointer_end, t.end)), is_type));
    i = end;
  }
  return result;
}

std::vector<Statement> parse_statements(const Words& words) { return Parser(words).run(); }

}  // namespace weir::kernels
