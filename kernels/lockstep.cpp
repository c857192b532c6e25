// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "kernels/function.hpp"
#include "kernels/slope.hpp"
#include "kernels/uses.hpp"
#include "kernels/vocabulary.hpp"

/// Loops of which all threads take the same turns, where neighbours use neighbouring elements or the same one:
/// `for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column]`. Thread by thread, the compiler finds nothing to
/// vectorize. In step, it vectorizes over the threads. What is found out here decides about speed alone.
namespace weir::kernels {
namespace {

using Kind = Statement::Kind;
using Statements = std::vector<Statement>;

class Lockstep {
 public:
  Lockstep(Function& function, const Unit& unit) : function_(function), unit_(unit) {}

  bool run() {
    for (const Statement& top : function_.body) for_all(top, [&](const Statement& s) { note_assignments(s); });
    list(function_.body);
    return found_;
  }

 private:
  void note_assignments(const Statement& s) {
    std::set<std::string> names;
    for_own_words(s, [&](const Words& words) {
      for (const Word& word : words) {
        if (word.is_identifier() && names.insert(word.text).second && assigns(words, word.text, unit_, true))
          assigned_.insert(word.text);
      }
      names.clear();
    });
    for (const Declarator& d : s.declarators) {
      if (!d.is_reference()) continue;
      for (const Word& word : d.initializer) assigned_.insert(word.text);
    }
  }

  void declare(const Declarator& d) {
    const bool fixed = !d.initializer.empty() && d.dimensions.empty() && assigned_.count(d.name.text) == 0;
    slopes_[d.name.text] = fixed ? slope_of(d.initializer) : Slope::other;
    if (!fixed || meets(d.initializer) || !is_uniform(d.initializer)) own_.insert(d.name.text);
  }

  void list(Statements& statements) {
    for (Statement& s : statements) {
      if (s.is(Kind::declaration) && !s.is_shared()) {
        for (const Declarator& d : s.declarators) declare(d);
      }
      if (s.is(Kind::loop)) {
        loop(s);
      } else if (s.is(Kind::block) || (s.is(Kind::branch) && is_for_many(s))) {
        list(s.body);
        list(s.other);
      }
    }
  }

  // Whether a branch is worth a look: one around a kernel's whole work is taken by most blocks. One between barriers may be
  // for a few threads, and then they take their loops better one by one.
  bool is_for_many(const Statement& branch) const {
    return !function_.place->cooperates || is_uniform(branch.words) || meets(branch);
  }
  bool meets(const Statement& s) const {
    bool found = false;
    for_all(s, [&](const Statement& inner) {
      for_own_words(inner, [&](const Words& words) { found = found || meets(words); });
    });
    return found;
  }
  bool meets(const Words& words) const {
    for (std::size_t i = 0; i < words.size(); ++i) {
      const auto word = [&](std::size_t k) {
        return k < words.size() ? std::string_view(words[k].text) : std::string_view();
      };
      if (words[i].is_identifier() &&
          (unit_.meeting(word(i - 2), word(i - 1), word(i), word(i + 1)) != nullptr ||
           !unit_.find_cooperating(word(i), false).empty() || !unit_.find_cooperating(word(i), true).empty()))
        return true;
    }
    return false;
  }

  // --- Slopes

  Slope slope_of_name(const std::string& name) const {
    if (counters_.count(name) != 0) return Slope::none;
    const auto found = slopes_.find(name);
    if (found != slopes_.end()) return found->second;
    return assigned_.count(name) != 0 ? Slope::other : Slope::none;
  }
  Slope slope_of_word(const Words& words, std::size_t i) const {
    const Word& word = words[i];
    if (word.is("weir_global_x")) return Slope::one;
    if (word.is("threadIdx")) return is_at(words, i + 2, "x") ? Slope::one : Slope::none;
    return can_name_variable(words, i) ? slope_of_name(word.text) : Slope::none;
  }
  // Of a product with a factor that has a slope nothing is said.
  Slope slope_of(const Words& words) const {
    return slope_of_sum(words, [this](const Words& term) { return slope_of_term(term); });
  }
  Slope slope_of_term(Words term) const {
    const bool varies = std::any_of(term.begin(), term.end(), [&](const Word& word) {
      return slope_of_word(term, static_cast<std::size_t>(&word - term.data())) != Slope::none;
    });
    if (!varies) return Slope::none;
    for (;;) {
      if (!is_at(term, 0, "(")) break;
      const std::size_t close = closing(term, 0);
      if (close + 1 == term.size()) return slope_of(slice(term, 1, close));
      const Words type = slice(term, 1, close);
      if (!std::all_of(type.begin(), type.end(),
                       [](const Word& word) { return is_type_word(word.text) || word.is("size_t"); }))
        return Slope::other;
      term = slice(term, close + 1, term.size());  // a cast
    }
    if (term.size() == 1 || (term.size() == 3 && term[0].is("threadIdx"))) return slope_of_word(term, 0);
    return Slope::other;
  }

  // --- Loops

  bool is_uniform(const Words& words) const {
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (words[i].is("threadIdx") || words[i].is("weir_global_x")) return false;
      if (words[i].is("[") && function_.place->cooperates) return false;  // others may write it meanwhile
      if (!can_name_variable(words, i) || counters_.count(words[i].text) != 0) continue;
      if (own_.count(words[i].text) != 0 || assigned_.count(words[i].text) != 0) return false;
    }
    return true;
  }

