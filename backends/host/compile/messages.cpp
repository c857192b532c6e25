// SPDX-License-Identifier: Apache-2.0
#include "backends/host/compile/messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "backends/host/compile/kernel_scan.hpp"
#include "kernels/lexer.hpp"

namespace weir::host {
namespace {

// How many notes about the prelude's functions follow an error. There may be dozens of overloads.
constexpr int most_prelude_notes = 2;

struct Message {
  std::string file, text;
  std::size_t line = 0, column = 0;  // column 0: unknown
  std::string_view kind;
};

// Removes ":12" from the end of a text. Returns 0 if there is no number.
std::size_t take_number(std::string_view& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == text.npos || colon + 1 == text.size() || text.size() - colon > 10) return 0;
  std::size_t number = 0;
  for (const char c : text.substr(colon + 1)) {
    if (c < '0' || c > '9') return 0;
    number = number * 10 + static_cast<std::size_t>(c - '0');
  }
  text = text.substr(0, colon);
  return number;
}

// Reads "kernel.cu:3:14: error: text".
std::optional<Message> parsed(std::string_view line) {
  for (const std::string_view kind : {"error", "fatal error", "warning", "note", "remark"}) {
    const std::size_t at = line.find(fmt::format(": {}: ", kind));
    if (at == line.npos) continue;
    std::string_view place = line.substr(0, at);
    Message message;
    message.kind = kind;
    message.line = take_number(place);
    if (message.line == 0) continue;
    if (const std::size_t line_before = take_number(place); line_before != 0) {
      message.column = message.line;
      message.line = line_before;
    }
    message.file = place;
    message.text = line.substr(at + kind.size() + 4);
    return message;
  }
  return std::nullopt;
}

// Converts `column` in the preprocessed line to a column in the user's line, both from 1: that of the same token, or of the
// macro from which the token comes.
std::size_t written_column(const SourceLine& line, std::size_t column) {
  const kernels::TokenizedSource written = kernels::tokenize(line.written);
  const std::vector<kernels::Token>& w = written.tokens;
  const std::vector<PlacedToken>& p = line.preprocessed;
  std::size_t at = p.size();
  while (at > 0 && p[at - 1].column >= column) --at;
  if (at-- == 0 || w.empty()) return column;
  const auto same = [&](std::size_t i, std::size_t j) { return written.spelling(i) == p[j].text; };
  const std::size_t fewer = std::min(w.size(), p.size());
  std::size_t first = 0, last = 0;  // how many tokens are the same at the begin and at the end
  while (first < fewer && same(first, first)) ++first;
  while (last < fewer && same(w.size() - 1 - last, p.size() - 1 - last)) ++last;
  const std::size_t behind = p.size() - 1 - at;
  if (at >= first && behind >= last) return w[std::min(first, w.size() - 1)].column + std::size_t{1};
  const kernels::Token& token = at < first ? w[at] : w[w.size() - 1 - behind];
  return token.column + std::min<std::size_t>(column - p[at].column, token.end - token.begin + 1);
}

std::string quoted(const Message& message, std::string_view line) {
  const std::string text = fmt::format("{:5} | {}\n", message.line, line);
  if (message.column == 0) return text;
  std::string space;
  for (const char c : line.substr(0, message.column - 1)) space += c == '\t' ? '\t' : ' ';
  return fmt::format("{}      | {}^\n", text, space);
}

std::string without_prefixes(std::string text) {
  for (const std::string_view prefix : {cpp_kernel_prefix, generated_mark}) {
    for (std::size_t at = 0; (at = text.find(prefix, at)) != text.npos;) text.erase(at, prefix.size());
  }
  return text;
}

// A static assertion's own text, without its condition.
std::string of_assertion(std::string text) {
  for (const std::string_view before : {"static assertion failed due to requirement '", "static assertion failed: "}) {
    if (!text.starts_with(before)) continue;
    const std::size_t end = before.ends_with('\'') ? text.find("': ", before.size()) : before.size() - 3;
    if (end != text.npos) text.erase(0, end + 3);
  }
  return text;
}

}  // namespace

std::string user_messages(std::string_view output,
                          const std::function<SourceLine(const std::string& file, std::size_t line)>& line_of) {
  std::string all, before;  // `before`: lines without a place of their own, which belong to the next message
  bool skips = false, has_error = false;
  int prelude_notes = 0;
  while (!output.empty()) {
    const std::size_t end = std::min(output.find('\n'), output.size());
    const std::string_view line = output.substr(0, end);
    output.remove_prefix(std::min(end + 1, output.size()));
    std::optional<Message> message = parsed(line);
    if (!message) {
      const bool counts = line.find(" generated when compiling for ") != line.npos || line.ends_with(" generated.");
      // An error without a place is LLVM's or the pass's.
      if (!counts) (line.starts_with("error: ") ? all : before) += without_prefixes(std::string(line)) + '\n';
      continue;
    }
    const bool generated = message->file.starts_with(generated_mark) || message->file == keywords_file_name;
    const bool prelude = message->file == kernels::prelude_file_name;
    if (generated) {
      message->column = 0;
      message->text = of_assertion(std::move(message->text));
    }
    if (message->file.starts_with(generated_mark)) message->file.erase(0, generated_mark.size());
    if (message->kind == "note") {
      skips = skips || (prelude && ++prelude_notes > most_prelude_notes);
    } else {
      const bool error = message->kind.ends_with("error");
      skips = generated && (has_error || !error);
      has_error = has_error || error;
      prelude_notes = 0;
    }
    if (prelude) before.clear();  // they list the includes of a header of the prelude
    if (!skips) {
      const SourceLine source = line_of(message->file, message->line);
      if (message->column != 0 && !source.preprocessed.empty()) message->column = written_column(source, message->column);
      all += before + message->file;
      if (!prelude) all += fmt::format(":{}", message->line);
      if (!prelude && message->column != 0) all += fmt::format(":{}", message->column);
      all += fmt::format(": {}: {}\n", message->kind, without_prefixes(message->text));
      if (message->column <= source.written.size() + 1 && !source.written.empty()) all += quoted(*message, source.written);
    }
    before.clear();
  }
  return all + before;
}

}  // namespace weir::host
