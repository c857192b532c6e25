// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "kernels/function.hpp"
#include "kernels/one_of.hpp"
#include "kernels/uses.hpp"
#include "kernels/vocabulary.hpp"

/// Loops over what a thread owns: `for (int i = thread; i < n; i += threads)`. Thread by thread, each would run through
/// memory in steps. In step, neighbours take neighbouring elements, and the compiler vectorizes.
namespace weir::kernels {
namespace {

using Kind = Statement::Kind;
using Statements = std::vector<Statement>;

class Strides {
 public:
  Strides(Function& function, const Unit& unit) : function_(function), unit_(unit) {}

  bool run() {
    list(function_.body);
    return found_;
  }

 private:
  void list(Statements& statements) {
    for (Statement& s : statements) {
      if (s.is(Kind::block)) list(s.body);
      if (s.is(Kind::declaration)) {
        for (const Declarator& d : s.declarators) {
          if (follows_thread(d.initializer)) thread_names_.push_back(d.name.text);
          if (counts_along_x(d.initializer) && !assigned_anywhere(d.name.text)) row_names_.push_back(d.name.text);
        }
      }
      if (s.is(Kind::loop)) loop(s);
    }
  }

  bool follows_thread(const Words& words) const {
    return std::any_of(words.begin(), words.end(), [&](const Word& word) {
      return word.is("threadIdx") || word.is("weir_global_x") ||
             std::find(thread_names_.begin(), thread_names_.end(), word.text) != thread_names_.end();
    });
  }

  bool assigns(const Words& words, const std::string& name, bool by_unknown_function) const {
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (!words[i].is(name) || !can_name_variable(words, i)) continue;
      const bool behind =
          i + 1 < words.size() && (is_assignment(words[i + 1].text) || words[i + 1].is("++") || words[i + 1].is("--"));
      const bool before =
          i > 0 && (words[i - 1].is("++") || words[i - 1].is("--") || (words[i - 1].is("&") && is_prefix(words, i - 1)));
      const bool method = is_at(words, i + 1, ".") && is_at(words, i + 3, "(");
      if (behind || before || method || may_be_passed_by_reference(words, i, i + 1, unit_, by_unknown_function)) return true;
    }
    return false;
  }
  bool assigned_anywhere(const std::string& name) const {
    bool found = false;
    for (const Statement& s : function_.body) {
      for_all(s, [&](const Statement& inner) {
        for_own_words(inner, [&](const Words& words) { found = found || assigns(words, name, true); });
        for (const Declarator& d : inner.declarators) found = found || (d.is_reference() && contains(d.initializer, name));
        found = found || (inner.is(Kind::range_loop) && contains(inner.words, name));
      });
    }
    return found;
  }
  // Whether the words are arithmetic on numbers and on names that never change.
  bool is_fixed(const Words& words) const {
    for (std::size_t i = 0; i < words.size(); ++i) {
      const Word& word = words[i];
      if (word.kind == Token::Kind::string) return false;
      if (word.kind == Token::Kind::punctuation) {
        if (word.is("[") || word.is("{") || word.is("->") || word.is("?") || is_assignment(word.text) || word.is("++") ||
            word.is("--"))
          return false;
        if ((word.is("*") || word.is("&")) && is_prefix(words, i)) return false;
        if (word.is("(") && i > 0 && words[i - 1].is_identifier() && !is_type_word(words[i - 1].text)) return false;
      }
      if (word.is_identifier() && !is_type_word(word.text) && can_name_variable(words, i) && assigned_anywhere(word.text))
        return false;
    }
    return !words.empty();
  }

  bool counts_along_x(const Words& words) const {
    if (words.size() == 1 && words[0].is("weir_global_x")) return true;
    if (words.size() == 3 && words[0].is("threadIdx") && words[2].is("x")) return true;
    return words.size() == 1 && std::find(row_names_.begin(), row_names_.end(), words[0].text) != row_names_.end();
  }
  // `i < n`, where i is one more for the next thread. Whether n is the same for all is known once variables have places.
  bool ascends(const Words& condition, const std::string& name, const Words& thread) const {
    if (condition.size() < 3 || !condition[0].is(name) || !(condition[1].is("<") || condition[1].is("<="))) return false;
    const Words bound = slice(condition, 2, condition.size());
    return counts_along_x(thread) && is_fixed(bound) && !follows_thread(bound) && !contains(bound, name) &&
           !contains(bound, "&&") && !contains(bound, "||");
  }

