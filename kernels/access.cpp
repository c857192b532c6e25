// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <set>

#include "kernels/function.hpp"
#include "kernels/slope.hpp"
#include "kernels/uses.hpp"

/// How a piece uses memory, as far as it matters for what compilers are promised of it.
namespace weir::kernels {
namespace {

using Kind = Statement::Kind;
using Place = Variable::Place;

class Accesses {
 public:
  explicit Accesses(const Function& function) : f_(function) {}

  bool run(const std::vector<const Statement*>& statements) {
    for (const Statement* s : statements) statement(*s, false);
    return apart_ && reorders_;
  }

 private:
  // --- Slopes

  Slope slope_of_word(const Words& words, std::size_t i) {
    const Word& word = words[i];
    if (word.is("weir_global_x")) return Slope::one;
    if (word.is("threadIdx"))
      return is_at(words, i + 2, "x") ? Slope::one : is_at(words, i + 1, ".") ? Slope::none : Slope::other;
    if (word.variable == no_variable) return Slope::none;
    const Variable& v = f_.variable(word.variable);
    if (v.place == Place::uniform) return Slope::none;
    const bool computed = v.kind == Variable::Kind::local && v.declarator != nullptr && !v.assigned && !v.escapes &&
                          v.declarator->form == Declarator::Form::equals && v.declarator->dimensions.empty() &&
                          !v.declarator->is_reference();
    if (!computed) return Slope::other;
    const auto [known, is_new] = slopes_.emplace(word.variable, Slope::other);  // `T* p = (decltype(p))q` names itself
    if (is_new) known->second = slope_of(v.declarator->initializer);
    return known->second;
  }
  // Of a product with a factor that has a slope nothing is said.
  Slope slope_of(const Words& words) {
    return slope_of_sum(words, [this](const Words& term) { return slope_of_term(term); });
  }
  Slope slope_of_term(Words term) {
    while (is_at(term, 0, "(")) {
      const std::size_t close = closing(term, 0);
      if (close + 1 == term.size()) return slope_of(slice(term, 1, close));
      if (term[close + 1].kind == Token::Kind::punctuation && !term[close + 1].is("(")) break;
      term = slice(term, close + 1, term.size());  // a cast
    }
    if (term.size() == 1 || (term.size() == 3 && term[0].is("threadIdx"))) return slope_of_word(term, 0);
    for (std::size_t i = 0; i < term.size(); ++i) {
      if (slope_of_word(term, i) != Slope::none) return Slope::other;
    }
    return Slope::none;
  }

  // --- Accesses

  // An array of the function's own is no other one, and compilers see that.
  bool is_own_array(const Word& word) const {
    if (word.variable == no_variable) return false;
    const Variable& v = f_.variable(word.variable);
    return v.declarator != nullptr && !v.declarator->dimensions.empty() && !contains(v.specifiers, "extern");
  }

  void words(const Words& list, bool in_loop) {
    bool reads = false, writes = false;
    std::set<std::size_t> own_elements;  // what stands behind them
    for (std::size_t i = 0; i < list.size(); ++i) {
      std::size_t end = i + 1;
      if (list[i].is("[") && !is_prefix(list, i)) {
        if (is_own_array(list[i - 1]) || own_elements.count(i) != 0) {
          own_elements.insert(closing(list, i) + 1);
          continue;
        }
        const std::size_t close = closing(list, i);
        const bool plain = list[i - 1].is_identifier() && slope_of_word(list, i - 1) == Slope::none;
        apart_ = apart_ || !plain || slope_of(slice(list, i + 1, close)) == Slope::other;
        end = close + 1;
      } else if (list[i].is("->") || (list[i].is("*") && is_prefix(list, i))) {
        apart_ = true;
        if (list[i].is("*")) end = is_at(list, i + 1, "(") ? closing(list, i + 1) + 1 : i + 2;
        if (list[i].is("->")) end = i + 2;
      } else {
        continue;
      }
      while (is_at(list, end, ".") || is_at(list, end, "[")) {
        apart_ = true;
        end = list[end].is("[") ? closing(list, end) + 1 : end + 2;
      }
      while (is_at(list, end, ")")) ++end;
      const bool stepped = is_at(list, end, "++") || is_at(list, end, "--") || contains(list, "++") || contains(list, "--");
      const bool written = end < list.size() && is_assignment(list[end].text);
      reorders_ = reorders_ || ((written || stepped) && writes);
      (written || stepped ? writes : reads) = true;
    }
    reorders_ = reorders_ || ((reads || writes) && wrote_) || (writes && in_loop);
    wrote_ = wrote_ || writes;
  }

  void statement(const Statement& s, bool in_loop) {
    in_loop = in_loop || s.is(Kind::loop) || s.is(Kind::range_loop);
    for (const Statement& first : s.first) statement(first, in_loop);
    for_own_words(s, [&](const Words& list) { words(list, in_loop); });
    for (const Statement& inner : s.body) statement(inner, in_loop);
    for (const Statement& inner : s.other) statement(inner, in_loop);
  }

  const Function& f_;
  std::map<int, Slope> slopes_;  // of variables
  bool apart_ = false;           // a thread's elements may lie beside each other
  bool wrote_ = false;           // in a statement before
  bool reorders_ = false;        // memory is used behind a write
};

}  // namespace

bool order_matters(const Function& function, const std::vector<const Statement*>& statements) {
  return Accesses(function).run(statements);
}

}  // namespace weir::kernels
