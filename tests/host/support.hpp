// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>
#include <stdlib.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/weir.hpp"

namespace weir::test {

/// The host backend's first device, for tests.
inline Device& host() { return device("host:0"); }

/// Launches a kernel and waits for it.
template <class... Args>
void launch(const KernelPtr& kernel, const LaunchConfig& config, const Args&... args) {
  const StreamPtr stream = host().create_stream();
  stream->launch(kernel, config, args...);
  stream->synchronize();
}

/// A buffer with this content.
template <class T>
Buffer<T> upload(const std::vector<T>& values) {
  auto buffer = host().allocate<T>(values.size());
  std::copy(values.begin(), values.end(), buffer.data());
  return buffer;
}

template <class T>
std::vector<T> download(const Buffer<T>& buffer) {
  return {buffer.data(), buffer.data() + buffer.size()};
}

/// What `source` does not compile with; fails if it does.
inline Error compile_error(std::string_view source, const CompileOptions& options = {}) {
  try {
    (void)host().compile(source, options);
  } catch (const Error& error) {
    return error;
  }
  FAIL("compiled: " << std::string(source));
  return {Errc::invalid_argument, "", "", ""};
}

inline bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// This process's environment, for a child that is to have the same.
inline std::vector<std::string> own_environment() {
  std::vector<std::string> variables;
  for (char** variable = ::environ; *variable != nullptr; ++variable) variables.emplace_back(*variable);
  return variables;
}

/// Sets an environment variable, or unsets it, until the end of the scope.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* const before = ::getenv(name)) before_ = before;
    value != nullptr ? ::setenv(name, value, 1) : ::unsetenv(name);
  }
  ~Variable() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace weir::test
