// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "kernels/counted_loop.hpp"
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
    for (std::size_t i = 0; i < statements.size(); ++i) {
      Statement& s = statements[i];
      if (s.is(Kind::declaration)) {
        for (const Declarator& d : s.declarators) {
          if (follows_thread(d.initializer)) thread_names_.push_back(d.name.text);
          if (!is_number(s.specifiers) || !is_fixed_name(d.name.text)) continue;
          if (counts_along_x(d.initializer)) row_names_.push_back(d.name.text);
          if (counts_blocks(d.initializer)) block_names_.push_back(d.name.text);
        }
      }
      if (s.is(Kind::loop)) {
        std::optional<Statement> counted = as_counted_loop(statements, i, function_, unit_);
        if (counted && take_together(*counted)) {
          s = std::move(*counted);
          continue;
        }
      }
      // What all threads run, or none of them.
      const bool by_thread = follows_thread(s.words) || follows_thread(s.step) ||
                             std::any_of(s.first.begin(), s.first.end(), [&](const Statement& first) {
                               return std::any_of(first.declarators.begin(), first.declarators.end(),
                                                  [&](const Declarator& d) { return follows_thread(d.initializer); });
                             });
      if (s.is(Kind::block) || ((s.is(Kind::loop) || s.is(Kind::branch)) && !by_thread)) {
        list(s.body);
        list(s.other);
      }
    }
  }

  bool follows_thread(const Words& words) const {
    return std::any_of(words.begin(), words.end(), [&](const Word& word) {
      return word.is("threadIdx") || word.is("weir_global_x") || one_of(word.text, thread_names_);
    });
  }

  bool assigned_anywhere(const std::string& name) const {
    return std::any_of(function_.body.begin(), function_.body.end(),
                       [&](const Statement& s) { return assigns(s, name, unit_); });
  }
  // Whether the name means one number, which does not change while the function runs.
  bool is_fixed_name(const std::string& name) const {
    if (is_built_in_variable(name) || name == "weir_global_x" || is_integer(made_up(name))) return true;
    int declared = 0;
    bool plain = true;
    const auto note = [&](const Words& type, bool is_value) {
      ++declared;
      plain = plain && is_value && !contains(type, "&") && !contains(type, "*") && !contains(type, "float") &&
              !contains(type, "double");
    };
    for (const Parameter& p : function_.parameters) {
      if (p.name.is(name)) note(p.type, true);
    }
    for (const Statement& top : function_.body) {
      for_all(top, [&](const Statement& s) {
        for (const Declarator& d : s.declarators) {
          if (d.name.is(name))
            note(s.specifiers, d.pointer.empty() && d.dimensions.empty() && !has_fraction(d.initializer));
        }
      });
    }
    if (declared == 0) return unit_.is_constant(name) || contains(function_.template_parameters, name);
    return declared == 1 && plain && !assigned_anywhere(name);
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
        if ((word.is("*") || word.is("&")) && (is_prefix(words, i) || is_cast(words, i - 1))) return false;
        if (word.is("(") && i > 0 && words[i - 1].is_identifier() && !is_type_word(words[i - 1].text)) return false;
      }
      if (word.is_identifier() && !is_type_word(word.text) && can_name_variable(words, i) && !is_fixed_name(word.text))
        return false;
    }
    return !words.empty();
  }

  bool is_of_blocks(const Word& word) const {
    return word.is("blockIdx") || word.is("blockDim") || word.is("gridDim") || word.is("(") || word.is(")") ||
           word.is("+") || word.is("*") || one_of(word.text, block_names_);
  }
  // The index behind a word, or behind `threadIdx.x` and its like.
  static std::size_t behind_term(const Words& words, std::size_t i) {
    return words[i].is_identifier() && is_at(words, i + 1, ".") ? i + 3 : i + 1;
  }
  // Whether it is made of numbers of blocks and of their sizes alone.
  bool counts_blocks(const Words& words) const {
    const Words sum = without_casts(words);
    for (std::size_t i = 0; i < sum.size(); i = behind_term(sum, i)) {
      if (!is_of_blocks(sum[i])) return false;
    }
    return !sum.empty();
  }
  // Whether it is a sum of the thread's number in a row, or of what counts with it, and of numbers of blocks: one more for
  // the next thread. A number of blocks is small, so that such a sum does not wrap around.
  bool counts_along_x(const Words& words) const { return !counter_of(words).empty(); }
  // What counts in such a sum; nothing if it is none.
  Words counter_of(const Words& words) const {
    const Words sum = without_casts(words);
    std::size_t counter = sum.size();
    for (std::size_t i = 0; i < sum.size(); i = behind_term(sum, i)) {
      if ((sum[i].is("threadIdx") && is_at(sum, i + 2, "x")) || sum[i].is("weir_global_x") ||
          one_of(sum[i].text, row_names_)) {
        if (counter != sum.size()) return {};
        counter = i;
      } else if (!is_of_blocks(sum[i])) {
        return {};
      }
    }
    if (counter == sum.size()) return {};
    // Nothing around it is a product.
    std::size_t first = counter, last = behind_term(sum, counter);
    for (;;) {
      if ((first > 0 && sum[first - 1].is("*")) || is_at(sum, last, "*")) return {};
      while (first > 0 && !sum[first - 1].is("(")) first -= sum[first - 1].is(")") ? first - opening(sum, first - 1) : 1;
      while (last < sum.size() && !sum[last].is(")")) last = after(sum, last);
      if (first == 0 && last == sum.size()) return slice(sum, counter, behind_term(sum, counter));
      if (first == 0 || last == sum.size()) return {};
      --first;
      ++last;
    }
  }
  // `(int)x`, `int(x)` and `static_cast<int>(x)` as `x`, where the type is wide enough for any block.
  static Words without_casts(const Words& words) {
    Words result;
    for (std::size_t i = 0; i < words.size();) {
      std::size_t open = i, close = i;  // of the type
      if (words[i].is("(") || (words[i].is("static_cast") && is_at(words, i + 1, "<"))) {
        open = words[i].is("(") ? i + 1 : i + 2;
        close = words[i].is("(") ? closing(words, i) : closing_angle(words, i + 1);
      } else {
        while (close < words.size() && words[close].is_identifier()) ++close;
        if (!is_at(words, close, "(")) close = open;
      }
      const Words type = slice(words, open, std::max(open, close));
      if (!type.empty() && is_integer(type) && is_wide(type)) {
        i = is_at(words, i, "(") || words[i].is("static_cast") ? close + 1 : close;
      } else {
        result.push_back(words[i++]);
      }
    }
    return result;
  }
  // `i < n`, where i is one more for the next thread. Whether n is the same for all is known once variables have places.
  bool ascends(const Words& condition, const std::string& name, const Words& thread) const {
    if (condition.size() < 3 || !condition[0].is(name) || !(condition[1].is("<") || condition[1].is("<="))) return false;
    const Words bound = slice(condition, 2, condition.size());
    // An operator that binds less tightly than `<` would take the comparison apart.
    return !has_loose_operator(bound) && counts_along_x(thread) && is_fixed(bound) && !follows_thread(bound) &&
           !contains(bound, name);
  }

  // What is counted by a sum is the same as what is counted step by step: not so for floating-point numbers.
  static bool is_integer(const Words& type) {
    constexpr std::string_view words[] = {"int", "unsigned", "signed", "long", "short", "char", "size_t", "ptrdiff_t",
                                          "int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "int64_t",
                                          "uint64_t", "uint"};
    return std::all_of(type.begin(), type.end(), [&](const Word& word) {
      return one_of(word.text, words);
    });
  }
  static bool is_long(const Words& type) {
    return std::any_of(type.begin(), type.end(), [](const Word& word) {
      return word.is("long") || word.is("size_t") || word.is("ptrdiff_t") || word.text.find("64") != std::string::npos;
    });
  }
  static bool is_signed(const Words& type) {
    return std::none_of(type.begin(), type.end(), [](const Word& word) {
      return word.is("unsigned") || word.is("size_t") || word.text.starts_with("uint");
    });
  }
  // Of a variable that is declared once: a whole number that is wide enough for any block.
  static bool is_number(const Words& specifiers) {
    Words type;
    for (const Word& word : specifiers) {
      if (!word.is("const") && !word.is("constexpr")) type.push_back(word);
    }
    return !type.empty() && ((type.size() == 1 && type[0].is("auto")) || (is_integer(type) && is_wide(type)));
  }
  static bool has_fraction(const Words& words) {
    return std::any_of(words.begin(), words.end(), [](const Word& word) {
      const bool hexadecimal = word.text.starts_with("0x") || word.text.starts_with("0X");
      return word.kind == Token::Kind::number && !hexadecimal && word.text.find_first_of(".eEfF") != std::string::npos;
    });
  }
  // Whether the numbers of a block's threads all fit.
  static bool is_wide(const Words& type) {
    return std::none_of(type.begin(), type.end(), [](const Word& word) {
      return word.is("short") || word.is("char") || word.text.find("int8_") != std::string::npos ||
             word.text.find("int16_") != std::string::npos;
    });
  }

  // (T)(thread) + offset. With what counts apart if compilers see through it then: (T)(thread, and 0 for what counts) +
  // (T)(what counts) + offset.
  Words index_as(const Words& type, const Words& first, const Word& offset) const {
    Words thread = first;
    const Words counter = counter_of(thread);
    if (counter.size() == 3 && is_signed(type)) {
      for (std::size_t i = 0; i < thread.size(); ++i) {
        if (!thread[i].is("threadIdx")) continue;
        thread[i] = {Token::Kind::number, "0", thread[i].token, no_variable};
        thread.erase(thread.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                     thread.begin() + static_cast<std::ptrdiff_t>(i) + 3);
      }
      append(thread, made_up(")+("));
      append(thread, type);
      append(thread, made_up(")("));
      append(thread, counter);
    }
    Words index = made_up("(");
    append(index, type);
    append(index, made_up(")("));
    append(index, thread);
    append(index, made_up(")+("));
    append(index, type);
    append(index, made_up(")"));
    index.push_back(offset);
    return index;
  }

  static bool asks_type(const Words& words) {
    return contains(words, "decltype") || contains(words, "typeof") || contains(words, "__typeof__") ||
           contains(words, "__typeof");
  }

  // Whether a lambda of this function that has references for parameters, or `auto`, is called with the variable.
  bool passes_to_lambda(const Words& words, const std::string& name) const {
    if (!contains(words, name)) return false;
    bool found = false;
    for (const Statement& top : function_.body) {
      for_all(top, [&](const Statement& s) {
        for (const Declarator& d : s.declarators) {
          if (!is_at(d.initializer, 0, "[") || !contains(words, d.name.text)) continue;
          const Words parameters = slice(d.initializer, closing(d.initializer, 0), d.initializer.size());
          found = found || contains(parameters, "&") || contains(parameters, "auto");
        }
      });
    }
    return found;
  }

  // True if the loop is one over what each thread owns; it is changed then.
  bool take_together(Statement& s) {
    Words& specifiers = s.first[0].specifiers;
    const Declarator d = s.first[0].declarators[0];  // a copy: it is replaced below
    const std::string& name = d.name.text;
    // Only a sum of such numbers is known to be one that `auto` takes for unsigned int.
    if (specifiers.size() == 1 && specifiers[0].is("auto") && d.initializer.size() == 1 &&
        d.initializer[0].is("weir_global_x"))
      specifiers = made_up("unsigned int");
    const bool plain =
        is_integer(specifiers) && d.form == Declarator::Form::equals && d.dimensions.empty() && d.pointer.empty();
    if (!plain) return false;
    const Words step = slice(s.step, 2, s.step.size());
    if (!is_fixed(d.initializer) || !follows_thread(d.initializer) || !is_fixed(step) || has_fraction(step) ||
        follows_thread(step) || assigns(s.words, name, unit_, true) || split_at_commas(s.words).size() > 1)
      return false;
    Statement body;
    body.body = s.body;
    bool changes = has_jumps(body) || has_return(body);
    for_all(std::as_const(body), [&](const Statement& inner) {
      for_own_words(inner, [&](const Words& words) {
        changes = changes || assigns(words, name, unit_, unit_.members_take_references()) || passes_to_lambda(words, name) ||
                  (asks_type(words) && contains(words, name));
      });
      for (const Declarator& each : inner.declarators)
        changes = changes || (each.is_reference() && contains(each.initializer, name));
    });
    if (changes) return false;

    // for (T offset = 0;; offset += step) { const T i = (T)(thread) + offset; if (!(i < n)) leave; … }
    const std::uint32_t at = s.token;
    const Word offset{Token::Kind::identifier, fmt::format("weir_offset_{}", ++function_.made_up), no_token, no_variable};
    Statement index;
    index.kind = Kind::declaration;
    index.token = at;
    index.specifiers = made_up("const");
    append(index.specifiers, specifiers);
    Declarator counted = d;
    counted.initializer = index_as(specifiers, d.initializer, offset);
    index.declarators.push_back(std::move(counted));
    // `for (int i = k; …)` counts a number of 64 bits and uses one of 32: compilers do not see through the cast.
    if (s.body.size() == 1 && !s.body[0].body.empty()) {
      Statement& copy = s.body[0].body[0];
      if (copy.is(Kind::declaration) && copy.declarators.size() == 1 && copy.declarators[0].initializer.size() == 1 &&
          copy.declarators[0].initializer[0].is(name) && is_integer(copy.specifiers) && is_wide(copy.specifiers) &&
          (is_long(specifiers) || !is_long(copy.specifiers)))
        copy.declarators[0].initializer = index_as(copy.specifiers, d.initializer, offset);
    }
    Declarator& first = s.first[0].declarators[0];
    first.name = offset;
    first.initializer = made_up("0");
    s.step = {offset, {Token::Kind::punctuation, "+=", no_token, no_variable}};
    append(s.step, made_up("weir_whole("));
    append(s.step, step);
    append(s.step, made_up(")"));
    s.ascending = is_wide(specifiers) && ascends(s.words, name, d.initializer);
    s.before.push_back(std::move(index));
    s.cooperates = found_ = true;
    return true;
  }

  Function& function_;
  const Unit& unit_;
  std::vector<std::string> thread_names_;  // variables that differ between threads
  std::vector<std::string> row_names_;     // those that are one more for the next thread of a row
  std::vector<std::string> block_names_;   // those that are made of numbers of blocks
  bool found_ = false;
};

}  // namespace

bool put_strides_in_step(Function& function, const Unit& unit) { return Strides(function, unit).run(); }

bool keeps_plain_values(const Function& function, const Unit& unit) {
  const auto plain = [&](const Statement& s) {
    return std::all_of(s.declarators.begin(), s.declarators.end(), [&](const Declarator& d) {
      if (!d.dimensions.empty()) return false;
      return contains(d.pointer, "*") || std::all_of(s.specifiers.begin(), s.specifiers.end(), [&](const Word& word) {
               const bool number = word.text.ends_with("_t") && !unit.defines_class(word.text);
               return is_type_word(word.text) || number || word.is("float2") || word.is("float4") ||
                      word.is("int2") || word.is("int4");
             });
    });
  };
  // What a loop declares that threads take in step lives for a turn.
  const auto all_plain = [&](const Statements& list, const auto& look) -> bool {
    return std::all_of(list.begin(), list.end(), [&](const Statement& s) {
      if (s.is(Kind::declaration)) return s.is_shared() || plain(s);
      return (s.is(Kind::loop) && s.cooperates) || (look(s.body, look) && look(s.other, look));
    });
  };
  return all_plain(function.body, all_plain);
}

}  // namespace weir::kernels