  // A loop with a small number of turns that the compiler knows is unrolled: nothing is better.
  bool is_long(const Words& condition, const std::string& counter) const {
    for (std::size_t i = 0; i < condition.size(); ++i) {
      const Word& word = condition[i];
      if (word.kind == Token::Kind::number && std::strtol(word.text.c_str(), nullptr, 0) > 64) return true;
      if (can_name_variable(condition, i) && !word.is(counter) && !is_type_word(word.text) &&
          !unit_.is_constant(word.text) && !contains(function_.template_parameters, word.text))
        return true;
    }
    return false;
  }

  static std::string counter_of(const Statement& s) {
    if (s.loop != Statement::Loop::for_loop || s.first.size() != 1 || s.words.empty() || s.step.empty()) return "";
    const Statement& first = s.first[0];
    if (first.is(Kind::declaration) && first.declarators.size() == 1) return first.declarators[0].name.text;
    return first.is(Kind::expression) && is_at(first.words, 1, "=") ? first.words[0].text : "";
  }

  void loop(Statement& s) {
    if (s.cooperates) return;
    const std::string counter = counter_of(s);
    const auto before = counters_;
    if (meets(s)) {
      if (!counter.empty() && !counts_for_all(s, counter)) counters_ = before;
      list(s.body);
    } else if (!counter.empty()) {
      uses_ = false;
      if (takes_same_turns(s, counter) && is_long(s.words, counter) && uses_) return take(s);
    }
    counters_ = before;
  }
  // With the loops in it that are long, too.
  void take(Statement& s) {
    s.cooperates = found_ = true;
    for (Statement& inner : s.body)
      for_all(inner, [&](Statement& each) {
        if (each.is(Kind::loop) && is_long(each.words, counter_of(each))) each.cooperates = true;
      });
  }

  // Whether the counter is the same for all threads in each turn.
  bool counts_for_all(const Statement& s, const std::string& counter) {
    counters_.insert(counter);
    const Statement& first = s.first[0];
    const Words& begin = first.is(Kind::declaration) ? first.declarators[0].initializer : first.words;
    bool body_assigns = false;
    for (const Statement& inner : s.body) {
      for_all(inner, [&](const Statement& each) {
        for_own_words(each,
                      [&](const Words& words) { body_assigns = body_assigns || assigns(words, counter, unit_, false); });
      });
    }
    return is_uniform(begin) && is_uniform(s.words) && is_uniform(s.step) && !body_assigns;
  }

  // Whether all threads take the same turns, and use nothing but neighbouring elements in them.
  bool takes_same_turns(const Statement& s, const std::string& counter) {
    Statement all;
    all.body = s.body;
    return counts_for_all(s, counter) && !has_jumps(all) && !has_return(all) && are_side_by_side(s.body);
  }

  bool are_side_by_side(const Statements& statements) {
    for (const Statement& s : statements) {
      if (s.is(Kind::declaration)) {
        for (const Declarator& d : s.declarators) {
          if (!d.dimensions.empty()) return false;
          declare(d);
        }
      }
      bool fine = true;
      for_own_words(s, [&](const Words& words) { fine = fine && are_side_by_side(words); });
      if (!fine) return false;
      if (s.is(Kind::loop)) {
        const std::string counter = counter_of(s);
        if (counter.empty() || !takes_same_turns(s, counter)) return false;
      } else if (s.is(Kind::block) || s.is(Kind::branch)) {
        if (!are_side_by_side(s.body) || !are_side_by_side(s.other)) return false;
      } else if (!s.is(Kind::declaration) && !s.is(Kind::expression)) {
        return false;
      }
    }
    return true;
  }

  bool are_side_by_side(const Words& words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      const Word& word = words[i];
      const bool called = word.is_identifier() && is_at(words, i + 1, "(") && !is_keyword(word.text);
      if (called && (unit_.defines_function(word.text) || word.text.starts_with("atomic") || word.is("printf") || i == 0 ||
                     words[i - 1].is(".") || words[i - 1].is("->")))
        return false;
      if (word.is("asm") || word.is("volatile") || (word.is("*") && is_prefix(words, i))) return false;
      if (word.is("->") && (i == 0 || slope_of_word(words, i - 1) != Slope::none)) return false;
      if (!word.is("[")) continue;
      if (i == 0 || !(words[i - 1].is_identifier() || words[i - 1].is("]")) || is_keyword(words[i - 1].text)) return false;
      Slope access = slope_of(slice(words, i + 1, closing(words, i)));
      if (words[i - 1].is_identifier() && slope_of_word(words, i - 1) != Slope::none)
        access = access == Slope::none ? slope_of_word(words, i - 1) : Slope::other;
      if (access == Slope::other || (access == Slope::one && is_at(words, closing(words, i) + 1, "["))) return false;
      uses_ = true;
    }
    return true;
  }

  Function& function_;
  const Unit& unit_;
  std::map<std::string, Slope> slopes_;
  std::set<std::string> assigned_;  // variables that are assigned to behind their declaration
  std::set<std::string> own_;       // variables with a value of each thread's own
  std::set<std::string> counters_;  // of loops of which all threads take the same turns
  bool uses_ = false;               // elements of memory
  bool found_ = false;
};

}  // namespace

bool put_loops_in_step(Function& function, const Unit& unit) { return Lockstep(function, unit).run(); }

}  // namespace weir::kernels
