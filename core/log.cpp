// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <string>

#include "core/environment.hpp"
#include "weir/error.hpp"

namespace weir {
namespace {

using support::LogLevel;

constexpr std::array<std::string_view, 4> words = {"error", "warn", "info", "debug"};

// Negative before WEIR_LOG is read.
std::atomic<int> threshold{-1};

int read_threshold() noexcept {
  LogLevel level = LogLevel::warn;
  try {
    level = detail::log_level_from_environment();
  } catch (...) {
    // Lines are not lost if WEIR_LOG does not parse. Registry::instance throws for that.
  }
  threshold.store(static_cast<int>(level), std::memory_order_relaxed);
  return static_cast<int>(level);
}

void write_all(const char* data, std::size_t size) noexcept {
  while (size > 0) {
    const ssize_t written = ::write(STDERR_FILENO, data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    data += written;
    size -= static_cast<std::size_t>(written);
  }
}

}  // namespace

LogLevel detail::log_level_from_environment() {
  constexpr const char* variable = "WEIR_LOG";
  const std::optional<std::string> value = support::environment(variable);
  if (!value) return LogLevel::warn;
  const auto word = std::find(words.begin(), words.end(), *value);
  if (word == words.end()) {
    throw_invalid_environment(variable, *value, "it is not a level; give error, warn, info or debug");
  }
  return static_cast<LogLevel>(word - words.begin());
}

bool support::log_enabled(LogLevel level) noexcept {
  const int known = threshold.load(std::memory_order_relaxed);
  return static_cast<int>(level) <= (known < 0 ? read_threshold() : known);
}

void support::log(LogLevel level, std::string_view line, std::string_view rest) noexcept {
  if (!log_enabled(level)) return;
  const int outer_errno = errno;
  try {
    std::string text = "weir ";
    text.append(words[static_cast<std::size_t>(level)]).append(": ").append(line).append(rest);
    // One line per call, even if the message of a compiler or a driver has several.
    std::replace_if(
        text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
    text += '\n';
    write_all(text.data(), text.size());  // in one call, so that lines of different threads do not mix
  } catch (...) {
    write_all(line.data(), line.size());
    write_all(rest.data(), rest.size());
    write_all("\n", 1);
  }
  errno = outer_errno;
}

}  // namespace weir
