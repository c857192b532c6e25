// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/words.hpp"

/// Writes C++ of the user's words and of made-up text between them, so that a compiler's messages name the user's lines, and
/// columns where the words can keep theirs.
namespace weir::kernels {

class Printer {
 public:
  explicit Printer(const TokenizedSource& source) : source_(source) {}

  /// Made-up text without line ends.
  Printer& text(std::string_view text);
  Printer& words(const Words& words);
  Printer& word(const Word& word);
  /// What follows counts as standing where this token does.
  Printer& at(std::uint32_t token);

  const std::string& result() const noexcept { return out_; }

 private:
  void go_to(const Token& token);

  const TokenizedSource& source_;
  std::string out_;
  std::uint32_t line_ = 0;
  std::uint32_t file_ = no_token;
  std::uint32_t last_ = no_token;  // the token that was written last, if nothing stands behind it
  std::size_t line_start_ = 0;
};

/// "kernel.cu:12", for messages.
std::string place_of(const TokenizedSource& source, std::uint32_t token);

}  // namespace weir::kernels
