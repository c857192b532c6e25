// SPDX-License-Identifier: Apache-2.0
#include "backends/host/compile/messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <vector>

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

std::string with_source_lines(std::string_view output, std::string_view assembly, std::string_view file) {
  // `.file 1 "folder" "name"` numbers a file; `.loc 1 3 7` is the place of the instructions after it.
  std::map<std::string, std::string> files;
  std::vector<std::string> places{""};  // of each line, from 1
  std::string place;
  for (std::istringstream lines{std::string(assembly)}; std::getline(lines, place);) {
    std::istringstream words(place);
    std::string directive, number, line, column;
    words >> directive >> number;
    if (directive == ".file") {
      const std::size_t end = std::min(place.rfind('"'), place.size()), begin = place.substr(0, end).rfind('"');
      const std::string name = begin != place.npos ? place.substr(begin + 1, end - begin - 1) : std::string();
      files[number] = name.starts_with("./") ? name.substr(2) : name;
    }
    const bool is_place = directive == ".loc" && words >> line >> column && line != "0";
    places.push_back(is_place ? fmt::format("{}:{}:{}", files[number], line, column) : places.back());
  }
  std::string all, text;
  std::set<std::string> told;
  for (std::istringstream lines{std::string(output)}; std::getline(lines, text);) {
    const std::size_t at = text.find(fmt::format("{}:", file)), begin = at + file.size() + 1;
    if (at == text.npos) {
      all += text + '\n';
      continue;
    }
    std::size_t end = 0;
    const std::size_t line = text[begin] >= '0' && text[begin] <= '9' ? std::stoul(text.substr(begin, 9), &end) : 0;
    if (line == 0 || line >= places.size() || places[line].empty()) continue;
    constexpr std::string_view error = ": Error: ";
    std::string_view rest = std::string_view(text).substr(begin + end);
    if (!rest.starts_with(error) || !told.insert(places[line]).second) continue;
    all += fmt::format("{}: error: {}\n", places[line], rest.substr(error.size()));
  }
  return all;
}

}  // namespace weir::host