  // What is counted by a sum is the same as what is counted step by step: not so for floating-point numbers.
  static bool is_integer(const Words& type) {
    constexpr std::string_view words[] = {"int", "unsigned", "signed", "long", "short", "char", "size_t", "ptrdiff_t",
                                          "int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "int64_t",
                                          "uint64_t"};
    return std::all_of(type.begin(), type.end(), [&](const Word& word) {
      return one_of(word.text, words);
    });
  }
  // Whether the numbers of a block's threads all fit.
  static bool is_wide(const Words& type) {
    return std::none_of(type.begin(), type.end(), [](const Word& word) {
      return word.is("short") || word.is("char") || word.text.find("int8_") != std::string::npos ||
             word.text.find("int16_") != std::string::npos;
    });
  }

  void loop(Statement& s) {
    if (s.loop != Statement::Loop::for_loop || s.first.size() != 1 || !s.first[0].is(Kind::declaration) ||
        s.first[0].declarators.size() != 1)
      return;
    const Declarator d = s.first[0].declarators[0];  // a copy: it is replaced below
    const std::string& name = d.name.text;
    const Words& specifiers = s.first[0].specifiers;
    const bool plain =
        is_integer(specifiers) && d.form == Declarator::Form::equals && d.dimensions.empty() && d.pointer.empty();
    if (!plain || s.words.empty() || s.step.size() < 3 || !s.step[0].is(name) || !s.step[1].is("+=")) return;
    const Words step = slice(s.step, 2, s.step.size());
    if (!is_fixed(d.initializer) || !follows_thread(d.initializer) || !is_fixed(step) || follows_thread(step) ||
        assigns(s.words, name, false))
      return;
    Statement body;
    body.body = s.body;
    bool changes = has_jumps(body) || has_return(body);
    for_all(std::as_const(body), [&](const Statement& inner) {
      for_own_words(inner, [&](const Words& words) { changes = changes || assigns(words, name, false); });
    });
    if (changes) return;

    // for (T offset = 0;; offset += step) { const T i = (T)(thread) + offset; if (!(i < n)) leave; … }
    const std::uint32_t at = s.token;
    const Word offset{Token::Kind::identifier, fmt::format("weir_offset_{}", ++function_.made_up), no_token, no_variable};
    Statement index;
    index.kind = Kind::declaration;
    index.token = at;
    index.specifiers = made_up("const");
    append(index.specifiers, specifiers);
    Declarator counted = d;
    counted.initializer = made_up("(");
    append(counted.initializer, specifiers);
    append(counted.initializer, made_up(")("));
    append(counted.initializer, d.initializer);
    append(counted.initializer, made_up(")+"));
    counted.initializer.push_back(offset);
    index.declarators.push_back(std::move(counted));
    Declarator& first = s.first[0].declarators[0];
    first.name = offset;
    first.initializer = made_up("0");
    s.step = {offset, {Token::Kind::punctuation, "+=", no_token, no_variable}};
    append(s.step, step);
    s.ascending = is_wide(specifiers) && ascends(s.words, name, d.initializer);
    s.before.push_back(std::move(index));
    s.cooperates = found_ = true;
  }

  Function& function_;
  const Unit& unit_;
  std::vector<std::string> thread_names_, row_names_;
  bool found_ = false;
};

}  // namespace

bool put_strides_in_step(Function& function, const Unit& unit) { return Strides(function, unit).run(); }

bool keeps_plain_values(const Function& function) {
  return std::all_of(function.body.begin(), function.body.end(), [](const Statement& s) {
    if (!s.is(Kind::declaration)) return true;
    return std::all_of(s.declarators.begin(), s.declarators.end(), [&](const Declarator& d) {
      if (!d.dimensions.empty()) return false;
      return contains(d.pointer, "*") || std::all_of(s.specifiers.begin(), s.specifiers.end(), [](const Word& word) {
               return is_type_word(word.text) || word.text.ends_with("_t") || word.is("float2") || word.is("float4") ||
                      word.is("int2") || word.is("int4");
             });
    });
  });
}

}  // namespace weir::kernels
