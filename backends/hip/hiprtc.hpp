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

/// Run-time compilation with HIPRTC. It needs no device, because HIPRTC compiles for any architecture that it supports.
class Compiler {
 public:
  /// Opens HIPRTC. It is either a separate library (already loaded, in the runtime's folder, or on the loader's path), or,
  /// up to 6.4, part of the runtime's library.
  static std::unique_ptr<const Compiler> open(const weir::detail::Library& runtime, int release);

  bool is_usable() const noexcept { return usable_; }
  /// The compiler's name and file, or the reason why the compiler is missing.
  const std::string& description() const noexcept { return description_; }
  /// Returns the reason why the compiler cannot compile for an architecture ("gfx90a:sramecc+:xnack-"), or "" if it can.
  /// Call this before `compile`, because HIPRTC aborts the process on an architecture that it does not support.
  std::string refusal(std::string_view architecture) const;
  /// Returns the code object, and sets `log` to the warnings. Throws `compilation_failed` with the whole log;
  /// `compiler_not_found` if the compiler is missing or does not support the architecture; `invalid_argument` for a
  /// malformed architecture, or for options that select one.
  gpu::CompiledProgram compile(const std::string& architecture, std::string_view source, const CompileOptions& options,
                               const char* operation, std::string_view object, std::string& log) const;
  /// Returns the program from the cache, or compiles and caches it. Logs the warnings.
  gpu::CompiledProgram compile_cached(const std::string& architecture, std::string_view source,
                                      const CompileOptions& options, const char* operation, std::string_view object) const;

  Compiler(const Compiler&) = delete;
  Compiler& operator=(const Compiler&) = delete;

 private:
  struct Functions;
  Compiler() = default;
  void find(const weir::detail::Library& runtime, int release);
  void list_architectures(const weir::detail::Library& runtime, int release);

  std::shared_ptr<const Functions> functions_;  // shared_ptr, because `Functions` is complete only in hiprtc.cpp
  std::vector<std::string> architectures_;  // those that the code generator supports; empty if it cannot list them
  std::vector<std::string> files_;          // the compiler's library files
  std::string description_;
  int release_ = 0;
  bool usable_ = false;
};

}  // namespace weir::hip
