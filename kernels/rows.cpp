// SPDX-License-Identifier: Apache-2.0
#include "kernels/rows.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "kernels/one_of.hpp"
#include "kernels/slope.hpp"
#include "kernels/uses.hpp"

namespace weir::kernels {
namespace {

using Kind = Statement::Kind;
using Place = Variable::Place;
using List = std::vector<const Statement*>;

// An integer of at least 32 bits: of sums of such numbers, and of what they are converted to, the last 32 bits are those of
// the numbers' sum.
bool is_wide_integer(const Words& type) {
  constexpr std::string_view words[] = {"const",     "constexpr", "int",      "unsigned", "signed",   "long", "size_t",
                                        "ptrdiff_t", "int32_t",   "uint32_t", "int64_t",  "uint64_t", "uint"};
  return !type.empty() && std::all_of(type.begin(), type.end(), [&](const Word& word) { return one_of(word.text, words); });
}
bool is_signed_integer(const Words& type) {
  return is_wide_integer(type) && std::none_of(type.begin(), type.end(), [](const Word& word) {
           return word.is("unsigned") || word.is("size_t") || word.text.starts_with("uint");
         });
}

class Finder {
 public:
  Finder(const Function& function, const Unit& unit) : f_(function), unit_(unit) {}

  Rows run(const List& statements) {
    List list = statements;
    for (;;) {
      const Statement* const guard = guard_of(list);
      std::vector<RowPart> parts;
      if (guard == nullptr || !add_parts(guard->words, true, parts)) break;
      rows_.body.insert(rows_.body.end(), list.begin(), list.end() - 1);
      rows_.parts.insert(rows_.parts.end(), parts.begin(), parts.end());
      list = inside(guard->body);
    }
    for (const Statement* s : list) note_declaration(*s);
    rows_.body.insert(rows_.body.end(), list.begin(), list.end());
    int counting = 0;
    for (const RowPart& part : rows_.parts) counting += part.counting.empty() ? 0 : 1;
    rows_.useful = counting > 1 || (counting == 1 && rows_.parts.size() > 1);
    bool has_loop = false;
    for (const Statement* s : rows_.body) {
      for_all(*s, [&](const Statement& inner) {
        has_loop = has_loop || (inner.is(Kind::loop) && !is_unrolled(inner));
        for_own_words(inner, [&](const Words& words) { note_indices(words); });
      });
    }
    rows_.useful = rows_.useful && !has_loop && rows_.parts.size() < 32;
    return std::move(rows_);
  }

 private:
  // --- Slopes

  Slope slope_of_variable(int index) const {
    const Variable& v = f_.variable(index);
    if (v.place == Place::uniform) return v.kind == Variable::Kind::shared ? Slope::other : Slope::none;
    const auto found = known_.find(index);
    if (found != known_.end()) return found->second;
    return v.place == Place::recomputed && !v.is_group ? slope_of_declared(v.specifiers, *v.declarator) : Slope::other;
  }
  Slope slope_of_declared(const Words& specifiers, const Declarator& d) const {
    const bool plain = d.form == Declarator::Form::equals && d.dimensions.empty() && d.pointer.empty() &&
                       !contains(specifiers, "volatile") && !contains(specifiers, "static");
    const Slope slope = plain ? slope_of(d.initializer) : Slope::other;
    const bool automatic = specifiers.size() <= 2 && contains(specifiers, "auto");
    const bool scalar = std::all_of(specifiers.begin(), specifiers.end(), [](const Word& word) {
      return is_type_word(word.text) || word.is("size_t") || word.text.ends_with("_t");
    });
    if (slope == Slope::one) return is_wide_integer(specifiers) || automatic ? slope : Slope::other;
    return scalar ? slope : Slope::other;
  }

