// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/gpu/program.hpp"
#include "core/base/library.hpp"
#include "weir/module.hpp"
#include "weir/registry.hpp"

namespace weir::hip {

/// Run-time compilation with HIPRTC. It needs no device: HIPRTC compiles for any architecture that it supports.
class Compiler {
 public:
  /// Opens HIPRTC: its own library (already loaded, in the runtime's folder, or on the loader's path), otherwise the
  /// runtime, which contains it up to 6.4.
  static std::unique_ptr<const Compiler> open(const weir::detail::Library& runtime, int release);

  bool is_usable() const noexcept { return usable_; }
  /// The compiler and its file, or the reason why it is missing.
  const std::string& description() const noexcept { return description_; }
  /// Returns why it cannot compile for an architecture ("gfx90a:sramecc+:xnack-"), or "" if it can. Call this first: HIPRTC
  /// aborts the process on an architecture that it does not support.
  std::string refusal(std::string_view architecture) const;
  /// Returns the code object and sets `log` to the warnings. Throws `compilation_failed` with the whole log;
  /// `compiler_not_found`, also for an unsupported architecture; `invalid_argument` for an invalid architecture, or one
  /// among the options.
  gpu::CompiledProgram compile(const std::string& architecture, std::string_view source, const CompileOptions& options,
                               const char* operation, std::string_view object, std::string& log) const;
  /// The same, from the cache if possible; logs the warnings.
  gpu::CompiledProgram compile_cached(const std::string& architecture, std::string_view source,
                                      const CompileOptions& options, const char* operation, std::string_view object) const;

  Compiler(const Compiler&) = delete;
  Compiler& operator=(const Compiler&) = delete;

 private:
  struct Functions;
  Compiler() = default;
  void find(const weir::detail::Library& runtime, int release);
  void list_architectures(const weir::detail::Library& runtime, int release);

  std::shared_ptr<const Functions> functions_;  // shared_ptr, because the type is complete only in hiprtc.cpp
  std::vector<std::string> architectures_;  // supported by the code generator; empty if it cannot list them
  std::vector<std::string> files_;          // the files of the compiler
  std::string description_;
  int release_ = 0;
  bool usable_ = false;
};

}  // namespace weir::hip
