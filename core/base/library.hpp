// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/registry.hpp"

/// A vendor's shared library, opened at run time.
namespace weir::detail {

class Library {
 public:
  /// Opens the first of `names` (sonames or absolute paths) that the loader can open; nullopt if it can open none. Libraries
  /// are never closed. Appends each attempt to `attempts`.
  static std::optional<Library> open(std::span<const std::string> names, std::vector<LoadAttempt>& attempts);

  /// The address of a symbol, or null.
  void* find(const char* symbol) const noexcept;
  template <class Function>
  Function find_as(const char* symbol) const noexcept {
    return reinterpret_cast<Function>(find(symbol));
  }
  /// The path of the file that was opened.
  const std::string& path() const noexcept { return path_; }

 private:
  Library(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}

  void* handle_;
  std::string path_;
};

/// The path of the first loaded library whose file name begins with `name`, or empty.
std::string loaded_library(std::string_view name);

/// Lists the attempts in the text of an error: "a (outcome), b (outcome)".
std::string list_attempts(std::span<const LoadAttempt> attempts);

}  // namespace weir::detail