  // Whether it is pure arithmetic on what is the same along a row. It may be computed where the source would not: so nothing
  // is divided by what may be zero, from which a compiler would conclude that it is not.
  bool is_fixed(const Words& words) const {
    Words others;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const Word& word = words[i];
      if (word.is("/") || word.is("%")) {
        const bool number = i + 1 < words.size() && words[i + 1].kind == Token::Kind::number && !words[i + 1].is("0");
        if (!number && !is_at(words, i + 1, "warpSize") && !is_at(words, i + 1, "blockDim")) return false;
      }
      const bool of_column = word.is("threadIdx") && is_at(words, i + 1, ".") && !is_at(words, i + 2, "x");
      const bool variable = word.variable != no_variable && f_.variable(word.variable).place != Place::uniform &&
                            slope_of_variable(word.variable) == Slope::none;
      if (of_column || variable) {
        others.push_back({Token::Kind::number, "1", word.token, no_variable});
        i += of_column ? 2 : 0;
      } else {
        others.push_back(word);
      }
    }
    return !words.empty() && is_uniform(others, f_, unit_);
  }

  // Of a product with a factor that has a slope nothing is said.
  Slope slope_of(const Words& words) const {
    return slope_of_sum(words, [this](const Words& term) { return slope_of_term(term); });
  }
  Slope slope_of_term(Words term) const {
    if (is_fixed(term)) return Slope::none;
    while (is_at(term, 0, "(")) {
      const std::size_t close = closing(term, 0);
      if (close + 1 >= term.size()) return slope_of(slice(term, 1, term.size() - 1));
      if (!is_wide_integer(slice(term, 1, close))) return Slope::other;
      term = slice(term, close + 1, term.size());  // a cast
    }
    // `int(x)` and `static_cast<int>(x)`
    const std::size_t angle = is_at(term, 0, "static_cast") && is_at(term, 1, "<") ? closing_angle(term, 1) : 0;
    const std::size_t open = angle != 0 ? angle + 1 : 1;
    if (is_at(term, open, "(") && closing(term, open) + 1 == term.size()) {
      const Words type = angle != 0 ? slice(term, 2, angle) : slice(term, 0, 1);
      return is_wide_integer(type) ? slope_of(slice(term, open + 1, term.size() - 1)) : Slope::other;
    }
    if (term.size() == 3 && term[0].is("threadIdx") && term[1].is(".") && term[2].is("x")) return Slope::one;
    if (term.size() != 1) return Slope::other;
    if (term[0].is("weir_global_x")) return Slope::one;
    return term[0].variable != no_variable ? slope_of_variable(term[0].variable) : Slope::other;
  }

  // --- Conditions

  static List inside(const std::vector<Statement>& statements) {
    if (statements.size() == 1 && statements[0].is(Kind::block)) return inside(statements[0].body);
    List list;
    for (const Statement& s : statements) list.push_back(&s);
    return list;
  }

  // The branch that ends a list in which only declarations stand before it. What these compute may be left out.
  const Statement* guard_of(const List& list) {
    if (list.empty() || !list.back()->is(Kind::branch) || list.back()->has_other || list.back()->is_constexpr)
      return nullptr;
    for (std::size_t i = 0; i + 1 < list.size(); ++i) {
      if (!list[i]->is(Kind::declaration)) return nullptr;
      for (const Declarator& d : list[i]->declarators) {
        const bool changes = std::any_of(d.initializer.begin(), d.initializer.end(), [](const Word& word) {
          return is_assignment(word.text) || word.is("++") || word.is("--") || word.text.starts_with("atomic");
        });
        if (changes || f_.variable(d.name.variable).place != Place::piece) return nullptr;
      }
    }
    for (std::size_t i = 0; i + 1 < list.size(); ++i) note_declaration(*list[i]);
    return list.back();
  }

