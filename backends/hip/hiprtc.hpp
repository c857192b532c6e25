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

/// Run-time compilation with HIPRTC. No device is needed: HIPRTC compiles for any architecture that it knows.
class Compiler {
 public:
  /// Opens HIPRTC: its own library (already loaded, beside the runtime, or on the loader's path), else the runtime, which
  /// contains it up to 6.4.
  static std::unique_ptr<const Compiler> open(const weir::detail::Library& runtime, int release);

  bool is_usable() const noexcept { return usable_; }
  /// The compiler and its file, or why there is none.
  const std::string& description() const noexcept { return description_; }
  /// Why it cannot compile for an architecture ("gfx90a:sramecc+:xnack-"), or empty if it can. Call this first: HIPRTC
  /// aborts the process on an architecture that it does not know.
  std::string refusal(std::string_view architecture) const;
  /// The code object. Throws `compilation_failed` with the whole log, `compiler_not_found`, also for an architecture
  /// that it does not know, and `invalid_argument` for one that is none, or that stands among the options.
  /// The warnings are put into `log`.
  gpu::CompiledProgram compile(const std::string& architecture, std::string_view source, const CompileOptions& options,
                               const char* operation, std::string_view object, std::string& log) const;
  /// The same from the cache, if it is there; the warnings are logged.
  gpu::CompiledProgram compile_cached(const std::string& architecture, std::string_view source,
                                      const CompileOptions& options, const char* operation, std::string_view object) const;

  Compiler(const Compiler&) = delete;
  Compiler& operator=(const Compiler&) = delete;

 private:
  struct Functions;
  Compiler() = default;
  void find(const weir::detail::Library& runtime, int release);
  void list_architectures(const weir::detail::Library& runtime, int release);

  std::shared_ptr<const Functions> functions_;  // shared: the type is complete in hiprtc.cpp alone
  std::vector<std::string> architectures_;  // those that the code generator has; empty if it cannot be asked
  std::vector<std::string> files_;          // that it consists of
  std::string description_;
  int release_ = 0;
  bool usable_ = false;
};

}  // namespace weir::hip
