// SPDX-License-Identifier: Apache-2.0
#include "kernels/conditions.hpp"

#include <algorithm>

namespace weir::kernels {
namespace {

// Where the template arguments end that may begin at `open`; 0 if they are none. What stands between a comparison and a
// later one may look like them, but has a `?` or a `:` there as soon as it matters here.
std::size_t end_of_arguments(const Words& words, std::size_t open) {
  const std::size_t close = closing_angle(words, open);
  for (std::size_t i = open; i < close; i = after(words, i)) {
    if (words[i].is("?") || words[i].is(":")) return 0;
  }
  return close;
}

// The positions of `[first, last)` that stand in no bracket and in no template arguments, brackets included.
std::vector<std::size_t> top_level(const Words& words, std::size_t first, std::size_t last) {
  std::vector<std::size_t> positions;
  for (std::size_t i = first; i < last;) {
    positions.push_back(i);
    std::size_t next = after(words, i);
    if (words[i].is("<") && i > first && words[i - 1].is_identifier()) {
      if (const std::size_t close = end_of_arguments(words, i)) next = close + 1;
    }
    i = next;
  }
  return positions;
}

}  // namespace

Condition condition_around(const Words& words, std::size_t at) {
  Condition c;
  std::size_t first = 0, last = words.size();
  for (;;) {
    // The part between commas.
    for (const std::size_t i : top_level(words, first, last)) {
      if (!words[i].is(",")) continue;
      if (i > at) {
        last = i;
        break;
      }
      first = i + 1;
    }
    const auto positions = top_level(words, first, last);
    const auto question = std::find_if(positions.begin(), positions.end(), [&](std::size_t i) { return words[i].is("?"); });
    const bool chooses = question != positions.end();
    for (const std::size_t i : positions) {  // what is assigned to, and what is assigned
      if (!is_assignment(words[i].text) || (chooses && i > *question)) continue;
      if (i > at) {
        last = i;
        break;
      }
      first = i + 1;
    }
    c.first = first;
    c.last = last;
    if (chooses && *question < last) {
      int depth = 0;
      for (auto i = question; i != positions.end(); ++i) {
        if (words[*i].is("?")) ++depth;
        if (!words[*i].is(":") || --depth > 0) continue;
        c.colon = *i;
        break;
      }
      c.op = *question;
      if (c.colon <= c.op + 1)
        throw Refused(words[c.op].token, "this ?: is not understood; write it with if and else");
      if (at > c.op) {
        c.kind = Condition::Kind::choice;
        return c;
      }
      last = c.op;
      c.last = last;
    }
    for (const char* op : {"||", "&&"}) {
      std::size_t before = 0;  // the last such operator before the word
      std::size_t begin = first;
      for (const std::size_t i : top_level(words, first, last)) {
        if (!words[i].is(op)) continue;
        if (i < at) before = i;
        if (i > at) {
          last = i;
          break;
        }
      }
      if (before != 0) {
        c.kind = op[0] == '|' ? Condition::Kind::either : Condition::Kind::both;
        c.first = begin;
        c.op = before;
        return c;
      }
      c.last = last;
    }
    // Always computed here: on to the bracket in which the word stands.
    std::size_t open = words.size();
    for (const std::size_t i : top_level(words, first, last)) {
      if (i < at && closing(words, i) > at && after(words, i) > i + 1) open = i;
    }
    if (open == words.size()) return {};
    first = open + 1;
    last = closing(words, open);
  }
}

Lambda lambda_at(const Words& words, std::size_t i) {
  if (!is_at(words, i, "[") || !is_prefix(words, i) || is_at(words, i + 1, "[")) return {};
  Lambda lambda{i, 0, 0};
  std::size_t next = closing(words, i) + 1;
  if (is_at(words, next, "(")) {
    lambda.parameters = next;
    next = closing(words, next) + 1;
  }
  while (next < words.size() && !words[next].is("{")) {
    if (words[next].is(";") || words[next].is(",") || words[next].is(")") || words[next].is("=")) return {};
    const std::size_t angle = words[next].is("<") ? closing_angle(words, next) : 0;
    next = angle != 0 ? angle + 1 : after(words, next);
  }
  if (next < words.size()) lambda.body = next;
  return lambda;
}

Lambda lambda_around(const Words& words, std::size_t at) {
  for (std::size_t i = 0; i < at; ++i) {
    const Lambda lambda = lambda_at(words, i);
    if (lambda.body != 0 && lambda.body < at && closing(words, lambda.body) > at) return lambda;
  }
  return {};
}

}  // namespace weir::kernels