  // Variables that never change and follow from the thread's index, so that they can be computed before the row runs.
  void note_declaration(const Statement& s) {
    if (!s.is(Kind::declaration) || s.declarators.size() != 1) return;
    const Declarator& d = s.declarators[0];
    if (d.name.variable == no_variable) return;
    const Variable& v = f_.variable(d.name.variable);
    if (v.place != Place::piece || v.assigned || v.escapes || known_.count(d.name.variable) != 0) return;
    const Slope slope = slope_of_declared(s.specifiers, d);
    if (slope == Slope::other) return;
    known_[d.name.variable] = slope;
    rows_.known.push_back(&s);
  }

  // Adds what must be true, each part by itself, for the condition to be `wanted`. A comparison of what counts along the row
  // with what is the same is true up to one of the threads, or from one on. False if there is anything else.
  bool add_parts(const Words& condition, bool wanted, std::vector<RowPart>& parts) const {
    if (is_at(condition, 0, "(") && closing(condition, 0) + 1 == condition.size())
      return add_parts(slice(condition, 1, condition.size() - 1), wanted, parts);
    if (is_at(condition, 0, "!") && is_at(condition, 1, "(") && closing(condition, 1) + 1 == condition.size())
      return add_parts(slice(condition, 2, condition.size() - 1), !wanted, parts);
    if (is_fixed(condition)) {
      parts.push_back({condition, !wanted, {}, {}});
      return true;
    }
    std::vector<std::size_t> both, either, comparisons;
    for (std::size_t i = 0; i < condition.size(); i = after(condition, i)) {
      const Word& word = condition[i];
      if (word.is("&&")) both.push_back(i);
      if (word.is("||")) either.push_back(i);
      if (word.is("<") || word.is("<=") || word.is(">") || word.is(">=")) comparisons.push_back(i);
    }
    std::vector<std::size_t> ends = wanted ? both : either;
    if (wanted ? !either.empty() : !both.empty() && either.empty()) return false;
    if (!ends.empty()) {
      ends.push_back(condition.size());
      std::size_t first = 0;
      for (const std::size_t end : ends) {
        if (!add_parts(slice(condition, first, end), wanted, parts)) return false;
        first = end + 1;
      }
      return true;
    }
    if (comparisons.size() != 1) return false;
    const Words left = slice(condition, 0, comparisons[0]);
    const Words right = slice(condition, comparisons[0] + 1, condition.size());
    if (has_loose_operator(left) || has_loose_operator(right)) return false;
    const Slope a = slope_of(left), b = slope_of(right);
    if (a == Slope::one && b == Slope::none) {
      parts.push_back({condition, !wanted, left, right});
    } else if (a == Slope::none && b == Slope::one) {
      parts.push_back({condition, !wanted, right, left});
    } else {
      return false;
    }
    return true;
  }

  // --- Indices

  // A loop with a number of turns that the compiler knows.
  bool is_unrolled(const Statement& s) const {
    if (s.loop != Statement::Loop::for_loop || s.first.size() != 1 || s.first[0].declarators.size() != 1) return false;
    const int counter = s.first[0].declarators[0].name.variable;
    return !s.words.empty() && std::all_of(s.words.begin(), s.words.end(), [&](const Word& word) {
      return !word.is_identifier() || (word.variable != no_variable && word.variable == counter) ||
             unit_.is_constant(word.text) || contains(f_.template_parameters, word.text);
    });
  }

  // Whether the elements that `[` at `i` chooses from lie in memory one behind the other: those of a pointer or of an array.
  bool is_of_memory(const Words& words, std::size_t i) const {
    while (i > 0 && words[i - 1].is("]")) {
      int depth = 0;
      do {
        --i;
        depth += words[i].is("]") ? 1 : words[i].is("[") ? -1 : 0;
      } while (i > 0 && depth > 0);
    }
    if (i == 0 || words[i - 1].variable == no_variable) return false;
    const Variable& v = f_.variable(words[i - 1].variable);
    return is_pointer(v) || (v.declarator != nullptr && !v.declarator->dimensions.empty());
  }

