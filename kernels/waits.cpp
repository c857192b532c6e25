// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <set>
#include <string_view>

#include "kernels/function.hpp"

/// Loops in which a thread may wait for another one without a meeting: for a lock, or for a number that another one counts
/// up.
namespace weir::kernels {
namespace {

class Waits {
 public:
  explicit Waits(const TokenizedSource& source) : source_(source) {}

  bool any() {
    find_functions();
    std::set<std::uint32_t> ends;  // `while` behind the body of a `do`
    for (std::uint32_t i = 0; i < source_.tokens.size(); ++i) {
      if (is(i, "atomicCAS") || is(i, "atomicExch")) return true;
      if (is(i, "do") && is(i + 1, "{")) {
        const std::uint32_t end = source_.tokens[i + 1].match + 1;
        ends.insert(end);
        if (waits(end + 2, source_.tokens[end + 1].match, i + 1, end)) return true;
      }
      if (!(is(i, "while") || is(i, "for")) || !is(i + 1, "(") || ends.count(i) != 0) continue;
      const std::uint32_t close = source_.tokens[i + 1].match;
      std::uint32_t first = i + 2, last = close, end = behind_statement(close + 1);
      if (is(i, "for")) {
        first = last = behind_part(i + 2, close);
        if (first > close) continue;  // over a range
        last = behind_part(first, close) - 1;
        if (last + 1 != close) end = close;  // it counts something
      }
      // `while (flag[k] == 0);`
      const bool idle = is(close + 1, ";") || (is(close + 1, "{") && is(close + 2, "}"));
      if (idle && reads_memory(first, last)) return true;
      if (waits(first, last, close, end)) return true;
    }
    return false;
  }

 private:
  std::string_view word(std::uint32_t i) const {
    return i < source_.tokens.size() ? source_.spelling(i) : std::string_view();
  }
  bool is(std::uint32_t i, std::string_view text) const { return word(i) == text; }
  bool is_name(std::uint32_t i) const {
    return i < source_.tokens.size() && source_.tokens[i].kind == Token::Kind::identifier;
  }
  std::uint32_t after(std::uint32_t i) const {
    return is(i, "(") || is(i, "[") || is(i, "{") ? source_.tokens[i].match + 1 : i + 1;
  }
  bool asks(std::uint32_t i) const {
    return word(i).starts_with("atomic") || (is(i + 1, "(") && functions_.count(word(i)) != 0);
  }

  // Functions that use atomics, or call one that does.
  void find_functions() {
    for (std::size_t before = 0; before != functions_.size() + 1;) {
      before = functions_.size() + 1;
      for (std::uint32_t i = 2; i < source_.tokens.size(); ++i) {
        if (!is(i, "{")) continue;
        std::uint32_t close = i - 1;
        while (close > 1 && (is(close, "const") || is(close, "noexcept"))) --close;
        if (!is(close, ")")) continue;
        const std::uint32_t name = source_.tokens[close].match - 1;
        if (!is_name(name) || is_keyword(word(name))) continue;
        for (std::uint32_t k = i; k < source_.tokens[i].match; ++k) {
          if (asks(k)) functions_.insert(word(name));
        }
      }
    }
  }

  std::uint32_t behind_part(std::uint32_t i, std::uint32_t close) const {
    while (i < close && !is(i, ";")) i = after(i);
    return i + 1;
  }
  std::uint32_t behind_statement(std::uint32_t i) const {
    if (is(i, "{")) return after(i);
    if (is(i, "if") || is(i, "for") || is(i, "while") || is(i, "switch")) {
      i = behind_statement(after(is(i + 1, "constexpr") ? i + 2 : i + 1));
      while (is(i, "else")) i = behind_statement(i + 1);
      return i;
    }
    return behind_part(i, static_cast<std::uint32_t>(source_.tokens.size()));
  }

  bool reads_memory(std::uint32_t first, std::uint32_t last) const {
    for (std::uint32_t i = first; i < last; ++i) {
      if (is(i, "[") || is(i, "*") || (is(i, "-") && is(i + 1, ">"))) return true;
    }
    return false;
  }

  // Whether the condition `[first, last)` asks other threads, or depends on what `[body, end)` asks them.
  bool waits(std::uint32_t first, std::uint32_t last, std::uint32_t body, std::uint32_t end) const {
    std::set<std::string_view> names;
    bool compares = false;
    for (std::uint32_t i = first; i < last; ++i) {
      if (asks(i)) return true;
      if (is_name(i)) names.insert(word(i));
      compares = compares || is(i, "<") || (is(i, ">") && !is(i - 1, "-"));
    }
    for (std::uint32_t i = body; i < end; ++i) {
      if (!asks(i)) continue;
      bool named = !compares;  // it may be what the loop is left for
      std::uint32_t begin = i;
      while (!is(begin - 1, ";") && !is(begin - 1, "{") && !is(begin - 1, "}"))
        named = names.count(word(--begin)) != 0 || named;
      const bool alone = begin == i && is(after(i + 1), ";");
      if (named && !alone) return true;
    }
    return false;
  }

  const TokenizedSource& source_;
  std::set<std::string_view> functions_;
};

}  // namespace

bool may_wait(const TokenizedSource& source) { return Waits(source).any(); }

}  // namespace weir::kernels
