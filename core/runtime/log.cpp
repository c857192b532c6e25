// SPDX-License-Identifier: Apache-2.0
#include "weir/log.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <mutex>
#include <string>
#include <utility>

#include "core/base/environment.hpp"
#include "core/base/no_destructor.hpp"
#include "core/runtime/thread_state.hpp"
#include "weir/error.hpp"
#include "weir/plugin/support.hpp"

// The log: levels, WEIR_LOG, and the sink.
namespace weir {
namespace {

constexpr std::array<std::string_view, 4> words = {"error", "warn", "info", "debug"};

LogLevel level_of_environment() {
  constexpr const char* variable = "WEIR_LOG";
  const std::optional<std::string> value = support::environment(variable);
  if (!value) return LogLevel::warn;
  const auto word = std::find(words.begin(), words.end(), *value);
  if (word == words.end()) detail::throw_invalid_environment(variable, *value, "give error, warn, info or debug");
  return static_cast<LogLevel>(word - words.begin());
}

struct Log {
  std::mutex mutex;
  LogSink sink;

  Log() noexcept {
    LogLevel read = LogLevel::warn;
    try {
      read = level_of_environment();
    } catch (...) {
      // If WEIR_LOG is invalid, log with the default level. Registry::instance throws the error.
    }
    level = static_cast<int>(read);
  }

  static Log& instance() noexcept {
    static detail::NoDestructor<Log> log;
    return *log;
  }
  /// The highest level that is logged; negative until WEIR_LOG has been read.
  static inline std::atomic<int> level{-1};
};

bool may_be_logged(LogLevel level) noexcept {
  if (Log::level.load(std::memory_order_relaxed) < 0) (void)Log::instance();
  return static_cast<int>(level) <= Log::level.load(std::memory_order_relaxed);
}

/// The part of Weir that contains the code at `address`: "core", "cuda", "race"; "weir" if all parts are one library.
std::string_view part_of(const void* address) noexcept {
  Dl_info info;
  if (::dladdr(address, &info) == 0 || info.dli_fname == nullptr) return "weir";
  std::string_view file = info.dli_fname;
  file.remove_prefix(file.rfind('/') + 1);
  if (!file.starts_with("libweir")) return "weir";
  file = file.substr(0, file.find('.'));
  for (const std::string_view prefix : {"libweir_tool_", "libweir_comm_", "libweir_"}) {
    if (file.starts_with(prefix)) return file.substr(prefix.size());
  }
  return "core";
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

/// Writes the line in one system call, so that lines of different threads do not mix.
void write_line(LogLevel level, const std::string& message) {
  const std::string text = "weir " + std::string(to_string(level)) + ": " + message + '\n';
  write_all(text.data(), text.size());
}

}  // namespace

std::string_view to_string(LogLevel level) noexcept { return words[static_cast<std::size_t>(level)]; }

void detail::check_log_variable() { (void)level_of_environment(); }

void support::log(LogLevel level, std::string_view line, std::string_view rest) noexcept {
  if (!may_be_logged(level)) return;
  const std::string_view part = part_of(__builtin_return_address(0));
  const int outer_errno = errno;
  try {
    // A message is one line: replaces line ends, which messages of compilers and drivers may contain.
    std::string message = std::string(line).append(rest);
    std::replace_if(
        message.begin(), message.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
    if (detail::thread_state.in_log_sink) {
      write_line(level, message);
    } else {
      Log& log = Log::instance();
      const std::lock_guard lock(log.mutex);
      if (log.sink) {
        detail::thread_state.in_log_sink = true;
        try {
          log.sink({level, part, message});
        } catch (...) {
          write_line(level, message);
        }
        detail::thread_state.in_log_sink = false;
      } else {
        write_line(level, message);
      }
    }
  } catch (...) {
    write_all(line.data(), line.size());
    write_all(rest.data(), rest.size());
    write_all("\n", 1);
  }
  errno = outer_errno;
}

void set_log_sink(LogSink sink) {
  if (detail::thread_state.in_log_sink) throw Error(Errc::invalid_argument, "set_log_sink", "", "a sink must not call Weir");
  Log& log = Log::instance();
  const std::lock_guard lock(log.mutex);
  std::swap(log.sink, sink);
}

void set_log_level(LogLevel level) noexcept {
  (void)Log::instance();  // so that WEIR_LOG is not read later
  Log::level.store(static_cast<int>(level), std::memory_order_relaxed);
}

}  // namespace weir