  bool is_signed_sum(const Words& words) const {
    for (std::size_t i = 0; i < words.size(); ++i) {
      const Word& word = words[i];
      if (word.kind == Token::Kind::number && word.text.find_first_of("uU") != std::string::npos) return false;
      if (word.is("unsigned")) return false;
      if (!word.is_identifier() || is_type_word(word.text) || (i > 0 && words[i - 1].is("."))) continue;
      const bool cast = i > 0 && words[i - 1].is(")") && is_signed_integer(slice(words, opening(words, i - 1) + 1, i - 1));
      if (!cast && (word.variable == no_variable || !is_signed_integer(f_.variable(word.variable).specifiers))) return false;
    }
    return true;
  }
  // Whether it is the number of the thread itself, which is known not to wrap around.
  bool is_thread(const Words& words) const {
    if (words.size() == 3) return words[0].is("threadIdx");
    if (words.size() != 1) return false;
    if (words[0].variable == no_variable) return words[0].is("weir_global_x");
    const Variable& v = f_.variable(words[0].variable);
    return v.declarator != nullptr && is_thread(v.declarator->initializer);
  }

  void note_indices(const Words& words) {
    for (std::size_t i = 1; i < words.size(); ++i) {
      if (!words[i].is("[") || !is_of_memory(words, i)) continue;
      const Words index = slice(words, i + 1, closing(words, i));
      if (slope_of(index) != Slope::one || is_signed_sum(index)) continue;
      if (!rows_.texts.insert(text_of(index)).second) continue;
      rows_.useful = rows_.useful || !is_thread(index);
      rows_.indices.push_back(index);
      note_conversions(index);
    }
  }

  // Of numbers with fractions, a sum that is converted need not be one more for the next thread.
  void note_conversions(const Words& sum) {
    const auto note = [&](const Words& words) {
      if (slope_of(words) != Slope::one || is_thread(words) || is_signed_sum(words)) return;
      rows_.converted.push_back(words);
      note_conversions(words);
    };
    for (std::size_t i = 0; i < sum.size(); ++i) {
      if (sum[i].variable != no_variable && slope_of_variable(sum[i].variable) == Slope::one)
        note(f_.variable(sum[i].variable).declarator->initializer);
      if (sum[i].is("(") && !(i == 0 && closing(sum, i) + 1 == sum.size())) note(slice(sum, i + 1, closing(sum, i)));
    }
  }

  const Function& f_;
  const Unit& unit_;
  std::map<int, Slope> known_;
  Rows rows_;
};

}  // namespace

Rows rows_of(const std::vector<const Statement*>& statements, const Function& function, const Unit& unit) {
  return Finder(function, unit).run(statements);
}

void enclose_behind_returns(Function& function) {
  std::vector<Statement>* list = &function.body;
  for (std::size_t i = 0; i + 1 < list->size(); ++i) {
    Statement& s = (*list)[i];
    if (!s.is(Kind::branch) || s.has_other || s.is_constexpr) continue;
    const Statement* inner = s.body.size() == 1 ? &s.body[0] : nullptr;
    while (inner != nullptr && inner->is(Kind::block)) inner = inner->body.size() == 1 ? &inner->body[0] : nullptr;
    if (inner == nullptr || !inner->is(Kind::leave)) continue;
    Words condition = made_up("!(", s.token);
    append(condition, s.words);
    append(condition, made_up(")", s.token));
    s.words = std::move(condition);
    std::vector<Statement> rest(std::make_move_iterator(list->begin() + static_cast<std::ptrdiff_t>(i) + 1),
                                std::make_move_iterator(list->end()));
    list->erase(list->begin() + static_cast<std::ptrdiff_t>(i) + 1, list->end());
    list->back().body = std::move(rest);
    list = &list->back().body;
    i = static_cast<std::size_t>(-1);
  }
}

}  // namespace weir::kernels
